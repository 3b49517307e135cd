//! Times of the week in which something may begin.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::text::{Duration, Schedule, TimeZone};

/// A time in which something may begin. What has begun goes on to its end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// When the window opens, as five cron fields, for example `0 2 * * 6`.
    pub schedule: Schedule,

    /// How long it stays open.
    pub duration: Duration,

    /// The time zone of the schedule.
    #[serde(default = "utc")]
    pub time_zone: TimeZone,
}

fn utc() -> TimeZone {
    "UTC".into()
}
