//! Would the API server take the change? It is asked, not guessed.
//!
//! The old manifest is applied under Flux's field manager to an empty server in this process, made to look as
//! it does once it lives in a cluster (a claim is bound, a workload has its defaults), and the new one is
//! applied over it as a dry run with force, as kustomize-controller does.

use bytes::Bytes;
use futures::executor::block_on;
use holdfast_apiserver::identity::User;
use holdfast_apiserver::server::{Config, Server};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

/// The name under which kustomize-controller applies.
const MANAGER: &str = "kustomize-controller";

/// What the server says of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is applied.
    Accepted,
    /// It is refused.
    Refused(Refusal),
    /// It cannot be known here.
    Unknown(String),
}

/// Why the server refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// `Invalid`, `Forbidden`, …
    pub reason: String,
    /// The whole sentence.
    pub message: String,
    /// What is wrong with which field.
    pub causes: Vec<Cause>,
}

/// One field that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `spec.selector`; empty for the object as a whole.
    pub field: String,
    /// What the server says about it.
    pub message: String,
}

/// The API server in this process, with the kinds that a repository brings.
pub struct Judge {
    server: Server,
}

impl Default for Judge {
    fn default() -> Self {
        Self::new()
    }
}

impl Judge {
    /// One that knows the built-in kinds.
    pub fn new() -> Self {
        Self { server: Server::new(Config::default()) }
    }

    /// Teaches it a kind. What is wrong with the definition itself is what the server says.
    pub fn learn(&self, definition: &Value) -> Verdict {
        let verdict = self.apply(definition, false);
        self.server.settle();
        verdict
    }

    /// Whether the change from `old` to `new` would be applied. They must be the same object.
    pub fn change(&self, old: &Value, new: &Value) -> Verdict {
        self.prepare_namespace(old);
        self.prepare_class(old);
        self.prepare_class(new);
        match self.apply(old, false) {
            Verdict::Accepted => {}
            // What could not be applied before is no change that makes it so.
            Verdict::Refused(why) => {
                return Verdict::Unknown(format!("at the base already: {}", why.message));
            }
            unknown @ Verdict::Unknown(_) => return unknown,
        }
        self.bring_to_life(old);
        let verdict = self.apply(new, true);
        self.forget(old);
        verdict
    }

    /// Whether a new object would be applied.
    pub fn creation(&self, new: &Value) -> Verdict {
        self.prepare_namespace(new);
        self.apply(new, true)
    }

    fn prepare_namespace(&self, object: &Value) {
        let namespace = namespace(object);
        if !namespace.is_empty() {
            let body =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            self.send(
                Method::PATCH,
                &format!("/api/v1/namespaces/{namespace}?{}", query(false)),
                &body,
            );
        }
    }

    /// A claim may only grow if its class says so. A class that the repository does not have is taken to.
    fn prepare_class(&self, object: &Value) {
        if object["kind"] == "PersistentVolumeClaim"
            && let Some(class) =
                object["spec"]["storageClassName"].as_str().filter(|name| !name.is_empty())
        {
            let body = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": class}, "provisioner": "unknown", "allowVolumeExpansion": true});
            self.send(Method::POST, "/apis/storage.k8s.io/v1/storageclasses", &body);
        }
    }

    /// Gives an object the status that it would have in a cluster, where the rules look at it.
    fn bring_to_life(&self, object: &Value) {
        let kind = object["kind"].as_str().unwrap_or_default();
        let status = match kind {
            "PersistentVolumeClaim" => json!({
                "phase": "Bound",
                "accessModes": object["spec"]["accessModes"],
                "capacity": {"storage": object["spec"]["resources"]["requests"]["storage"]},
            }),
            _ => return,
        };
        let Some(path) = self.path(object) else { return };
        if kind == "PersistentVolumeClaim" && object["spec"]["volumeName"].is_null() {
            // The binder names the volume; nobody may change that either.
            let body = json!({"spec": {"volumeName": "bound"}});
            self.merge(&path, &body);
        }
        self.merge(&format!("{path}/status"), &json!({"status": status}));
    }

    fn merge(&self, path: &str, body: &Value) {
        let request = self.request(Method::PATCH, path, "application/merge-patch+json", body);
        self.ask(request);
    }

    fn forget(&self, object: &Value) {
        if let Some(path) = self.path(object) {
            // A claim or a volume is held by a finalizer of its protection.
            self.merge(&path, &json!({"metadata": {"finalizers": null}}));
            self.send(Method::DELETE, &format!("{path}?gracePeriodSeconds=0"), &Value::Null);
            self.server.settle();
        }
    }

    fn apply(&self, object: &Value, dry: bool) -> Verdict {
        let Some(path) = self.path(object) else {
            let kind = object["kind"].as_str().unwrap_or_default();
            let version = object["apiVersion"].as_str().unwrap_or_default();
            return Verdict::Unknown(format!("no definition of {kind} in {version} is known"));
        };
        let path = format!("{path}?{}", query(dry));
        let request = self.request(Method::PATCH, &path, "application/apply-patch+yaml", object);
        let (status, answer) = self.ask(request);
        if (200..300).contains(&status) {
            return Verdict::Accepted;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let causes = answer["details"]["causes"].as_array().into_iter().flatten();
        Verdict::Refused(Refusal {
            reason: text(&answer["reason"]),
            message: text(&answer["message"]),
            causes: causes
                .map(|cause| Cause {
                    field: text(&cause["field"]),
                    message: text(&cause["message"]),
                })
                .collect(),
        })
    }

    /// Where the object is served; `None` if its kind is not.
    fn path(&self, object: &Value) -> Option<String> {
        let version = object["apiVersion"].as_str()?;
        let (kind, name) = (object["kind"].as_str()?, object["metadata"]["name"].as_str()?);
        let root = if version.contains('/') {
            format!("/apis/{version}")
        } else {
            format!("/api/{version}")
        };
        let (status, list) = self.send(Method::GET, &root, &Value::Null);
        if status != 200 {
            return None;
        }
        let resources = list["resources"].as_array()?;
        let resource = resources.iter().find(|resource| {
            resource["kind"] == kind
                && !resource["name"].as_str().is_some_and(|name| name.contains('/'))
        })?;
        let plural = resource["name"].as_str()?;
        let namespace = namespace(object);
        Some(if resource["namespaced"] == true {
            let namespace = if namespace.is_empty() { "default" } else { namespace };
            format!("{root}/namespaces/{namespace}/{plural}/{name}")
        } else {
            format!("{root}/{plural}/{name}")
        })
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let media = if method == Method::PATCH {
            "application/apply-patch+yaml"
        } else {
            "application/json"
        };
        self.ask(self.request(method, path, media, body))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        media: &str,
        body: &Value,
    ) -> Request<Full<Bytes>> {
        let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let mut request = Request::new(Full::new(bytes));
        *request.method_mut() = method;
        if let Ok(uri) = path.parse() {
            *request.uri_mut() = uri;
        }
        if let Ok(media) = media.parse() {
            request.headers_mut().insert(http::header::CONTENT_TYPE, media);
        }
        request.extensions_mut().insert(User::admin(MANAGER));
        request
    }

    fn ask(&self, request: Request<Full<Bytes>>) -> (u16, Value) {
        block_on(async {
            let response = self.server.answer(request).await;
            let status = response.status().as_u16();
            let body =
                response.into_body().collect().await.map(http_body_util::Collected::to_bytes);
            let value = body.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            (status, value.unwrap_or_default())
        })
    }
}

fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

fn query(dry: bool) -> String {
    let dry = if dry { "&dryRun=All" } else { "" };
    format!("fieldManager={MANAGER}&force=true{dry}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(selector: &str, strategy: Value) -> Value {
        let mut deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "shop", "namespace": "shop"},
            "spec": {"selector": {"matchLabels": {"app": selector}}, "template": {
                "metadata": {"labels": {"app": selector}},
                "spec": {"containers": [{"name": "main", "image": "shop:1"}]}}}});
        if !strategy.is_null() {
            deployment["spec"]["strategy"] = strategy;
        }
        deployment
    }

    fn claim(size: &str, class: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "shop"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class,
                "resources": {"requests": {"storage": size}}}})
    }

    fn fields(verdict: Verdict) -> Vec<String> {
        match verdict {
            Verdict::Refused(refusal) => {
                refusal.causes.into_iter().map(|cause| cause.field).collect()
            }
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn a_selector_stays_and_an_image_may_change() {
        let judge = Judge::new();
        let (old, new) = (deployment("a", json!(null)), deployment("b", json!(null)));
        assert_eq!(fields(judge.change(&old, &new)), ["spec.selector"]);
        let mut image = old.clone();
        image["spec"]["template"]["spec"]["containers"][0]["image"] = json!("shop:2");
        assert_eq!(judge.change(&old, &image), Verdict::Accepted);
        // The server keeps nothing of what was judged before.
        assert_eq!(judge.change(&new, &new), Verdict::Accepted);
    }

    #[test]
    fn recreate_over_defaults_is_refused_as_an_apply_refuses_it() {
        let judge = Judge::new();
        let old = deployment("a", json!(null));
        let new = deployment("a", json!({"type": "Recreate"}));
        assert_eq!(fields(judge.change(&old, &new)), ["spec.strategy.rollingUpdate"]);
    }

    #[test]
    fn a_bound_claim_grows_and_does_not_shrink() {
        let judge = Judge::new();
        let old = claim("1Gi", "fast");
        assert_eq!(judge.change(&old, &claim("2Gi", "fast")), Verdict::Accepted);
        assert_eq!(fields(judge.change(&old, &claim("1Gi", "slow"))), ["spec"]);
        assert_eq!(
            fields(judge.change(&old, &claim("500Mi", "fast"))),
            ["spec.resources.requests.storage"]
        );
    }

    #[test]
    fn rules_of_custom_kinds_see_the_old_object() {
        let judge = Judge::new();
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boxes.example.org"},
            "spec": {"group": "example.org", "scope": "Namespaced", "names": {"plural": "boxes", "kind": "Box"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": {
                        "size": {"type": "integer", "x-kubernetes-validations": [
                            {"rule": "self >= oldSelf", "message": "a box does not shrink"}]}}}}}}}]}});
        let one = |size: i64| {
            json!({"apiVersion": "example.org/v1", "kind": "Box",
            "metadata": {"name": "a", "namespace": "shop"}, "spec": {"size": size}})
        };
        assert!(matches!(judge.change(&one(2), &one(1)), Verdict::Unknown(_)));
        assert_eq!(judge.learn(&definition), Verdict::Accepted);
        assert_eq!(judge.change(&one(1), &one(2)), Verdict::Accepted);
        assert_eq!(fields(judge.change(&one(2), &one(1))), ["spec.size"]);
    }
}
