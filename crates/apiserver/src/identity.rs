//! Who asks.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The caller of a request, as authentication found it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// `alice`, `system:serviceaccount:flux-system:kustomize-controller`
    pub name: String,
    /// uid, often empty.
    pub uid: String,
    /// Groups; `system:masters` may do everything.
    pub groups: Vec<String>,
    /// Whatever else authentication knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A member of `system:masters`.
    pub fn admin(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
            ..Self::default()
        }
    }

    /// An ordinary user, who may do what RBAC says.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            groups: vec!["system:authenticated".into()],
            ..Self::default()
        }
    }

    /// A service account, `namespace` and `name` apart.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".into(),
            ],
            ..Self::default()
        }
    }

    /// Who did not say.
    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".into(),
            groups: vec!["system:unauthenticated".into()],
            ..Self::default()
        }
    }

    /// Whether RBAC is not asked.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == "system:masters")
    }

    /// `userInfo` of an admission review.
    pub fn info(&self) -> Value {
        let mut info = json!({ "username": self.name, "groups": self.groups });
        if let Some(map) = info.as_object_mut() {
            if !self.uid.is_empty() {
                map.insert("uid".into(), Value::from(self.uid.as_str()));
            }
            if !self.extra.is_empty() {
                map.insert("extra".into(), json!(self.extra));
            }
        }
        info
    }
}
