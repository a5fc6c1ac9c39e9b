//! Accepts connections: a limited number at once, each with a time limit for the request head. All
//! are closed soon after the end.

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
use crate::origin_check::ConnectionReach;
use crate::port::BoundPort;
use crate::routes;
use crate::state::AppState;

const MAX_CONNECTION_COUNT: usize = 256;
/// Limit for the head of every request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to finish responses at the end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// Delay after a refusal by the system, such as too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Serves a port until `stopped` is true.
pub(crate) async fn serve_connections(
    bound_port: BoundPort,
    state: Arc<AppState>,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut listeners = Vec::new();
    for listener in bound_port.listeners {
        listeners.push(TcpListener::from_std(listener)?);
    }

    let router = routes::build_router(state);
    let limit = ConnectionLimit::new(MAX_CONNECTION_COUNT);
    let graceful = GracefulShutdown::new();
    loop {
        let stream = tokio::select! {
            stream = accept_next(&listeners) => stream,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        let guard = tokio::select! {
            guard = limit.take_slot() => guard,
            _ = stopped.wait_for(|stop| *stop) => break,
        };

        let slot = guard.slot();
        let reach = ConnectionReach::of_stream(&stream);
        let service = TowerToHyperService::new(router.clone());
        let service = service_fn(answer_with_slot(guard.slot(), reach, service));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        let task = tokio::spawn(async move {
            // A client may close the connection at any time.
            connection.await.ok();
            drop(guard);
        });
        slot.set_task(task.abort_handle());
    }

    drop(listeners);
    tokio::time::timeout(SHUTDOWN_GRACE, graceful.shutdown()).await.ok();
    Ok(())
}

/// Answers requests, and records in the connection's slot when each begins and ends.
fn answer_with_slot<S: Service<Request<Incoming>>>(
    slot: Arc<ConnectionSlot>,
    reach: ConnectionReach,
    service: S,
) -> impl Fn(Request<Incoming>) -> ResponseFuture<S::Future> {
    move |mut request| {
        slot.begin_request();
        request.extensions_mut().insert(reach);
        let follows = request.uri().path() == routes::EVENTS_PATH;
        ResponseFuture { slot: Arc::clone(&slot), follows, answer: Box::pin(service.call(request)) }
    }
}

/// A response in progress.
struct ResponseFuture<F> {
    slot: Arc<ConnectionSlot>,
    follows: bool,
    answer: Pin<Box<F>>,
}

impl<B, E, F: Future<Output = Result<Response<B>, E>>> Future for ResponseFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.answer.as_mut().poll(context);
        if let Poll::Ready(answer) = &answer {
            let good = answer.as_ref().is_ok_and(|answer| answer.status().is_success());
            self.slot.finish_request(self.follows && good);
        }
        answer
    }
}

/// The next connection on any of the listeners.
async fn accept_next(listeners: &[TcpListener]) -> TcpStream {
    loop {
        let mut accepts: Vec<_> =
            listeners.iter().map(|listener| Box::pin(listener.accept())).collect();
        let next = std::future::poll_fn(|context| {
            let ready = accepts.iter_mut().map(|accept| accept.as_mut().poll(context));
            ready.into_iter().find(Poll::is_ready).unwrap_or(Poll::Pending)
        });
        match next.await {
            Ok((stream, _)) => return stream,
            Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}
