//! Work over all cores; the result does not depend on their number.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Nested YAML and nested kustomizations are read by recursion.
const STACK: usize = 16 << 20;

/// How many threads this machine runs at once.
pub fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does the work for every item, on that many threads; results are in the order of the items.
pub fn spread<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let count = threads.min(items.len());
    if count <= 1 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        let mut mine = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { break };
            mine.push((place, work(item)));
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).extend(mine);
    };
    thread::scope(|scope| {
        for _ in 1..count {
            // If the machine has no thread left, the others do the work.
            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        let items: Vec<usize> = (0..1000).collect();
        for threads in [0, 1, 2, 7] {
            let squares = spread(&items, threads, |item| item * item);
            assert!(squares.iter().enumerate().all(|(place, square)| *square == place * place));
            assert_eq!(squares.len(), 1000);
        }
        assert!(spread(&[] as &[u8], 4, |item| *item).is_empty());
    }
}
