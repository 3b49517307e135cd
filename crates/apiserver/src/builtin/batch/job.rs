//! Jobs.

use serde_json::{Value, json};

use super::{policies, status};
use crate::builtin::format::{dns_label, domain_prefixed_path};
use crate::builtin::pod::{self, nonnegative};
use crate::builtin::value::{Fields as _, Fill as _, same};
use crate::builtin::workload::{keep_status, mismatch, name_warning, shown_selector};
use crate::builtin::{Generation, Strategy, form, labels};
use crate::fields::{FieldError, Path};

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

/// The rules of Jobs.
pub const JOB: Strategy = Strategy {
    defaults,
    prepare_create: |job| {
        generate_selector(job);
        job.put("status", json!({}));
        pod::drop_disabled(job.object("spec").object("template").object("spec"));
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        pod::drop_disabled(new.object("spec").object("template").object("spec"));
    },
    validate: |job| whole(job, true),
    validate_update: |new, old| {
        let labels = old.get_or_null("spec").get_or_null("template").get_or_null("metadata");
        let labels = labels.get_or_null("labels");
        let prefixed = labels.get(NAME_LABELS[1]).is_some() && labels.get(UID_LABELS[1]).is_some();
        let mut wrong = whole(new, prefixed);
        wrong.extend(change(new, old));
        wrong
    },
    validate_status: status::update,
    warnings: |job, old| {
        let changed = old.is_none_or(|old| !same(job.get_or_null("spec"), old.get_or_null("spec")));
        let mut said = if old.is_none() { name_warning(job) } else { Vec::new() };
        if changed {
            said.extend(spec_warnings(job.get_or_null("spec"), &Path::new("spec")));
        }
        said
    },
    revalidate: false,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn defaults(job: &mut Value) {
    form::settle("batch/v1", "Job", job);
    let spec = job.object("spec");
    pod_defaults(spec);
    if spec.int_opt("completions").is_none() && spec.int_opt("parallelism").is_none() {
        spec.put("completions", 1);
    }
    if spec.int_opt("parallelism").is_none() {
        spec.put("parallelism", 1);
    }
    if spec.int_opt("backoffLimit").is_none() {
        let limit = if spec.part("backoffLimitPerIndex").is_some() { i32::MAX } else { 6 };
        spec.put("backoffLimit", limit);
    }
    for (key, value) in [
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("manualSelector", json!(false)),
    ] {
        if spec.part(key).is_none() {
            spec.put(key, value);
        }
    }
    if spec.part("podReplacementPolicy").is_none() {
        let failing = spec.part("podFailurePolicy").is_some();
        spec.put("podReplacementPolicy", if failing { "Failed" } else { "TerminatingOrFailed" });
    }
    let labels = spec.get_or_null("template").get_or_null("metadata").get_or_null("labels").clone();
    let meta = job.object("metadata");
    if !labels.is_null() && meta.part("labels").is_none() {
        meta.put("labels", labels);
    }
}

/// What the template of a Job or CronJob defaults.
pub fn pod_defaults(spec: &mut Value) {
    pod::defaults::template(spec.object("template"));
    if let Some(policy) = spec.part_mut("podFailurePolicy") {
        for rule in policy.items_mut("rules") {
            for condition in rule.items_mut("onPodConditions") {
                condition.fill("status", "True");
            }
        }
    }
}

/// Labels of its name and uid, and a selector for the uid, unless the Job brings its own.
fn generate_selector(job: &mut Value) {
    if job.get_or_null("spec").flag("manualSelector") {
        return;
    }
    let meta = job.get_or_null("metadata");
    let (name, uid) = (meta.text("name").to_owned(), meta.text("uid").to_owned());
    let own = meta.get_or_null("labels").clone();
    let spec = job.object("spec");
    let labels = spec.object("template").object("metadata").object("labels");
    // Labels taken from the template are the template's own map inside the server.
    let shared = own == *labels && !own.is_null();
    for (keys, value) in [(NAME_LABELS, &name), (UID_LABELS, &uid)] {
        for key in keys {
            if labels.get(key).is_none() {
                labels.put(key, value.as_str());
            }
        }
    }
    let labels = labels.clone();
    let selector = spec.object("selector").object("matchLabels");
    if selector.get(UID_LABELS[1]).is_none() {
        selector.put(UID_LABELS[1], uid);
    }
    if shared {
        job.object("metadata").put("labels", labels);
    }
}

fn whole(job: &Value, prefixed: bool) -> Vec<FieldError> {
    let mut wrong = generated_selector(job, prefixed);
    let spec = job.get_or_null("spec");
    wrong.extend(with_selector(spec, &Path::new("spec")));
    let completions = spec.int("completions");
    if spec.text("completionMode") == "Indexed" && completions > 0 {
        let name = job.get_or_null("metadata").text("name");
        let last = format!("{name}-{}", completions - 1);
        if !dns_label(&last).is_empty() {
            wrong.push(FieldError::invalid(
                &Path::new("metadata.name"),
                &Value::from(name),
                format!("will not able to create pod with invalid DNS label: {last}"),
            ));
        }
    }
    wrong
}

fn generated_selector(job: &Value, prefixed: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let (meta, spec) = (job.get_or_null("metadata"), job.get_or_null("spec"));
    let Some(selector) = spec.part("selector").filter(|_| !spec.flag("manualSelector")) else {
        return wrong;
    };
    let (name, uid) = (meta.text("name"), meta.text("uid"));
    if uid.is_empty() {
        wrong.push(FieldError::required(&Path::new("metadata.uid"), ""));
    }
    let own = spec.get_or_null("template").get_or_null("metadata").get_or_null("labels");
    let at = Path::new("spec.template.metadata.labels");
    let mut expected = json!({});
    let mut keys = vec![(UID_LABELS[0], uid), (NAME_LABELS[0], name)];
    if prefixed {
        keys.extend([(UID_LABELS[1], uid), (NAME_LABELS[1], name)]);
    }
    for (key, value) in keys {
        expected.put(key, value);
        let detail = format!("must be '{value}'");
        match own.text_opt(key) {
            None => wrong.push(FieldError::required(&at.key(key), detail)),
            Some(found) if found != value => {
                wrong.push(FieldError::invalid(&at.key(key), own, detail));
            }
            Some(_) => {}
        }
    }
    if labels::selector_is_usable(Some(selector))
        && !labels::selector_matches(Some(selector), &expected)
    {
        wrong.push(FieldError::invalid_shown(
            &Path::new("spec.selector"),
            shown_selector(Some(selector)),
            "`selector` not auto-generated",
        ));
    }
    wrong
}

fn with_selector(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = self::spec(spec, field);
    let selector = spec.part("selector");
    match selector {
        None => wrong.push(FieldError::required(&field.child("selector"), "")),
        selector => wrong.extend(labels::selector(selector, &field.child("selector"))),
    }
    if labels::selector_is_usable(selector) {
        wrong.extend(mismatch(selector, spec.get_or_null("template"), &field.child("template")));
    }
    wrong
}

/// Checks a Job's spec apart from its selector.
pub fn spec(spec: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for key in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        wrong.extend(nonnegative(spec.int(key), &field.child(key)));
    }
    if spec.part("maxFailedIndexes").is_some() && spec.part("backoffLimitPerIndex").is_none() {
        wrong.push(FieldError::required(
            &field.child("backoffLimitPerIndex"),
            "when maxFailedIndexes is specified",
        ));
    }
    if let Some(manager) = spec.text_opt("managedBy") {
        wrong.extend(domain_prefixed_path(&field.child("managedBy"), manager));
        if manager.len() > 63 {
            wrong.push(FieldError::too_long(&field.child("managedBy"), 63));
        }
    }
    wrong.extend(policies::completion_mode(spec, field));
    wrong.extend(policies::failure(spec, &field.child("podFailurePolicy")));
    wrong.extend(policies::success(spec, &field.child("successPolicy")));
    wrong.extend(policies::replacement(spec, &field.child("podReplacementPolicy")));
    let template = spec.get_or_null("template");
    wrong.extend(pod::template(template, &field.child("template")));
    let policy = template.get_or_null("spec").text("restartPolicy");
    let at = field.child("template").child("spec").child("restartPolicy");
    match policy {
        "Always" | "" => {
            wrong.push(FieldError::required(&at, "valid values: \"OnFailure\", \"Never\""));
        }
        "OnFailure" if spec.part("podFailurePolicy").is_some() => {
            wrong.push(FieldError::invalid(
                &at,
                &Value::from(policy),
                "only \"Never\" is supported when podFailurePolicy is specified",
            ));
        }
        "OnFailure" | "Never" => {}
        _ => wrong.push(FieldError::not_supported(
            &at,
            &Value::from(policy),
            &["OnFailure", "Never"],
        )),
    }
    wrong
}

/// Warns of a Job's spec.
pub fn spec_warnings(spec: &Value, field: &Path) -> Vec<String> {
    let mut said = Vec::new();
    if spec.text("completionMode") == "Indexed"
        && spec.int("completions") > 100_000
        && spec.int("parallelism") > 10_000
    {
        said.push(format!(
            "{field}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
    said.extend(pod::template_warnings(spec.get_or_null("template"), &field.child("template")));
    said
}

fn change(new: &Value, old: &Value) -> Vec<FieldError> {
    let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
    let field = Path::new("spec");
    let mut wrong = with_selector(now, &field);
    wrong.extend(completions(now, before, &field));
    let stays = |key: &str, show: &dyn Fn(&Value) -> String| -> Option<FieldError> {
        let (new, old) = (now.get_or_null(key), before.get_or_null(key));
        let changed = !same(new, old) || new.is_null() != old.is_null();
        changed.then(|| {
            let shown = if new.is_null() { "null".to_owned() } else { show(new) };
            FieldError::invalid_shown(&field.child(key), shown, "field is immutable")
        })
    };
    wrong.extend(stays("selector", &|s| shown_selector(Some(s))));
    wrong.extend(template(now, before, old, &field));
    wrong.extend(stays("completionMode", &Value::to_string));
    wrong.extend(stays("podFailurePolicy", &|p| form::internal("batch.PodFailurePolicy", p)));
    wrong.extend(stays("backoffLimitPerIndex", &Value::to_string));
    wrong.extend(stays("managedBy", &Value::to_string));
    wrong.extend(stays("successPolicy", &|p| form::internal("batch.SuccessPolicy", p)));
    wrong
}

fn completions(now: &Value, before: &Value, field: &Path) -> Option<FieldError> {
    let (new, old) = (now.get_or_null("completions"), before.get_or_null("completions"));
    if same(new, old) {
        return None;
    }
    let field = field.child("completions");
    if now.text("completionMode") != "Indexed" {
        return Some(FieldError::invalid(&field, new, "field is immutable"));
    }
    (!new.is_null() && new.as_i64() != now.int_opt("parallelism")).then(|| {
        FieldError::invalid(&field, new, "can only be modified in tandem with spec.parallelism")
    })
}

/// The template stays, except for scheduling and resources while a Job is suspended and idle.
fn template(now: &Value, before: &Value, old: &Value, field: &Path) -> Option<FieldError> {
    let status = old.get_or_null("status");
    let suspended = before.flag("suspend");
    let paused = status
        .list("conditions")
        .iter()
        .any(|c| c.text("type") == "Suspended" && c.text("status") == "True");
    let open =
        suspended && (status.part("startTime").is_none() || paused) && status.int("active") == 0;
    let new = now.get_or_null("template");
    let mut allowed = before.get_or_null("template").clone();
    if !open {
        return (!same(new, &allowed)).then(|| {
            FieldError::invalid_shown(
                &field.child("template"),
                form::internal("core.PodTemplateSpec", new),
                "field is immutable",
            )
        });
    }
    let (meta, spec) = (new.get_or_null("metadata"), new.get_or_null("spec"));
    for key in ["labels", "annotations"] {
        take(allowed.object("metadata"), meta, key);
    }
    let target = allowed.object("spec");
    for key in ["nodeSelector", "tolerations", "schedulingGates"] {
        take(target, spec, key);
    }
    node_affinity(target, spec);
    for list in ["containers", "initContainers"] {
        if target.list(list).len() == spec.list(list).len() {
            for (container, wish) in target.items_mut(list).zip(spec.list(list)) {
                if container.text("name") == wish.text("name") {
                    take(container, wish, "resources");
                }
            }
        }
    }
    (!same(spec, target)).then(|| {
        FieldError::invalid_shown(
            &field.child("template.spec"),
            form::internal("core.PodSpec", spec),
            "field is immutable",
        )
    })
}

fn node_affinity(target: &mut Value, wish: &Value) {
    let node = wish.get_or_null("affinity").get_or_null("nodeAffinity").clone();
    match (wish.part("affinity").is_some(), target.part("affinity").is_some()) {
        (false, true) => {
            let affinity = target.object("affinity");
            affinity.drop_field("nodeAffinity");
            if affinity.as_object().is_some_and(serde_json::Map::is_empty) {
                target.drop_field("affinity");
            }
        }
        (true, _) => target.object("affinity").put("nodeAffinity", node),
        (false, false) => {}
    }
}

fn take(target: &mut Value, from: &Value, key: &str) {
    match from.get(key) {
        Some(value) => target.put(key, value.clone()),
        None => target.drop_field(key),
    }
}
