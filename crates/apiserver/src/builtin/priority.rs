//! What every cluster adds to pods: a priority, patience with nodes that are lost, and what their
//! runtime needs.

use serde_json::{Value, json};

use super::classes::SYSTEM_PRIORITIES;
use super::value::{Fields as _, Fill as _, same};

/// Priority of pods without a class.
const NONE: i64 = 0;

/// Gives a pod its priority and tolerations. `classes` are the cluster's PriorityClasses; an error is
/// the reason for which the pod is forbidden.
pub fn pod(new: &mut Value, old: Option<&Value>, classes: &[&Value]) -> Result<(), String> {
    let spec = new.object("spec");
    match old.map(|old| old.get_or_null("spec")) {
        None => priority(spec, classes)?,
        Some(before) => {
            for key in ["priority", "preemptionPolicy"] {
                if let Some(value) = before.part(key)
                    && spec.part(key).is_none()
                {
                    spec.put(key, value.clone());
                }
            }
        }
    }
    tolerate_node_failures(spec);
    Ok(())
}

/// Refuses a second default among PriorityClasses.
pub fn only_one_default(class: &Value, classes: &[&Value]) -> Result<(), String> {
    let name = |class: &'_ Value| class.get_or_null("metadata").text("name").to_owned();
    let other = classes.iter().find(|c| c.flag("globalDefault") && name(c) != name(class));
    match other {
        Some(other) if class.flag("globalDefault") => Err(format!(
            "PriorityClass {} is already marked as default. Only one default can exist",
            name(other)
        )),
        _ => Ok(()),
    }
}

/// A pod has the priority of its class, of the default class, or none.
fn priority(spec: &mut Value, classes: &[&Value]) -> Result<(), String> {
    let asked = spec.text("priorityClassName").to_owned();
    let name = |class: &Value| class.get_or_null("metadata").text("name").to_owned();
    let (found, value, policy) = if asked.is_empty() {
        let default =
            classes.iter().filter(|c| c.flag("globalDefault")).min_by_key(|c| c.int("value"));
        match default {
            Some(class) => (name(class), class.int("value"), preemption(class)),
            None => (String::new(), NONE, "PreemptLowerPriority".to_owned()),
        }
    } else if let Some(class) = classes.iter().find(|c| name(c) == asked) {
        (asked, class.int("value"), preemption(class))
    } else if let Some((_, value, _)) = SYSTEM_PRIORITIES.iter().find(|s| s.0 == asked) {
        (asked, *value, "PreemptLowerPriority".to_owned())
    } else {
        return Err(format!("no PriorityClass with name {asked} was found"));
    };
    if !found.is_empty() {
        spec.put("priorityClassName", found);
    }
    if let Some(said) = spec.int_opt("priority").filter(|said| *said != value) {
        return Err(format!(
            "the integer value of priority ({said}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        ));
    }
    spec.put("priority", value);
    if let Some(said) = spec.text_opt("preemptionPolicy").filter(|said| *said != policy) {
        return Err(format!(
            "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        ));
    }
    spec.put("preemptionPolicy", policy);
    Ok(())
}

fn preemption(class: &Value) -> String {
    match class.text("preemptionPolicy") {
        "" => "PreemptLowerPriority".to_owned(),
        policy => policy.to_owned(),
    }
}

/// Pods stay for five minutes on a node that is lost, unless they say otherwise.
fn tolerate_node_failures(spec: &mut Value) {
    for taint in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = spec.list("tolerations").iter().any(|t| {
            matches!(t.text("key"), key if key == taint || key.is_empty())
                && matches!(t.text("effect"), "NoExecute" | "")
        });
        if !tolerated {
            let mut all = spec.list("tolerations").to_vec();
            all.push(json!({
                "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
            spec.put("tolerations", all);
        }
    }
}

/// A new pod has the overhead of its RuntimeClass and goes where that runs.
pub fn runtime(new: &mut Value, classes: &[&Value]) -> Result<(), String> {
    let spec = new.object("spec");
    let Some(name) = spec.text_opt("runtimeClassName").map(str::to_owned) else {
        return match spec.part("overhead") {
            None => Ok(()),
            Some(_) => Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead".to_owned()),
        };
    };
    let class = classes.iter().find(|c| c.get_or_null("metadata").text("name") == name);
    let Some(class) = class else {
        return Err(format!("pod rejected: RuntimeClass {name:?} not found"));
    };
    let said = spec.part("overhead").cloned();
    match class.get_or_null("overhead").part("podFixed") {
        Some(fixed) => {
            if said.is_some_and(|said| !same(&said, fixed)) {
                return Err(
                    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
                        .to_owned(),
                );
            }
            spec.put("overhead", fixed.clone());
        }
        None if said.is_some() => {
            return Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead".to_owned());
        }
        None => {}
    }
    let Some(scheduling) = class.part("scheduling") else { return Ok(()) };
    for (key, value) in scheduling.entries("nodeSelector").into_iter().flatten() {
        let own = spec.get_or_null("nodeSelector").text_opt(key).map(str::to_owned);
        if let Some(own) = own.filter(|own| Some(own.as_str()) != value.as_str()) {
            let wanted = value.as_str().unwrap_or_default();
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {own}"
            ));
        }
        spec.object("nodeSelector").put(key, value.clone());
    }
    let mut all = spec.list("tolerations").to_vec();
    for toleration in scheduling.list("tolerations") {
        if !all.contains(toleration) {
            all.push(toleration.clone());
        }
    }
    if !all.is_empty() {
        spec.put("tolerations", all);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_get_a_priority_and_tolerations() {
        let mut pod = json!({"spec": {}});
        assert_eq!(super::pod(&mut pod, None, &[]), Ok(()));
        assert_eq!(pod["spec"]["priority"], 0);
        assert_eq!(pod["spec"]["preemptionPolicy"], "PreemptLowerPriority");
        assert_eq!(pod["spec"]["tolerations"].as_array().map(Vec::len), Some(2));
        let class = json!({"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"});
        let mut pod =
            json!({"spec": {"priorityClassName": "high", "tolerations": [{"operator": "Exists"}]}});
        assert_eq!(super::pod(&mut pod, None, &[&class]), Ok(()));
        assert_eq!(pod["spec"]["priority"], 7);
        assert_eq!(pod["spec"]["preemptionPolicy"], "Never");
        assert_eq!(pod["spec"]["tolerations"].as_array().map(Vec::len), Some(1));
        let mut pod = json!({"spec": {"priorityClassName": "none"}});
        assert_eq!(
            super::pod(&mut pod, None, &[]),
            Err("no PriorityClass with name none was found".to_owned())
        );
    }
}
