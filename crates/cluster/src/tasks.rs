//! Tasks that end with the operator. A task that was spawned on its own would go on after a crash;
//! these live inside the operator's own future and are dropped with it.

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Starts tasks. Cheap to clone; holds nothing alive.
#[derive(Clone, Debug)]
pub struct Tasks {
    sender: mpsc::UnboundedSender<Task>,
    stop: CancellationToken,
}

struct Task {
    name: &'static str,
    work: BoxFuture<'static, ()>,
}

/// Runs the tasks. Dropping it ends them.
#[derive(Debug)]
pub struct Runner {
    receiver: mpsc::UnboundedReceiver<Task>,
    running: JoinSet<&'static str>,
}

/// A place to start tasks, and what runs them.
pub fn tasks() -> (Tasks, Runner) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let tasks = Tasks { sender, stop: CancellationToken::new() };
    (tasks, Runner { receiver, running: JoinSet::new() })
}

impl Tasks {
    /// Starts a task. Once the operator has ended this does nothing.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        if self.sender.send(Task { name, work: Box::pin(work) }).is_err() {
            tracing::debug!(name, "not started: the operator has ended");
        }
    }

    /// Cancelled when the operator is asked to stop; long work watches it.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }
}

impl Runner {
    /// Runs tasks as they are started, until dropped. A task that panics is reported and does not
    /// take others with it.
    pub async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                task = self.receiver.recv() => match task {
                    Some(Task { name, work }) => {
                        self.running.spawn(async move { work.await; name });
                    }
                    None => break,
                },
                Some(ended) = self.running.join_next(), if !self.running.is_empty() => {
                    report(ended);
                }
            }
        }
        while let Some(ended) = self.running.join_next().await {
            report(ended);
        }
    }
}

fn report(ended: Result<&'static str, tokio::task::JoinError>) {
    match ended {
        Ok(name) => tracing::debug!(name, "task ended"),
        Err(error) if error.is_panic() => tracing::error!(%error, "a task panicked"),
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tasks_end_with_their_runner() {
        let ticks = Arc::new(AtomicUsize::new(0));
        let (tasks, runner) = tasks();
        let counter = ticks.clone();
        tasks.spawn("ticker", async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _ = tokio::time::timeout(Duration::from_millis(3500), runner.run()).await;
        assert_eq!(ticks.load(Ordering::Relaxed), 3);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(ticks.load(Ordering::Relaxed), 3, "the task went on after its runner");
        tasks.spawn("late", async { panic!("must not run") });
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_stays_in_its_task() {
        let (tasks, runner) = tasks();
        let done = Arc::new(AtomicUsize::new(0));
        let counter = done.clone();
        tasks.spawn("bad", async { panic!("on purpose") });
        tasks.spawn("good", async move {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        drop(tasks);
        runner.run().await;
        assert_eq!(done.load(Ordering::Relaxed), 1);
    }
}
