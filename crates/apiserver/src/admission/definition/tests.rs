use serde_json::Value;

use super::*;

/// Definitions with what kube-apiserver 1.36.3 said to each; empty where it took them.
#[test]
fn bad_definitions_are_refused_in_the_servers_words() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("refusals.json")).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let kind = case["kind"].as_str().unwrap();
        let mut said: Vec<String> = Vec::new();
        for error in validate_policy(kind, &case["object"]) {
            let text = error.to_string();
            if !said.contains(&text) {
                said.push(text);
            }
        }
        let expected = case["message"].as_str().unwrap();
        if said.join(", ") != expected {
            wrong.push(format!(
                "{}\n  is: {}\n  should: {expected}",
                case["object"],
                said.join(", ")
            ));
        }
    }
    assert!(cases.len() > 80);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn unchanged_conditions_are_not_compiled_again() {
    let policy = |name: &str| {
        serde_json::json!({
            "metadata": { "name": name },
            "spec": {
                "matchConstraints": { "resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["*"],
                }] },
                "matchConditions": [{ "name": "a", "expression": "nonsense" }],
                "validations": [{ "expression": "true" }],
            },
        })
    };
    assert_eq!(validate_policy("ValidatingAdmissionPolicy", &policy("p")).len(), 1);
    let kept = validate_policy_update("ValidatingAdmissionPolicy", &policy("p"), &policy("p"));
    assert_eq!(kept, []);
}
