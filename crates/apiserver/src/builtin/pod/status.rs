//! What may change in a pod's status.

use serde_json::Value;

use super::annotations;
use crate::builtin::format::{dns_subdomain, invalid_each, ip_address, qualified_name};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

/// Checks a change of a pod's status.
pub fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut wrong = annotations::update(new, old, &Path::new("metadata.annotations"));
    let at = Path::new("status");
    let (now, before) = (new.get_or_null("status"), old.get_or_null("status"));
    let spec = old.get_or_null("spec");
    for (index, condition) in now.list("conditions").iter().enumerate() {
        let field = at.child("conditions").index(index);
        let generation = condition.int("observedGeneration");
        if generation < 0 {
            wrong.push(FieldError::invalid(
                &field.child("observedGeneration"),
                &Value::from(generation),
                "must be a non-negative integer",
            ));
        }
        let kind = condition.text("type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            wrong.extend(invalid_each(&field.child("Type"), kind, qualified_name(kind)));
        }
    }
    let field = at.child("nominatedNodeName");
    let nominated = now.text("nominatedNodeName");
    if nominated != before.text("nominatedNodeName") && !nominated.is_empty() {
        wrong.extend(invalid_each(&field, nominated, dns_subdomain(nominated)));
        if !spec.text("nodeName").is_empty() {
            wrong.push(FieldError::forbidden(
                &field,
                "may not be set on pods that are already bound to a node",
            ));
        }
    }
    if now.int("observedGeneration") < 0 {
        wrong.push(FieldError::invalid(
            &at.child("observedGeneration"),
            now.get_or_null("observedGeneration"),
            "must be a non-negative integer",
        ));
    }
    let class = match now.text("qosClass") {
        "" => before.text("qosClass"),
        class => class,
    };
    if class != before.text("qosClass") {
        wrong.push(FieldError::invalid(
            &at.child("qosClass"),
            &Value::from(class),
            "field is immutable",
        ));
    }
    for (list, containers) in
        [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")]
    {
        if !all_could_restart(spec) {
            wrong.extend(revived(now, before, list, &at, |name, code| {
                let container = spec.list(containers).iter().find(|c| c.text("name") == name);
                container.is_some_and(|c| restarts(c, spec, code))
            }));
        }
    }
    wrong.extend(revived(now, before, "ephemeralContainerStatuses", &at, |_, _| false));
    wrong.extend(addresses(now, before, &at));
    wrong
}

/// Containers that had ended and run again although they must not.
fn revived(
    now: &Value,
    before: &Value,
    list: &str,
    at: &Path,
    may: impl Fn(&str, i64) -> bool,
) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for (index, old) in before.list(list).iter().enumerate() {
        let Some(end) = old.get_or_null("state").part("terminated") else { continue };
        let name = old.text("name");
        let runs = now.list(list).iter().any(|new| {
            new.text("name") == name && new.get_or_null("state").part("terminated").is_none()
        });
        if runs && !may(name, end.int("exitCode")) {
            wrong.push(FieldError::forbidden(
                &at.child(list).index(index).child("state"),
                "may not be transitioned to non-terminated state",
            ));
        }
    }
    wrong
}

fn all_could_restart(spec: &Value) -> bool {
    ["initContainers", "containers"].iter().flat_map(|list| spec.list(list)).any(|container| {
        container
            .list("restartPolicyRules")
            .iter()
            .any(|rule| rule.text("action") == "RestartAllContainers")
    })
}

/// Whether a container starts again after it ended with a code.
fn restarts(container: &Value, spec: &Value, code: i64) -> bool {
    let own = container.text_opt("restartPolicy");
    if own.is_some() {
        let hit = container.list("restartPolicyRules").iter().any(|rule| {
            let codes = rule.get_or_null("exitCodes");
            let among = codes.list("values").iter().any(|v| v.as_i64() == Some(code));
            among == (codes.text("operator") == "In")
        });
        if hit {
            return true;
        }
    }
    match own.unwrap_or(spec.text("restartPolicy")) {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

fn addresses(now: &Value, before: &Value, at: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let hosts = now.list("hostIPs");
    if let Some(first) = hosts.first()
        && now.text("hostIP") != first.text("ip")
    {
        wrong.push(FieldError::invalid(
            &at.child("hostIPs").index(0).child("ip"),
            &Value::from(first.text("ip")),
            "must be equal to `hostIP`",
        ));
    }
    for list in ["podIPs", "hostIPs"] {
        let known: Vec<&str> = before.list(list).iter().map(|ip| ip.text("ip")).collect();
        for (index, address) in now.list(list).iter().enumerate() {
            let address = address.text("ip");
            if !known.contains(&address) {
                wrong.extend(ip_address(&at.child(list).index(index), address));
            }
        }
        let families: Vec<bool> =
            now.list(list).iter().map(|ip| ip.text("ip").contains(':')).collect();
        let dual = families.contains(&true) && families.contains(&false);
        if families.len() > 1 && (!dual || families.len() > 2) {
            let shown: Vec<String> = now
                .list(list)
                .iter()
                .map(|ip| format!("{{\"IP\":{}}}", crate::builtin::form::quoted(ip.text("ip"))))
                .collect();
            wrong.push(FieldError::invalid_shown(
                &at.child(list),
                format!("[{}]", shown.join(",")),
                "may specify no more than one IP for each IP family",
            ));
        }
    }
    wrong
}
