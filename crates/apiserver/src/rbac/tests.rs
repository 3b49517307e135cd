use super::*;

/// Objects by plural, as a server would hold them.
#[derive(Default)]
struct Held(Vec<(&'static str, Found)>);

impl Held {
    fn with(mut self, plural: &'static str, object: Value) -> Self {
        self.0.push((plural, object.into()));
        self
    }

    fn role(self, namespace: &str, name: &str, rules: &Value) -> Self {
        let plural = if namespace.is_empty() { "clusterroles" } else { "roles" };
        self.with(
            plural,
            json!({ "metadata": { "name": name, "namespace": namespace }, "rules": rules }),
        )
    }

    fn bound(self, namespace: &str, name: &str, role: (&str, &str), subject: &Value) -> Self {
        let plural = if namespace.is_empty() { "clusterrolebindings" } else { "rolebindings" };
        self.with(
            plural,
            json!({
                "metadata": { "name": name, "namespace": namespace },
                "roleRef": { "kind": role.0, "name": role.1 }, "subjects": [subject],
            }),
        )
    }
}

impl Roles for Held {
    fn role(&self, plural: &str, namespace: Option<&str>, name: &str) -> Option<Found> {
        let named = |object: &&Found| text(&object["metadata"], "name") == name;
        self.bindings(plural, namespace).iter().find(named).cloned()
    }

    fn bindings(&self, plural: &str, namespace: Option<&str>) -> Vec<Found> {
        let here = |object: &Value| {
            namespace.is_none_or(|namespace| text(&object["metadata"], "namespace") == namespace)
        };
        let all = self.0.iter().filter(|(of, object)| *of == plural && here(object));
        all.map(|(_, object)| object.clone()).collect()
    }
}

fn on<'a>(verb: &'a str, resource: &'a str, namespace: &'a str, name: &'a str) -> Access<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Access::Resource { verb, group: "", resource, subresource, namespace, name }
}

fn alice() -> Value {
    json!({ "kind": "User", "name": "alice" })
}

#[test]
fn rules_match_verbs_resources_names_and_subresources() {
    let rules = json!([
        { "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/status"] },
        { "verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"] },
        { "verbs": ["get"], "apiGroups": ["apps"], "resources": ["*"] },
    ]);
    let held = Held::default().role("t", "r", &rules).bound("t", "b", ("Role", "r"), &alice());
    let user = User::named("alice");
    for (access, expected) in [
        (on("get", "pods", "t", "a"), true),
        (on("delete", "pods", "t", "a"), false),
        (on("get", "pods", "other", "a"), false),
        (on("get", "pods/log", "t", "a"), false),
        (on("get", "services/status", "t", "a"), true),
        (on("delete", "configmaps", "t", "mine"), true),
        (on("delete", "configmaps", "t", "yours"), false),
        (on("list", "configmaps", "t", ""), false),
        (
            Access::Resource {
                verb: "get",
                group: "apps",
                resource: "deployments",
                subresource: "scale",
                namespace: "t",
                name: "d",
            },
            true,
        ),
        (Access::Path { verb: "get", path: "/metrics" }, false),
    ] {
        assert_eq!(authorize(&user, &access, &held).allowed, expected, "{access:?}");
    }
    assert!(!authorize(&User::named("bob"), &on("get", "pods", "t", "a"), &held).allowed);
}

#[test]
fn the_reason_names_the_binding() {
    let rules = json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }]);
    let held = Held::default()
        .role("t", "r", &rules)
        .role("", "c", &rules)
        .bound("t", "b", ("Role", "r"), &alice())
        .bound("t", "sa", ("ClusterRole", "c"), &json!({ "kind": "ServiceAccount", "name": "x" }))
        .bound("", "all", ("ClusterRole", "c"), &json!({ "kind": "Group", "name": "ops" }));
    let of = |user: &User| authorize(user, &on("get", "pods", "t", "a"), &held).reason;
    assert_eq!(
        of(&User::named("alice")),
        r#"RBAC: allowed by RoleBinding "b/t" of Role "r" to User "alice""#
    );
    assert_eq!(
        of(&User::service_account("t", "x")),
        r#"RBAC: allowed by RoleBinding "sa/t" of ClusterRole "c" to ServiceAccount "x/t""#
    );
    assert_eq!(of(&User::service_account("u", "x")), "");
    let mut ops = User::named("olga");
    ops.groups.push("ops".into());
    assert_eq!(
        of(&ops),
        r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "c" to Group "ops""#
    );
}

#[test]
fn masters_pass_without_a_reason() {
    let decision =
        authorize(&User::admin("root"), &on("delete", "nodes", "", "n"), &Held::default());
    assert_eq!(decision, Decision { allowed: true, reason: String::new() });
}

#[test]
fn refusals_read_as_the_server_words_them() {
    let none = Decision::default();
    let user = User::named("alice");
    for (user, access, decision, message) in [
        (
            &user,
            on("get", "configmaps", "t", "a"),
            &none,
            r#"configmaps "a" is forbidden: User "alice" cannot get resource "configmaps" in API group "" in the namespace "t""#,
        ),
        (
            &user,
            on("list", "nodes", "", ""),
            &none,
            r#"nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope"#,
        ),
        (
            &User::named("al<&>\"ice"),
            on("get", "pods/status", "t", "a"),
            &none,
            r#"pods "a" is forbidden: User "al&lt;&amp;&gt;\"ice" cannot get resource "pods/status" in API group "" in the namespace "t""#,
        ),
        (
            &user,
            Access::Path { verb: "get", path: "/metrics" },
            &none,
            r#"forbidden: User "alice" cannot get path "/metrics""#,
        ),
    ] {
        let failure = forbidden(user, &access, decision);
        assert_eq!(failure.message, message);
        assert_eq!((failure.code, failure.reason.as_deref()), (403, Some("Forbidden")));
    }
    let held = Held::default().bound("t", "a", ("Role", "none"), &alice()).bound(
        "t",
        "b",
        ("ClusterRole", "none"),
        &alice(),
    );
    let access = on("get", "configmaps", "t", "a");
    let failure = forbidden(&user, &access, &authorize(&user, &access, &held));
    assert!(failure.message.ends_with(
        r#"in the namespace "t": RBAC: [role.rbac.authorization.k8s.io "none" not found, clusterrole.rbac.authorization.k8s.io "none" not found]"#
    ));
    let path = Access::Path { verb: "get", path: "/metrics" };
    assert_eq!(forbidden(&user, &path, &none).body()["details"], json!({}));
}

#[test]
fn everybody_may_discover_and_ask() {
    let mut held = Held::default();
    for object in defaults() {
        let plural = match text(object, "kind") {
            "ClusterRole" => "clusterroles",
            "ClusterRoleBinding" => "clusterrolebindings",
            "Role" => "roles",
            _ => "rolebindings",
        };
        held.0.push((plural, object.clone().into()));
    }
    let user = User::named("alice");
    for path in ["/api", "/apis/apps/v1", "/openapi/v3", "/version", "/readyz"] {
        assert!(authorize(&user, &Access::Path { verb: "get", path }, &held).allowed, "{path}");
    }
    let snapshot = Snapshot::of(&held);
    let review = Access::Resource {
        verb: "create",
        group: "authorization.k8s.io",
        resource: "selfsubjectaccessreviews",
        subresource: "",
        namespace: "",
        name: "",
    };
    assert!(authorize(&user, &review, &snapshot).allowed);
    assert!(!authorize(&user, &on("get", "secrets", "t", "s"), &snapshot).allowed);
}

fn review(kind: &str, object: Value, held: &Held) -> Result<Value, Failure> {
    answer(kind, object, &User::named("alice"), "2026-01-01T00:00:00Z", held).unwrap()
}

#[test]
fn access_reviews_are_answered() {
    let rules = json!([{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }]);
    let held = Held::default().role("t", "r", &rules).bound("t", "b", ("Role", "r"), &alice());
    let ask = |verb: &str| json!({ "verb": verb, "resource": "pods", "namespace": "t" });
    let reason = r#"RBAC: allowed by RoleBinding "b/t" of Role "r" to User "alice""#;
    let own = |verb| {
        review(
            "SelfSubjectAccessReview",
            json!({ "spec": { "resourceAttributes": ask(verb) } }),
            &held,
        )
    };
    assert_eq!(own("get").unwrap()["status"], json!({ "allowed": true, "reason": reason }));
    assert_eq!(own("list").unwrap()["status"], json!({ "allowed": false }));
    let other = json!({ "spec": { "user": "bob", "resourceAttributes": ask("get") } });
    let other = review("SubjectAccessReview", other, &held).unwrap();
    assert_eq!(other["status"], json!({ "allowed": false }));
    let rules = review("SelfSubjectRulesReview", json!({ "spec": { "namespace": "t" } }), &held);
    assert_eq!(
        rules.unwrap()["status"],
        json!({
            "resourceRules": [{ "verbs": ["get"], "apiGroups": [""], "resources": ["pods"] }],
            "nonResourceRules": [], "incomplete": false,
        })
    );
    let whoami = review("SelfSubjectReview", json!({}), &held).unwrap();
    assert_eq!(
        whoami["status"],
        json!({ "userInfo": { "username": "alice", "groups": ["system:authenticated"] } })
    );
    assert!(answer("ConfigMap", json!({}), &User::named("a"), "", &held).is_none());
}

#[test]
fn wrong_reviews_are_refused() {
    let ask = json!({ "verb": "get", "resource": "pods", "namespace": "other" });
    for (kind, object, message) in [
        (
            "SubjectAccessReview",
            json!({ "spec": {} }),
            r#".authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]"#,
        ),
        (
            "SubjectAccessReview",
            json!({ "metadata": { "name": "x" }, "spec": {
                "user": "a", "resourceAttributes": {}, "nonResourceAttributes": { "path": "/a", "verb": "get" },
            } }),
            r#".authorization.k8s.io "" is invalid: [spec.nonResourceAttributes: Invalid value: {"Path":"/a","Verb":"get"}: cannot be specified in combination with resourceAttributes, metadata: Invalid value: {"name":"x"}: must be empty]"#,
        ),
        (
            "LocalSubjectAccessReview",
            json!({ "metadata": { "namespace": "t" }, "spec": { "user": "a", "resourceAttributes": ask } }),
            r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace"#,
        ),
    ] {
        let failure = review(kind, object, &Held::default()).unwrap_err();
        assert_eq!((failure.code, failure.message.as_str()), (422, message));
    }
    let failure = review("SelfSubjectRulesReview", json!({ "spec": {} }), &Held::default());
    assert_eq!(failure.unwrap_err().message, "no namespace on request");
}
