//! Turns: what could happen at one instant happens in an order that the seed chose.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::random::Random;

/// Hands out turns. Clones share one queue.
#[derive(Clone)]
pub struct Barrier {
    inner: Arc<Inner>,
}

struct Inner {
    /// None: turns are immediate (real time).
    order: Option<Mutex<Random>>,
    waiting: Mutex<Vec<Waiting>>,
    arrived: Notify,
}

struct Waiting {
    key: String,
    grant: oneshot::Sender<Turn>,
}

/// The right to act now. The next in line waits until it is dropped.
pub struct Turn {
    _done: Option<oneshot::Sender<()>>,
}

impl Barrier {
    /// Turns in an order chosen by the seed. Someone must drive [`Barrier::conduct`].
    pub fn seeded(seed: u64) -> Self {
        Self::with(Some(Mutex::new(Random::new(seed, "order"))))
    }

    /// Turns at once, in the order of arrival: for real time.
    pub fn open() -> Self {
        Self::with(None)
    }

    fn with(order: Option<Mutex<Random>>) -> Self {
        let inner = Inner { order, waiting: Mutex::default(), arrived: Notify::new() };
        Self { inner: Arc::new(inner) }
    }

    /// Waits for this caller's turn. `key` says who wants what: equal keys tie by arrival.
    pub async fn turn(&self, key: String) -> Turn {
        if self.inner.order.is_none() {
            return Turn { _done: None };
        }
        let (grant, granted) = oneshot::channel();
        lock(&self.inner.waiting).push(Waiting { key, grant });
        self.inner.arrived.notify_one();
        match granted.await {
            Ok(turn) => turn,
            // The conductor is gone, and with it the world: nothing may happen any more.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives the turns, for as long as the world lives.
    pub async fn conduct(&self) {
        let Some(order) = &self.inner.order else { return std::future::pending().await };
        loop {
            if lock(&self.inner.waiting).is_empty() {
                self.inner.arrived.notified().await;
                continue;
            }
            // Under a paused clock this passes only when nothing else can run.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let mut batch = std::mem::take(&mut *lock(&self.inner.waiting));
            batch.sort_by(|a, b| a.key.cmp(&b.key));
            lock(order).shuffle(&mut batch);
            for waiting in batch {
                let (done, finished) = oneshot::channel();
                if waiting.grant.send(Turn { _done: Some(done) }).is_ok() {
                    // An error is a dropped turn, which is how turns end.
                    drop(finished.await);
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;

    async fn order(seed: u64, arrivals: &[&str]) -> Vec<String> {
        let barrier = Barrier::seeded(seed);
        let seen = Mutex::new(Vec::new());
        let all = join_all(arrivals.iter().map(|name| async {
            let _turn = barrier.turn((*name).to_owned()).await;
            lock(&seen).push((*name).to_owned());
        }));
        tokio::select! { biased; _ = all => {} () = barrier.conduct() => {} }
        lock(&seen).clone()
    }

    #[tokio::test(start_paused = true)]
    async fn the_seed_decides_and_not_the_arrival() {
        let one = order(1, &["a", "b", "c", "d"]).await;
        assert_eq!(one, order(1, &["d", "b", "a", "c"]).await);
        let other = (2..20).map(|seed| order(seed, &["a", "b", "c", "d"]));
        assert!(join_all(other).await.iter().any(|order| *order != one));
    }
}
