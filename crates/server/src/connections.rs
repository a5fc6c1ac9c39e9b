//! Taking in connections: so many at once, each with a limit on how long it may think, and all of
//! them gone soon after the end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::place::Place;
use crate::room::Room;
use crate::routes;

const AT_ONCE: usize = 256;
/// For the head of a request, also the first one.
const HEAD: Duration = Duration::from_secs(10);
/// For answers that are on their way when the end comes.
const GRACE: Duration = Duration::from_secs(2);
/// After a refusal by the system, such as too many open files.
const BREATH: Duration = Duration::from_millis(50);

/// Serves a place until told to stop.
pub(crate) async fn accept(
    place: Place,
    room: Arc<Room>,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut doors = Vec::new();
    for listener in place.listeners {
        doors.push(TcpListener::from_std(listener)?);
    }
    let router = routes::router(room);
    let seats = Arc::new(Semaphore::new(AT_ONCE));
    let all = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            stream = next(&doors) => stream,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        let seat = Arc::clone(&seats).acquire_owned();
        let seat = tokio::select! {
            seat = seat => seat,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        let service = TowerToHyperService::new(router.clone());
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let connection = all.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A caller who hangs up in the middle is nobody's trouble.
            connection.await.ok();
            drop(seat);
        });
    }
    drop(doors);
    tokio::time::timeout(GRACE, all.shutdown()).await.ok();
    Ok(())
}

/// The next caller at any of the doors.
async fn next(doors: &[TcpListener]) -> TcpStream {
    loop {
        let mut knocks: Vec<_> = doors.iter().map(|door| Box::pin(door.accept())).collect();
        let knock = std::future::poll_fn(|context| {
            let ready = knocks.iter_mut().map(|knock| knock.as_mut().poll(context));
            ready.into_iter().find(std::task::Poll::is_ready).unwrap_or(std::task::Poll::Pending)
        });
        match knock.await {
            Ok((stream, _)) => return stream,
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}
