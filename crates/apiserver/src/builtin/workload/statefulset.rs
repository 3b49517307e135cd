//! StatefulSets.

use serde_json::{Map, Value, json};

use super::{
    collisions, drop_disabled, fresh_status, keep_status, mismatch, pod_warnings,
    required_selector, runs_forever, shown_selector, status_counts,
};
use crate::builtin::format::{dns_label, invalid_each};
use crate::builtin::pod::{self, nonnegative};
use crate::builtin::value::{Fields as _, Fill as _, same};
use crate::builtin::{Generation, Strategy, claim, form, labels, share};
use crate::fields::{FieldError, Path};

/// What may change in the spec of a StatefulSet.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// The rules of StatefulSets.
pub const STATEFUL_SET: Strategy = Strategy {
    defaults,
    prepare_create: |object| {
        fresh_status(object, "apps/v1.StatefulSetStatus");
        drop_fields(object);
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        drop_fields(new);
    },
    validate: |object| spec(object.get_or_null("spec"), &Path::new("spec"), true, true),
    validate_update: |new, old| {
        let (now, before) = (new.get_or_null("spec"), old.get_or_null("spec"));
        let sound = spec(before, &Path::root(), false, true).is_empty();
        let mut wrong = spec(now, &Path::new("spec"), false, sound);
        let mut masked = now.clone();
        for key in MUTABLE {
            match before.get(key) {
                Some(value) => masked.put(key, value.clone()),
                None => masked.drop_field(key),
            }
        }
        if !same(&masked, before) {
            wrong.push(FieldError::forbidden(
                &Path::new("spec"),
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
            ));
        }
        wrong
    },
    validate_status: |new, old| {
        let (now, before) = (new.get_or_null("status"), old.get_or_null("status"));
        let mut wrong = status_counts(
            now,
            &[
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "observedGeneration",
                "collisionCount",
            ],
            &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
            "status.readyReplicas",
        );
        wrong.extend(collisions(now, before));
        wrong
    },
    warnings: |object, old| {
        let mut said = pod_warnings(object, old, false);
        let spec = object.get_or_null("spec");
        for (index, claim) in spec.list("volumeClaimTemplates").iter().enumerate() {
            let field = Path::new("spec.volumeClaimTemplates").index(index);
            said.extend(pod::claim_warnings(claim.get_or_null("spec"), &field));
        }
        if spec.int("revisionHistoryLimit") < 0 {
            said.push("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended".to_owned());
        }
        said
    },
    revalidate: false,
    generation: Generation::Spec,
    ..Strategy::PLAIN
};

fn drop_fields(object: &mut Value) {
    drop_disabled(object);
    let strategy = object.object("spec").object("updateStrategy");
    if let Some(rolling) = strategy.part_mut("rollingUpdate") {
        rolling.drop_field("maxUnavailable");
    }
}

fn defaults(object: &mut Value) {
    form::settle("apps/v1", "StatefulSet", object);
    let spec = object.object("spec");
    pod::defaults::template(spec.object("template"));
    for claim in spec.items_mut("volumeClaimTemplates") {
        claim.fill("apiVersion", "v1");
        claim.fill("kind", "PersistentVolumeClaim");
        pod::defaults::claim_spec(claim.object("spec"));
        claim.object("status").fill("phase", "Pending");
    }
    spec.fill("podManagementPolicy", "OrderedReady");
    let strategy = spec.object("updateStrategy");
    if strategy.text("type").is_empty() {
        strategy.put("type", "RollingUpdate");
        strategy.object("rollingUpdate");
    }
    if strategy.text("type") == "RollingUpdate"
        && let Some(rolling) = strategy.part_mut("rollingUpdate")
        && rolling.int_opt("partition").is_none()
    {
        rolling.put("partition", 0);
    }
    let retention = spec.object("persistentVolumeClaimRetentionPolicy");
    retention.fill("whenDeleted", "Retain");
    retention.fill("whenScaled", "Retain");
    for (key, value) in [("replicas", 1), ("revisionHistoryLimit", 10)] {
        if spec.int_opt(key).is_none() {
            spec.put(key, value);
        }
    }
}

/// `fresh`: also judge what cannot change any more; `template`: judge the template's inside.
fn spec(spec: &Value, field: &Path, fresh: bool, template: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let policy = spec.text("podManagementPolicy");
    match policy {
        "OrderedReady" | "Parallel" => {}
        "" => wrong.push(FieldError::required(&field.child("podManagementPolicy"), "")),
        _ => wrong.push(FieldError::invalid(
            &field.child("podManagementPolicy"),
            &Value::from(policy),
            "must be 'OrderedReady' or 'Parallel'",
        )),
    }
    wrong.extend(strategy(spec.get_or_null("updateStrategy"), &field.child("updateStrategy")));
    if let Some(retention) = spec.part("persistentVolumeClaimRetentionPolicy") {
        let field = field.child("persistentVolumeClaimRetentionPolicy");
        for key in ["whenDeleted", "whenScaled"] {
            let policy = retention.text(key);
            if !matches!(policy, "Retain" | "Delete") {
                wrong.push(FieldError::not_supported(
                    &field.child(key),
                    &Value::from(policy),
                    &["Retain", "Delete"],
                ));
            }
        }
    }
    if fresh {
        for (index, claim) in spec.list("volumeClaimTemplates").iter().enumerate() {
            let field = field.child("volumeClaimTemplates").index(index).child("spec");
            wrong.extend(claim::validate_spec(claim.get_or_null("spec"), &field));
        }
    }
    for key in ["replicas", "minReadySeconds"] {
        wrong.extend(nonnegative(spec.int(key), &field.child(key)));
    }
    if let Some(ordinals) = spec.part("ordinals") {
        wrong.extend(nonnegative(ordinals.int("start"), &field.child("ordinals.start")));
    }
    let service = spec.text("serviceName");
    if fresh && !service.is_empty() {
        wrong.extend(invalid_each(&field.child("serviceName"), service, dns_label(service)));
    }
    wrong.extend(required_selector(spec, field, "statefulset"));
    wrong.extend(pods(spec, field, template));
    wrong
}

fn pods(spec: &Value, field: &Path, inside: bool) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let selector = spec.part("selector");
    let at = field.child("template");
    if labels::selector_is_usable(selector) {
        let template = with_claims(spec);
        if !selector.is_some_and(labels::selector_is_empty) {
            wrong.extend(mismatch(selector, &template, &at));
        }
        if inside {
            wrong.extend(pod::template(&template, &at));
        }
        let meta = template.get_or_null("metadata");
        wrong.extend(labels::labels(meta.get_or_null("labels"), &at.child("labels")));
        let field = at.child("annotations");
        wrong.extend(labels::annotations(meta.get_or_null("annotations"), &field));
        wrong.extend(pod::annotations(meta, template.get_or_null("spec"), &field));
    } else {
        wrong.push(FieldError::invalid_shown(
            &field.child("selector"),
            shown_selector(selector),
            "",
        ));
    }
    wrong.extend(runs_forever(spec.get_or_null("template"), &at, "StatefulSet"));
    wrong
}

/// The template as pods will have it: claims are volumes, names come from the set.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec.get_or_null("template").clone();
    let claims: Map<String, Value> = spec
        .list("volumeClaimTemplates")
        .iter()
        .map(|claim| {
            let name = claim.get_or_null("metadata").text("name");
            let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
            (name.to_owned(), volume)
        })
        .collect();
    let pod = template.object("spec");
    pod.drop_field("subdomain");
    pod.drop_field("hostname");
    if !claims.is_empty() {
        let own = pod.list("volumes").iter().filter(|v| !claims.contains_key(v.text("name")));
        let volumes: Vec<Value> = claims.values().chain(own).cloned().collect();
        pod.put("volumes", volumes);
    }
    template
}

fn strategy(strategy: &Value, field: &Path) -> Vec<FieldError> {
    let rolling = strategy.part("rollingUpdate");
    match (strategy.text("type"), rolling) {
        ("", _) => vec![FieldError::required(field, "")],
        ("OnDelete", Some(rolling)) => vec![FieldError::invalid_shown(
            &field.child("rollingUpdate"),
            form::internal("apps.RollingUpdateStatefulSetStrategy", rolling),
            "only allowed for updateStrategy 'RollingUpdate'",
        )],
        ("RollingUpdate", Some(rolling)) => {
            let field = field.child("rollingUpdate");
            let mut wrong = Vec::new();
            wrong.extend(nonnegative(rolling.int("partition"), &field.child("partition")));
            if let Some(down) = rolling.part("maxUnavailable") {
                let field = field.child("maxUnavailable");
                wrong.extend(share::positive(down, &field));
                if share::amount(down) == 0 {
                    wrong.push(FieldError::invalid(&field, down, "cannot be 0"));
                }
                wrong.extend(share::at_most_all(down, &field));
            }
            wrong
        }
        ("OnDelete" | "RollingUpdate", None) => Vec::new(),
        _ => vec![FieldError::invalid_shown(
            field,
            form::internal("apps.StatefulSetUpdateStrategy", strategy),
            "must be 'RollingUpdate' or 'OnDelete'",
        )],
    }
}
