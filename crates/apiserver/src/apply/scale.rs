//! Ownership of the replica count, seen from the Scale of an object and from the object itself.

use serde_json::Value;

use super::fieldset::{FieldSet, PathElement};
use super::manager::{Entry, Managed};

/// The `managedFields` of the Scale of an object: who owns the replica count.
///
/// `replicas` is where the object keeps the count (`["spec", "replicas"]`).
pub fn scale_entries(parent: &Value, replicas: &[&str]) -> Option<Value> {
    let path = elements(replicas);
    let mut out = Managed::default();
    for (id, entry) in Managed::of(parent).unwrap_or_default().0 {
        if entry.set.has(&path) {
            let set = FieldSet::of_fields(&[&["spec", "replicas"]]);
            let entry = Entry { set, api_version: "autoscaling/v1".to_owned(), time: entry.time };
            out.0.insert(id, entry);
        }
    }
    out.encode()
}

/// The `managedFields` of the object after its Scale was written with these ones.
pub fn parent_entries(
    parent: &Value,
    scale: &Value,
    replicas: &[&str],
    api_version: &str,
) -> Option<Value> {
    let path = elements(replicas);
    let own = Managed::of(parent).unwrap_or_default().0;
    let mut scaled = Managed::of(scale).unwrap_or_default().0;
    let mut out = Managed::default();
    for (id, entry) in &own {
        if !entry.set.has(&path) || scaled.remove(id).is_some() {
            out.0.insert(id.clone(), entry.clone());
            continue;
        }
        let mut count = FieldSet::default();
        count.insert(&path);
        let set = entry.set.difference(&count);
        if !set.is_empty() {
            out.0.insert(id.clone(), Entry { set, ..entry.clone() });
        }
    }
    let in_scale = elements(&["spec", "replicas"]);
    for (id, entry) in scaled {
        if !entry.set.has(&in_scale) {
            continue;
        }
        let mut set = FieldSet::default();
        set.insert(&path);
        let time = own.get(&id).and_then(|entry| entry.time.clone());
        out.0.insert(id, Entry { set, api_version: api_version.to_owned(), time });
    }
    out.encode()
}

fn elements(path: &[&str]) -> Vec<PathElement> {
    path.iter().map(|name| PathElement::field(*name)).collect()
}
