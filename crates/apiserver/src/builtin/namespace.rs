//! Namespace.

use serde_json::{Value, json};

use super::view::{object, restore, text};
use super::{Strategy, form};

/// The rules of Namespace.
pub const NAMESPACE: Strategy = Strategy {
    defaults: |namespace| {
        form::settle("v1", "Namespace", namespace);
        label(namespace);
    },
    prepare_create: |namespace| {
        label(namespace);
        object(namespace, "").insert("status".into(), json!({ "phase": "Active" }));
        let spec = object(namespace, "spec");
        let finalizers = spec.entry("finalizers").or_insert(json!([]));
        if let Value::Array(list) = finalizers
            && !list.iter().any(|finalizer| finalizer == "kubernetes")
        {
            list.push(json!("kubernetes"));
        }
    },
    // Finalizers go through /finalize, the phase through /status.
    prepare_update: |new, old| {
        label(new);
        restore(new, old, "spec");
        restore(new, old, "status");
    },
    ..Strategy::PLAIN
};

/// Every namespace carries its name as a label, so that selectors can name it.
fn label(namespace: &mut Value) {
    let name = text(namespace, "metadata.name").to_owned();
    if !name.is_empty() {
        object(namespace, "metadata.labels")
            .insert("kubernetes.io/metadata.name".into(), json!(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_a_label_that_comes_back() {
        let mut made = json!({"metadata": {"name": "a"}, "status": {"phase": "Terminating"}});
        (NAMESPACE.defaults)(&mut made);
        (NAMESPACE.prepare_create)(&mut made);
        assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], "a");
        assert_eq!(made["spec"], json!({"finalizers": ["kubernetes"]}));
        assert_eq!(made["status"], json!({"phase": "Active"}));
        let mut changed = json!({"metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "b", "x": "y"}}});
        (NAMESPACE.prepare_update)(&mut changed, &made);
        assert_eq!(
            changed["metadata"]["labels"],
            json!({"kubernetes.io/metadata.name": "a", "x": "y"})
        );
        assert_eq!(changed["spec"], made["spec"]);
        assert_eq!(changed["status"], made["status"]);
    }
}
