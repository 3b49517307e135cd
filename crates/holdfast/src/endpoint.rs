//! The health and metrics endpoints: a few fixed answers over HTTP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdfast_cluster::metrics::Metrics;
use holdfast_cluster::readiness::Readiness;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// How long a caller may take to send its request.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many callers are served at once; the others wait.
const CALLERS: usize = 32;

type Answer = Response<Full<Bytes>>;

/// Takes an address, and says which one it was if it cannot be had.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| {
        format!(
            "{address} cannot be listened on: {error}; choose another address, such as 127.0.0.1:0"
        )
    })
}

/// `/healthz`: 200 unless the process has to be started again. `/readyz`: 200 once everything that
/// it needs is there; otherwise 503 and what is waited for.
pub async fn serve_health(listener: TcpListener, readiness: Readiness) {
    serve(listener, move |path| match path {
        "/healthz" | "/livez" => match readiness.failure() {
            None => (StatusCode::OK, "ok\n".to_owned()),
            Some(failure) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{failure}\n")),
        },
        "/readyz" => {
            let pending = readiness.pending();
            if pending.is_empty() {
                (StatusCode::OK, "ok\n".to_owned())
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", pending.join("\n")))
            }
        }
        _ => (StatusCode::NOT_FOUND, "there are /healthz and /readyz\n".to_owned()),
    })
    .await;
}

/// `/metrics` in the text form of OpenMetrics.
pub async fn serve_metrics(listener: TcpListener, metrics: Arc<Metrics>) {
    serve(listener, move |path| match path {
        "/metrics" => match metrics.encode() {
            Ok(text) => (StatusCode::OK, text),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        },
        _ => (StatusCode::NOT_FOUND, "there is /metrics\n".to_owned()),
    })
    .await;
}

async fn serve(
    listener: TcpListener,
    answer: impl Fn(&str) -> (StatusCode, String) + Clone + Send + 'static,
) {
    let mut callers = JoinSet::new();
    loop {
        while callers.len() >= CALLERS {
            callers.join_next().await;
        }
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely: they come back.
                tracing::warn!(%error, "a caller could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let answer = answer.clone();
        callers.spawn(async move {
            let service = service_fn(move |request: Request<Incoming>| {
                let (code, text) = answer(request.uri().path());
                async move { Ok::<_, Infallible>(response(code, text)) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a caller went away");
            }
        });
    }
}

fn response(code: StatusCode, text: String) -> Answer {
    let kind = if text.ends_with("# EOF\n") {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; charset=utf-8"
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}
