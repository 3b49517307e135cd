//! The server on a TCP port, for `kubectl` and everything else that is not in this process.

use std::io;
use std::net::SocketAddr;

use http::Request;
use http::header::AUTHORIZATION;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::identity::User;
use crate::server::Server;

/// Serves until dropped. Connections end with it. Who shows no credentials is `guest`: clients like kubectl
/// send none to a port without TLS, whatever their kubeconfig says.
pub async fn serve(server: Server, listener: TcpListener, guest: User) -> io::Result<()> {
    let connections = TaskTracker::new();
    let ending = AbortOnDrop(tokio_util::sync::CancellationToken::new());
    loop {
        let (stream, peer) = listener.accept().await?;
        let guest = guest.clone();
        let service = server.clone().map_request(move |mut request: Request<Incoming>| {
            if !request.headers().contains_key(AUTHORIZATION) {
                request.extensions_mut().insert(guest.clone());
            }
            request
        });
        let service = TowerToHyperService::new(service);
        let ended = ending.0.clone();
        connections.spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            let connection = builder.serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                biased;
                () = ended.cancelled() => {}
                outcome = connection => {
                    if let Err(error) = outcome {
                        tracing::debug!(%peer, %error, "connection ended");
                    }
                }
            }
        });
    }
}

struct AbortOnDrop(tokio_util::sync::CancellationToken);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Binds to a loopback port; 0 takes any free one.
pub async fn bind(port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
