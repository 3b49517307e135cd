//! Whether an object is where it should be, judged from its status alone.

use serde_json::Value;

/// How an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// As it should be.
    Current,
    /// On its way.
    InProgress,
    /// It will not get there.
    Failed(String),
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == kind)
}

fn says(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind).is_some_and(|c| c["status"] == status)
}

/// Judges an object as the API server shows it.
pub fn of(object: &Value) -> Health {
    let seen = &object["status"]["observedGeneration"];
    if !object["metadata"]["deletionTimestamp"].is_null()
        || (seen.is_number() && *seen != object["metadata"]["generation"])
    {
        return Health::InProgress;
    }
    let status = &object["status"];
    let count = |field: &str| status[field].as_i64().unwrap_or_default();
    let wanted = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let done = |done: bool| if done { Health::Current } else { Health::InProgress };
    match object["kind"].as_str().unwrap_or_default() {
        "Deployment" => {
            let progressing = condition(object, "Progressing");
            if progressing.is_some_and(|c| c["reason"] == "ProgressDeadlineExceeded") {
                return Health::Failed("Progress deadline exceeded".into());
            }
            done(
                seen.is_number()
                    && count("updatedReplicas") >= wanted
                    && count("replicas") <= count("updatedReplicas")
                    && count("availableReplicas") >= wanted
                    && count("readyReplicas") >= wanted,
            )
        }
        "StatefulSet" => done(
            seen.is_number()
                && count("readyReplicas") >= wanted
                && count("replicas") == wanted
                && status["currentRevision"] == status["updateRevision"],
        ),
        "ReplicaSet" => done(
            seen.is_number() && count("replicas") == wanted && count("readyReplicas") >= wanted,
        ),
        "DaemonSet" => done(
            seen.is_number()
                && count("updatedNumberScheduled") >= count("desiredNumberScheduled")
                && count("numberReady") >= count("desiredNumberScheduled"),
        ),
        "Job" => {
            if says(object, "Failed", "True") {
                return Health::Failed("Job failed".into());
            }
            done(says(object, "Complete", "True"))
        }
        "PersistentVolumeClaim" => done(status["phase"] == "Bound"),
        "Pod" => match status["phase"].as_str() {
            Some("Succeeded") => Health::Current,
            Some("Failed") => Health::Failed("Pod failed".into()),
            _ => done(says(object, "Ready", "True")),
        },
        "CustomResourceDefinition" => done(says(object, "Established", "True")),
        _ => {
            if says(object, "Stalled", "True") {
                let why = condition(object, "Stalled").and_then(|c| c["message"].as_str());
                return Health::Failed(why.unwrap_or_default().to_owned());
            }
            match condition(object, "Ready") {
                Some(ready) => done(ready["status"] == "True"),
                // Flux's own kinds say how they are once they have been looked at.
                None => done(
                    !object["apiVersion"]
                        .as_str()
                        .is_some_and(|version| version.contains(".toolkit.fluxcd.io/")),
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_deployment_at_zero_is_current_and_an_unavailable_one_is_not() {
        let mut deployment = json!({
            "kind": "Deployment", "metadata": {"generation": 2}, "spec": {"replicas": 1},
            "status": {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1},
        });
        assert_eq!(of(&deployment), Health::InProgress);
        deployment["spec"]["replicas"] = json!(0);
        deployment["status"] = json!({"observedGeneration": 2});
        assert_eq!(of(&deployment), Health::Current);
        deployment["metadata"]["generation"] = json!(3);
        assert_eq!(of(&deployment), Health::InProgress);
    }

    #[test]
    fn kinds_without_conditions_are_current() {
        assert_eq!(of(&json!({"kind": "ConfigMap", "apiVersion": "v1"})), Health::Current);
        let fresh =
            json!({"kind": "Kustomization", "apiVersion": "kustomize.toolkit.fluxcd.io/v1"});
        assert_eq!(of(&fresh), Health::InProgress);
    }
}
