//! Watches that mind their own failures. kube's controller backs off all of its watches when one of
//! them fails; a kind that is not installed would then slow down those that are.

use std::fmt::Debug;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Pauses that double up to half a minute. They have no random part, so that a simulation repeats.
#[derive(Clone, Debug)]
pub struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: FIRST_PAUSE }
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Every object that is there, changes or goes, until dropped. Failures are logged and tried again;
/// afterwards everything is listed anew, so that nothing is missed.
pub fn touched<K>(api: Api<K>, config: watcher::Config) -> impl Stream<Item = K> + Send
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    watcher(api, config).backoff(Pauses::default()).touched_objects().filter_map(|object| async {
        object
            .inspect_err(|error| tracing::debug!(%error, kind = %K::kind(&()), "not watched"))
            .ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_start_over() {
        let mut pauses = Pauses::default();
        let seconds: Vec<u64> = pauses.by_ref().take(7).map(|pause| pause.as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
        pauses.reset();
        assert_eq!(pauses.next(), Some(FIRST_PAUSE));
    }
}
