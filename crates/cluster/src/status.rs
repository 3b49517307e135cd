//! Conditions as kstatus reads them, and writing a status only when it says something new.

use std::fmt::Debug;

use holdfast_api::condition::{ConditionStatus, ConditionType};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::apply::{Manager, apply_status};
use crate::call::CallError;
use crate::clock::{Clock, time};

/// How an object stands, in the words of kstatus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is as its spec asks.
    Ready,
    /// It is on the way there.
    Reconciling,
    /// It is not, and may become so by itself: something that it needs has not arrived.
    NotReady,
    /// It is not, and only a change by a person helps.
    Stalled,
    /// It could not be found out.
    Unknown,
}

/// Brings conditions to a standing. `reason` is for programs, `message` for people. Conditions of
/// other types stay; times move only when a value changes.
pub fn stand(
    conditions: &mut Vec<Condition>,
    standing: Standing,
    reason: &'static str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) {
    let ready = match standing {
        Standing::Ready => ConditionStatus::True,
        Standing::Reconciling | Standing::Unknown => ConditionStatus::Unknown,
        Standing::NotReady | Standing::Stalled => ConditionStatus::False,
    };
    set(conditions, ConditionType::Ready.name(), ready, reason, message, generation, now);
    for (kind, holds) in [
        (ConditionType::Reconciling, standing == Standing::Reconciling),
        (ConditionType::Stalled, standing == Standing::Stalled),
    ] {
        if holds {
            let holds = ConditionStatus::True;
            set(conditions, kind.name(), holds, reason, message, generation, now);
        } else {
            conditions.retain(|condition| condition.type_ != kind.name());
        }
    }
}

/// Sets one condition. Its transition time moves only if its value does.
pub fn set(
    conditions: &mut Vec<Condition>,
    kind: &str,
    status: ConditionStatus,
    reason: &'static str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) {
    let before = conditions.iter().position(|condition| condition.type_ == kind);
    let since = match before.map(|at| &conditions[at]) {
        Some(condition) if condition.status == status.name() => {
            condition.last_transition_time.clone()
        }
        _ => time(now),
    };
    let condition = Condition {
        type_: kind.to_owned(),
        status: status.name().to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: since,
    };
    match before {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

/// Writes the part of an object's status that is `manager`'s. Fields that are left out stay with
/// whoever wrote them; those that the manager wrote before are removed.
pub async fn write<K>(
    clock: &dyn Clock,
    api: &Api<K>,
    object: &K,
    manager: Manager,
    status: &Value,
) -> Result<K, CallError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let name = object.name_any();
    let mut body = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "name": name },
        "status": status,
    });
    // An object of the same name that came later must not get the status of the one that was seen.
    if let Some(uid) = object.uid() {
        body["metadata"]["uid"] = json!(uid);
    }
    apply_status(clock, api, &name, manager, &body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn shown(conditions: &[Condition]) -> Vec<String> {
        conditions
            .iter()
            .map(|c| {
                let since = c.last_transition_time.0.as_second();
                format!("{}={} {} since {since}", c.type_, c.status, c.reason)
            })
            .collect()
    }

    #[test]
    fn times_move_only_with_values() {
        let mut conditions = Vec::new();
        stand(&mut conditions, Standing::NotReady, "SourceNotFound", "", Some(1), at(10));
        stand(&mut conditions, Standing::NotReady, "SecretNotFound", "", Some(2), at(20));
        assert_eq!(shown(&conditions), ["Ready=False SecretNotFound since 10"]);
        assert_eq!(conditions[0].observed_generation, Some(2));
        stand(&mut conditions, Standing::Ready, "Resolved", "", Some(2), at(30));
        assert_eq!(shown(&conditions), ["Ready=True Resolved since 30"]);
    }

    #[test]
    fn the_three_conditions_follow_kstatus() {
        let mut conditions = Vec::new();
        set(&mut conditions, "Other", ConditionStatus::True, "Kept", "", None, at(1));
        stand(&mut conditions, Standing::Reconciling, "Progressing", "", None, at(2));
        assert_eq!(
            shown(&conditions),
            [
                "Other=True Kept since 1",
                "Ready=Unknown Progressing since 2",
                "Reconciling=True Progressing since 2",
            ]
        );
        stand(&mut conditions, Standing::Stalled, "BranchNotAllowed", "", None, at(3));
        assert_eq!(
            shown(&conditions),
            [
                "Other=True Kept since 1",
                "Ready=False BranchNotAllowed since 3",
                "Stalled=True BranchNotAllowed since 3",
            ]
        );
        stand(&mut conditions, Standing::Ready, "Resolved", "", None, at(4));
        assert_eq!(shown(&conditions), ["Other=True Kept since 1", "Ready=True Resolved since 4"]);
    }
}
