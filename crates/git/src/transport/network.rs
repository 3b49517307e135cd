//! Where the network is waited for: one thread of its own with a runtime, so that whoever calls may
//! block, also from inside another runtime.

use std::future::Future;
use std::io::{self, Read};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};

use crate::error::Cause;

/// How long and how much is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a connection, with its greetings and its login.
    pub connect: Duration,
    /// For the next bytes of an answer.
    pub idle: Duration,
    /// For one request and its whole answer.
    pub total: Duration,
    /// How many bytes an answer may have.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(300),
            bytes: 2 << 30,
        }
    }
}

impl Limits {
    /// These, with another limit for the whole that no other one exceeds.
    #[must_use]
    pub fn within(self, total: Duration) -> Self {
        Self {
            connect: self.connect.min(total),
            idle: self.idle.min(total),
            total,
            bytes: self.bytes,
        }
    }
}

/// Wakes a thread.
struct Wakes(Thread);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits, also on a thread that belongs to a runtime: the usual ways to do that panic there.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    // A runtime's fairness would have us yield to it, which cannot be done from here.
    let mut future = pin!(tokio::task::unconstrained(future));
    let waker = Waker::from(Arc::new(Wakes(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// The thread that waits for the network.
#[derive(Debug)]
pub struct Network {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
}

impl Network {
    /// Starts it. It ends when the last one who holds it is gone.
    pub fn start() -> io::Result<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new().name("git-network".to_owned()).spawn(move || {
            runtime.block_on(async {
                // An error means that the network is gone too.
                let _ = stopped.await;
            });
        })?;
        Ok(Arc::new(Self { handle, stop: Some(stop) }))
    }

    /// Lets it run by itself.
    pub(crate) fn go(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(future);
    }

    /// Waits for it.
    pub fn wait<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, Cause>> + Send + 'static,
    ) -> Result<T, Cause> {
        let (send, receive) = oneshot::channel();
        self.handle.spawn(async move {
            // Nobody waits any more if this fails.
            let _ = send.send(future.await);
        });
        block_on(receive)
            .unwrap_or_else(|_| Err(Cause::Cut("the network thread is gone".to_owned())))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

/// Where the bytes of a [`Pipe`] come from.
pub(crate) type Feed = mpsc::Sender<Result<Bytes, Cause>>;

/// What a server answers, read as it comes.
pub(crate) struct Pipe {
    chunks: mpsc::Receiver<Result<Bytes, Cause>>,
    current: Bytes,
    left: u64,
    limit: u64,
    failure: Arc<Mutex<Option<Cause>>>,
}

impl Pipe {
    pub(crate) fn new(limit: u64) -> (Feed, Self) {
        let (feed, chunks) = mpsc::channel(16);
        let failure = Arc::default();
        (feed, Self { chunks, current: Bytes::new(), left: limit, limit, failure })
    }

    /// Why reading failed, for whoever got the news from a library that swallowed it.
    pub(crate) fn failure(&self) -> Arc<Mutex<Option<Cause>>> {
        self.failure.clone()
    }

    fn fail(&self, cause: Cause) -> io::Error {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause.clone());
        cause.into()
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match block_on(self.chunks.recv()) {
                None => return Ok(0),
                Some(Err(cause)) => return Err(self.fail(cause)),
                Some(Ok(bytes)) => {
                    if bytes.len() as u64 > self.left {
                        return Err(self.fail(Cause::TooLarge { limit: self.limit }));
                    }
                    self.left -= bytes.len() as u64;
                    self.current = bytes;
                }
            }
        }
        let count = buffer.len().min(self.current.len());
        self.current.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_works_inside_another_runtime_too() {
        let network = Network::start().unwrap();
        assert_eq!(network.wait(async { Ok(1) }), Ok(1));
        let other = Builder::new_current_thread().build().unwrap();
        let answer = other.block_on(async {
            let answer = network.wait(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(2)
            });
            drop(network);
            answer
        });
        assert_eq!(answer, Ok(2));
    }

    #[test]
    fn a_long_answer_can_be_read_inside_a_task() {
        let network = Network::start().unwrap();
        let (feed, mut pipe) = Pipe::new(1 << 20);
        network.go(async move {
            for _ in 0..1000 {
                let _ = feed.send(Ok(Bytes::from_static(b"x"))).await;
            }
        });
        let runtime = Builder::new_current_thread().build().unwrap();
        let read = runtime.block_on(async {
            let mut text = String::new();
            pipe.read_to_string(&mut text).map(|_| text.len())
        });
        assert_eq!(read.unwrap(), 1000);
    }

    #[test]
    fn a_pipe_gives_what_was_fed_and_no_more_than_its_limit() {
        let network = Network::start().unwrap();
        let (feed, mut pipe) = Pipe::new(5);
        network.go(async move {
            for part in ["ab", "", "cd", "ef"] {
                let _ = feed.send(Ok(Bytes::from(part))).await;
            }
        });
        let mut text = [0; 4];
        pipe.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"abcd");
        let failure = pipe.failure();
        assert!(pipe.read(&mut text).is_err());
        assert_eq!(failure.lock().unwrap().clone(), Some(Cause::TooLarge { limit: 5 }));
    }
}
