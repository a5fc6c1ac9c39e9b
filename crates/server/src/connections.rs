//! Taking in connections: so many at once, each with a limit on how long it may think, and all of
//! them gone soon after the end.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::connection_limit::{ConnectionLimit, ConnectionSlot};
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
    let limit = ConnectionLimit::new(AT_ONCE);
    let all = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            stream = next(&doors) => stream,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        let guard = tokio::select! {
            guard = limit.take() => guard,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        let slot = guard.slot();
        let service = TowerToHyperService::new(router.clone());
        let service = service_fn(answer_on(guard.slot(), service));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let connection = all.watch(http.serve_connection(TokioIo::new(stream), service));
        let task = tokio::spawn(async move {
            // A caller who hangs up in the middle is nobody's trouble.
            connection.await.ok();
            drop(guard);
        });
        slot.served_by(task.abort_handle());
    }
    drop(doors);
    tokio::time::timeout(GRACE, all.shutdown()).await.ok();
    Ok(())
}

/// Answers requests, and notes in the connection's slot when each begins and ends.
fn answer_on<S: Service<Request<Incoming>>>(
    slot: Arc<ConnectionSlot>,
    service: S,
) -> impl Fn(Request<Incoming>) -> Answering<S::Future> {
    move |request| {
        slot.begin();
        let follows = request.uri().path() == routes::EVENTS;
        Answering { slot: Arc::clone(&slot), follows, answer: Box::pin(service.call(request)) }
    }
}

/// An answer on its way.
struct Answering<F> {
    slot: Arc<ConnectionSlot>,
    follows: bool,
    answer: Pin<Box<F>>,
}

impl<B, E, F: Future<Output = Result<Response<B>, E>>> Future for Answering<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.answer.as_mut().poll(context);
        if let Poll::Ready(answer) = &answer {
            let good = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
            self.slot.finish(self.follows && good);
        }
        answer
    }
}

/// The next caller at any of the doors.
async fn next(doors: &[TcpListener]) -> TcpStream {
    loop {
        let mut knocks: Vec<_> = doors.iter().map(|door| Box::pin(door.accept())).collect();
        let knock = std::future::poll_fn(|context| {
            let ready = knocks.iter_mut().map(|knock| knock.as_mut().poll(context));
            ready.into_iter().find(Poll::is_ready).unwrap_or(Poll::Pending)
        });
        match knock.await {
            Ok((stream, _)) => return stream,
            Err(_) => tokio::time::sleep(BREATH).await,
        }
    }
}
