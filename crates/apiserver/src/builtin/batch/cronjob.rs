//! CronJobs.

use serde_json::{Value, json};

use super::{cron, job};
use crate::builtin::pod::{self, choice, nonnegative};
use crate::builtin::value::{Fields as _, Fill as _, same};
use crate::builtin::workload::{keep_status, name_warning, shown_selector};
use crate::builtin::{Generation, Strategy, form};
use crate::fields::{FieldError, Path};

/// The rules of CronJobs.
pub const CRON_JOB: Strategy = Strategy {
    defaults,
    prepare_create: |object| {
        object.put("status", json!({}));
        drop_disabled(object);
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        drop_disabled(new);
    },
    validate: |object| {
        let mut wrong = spec(object.get_or_null("spec"), None);
        let name = object.get_or_null("metadata").text("name");
        // A Job's name is the CronJob's and a time of eleven characters.
        if name.len() > 52 {
            wrong.push(FieldError::invalid(
                &Path::new("metadata.name"),
                &Value::from(name),
                "must be no more than 52 characters",
            ));
        }
        wrong
    },
    validate_update: |new, old| spec(new.get_or_null("spec"), Some(old.get_or_null("spec"))),
    warnings: |object, old| {
        let spec = object.get_or_null("spec");
        let changed = old.is_none_or(|old| !same(spec, old.get_or_null("spec")));
        let mut said = if old.is_none() { name_warning(object) } else { Vec::new() };
        if changed {
            let job = spec.get_or_null("jobTemplate").get_or_null("spec");
            said.extend(job::spec_warnings(job, &Path::new("spec.jobTemplate.spec")));
        }
        if old.is_some() && spec.text("schedule").contains("TZ") {
            said.push("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details".to_owned());
        }
        said
    },
    revalidate: false,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn drop_disabled(object: &mut Value) {
    let template = object.object("spec").object("jobTemplate").object("spec").object("template");
    pod::drop_disabled(template.object("spec"));
}

fn defaults(object: &mut Value) {
    form::settle("batch/v1", "CronJob", object);
    let spec = object.object("spec");
    job::pod_defaults(spec.object("jobTemplate").object("spec"));
    spec.fill("concurrencyPolicy", "Allow");
    for (key, value) in [
        ("suspend", json!(false)),
        ("successfulJobsHistoryLimit", json!(3)),
        ("failedJobsHistoryLimit", json!(1)),
    ] {
        if spec.part(key).is_none() {
            spec.put(key, value);
        }
    }
}

fn spec(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let field = Path::new("spec");
    let mut wrong = Vec::new();
    let schedule = spec.text("schedule");
    if schedule.is_empty() {
        wrong.push(FieldError::required(&field.child("schedule"), ""));
    } else {
        let zoned = old.is_some_and(|old| old.text("schedule").contains("TZ"));
        wrong.extend(self::schedule(spec, schedule, zoned, &field.child("schedule")));
    }
    let deadline = spec.int("startingDeadlineSeconds");
    wrong.extend(nonnegative(deadline, &field.child("startingDeadlineSeconds")));
    let zone = spec.text_opt("timeZone");
    if old.is_none_or(|old| old.text_opt("timeZone") != zone) {
        wrong.extend(zone.into_iter().flat_map(|zone| time_zone(zone, &field.child("timeZone"))));
    }
    wrong.extend(choice(spec, "concurrencyPolicy", &["Allow", "Forbid", "Replace"], &field));
    let (job, at) = (
        spec.get_or_null("jobTemplate").get_or_null("spec"),
        field.child("jobTemplate").child("spec"),
    );
    wrong.extend(job::spec(job, &at));
    if let Some(selector) = job.part("selector") {
        wrong.push(FieldError::invalid_shown(
            &at.child("selector"),
            shown_selector(Some(selector)),
            "`selector` will be auto-generated",
        ));
    }
    if job.flag("manualSelector") {
        wrong.push(FieldError::not_supported(
            &at.child("manualSelector"),
            &Value::from(true),
            &["nil", "false"],
        ));
    }
    for key in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        wrong.extend(nonnegative(spec.int(key), &field.child(key)));
    }
    wrong
}

fn schedule(spec: &Value, schedule: &str, zoned: bool, field: &Path) -> Vec<FieldError> {
    let refuse = |detail: String| FieldError::invalid(field, &Value::from(schedule), detail);
    let mut wrong: Vec<FieldError> = cron::fault(schedule).map(refuse).into_iter().collect();
    if schedule.contains("TZ") {
        if !zoned {
            wrong.push(refuse(
                "cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned(),
            ));
        } else if spec.part("timeZone").is_some() {
            wrong.push(refuse(
                "cannot use both timeZone field and TZ or CRON_TZ in schedule".to_owned(),
            ));
        }
    }
    wrong
}

fn time_zone(zone: &str, field: &Path) -> Vec<FieldError> {
    let refuse = |detail: String| FieldError::invalid(field, &Value::from(zone), detail);
    if zone.is_empty() {
        return vec![refuse("timeZone must be nil or non-empty string".to_owned())];
    }
    let fits = |part: &str| {
        (1..=14).contains(&part.len())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || ".-_+".contains(c))
            && part != "."
            && part != ".."
            && !part.starts_with('-')
    };
    if !zone.split('/').all(fits) {
        return vec![refuse(format!("unknown time zone {zone}"))];
    }
    let mut wrong = Vec::new();
    if zone.eq_ignore_ascii_case("local") {
        wrong.push(refuse(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
                .to_owned(),
        ));
    }
    wrong.extend(cron::zone_fault(zone).map(refuse));
    wrong
}
