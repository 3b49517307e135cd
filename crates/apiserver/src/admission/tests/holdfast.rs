//! The policies that Holdfast itself relies on.

use super::*;

const FENCES: (&str, &str) = ("holdfast.dev", "fences");

fn rule(group: &str, resource: &str, operations: &[&str]) -> Value {
    json!({ "resourceRules": [{
        "apiGroups": [group], "apiVersions": ["*"], "resources": [resource], "operations": operations,
    }] })
}

fn pod(claim: &str, image: &str, hash: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "p", "namespace": "t", "labels": { "pod-template-hash": hash } },
        "spec": {
            "containers": [{ "name": "c", "image": image }],
            "volumes": [{ "name": "v", "persistentVolumeClaim": { "claimName": claim } }, { "name": "e", "emptyDir": {} }],
        },
    })
}

/// A volume fence: pods that mount a fenced claim start only if their image or template is allowed.
fn fenced(spec: &Value) -> Held {
    let mut held = Held::new();
    held.kind(FENCES.0, "Fence", FENCES.1, true);
    held.add(
        FENCES.0,
        FENCES.1,
        json!({ "metadata": { "name": "f", "namespace": "t" }, "spec": spec }),
    );
    held.policy(
        "validating",
        "holdfast-fence",
        json!({
            "paramKind": { "apiVersion": "holdfast.dev/v1alpha1", "kind": "Fence" },
            "matchConstraints": rule("", "pods", &["CREATE"]),
            "matchConditions": [{ "name": "mounts-claims", "expression": "has(object.spec.volumes) && object.spec.volumes.exists(v, has(v.persistentVolumeClaim))" }],
            "variables": [
                { "name": "claims", "expression": "object.spec.volumes.filter(v, has(v.persistentVolumeClaim)).map(v, v.persistentVolumeClaim.claimName)" },
                { "name": "fenced", "expression": "variables.claims.filter(c, c in params.spec.claims)" },
                { "name": "hash", "expression": "object.metadata.?labels[?'pod-template-hash'].or(object.metadata.?labels[?'controller-revision-hash']).orValue('')" },
            ],
            "validations": [{
                "expression": "variables.fenced.size() == 0 || variables.hash in params.spec.?allow.orValue([]) || object.spec.containers.all(c, c.image in params.spec.?images.orValue([]))",
                "messageExpression": "'claim ' + variables.fenced.join(', ') + ' is held by fence ' + params.metadata.name",
                "reason": "Forbidden",
            }],
        }),
        json!({ "paramRef": { "selector": {}, "parameterNotFoundAction": "Allow" } }),
    );
    held
}

fn start(held: &Held, pod: Value) -> Result<Verdict, Failure> {
    Write::create(pod).of(resource("", "pods")).validate(held)
}

#[test]
fn a_fence_holds_back_other_images() {
    let held = fenced(&json!({ "claims": ["data"], "images": ["app:2"] }));
    let failure = start(&held, pod("data", "app:1", "aaa")).unwrap_err();
    assert_eq!((failure.code, failure.reason.as_deref()), (403, Some("Forbidden")));
    assert_eq!(
        failure.message,
        "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'holdfast-fence' with binding 'holdfast-fence' denied request: claim data is held by fence f"
    );
    assert!(start(&held, pod("data", "app:2", "bbb")).is_ok());
    assert!(start(&held, pod("cache", "app:1", "aaa")).is_ok());
    let mut bare = pod("data", "app:1", "aaa");
    bare["spec"].as_object_mut().unwrap().remove("volumes");
    assert!(start(&held, bare).is_ok());
}

#[test]
fn a_fence_lets_an_allowed_template_start() {
    let held = fenced(&json!({ "claims": ["data"], "allow": ["new"] }));
    assert!(start(&held, pod("data", "app:1", "old")).is_err());
    assert!(start(&held, pod("data", "app:1", "new")).is_ok());
    let mut set = pod("data", "app:1", "");
    set["metadata"]["labels"] = json!({ "controller-revision-hash": "new" });
    assert!(start(&held, set).is_ok());
    let closed = fenced(&json!({ "claims": ["data"] }));
    assert!(start(&closed, pod("data", "app:1", "new")).is_err());
}

#[test]
fn without_a_fence_everything_starts() {
    let mut held = fenced(&json!({ "claims": ["data"] }));
    held.objects.remove(&(FENCES.0.to_owned(), FENCES.1.to_owned()));
    assert!(start(&held, pod("data", "app:1", "old")).is_ok());
}

#[test]
fn a_firewall_denies_deletion_of_held_objects_to_listed_accounts() {
    let flux = User::service_account("flux-system", "kustomize-controller");
    let mut held = Held::new();
    held.kind("holdfast.dev", "Firewall", "firewalls", false);
    held.add(
        "holdfast.dev",
        "firewalls",
        json!({
            "metadata": { "name": "f" },
            "spec": { "accounts": [flux.name], "held": ["uid-a"] },
        }),
    );
    held.policy(
        "validating",
        "holdfast-firewall",
        json!({
            "paramKind": { "apiVersion": "holdfast.dev/v1alpha1", "kind": "Firewall" },
            "matchConstraints": rule("", "persistentvolumeclaims", &["DELETE"]),
            "matchConditions": [{ "name": "accounts", "expression": "request.userInfo.username in params.spec.accounts" }],
            "validations": [{
                "expression": "!(oldObject.metadata.uid in params.spec.held)",
                "messageExpression": "'deletion of ' + oldObject.metadata.name + ' is held'",
            }],
        }),
        json!({ "paramRef": { "name": "f", "parameterNotFoundAction": "Allow" } }),
    );
    let delete = |uid: &str, user: User| {
        let claim = json!({ "metadata": { "name": "data", "namespace": "t", "uid": uid } });
        Write::delete(resource("", "persistentvolumeclaims"), claim).by(user).validate(&held)
    };
    let failure = delete("uid-a", flux.clone()).unwrap_err();
    assert_eq!(failure.code, 422);
    assert!(failure.message.ends_with("denied request: deletion of data is held"));
    assert!(delete("uid-b", flux).is_ok());
    assert!(delete("uid-a", User::service_account("tenant", "deployer")).is_ok());
}

#[test]
fn claims_get_a_data_source_unless_they_have_one() {
    let mut held = Held::new();
    held.policy(
        "mutating",
        "holdfast-restore",
        json!({
            "matchConstraints": {
                "objectSelector": { "matchLabels": { "holdfast.dev/restore": "auto" } },
                "resourceRules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["persistentvolumeclaims"], "operations": ["CREATE"] }],
            },
            "matchConditions": [{ "name": "no-source", "expression": "!has(object.spec.dataSourceRef) && !has(object.spec.dataSource)" }],
            "mutations": [{ "patchType": "JSONPatch", "jsonPatch": { "expression":
                "[JSONPatch{op: 'add', path: '/spec/dataSourceRef', value: Object.spec.dataSourceRef{apiGroup: 'holdfast.dev', kind: 'Restore', name: object.metadata.name}}]" } }],
        }),
        json!({}),
    );
    let claim = |labels: Value, more: Value| {
        let mut spec = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } });
        merge_into(&mut spec, more);
        let object = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": { "name": "data-0", "namespace": "t", "labels": labels }, "spec": spec,
        });
        let write = Write::create(object).of(resource("", "persistentvolumeclaims"));
        write.mutate(&held).unwrap().0["spec"]["dataSourceRef"].clone()
    };
    let label = || json!({ "holdfast.dev/restore": "auto" });
    assert_eq!(
        claim(label(), json!({})),
        json!({ "apiGroup": "holdfast.dev", "kind": "Restore", "name": "data-0" })
    );
    assert_eq!(claim(json!({}), json!({})), Value::Null);
    let own =
        json!({ "apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s" });
    assert_eq!(claim(label(), json!({ "dataSourceRef": own })), own);
}

#[test]
fn who_asked_is_stamped_and_cannot_be_forged() {
    let mut held = Held::new();
    held.policy(
        "mutating",
        "holdfast-requested-by",
        json!({
            "matchConstraints": rule("", "configmaps", &["CREATE", "UPDATE"]),
            "mutations": [{ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression":
                "Object{metadata: Object.metadata{annotations: {'holdfast.dev/requested-by': request.operation == 'CREATE' ? request.userInfo.username : oldObject.metadata.?annotations[?'holdfast.dev/requested-by'].orValue('unknown')}}}" } }],
        }),
        json!({}),
    );
    let stamp = |write: Write| {
        let (object, _) = write.mutate(&held).unwrap();
        object["metadata"]["annotations"]["holdfast.dev/requested-by"].clone()
    };
    let alice = || User::named("alice");
    assert_eq!(stamp(Write::plain().by(alice())), "alice");
    let mut forged = config_map("x");
    forged["metadata"]["annotations"] = json!({ "holdfast.dev/requested-by": "root" });
    assert_eq!(stamp(Write::create(forged.clone()).by(alice())), "alice");
    let mut old = config_map("x");
    old["metadata"]["annotations"] = json!({ "holdfast.dev/requested-by": "bob" });
    let mut update = Write::create(forged).by(alice());
    update.operation = Operation::Update;
    update.old = Some(old);
    assert_eq!(stamp(update), "bob");
}

#[test]
fn an_upgrade_needs_the_verb_on_the_app() {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let mut held = Held::new();
    held.kind("holdfast.dev", "Upgrade", "upgrades", true);
    held.add(RBAC, "roles", json!({
        "metadata": { "name": "upgrader", "namespace": "t" },
        "rules": [{ "verbs": ["upgrade"], "apiGroups": ["holdfast.dev"], "resources": ["managedapps"], "resourceNames": ["paperless"] }],
    }));
    held.add(RBAC, "rolebindings", json!({
        "metadata": { "name": "alice", "namespace": "t" },
        "roleRef": { "kind": "Role", "name": "upgrader" }, "subjects": [{ "kind": "User", "name": "alice" }],
    }));
    held.policy(
        "validating",
        "holdfast-upgrade",
        json!({
            "matchConstraints": rule("holdfast.dev", "upgrades", &["CREATE"]),
            "validations": [{
                "expression": "authorizer.group('holdfast.dev').resource('managedapps').namespace(request.namespace).name(object.spec.app).check('upgrade').allowed()",
                "messageExpression": "request.userInfo.username + ' may not upgrade ' + object.spec.app",
                "reason": "Forbidden",
            }],
        }),
        json!({}),
    );
    let upgrades = Arc::new(held.resource("holdfast.dev", "Upgrade").unwrap());
    let ask = |app: &str, user: &str| {
        let object =
            json!({ "metadata": { "name": "u", "namespace": "t" }, "spec": { "app": app } });
        let write = Write::create(object).of(upgrades.clone()).by(User::named(user));
        write.validate(&held).map(|_| ()).map_err(|failure| failure.message)
    };
    assert_eq!(ask("paperless", "alice"), Ok(()));
    assert!(ask("immich", "alice").unwrap_err().ends_with("alice may not upgrade immich"));
    assert!(ask("paperless", "bob").unwrap_err().ends_with("bob may not upgrade paperless"));
}
