//! Calls to the API server that end. The client itself waits for ever, so every call goes through
//! here and has a limit.

use std::time::Duration;

use thiserror::Error;

use crate::clock::Clock;

/// How long one call may take.
pub const LIMIT: Duration = Duration::from_secs(15);

/// How long a call that is worth repeating is repeated.
pub const PATIENCE: Duration = Duration::from_secs(30);

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why a call gave no answer.
#[derive(Debug, Error)]
pub enum CallError {
    /// The API server refused, or could not be reached.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// There was no answer in time. What was asked for may have happened all the same.
    #[error("no answer from the API server within {} s", .0.as_secs())]
    TimedOut(Duration),
}

impl CallError {
    /// The status code of the answer, if there was one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Kube(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }

    /// The object does not exist, or its kind does not.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Somebody was faster.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// Worth trying again: the server is busy, failing or away.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Kube(kube::Error::Api(status)) => status.code == 429 || status.code >= 500,
            Self::TimedOut(_)
            | Self::Kube(
                kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_),
            ) => true,
            Self::Kube(_) => false,
        }
    }
}

/// The answer to one call, or an error once [`LIMIT`] has passed.
pub async fn bounded<T>(
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, CallError> {
    within(LIMIT, call).await
}

/// The answer to one call, or an error once `limit` has passed.
pub async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, CallError> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer.map_err(CallError::Kube),
        Err(_) => Err(CallError::TimedOut(limit)),
    }
}

/// The answer to a call that is safe to repeat: busy and failing servers are asked again, with
/// growing pauses, until [`PATIENCE`] is over. The pauses have no random part, so that a simulation
/// repeats; one operator asks, not a crowd.
pub async fn repeated<T, F>(clock: &dyn Clock, mut call: impl FnMut() -> F) -> Result<T, CallError>
where
    F: Future<Output = Result<T, kube::Error>>,
{
    let begun = tokio::time::Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match bounded(call()).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if !error.is_transient() || begun.elapsed() + pause > PATIENCE {
            return Err(error);
        }
        tracing::debug!(%error, ?pause, "asking the API server again");
        clock.sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use kube::core::Status;

    use super::*;
    use crate::clock::SystemClock;

    fn refusal(code: u16) -> kube::Error {
        kube::Error::Api(Box::new(Status { code, ..Status::default() }))
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_not_waited_for() {
        let answer: Result<(), _> = bounded(std::future::pending()).await;
        assert!(matches!(answer, Err(CallError::TimedOut(LIMIT))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_server_is_asked_again() {
        let asked = Cell::new(0);
        let answer = repeated(&SystemClock, || {
            asked.set(asked.get() + 1);
            let busy = asked.get() < 4;
            async move { if busy { Err(refusal(429)) } else { Ok(7) } }
        })
        .await;
        assert_eq!((answer.unwrap(), asked.get()), (7, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_server_is_given_up() {
        let begun = tokio::time::Instant::now();
        let answer: Result<(), _> = repeated(&SystemClock, || async { Err(refusal(503)) }).await;
        assert_eq!(answer.unwrap_err().code(), Some(503));
        assert!(begun.elapsed() <= PATIENCE);
        assert!(begun.elapsed() > PATIENCE / 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_final() {
        let asked = Cell::new(0);
        let answer: Result<(), _> = repeated(&SystemClock, || {
            asked.set(asked.get() + 1);
            async { Err(refusal(422)) }
        })
        .await;
        assert_eq!((answer.unwrap_err().code(), asked.get()), (Some(422), 1));
    }
}
