//! What the server does to built-in objects with a look at others: its own admission plugins, and the
//! numbers of services.

use serde_json::{Value, json};

use super::view::{at, flag, has, object, text};
use super::{numbers, priority};
use crate::quantity::Quantity;
use crate::resource::Resource;
use crate::status::Failure;

/// Other objects in the store.
pub trait Around {
    /// All objects of a built-in kind.
    fn all(&self, group: &str, plural: &str) -> Vec<Value>;
}

const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const DEFAULT_INGRESS_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";

/// Completes an object that is created (`old` is none) or updated, or refuses it.
///
/// Comes after the webhooks that mutate and before the kind's `prepare` and `validate`.
pub fn admit(
    resource: &Resource,
    old: Option<&Value>,
    new: &mut Value,
    around: &dyn Around,
) -> Result<(), Failure> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "PersistentVolumeClaim") => claim(resource, old, new, around),
        ("", "PersistentVolume") if old.is_none() => {
            protect(new, "kubernetes.io/pv-protection");
            Ok(())
        }
        ("storage.k8s.io", "VolumeAttributesClass") if old.is_none() => {
            protect(new, "kubernetes.io/vac-protection");
            Ok(())
        }
        ("networking.k8s.io", "Ingress") if old.is_none() => {
            ingress(new, around);
            Ok(())
        }
        ("", "Service") => {
            let all = around.all("", "services");
            let own = text(new, "metadata.uid").to_owned();
            let others: Vec<&Value> = all
                .iter()
                .filter(|other| old.is_none() || text(other, "metadata.uid") != own)
                .collect();
            numbers::assign(new, old, &others).map_err(|errors| {
                Failure::invalid("", "Service", text(new, "metadata.name"), &errors)
            })
        }
        ("", "Pod") | ("scheduling.k8s.io", "PriorityClass") => {
            let all = around.all("scheduling.k8s.io", "priorityclasses");
            let classes: Vec<&Value> = all.iter().collect();
            let admitted = match resource.kind.as_str() {
                "Pod" => priority::pod(new, old, &classes).and_then(|()| {
                    if old.is_some() {
                        return Ok(());
                    }
                    let all = around.all("node.k8s.io", "runtimeclasses");
                    let classes: Vec<&Value> = all.iter().collect();
                    priority::runtime(new, &classes)
                }),
                _ => priority::only_one_default(new, &classes),
            };
            admitted.map_err(|why| {
                let name = text(new, "metadata.name");
                Failure::forbidden(&resource.group, &resource.plural, name, &why)
            })
        }
        _ => Ok(()),
    }
}

/// Adds a finalizer that keeps an object while it is in use.
fn protect(new: &mut Value, finalizer: &str) {
    let list = object(new, "metadata").entry("finalizers").or_insert(json!([]));
    if list.is_null() {
        *list = json!([]);
    }
    if let Value::Array(list) = list
        && !list.iter().any(|held| held == finalizer)
    {
        list.push(json!(finalizer));
    }
}

fn annotated<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    at(object, "metadata.annotations").get(key).and_then(Value::as_str)
}

fn claim(
    resource: &Resource,
    old: Option<&Value>,
    new: &mut Value,
    around: &dyn Around,
) -> Result<(), Failure> {
    let classes = || around.all("storage.k8s.io", "storageclasses");
    match old {
        None => {
            protect(new, "kubernetes.io/pvc-protection");
            let asked = has(new, "spec.storageClassName")
                || annotated(new, "volume.beta.kubernetes.io/storage-class").is_some();
            if !asked && let Some(class) = default_class(&classes(), DEFAULT_CLASS) {
                object(new, "spec").insert("storageClassName".into(), json!(class));
            }
            Ok(())
        }
        Some(old) => {
            if !grows(new, old) {
                return Ok(());
            }
            let refuse = |why: &str| {
                Err(Failure::forbidden("", &resource.plural, text(new, "metadata.name"), why))
            };
            if text(old, "status.phase") != "Bound" {
                // Left to validation, which says that the spec is immutable.
                return Ok(());
            }
            let class = annotated(old, "volume.beta.kubernetes.io/storage-class")
                .unwrap_or_else(|| text(new, "spec.storageClassName"));
            let expands = classes().iter().any(|held| {
                text(held, "metadata.name") == class && flag(held, "allowVolumeExpansion")
            });
            if expands {
                Ok(())
            } else {
                refuse(
                    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
                )
            }
        }
    }
}

fn grows(new: &Value, old: &Value) -> bool {
    let amount = |claim: &Value| {
        Quantity::read(at(claim, "spec.resources.requests.storage")).unwrap_or(Quantity::ZERO)
    };
    amount(new) > amount(old)
}

/// The newest of the classes that say they are the default, the first by name among equals.
fn default_class(classes: &[Value], annotation: &str) -> Option<String> {
    let mut defaults: Vec<&Value> =
        classes.iter().filter(|class| annotated(class, annotation) == Some("true")).collect();
    defaults.sort_by(|a, b| {
        let made = |class: &Value| text(class, "metadata.creationTimestamp").to_owned();
        made(b).cmp(&made(a)).then_with(|| text(a, "metadata.name").cmp(text(b, "metadata.name")))
    });
    defaults.first().map(|class| text(class, "metadata.name").to_owned())
}

fn ingress(new: &mut Value, around: &dyn Around) {
    if has(new, "spec.ingressClassName") || annotated(new, "kubernetes.io/ingress.class").is_some()
    {
        return;
    }
    let classes = around.all("networking.k8s.io", "ingressclasses");
    if let Some(class) = default_class(&classes, DEFAULT_INGRESS_CLASS) {
        object(new, "spec").insert("ingressClassName".into(), json!(class));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Held(Vec<Value>);

    impl Around for Held {
        fn all(&self, _: &str, _: &str) -> Vec<Value> {
            self.0.clone()
        }
    }

    fn resource(kind: &str) -> Resource {
        Resource::clone(crate::builtin::resources().iter().find(|r| r.kind == kind).unwrap())
    }

    fn class(name: &str, made: &str, default: &str) -> Value {
        json!({"metadata": {"name": name, "creationTimestamp": made, "annotations": {DEFAULT_CLASS: default}}})
    }

    #[test]
    fn the_newest_default_class_is_taken() {
        let held = Held(vec![
            class("old", "2026-01-01T00:00:00Z", "true"),
            class("b", "2026-02-01T00:00:00Z", "true"),
            class("a", "2026-02-01T00:00:00Z", "true"),
            class("newest", "2026-03-01T00:00:00Z", "false"),
        ]);
        let mut claim = json!({"metadata": {"name": "c"}, "spec": {}});
        admit(&resource("PersistentVolumeClaim"), None, &mut claim, &held).unwrap();
        assert_eq!(claim["spec"]["storageClassName"], "a");
        assert_eq!(claim["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
        let mut asked = json!({"metadata": {"name": "c"}, "spec": {"storageClassName": ""}});
        admit(&resource("PersistentVolumeClaim"), None, &mut asked, &held).unwrap();
        assert_eq!(asked["spec"]["storageClassName"], "");
    }

    #[test]
    fn only_expandable_classes_grow() {
        let old = json!({"metadata": {"name": "c"}, "spec": {"storageClassName": "x", "resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound"}});
        let mut new = old.clone();
        new["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
        let failure =
            admit(&resource("PersistentVolumeClaim"), Some(&old), &mut new, &Held(vec![]))
                .unwrap_err();
        assert_eq!(
            failure.message,
            "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
        );
        let class = json!({"metadata": {"name": "x"}, "allowVolumeExpansion": true});
        assert!(
            admit(&resource("PersistentVolumeClaim"), Some(&old), &mut new, &Held(vec![class]))
                .is_ok()
        );
    }
}
