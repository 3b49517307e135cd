//! How well a pod is treated when resources run out.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::builtin::value::Fields as _;
use crate::quantity::Quantity;

/// `Guaranteed`, `Burstable` or `BestEffort`, from requests and limits of processor and memory.
pub fn class(spec: &Value) -> &'static str {
    let mut requests = BTreeMap::new();
    let mut limits = BTreeMap::new();
    let mut guaranteed = true;
    if let Some(resources) = spec.part("resources") {
        add(&mut requests, resources.get_or_null("requests"));
        add(&mut limits, resources.get_or_null("limits"));
        let any_limit = resources.entries("limits").is_some_and(|m| !m.is_empty());
        if any_limit && limits.len() < 2 {
            guaranteed = false;
        }
    } else {
        for list in ["containers", "initContainers"] {
            for container in spec.list(list) {
                let resources = container.get_or_null("resources");
                add(&mut requests, resources.get_or_null("requests"));
                let mut own = BTreeMap::new();
                add(&mut own, resources.get_or_null("limits"));
                add(&mut limits, resources.get_or_null("limits"));
                guaranteed &= own.len() == 2;
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let met = requests.iter().all(|(name, request)| limits.get(name) == Some(request));
    if guaranteed && met && requests.len() == limits.len() { "Guaranteed" } else { "Burstable" }
}

fn add(sum: &mut BTreeMap<String, Quantity>, amounts: &Value) {
    for name in ["cpu", "memory"] {
        let amount = amounts.get(name).and_then(Quantity::read);
        if let Some(amount) = amount.filter(|a| *a > Quantity::ZERO) {
            let total = sum.get(name).map_or_else(|| amount.clone(), |s| s.plus(&amount));
            sum.insert(name.to_owned(), total);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn classes_follow_requests_and_limits() {
        let one = |resources: Value| class(&json!({"containers": [{"resources": resources}]}));
        assert_eq!(one(json!({})), "BestEffort");
        assert_eq!(one(json!({"requests": {"cpu": "1"}})), "Burstable");
        assert_eq!(
            one(
                json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1Gi"}})
            ),
            "Guaranteed"
        );
        assert_eq!(one(json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})), "Burstable");
    }
}
