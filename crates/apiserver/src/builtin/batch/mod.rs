//! Work that ends: Jobs and CronJobs.

pub mod cron;
mod cronjob;
mod indexes;
mod job;
mod policies;
mod status;

pub use cronjob::CRON_JOB;
pub use job::JOB;
