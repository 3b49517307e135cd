//! Turns: what could happen at one instant happens in an order that the seed chose.

use std::future::Future;
use std::pin::Pin;
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
    effect: Pin<Box<dyn Future<Output = ()> + Send>>,
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

    /// Has an effect when its turn comes. `key` says who wants what: equal keys tie by arrival.
    ///
    /// The conductor runs the effect, not the caller: a caller that is not polled at the moment (it
    /// waits for something else in the same task) must not hold up the world.
    pub async fn act<T: Send + 'static>(
        &self,
        key: String,
        effect: impl Future<Output = T> + Send + 'static,
    ) -> T {
        if self.inner.order.is_none() {
            return effect.await;
        }
        let (tell, told) = oneshot::channel();
        let effect = Box::pin(async move {
            // Whoever does not wait for the answer any more still asked.
            drop(tell.send(effect.await));
        });
        lock(&self.inner.waiting).push(Waiting { key, effect });
        self.inner.arrived.notify_one();
        match told.await {
            Ok(answer) => answer,
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
                waiting.effect.await;
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
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = join_all(arrivals.iter().map(|name| {
            let (name, seen) = ((*name).to_owned(), seen.clone());
            barrier.act(name.clone(), async move { lock(&seen).push(name) })
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

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_is_not_polled_does_not_hold_up_the_others() {
        let barrier = Barrier::seeded(1);
        let story = async {
            let idle = barrier.act("a".into(), async {});
            futures::pin_mut!(idle);
            // Asked once, then left alone while its task waits for another turn.
            assert!(futures::poll!(&mut idle).is_pending());
            barrier.act("b".into(), async {}).await;
            idle.await;
        };
        let limit = tokio::time::sleep(Duration::from_secs(60));
        tokio::select! {
            biased;
            () = story => {}
            () = barrier.conduct() => {}
            () = limit => panic!("the world stands still"),
        }
    }
}
