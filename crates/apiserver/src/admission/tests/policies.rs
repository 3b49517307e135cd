//! Validating policies: messages, reasons, parameters, matching, actions.

use super::*;

/// What a policy says to the config map `x`: none if it lets it pass, else what follows `denied request: `.
fn said(spec: &Value, binding: &Value, held: &mut Held) -> Option<String> {
    held.policy("validating", "p", spec.clone(), binding.clone());
    let failure = Write::plain().validate(held).err()?;
    let (_, message) = failure.message.split_once("denied request: ").unwrap();
    let causes = &failure.body()["details"]["causes"];
    assert!(failure.message.ends_with(causes[0]["message"].as_str().unwrap()));
    Some(message.to_owned())
}

fn validation(expression: &str, more: &Value) -> Value {
    let mut one = json!({ "expression": expression });
    merge_into(&mut one, more.clone());
    json!({ "validations": [one] })
}

#[test]
fn denials_read_as_the_server_words_them() {
    for (spec, expected) in [
        (
            validation("object.metadata.name == \"no\"", &json!({})),
            Some("failed expression: object.metadata.name == \"no\""),
        ),
        (validation("false", &json!({ "message": " hi there " })), Some("hi there")),
        (
            validation(
                "false",
                &json!({ "message": "m", "messageExpression": "'name ' + object.metadata.name" }),
            ),
            Some("name x"),
        ),
        (
            validation("false", &json!({ "messageExpression": "'a\\nb'" })),
            Some("failed expression: false"),
        ),
        (
            validation(
                "false",
                &json!({ "message": "m", "messageExpression": "string(object.zz)" }),
            ),
            Some("m"),
        ),
        (
            json!({ "failurePolicy": "Ignore", "validations": [
                { "expression": "object.data.zz == '1'" }, { "expression": "false", "message": "second" },
            ] }),
            Some("second"),
        ),
        (
            json!({ "validations": [
                { "expression": "false", "message": "one" }, { "expression": "false", "message": "two" },
            ] }),
            Some("one"),
        ),
        (
            json!({
                "variables": [
                    { "name": "a", "expression": "object.data.a" },
                    { "name": "b", "expression": "variables.a + '!'" },
                    { "name": "bad", "expression": "object.data.nope" },
                ],
                "validations": [{ "expression": "variables.b == 'x'", "messageExpression": "'b is ' + variables.b" }],
            }),
            Some("b is 1!"),
        ),
        (
            json!({
                "variables": [{ "name": "bad", "expression": "object.data.nope" }],
                "validations": [{ "expression": "variables.bad == 'x'" }],
            }),
            Some(
                "expression 'variables.bad == 'x'' resulted in error: composited variable \"bad\" fails to evaluate: no such key: nope",
            ),
        ),
        (
            json!({
                "variables": [{ "name": "bad", "expression": "object.data.nope" }],
                "validations": [{ "expression": "true || variables.bad == 'x'" }],
            }),
            None,
        ),
        (
            validation(
                "false",
                &json!({ "messageExpression": "string(request.dryRun) + request.operation + request.name + request.namespace + request.kind.kind + request.resource.resource + request.requestKind.version + request.requestResource.group + request.userInfo.username + request.userInfo.groups[0]" }),
            ),
            Some("falseCREATExtConfigMapconfigmapsv1adminsystem:masters"),
        ),
        (
            validation(
                "false",
                &json!({ "messageExpression": "namespaceObject.metadata.name + namespaceObject.metadata.labels['kubernetes.io/metadata.name'] + namespaceObject.status.phase + namespaceObject.spec.finalizers[0]" }),
            ),
            Some("ttActivekubernetes"),
        ),
    ] {
        let expected = expected.map(str::to_owned);
        assert_eq!(said(&spec, &json!({}), &mut Held::new()), expected, "{spec}");
    }
}

#[test]
fn the_reason_decides_the_code() {
    for (reason, code) in
        [("Forbidden", 403), ("Invalid", 422), ("RequestEntityTooLarge", 413), ("", 422)]
    {
        let mut held = Held::new();
        let more = if reason.is_empty() { json!({}) } else { json!({ "reason": reason }) };
        held.policy("validating", "p", validation("false", &more), json!({}));
        let failure = Write::plain().validate(&held).unwrap_err();
        assert_eq!(
            failure.body(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code,
                "message": "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: false",
                "reason": if reason.is_empty() { "Invalid" } else { reason },
                "details": { "name": "x", "kind": "configmaps", "causes": [{
                    "message": "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: failed expression: false",
                }] },
            })
        );
    }
}

#[test]
fn conditions_narrow_the_match() {
    let with = |conditions: &[&str]| {
        let conditions: Vec<Value> = conditions
            .iter()
            .enumerate()
            .map(|(index, text)| json!({ "name": format!("c{index}"), "expression": text }))
            .collect();
        json!({ "matchConditions": conditions, "validations": [{ "expression": "false", "message": "no" }] })
    };
    let missing = "object.data.nope == 'x'";
    let error = |key: &str| {
        format!("expression 'object.data.{key} == 'x'' resulted in error: no such key: {key}")
    };
    for (conditions, expected) in [
        (vec!["request.userInfo.username == 'bob'"], None),
        (vec!["request.userInfo.username == 'admin'"], Some("no".to_owned())),
        (vec!["namespaceObject == null"], Some("no".to_owned())),
        (vec![missing], Some(error("nope"))),
        (
            vec![missing, "object.data.nope2 == 'x'"],
            Some(format!("[{}, {}]", error("nope"), error("nope2"))),
        ),
        (vec![missing, "false"], None),
    ] {
        assert_eq!(
            said(&with(&conditions), &json!({}), &mut Held::new()),
            expected,
            "{conditions:?}"
        );
    }
    let mut ignoring = with(&[missing]);
    ignoring["failurePolicy"] = "Ignore".into();
    assert_eq!(said(&ignoring, &json!({}), &mut Held::new()), None);
}

#[test]
fn parameters_come_from_the_binding() {
    let of = |kind: &str, expression: &str, message: &str| {
        json!({
            "paramKind": { "apiVersion": "v1", "kind": kind },
            "validations": [{ "expression": expression, "messageExpression": message }],
        })
    };
    let map = of(
        "ConfigMap",
        "params.data.x == 'z'",
        "'p ' + params.metadata.name + string(has(params.kind))",
    );
    let none = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    let reference = |part: Value| {
        let mut whole = json!({ "parameterNotFoundAction": "Deny" });
        merge_into(&mut whole, part);
        json!({ "paramRef": whole })
    };
    for (spec, binding, expected) in [
        (&map, reference(json!({ "name": "par1", "namespace": "t" })), Some("p par1true")),
        (&map, reference(json!({ "name": "par1" })), Some("p par1true")),
        (&map, reference(json!({ "name": "none" })), Some(none)),
        (&map, reference(json!({ "name": "par1", "namespace": "other" })), Some(none)),
        (&map, reference(json!({ "name": "none", "parameterNotFoundAction": "Allow" })), None),
        (
            &map,
            reference(json!({ "selector": { "matchLabels": { "par": "y" } } })),
            Some("p par1true"),
        ),
        (&map, reference(json!({ "selector": { "matchLabels": { "par": "n" } } })), Some(none)),
        (
            &map,
            json!({}),
            Some("expression 'params.data.x == 'z'' resulted in error: no such key: data"),
        ),
        (&of("ConfigMap", "params != null", "'null params'"), json!({}), Some("null params")),
        (
            &of("Namespace", "params.metadata.name == 'z'", "'nsparam'"),
            reference(json!({ "name": "t" })),
            Some("nsparam"),
        ),
        (
            &of("Namespace", "params.metadata.name == 'z'", "'nsparam'"),
            reference(json!({ "name": "t", "namespace": "x" })),
            Some(
                "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
            ),
        ),
    ] {
        let mut held = Held::new();
        for (name, label) in [("par1", "y"), ("par2", "y")] {
            held.add("", "configmaps", json!({
                "metadata": { "name": name, "namespace": "t", "labels": { "par": label } }, "data": { "x": "1" },
            }));
        }
        let expected = expected.map(str::to_owned);
        assert_eq!(said(spec, &binding, &mut held), expected, "{binding}");
    }
}

#[test]
fn a_policy_that_cannot_be_configured_denies_unless_it_ignores_errors() {
    let mut held = Held::new();
    let spec = |failure: &str| {
        json!({
            "failurePolicy": failure, "paramKind": { "apiVersion": "nope.dev/v1", "kind": "Nope" },
            "validations": [{ "expression": "true" }],
        })
    };
    let reference = json!({ "paramRef": { "name": "x", "parameterNotFoundAction": "Deny" } });
    held.policy("validating", "p8", spec("Fail"), reference.clone());
    assert_eq!(
        Write::plain().validate(&held).unwrap_err().message,
        "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p8' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'nope.dev/v1, Kind=Nope'"
    );
    let mut held = Held::new();
    held.policy("validating", "p8", spec("Ignore"), reference);
    assert!(Write::plain().validate(&held).is_ok());
}

#[test]
fn namespaced_parameters_need_a_namespace() {
    let mut held = Held::new();
    held.policy(
        "validating",
        "p",
        json!({
            "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                "resources": ["namespaces", "clusterroles"],
            }] },
            "validations": [{ "expression": "true" }],
        }),
        json!({ "paramRef": { "name": "par1", "parameterNotFoundAction": "Deny" } }),
    );
    let create = |group: &str, plural: &str| {
        let mut write =
            Write::create(json!({ "metadata": { "name": "n" } })).of(resource(group, plural));
        write.namespace = None;
        write.validate(&held).unwrap_err().message
    };
    assert!(create("rbac.authorization.k8s.io", "clusterroles").ends_with(
        "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    ));
    // A namespace counts as living in itself.
    assert!(create("", "namespaces").ends_with(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    ));
}

#[test]
fn bindings_say_what_happens() {
    let spec = validation("false", &json!({ "message": "w \"q\"" }));
    let mut held = Held::new();
    held.policy("validating", "p", spec, json!({ "validationActions": ["Warn", "Audit"] }));
    let verdict = Write::plain().validate(&held).unwrap();
    assert_eq!(
        verdict.warnings,
        ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': w \"q\""]
    );
    let audit = &verdict.audit["validation.policy.admission.k8s.io/validation_failure"];
    assert_eq!(
        serde_json::from_str::<Value>(audit).unwrap(),
        json!([{ "message": "w \"q\"", "policy": "p", "binding": "p", "expressionIndex": 0, "validationActions": ["Warn", "Audit"] }])
    );
}

#[test]
fn audit_annotations_are_published_under_the_policys_name() {
    let mut held = Held::new();
    let spec = json!({
        "validations": [{ "expression": "true" }],
        "auditAnnotations": [
            { "key": "k", "valueExpression": "'x ' + object.data.a" }, { "key": "n", "valueExpression": "null" },
        ],
    });
    held.policy("validating", "p", spec, json!({}));
    let audit = Write::plain().validate(&held).unwrap().audit;
    assert_eq!(audit, BTreeMap::from([("p/k".to_owned(), "x 1".to_owned())]));
}

#[test]
fn rules_and_selectors_decide_what_is_matched() {
    let rule = |more: Value| {
        let mut rule = json!({
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
        });
        merge_into(&mut rule, more);
        rule
    };
    let no = json!([{ "expression": "false" }]);
    for (constraints, matches) in [
        (json!({ "resourceRules": [rule(json!({}))] }), true),
        (json!({ "resourceRules": [rule(json!({ "operations": ["UPDATE", "DELETE"] }))] }), false),
        (json!({ "resourceRules": [rule(json!({ "resources": ["configmaps/status"] }))] }), false),
        (json!({ "resourceRules": [rule(json!({ "resources": ["*"] }))] }), true),
        (json!({ "resourceRules": [rule(json!({ "resources": ["*/*"] }))] }), true),
        (json!({ "resourceRules": [rule(json!({ "apiGroups": ["apps"] }))] }), false),
        (json!({ "resourceRules": [rule(json!({ "scope": "Cluster" }))] }), false),
        (json!({ "resourceRules": [rule(json!({ "scope": "Namespaced" }))] }), true),
        (json!({ "resourceRules": [rule(json!({ "resourceNames": ["x"] }))] }), true),
        (json!({ "resourceRules": [rule(json!({ "resourceNames": ["y"] }))] }), false),
        (
            json!({ "resourceRules": [rule(json!({}))], "excludeResourceRules": [rule(json!({ "resourceNames": ["x"] }))] }),
            false,
        ),
        (json!({ "resourceRules": [rule(json!({}))], "matchPolicy": "Exact" }), true),
        (
            json!({ "resourceRules": [rule(json!({}))], "objectSelector": { "matchLabels": { "case": "x" } } }),
            true,
        ),
        (
            json!({ "resourceRules": [rule(json!({}))], "objectSelector": { "matchLabels": { "case": "y" } } }),
            false,
        ),
        (
            json!({ "resourceRules": [rule(json!({}))], "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "t" } } }),
            true,
        ),
        (
            json!({ "resourceRules": [rule(json!({}))], "namespaceSelector": { "matchExpressions": [{ "key": "env", "operator": "Exists" }] } }),
            false,
        ),
    ] {
        let mut held = Held::new();
        let spec = json!({ "matchConstraints": constraints, "validations": no });
        held.policy("validating", "p", spec, json!({}));
        assert_eq!(Write::plain().validate(&held).is_err(), matches, "{constraints}");
        // A binding narrows in the same words.
        let mut held = Held::new();
        let binding = json!({ "matchResources": constraints });
        held.policy("validating", "p", json!({ "validations": no }), binding);
        assert_eq!(Write::plain().validate(&held).is_err(), matches, "binding {constraints}");
    }
}

#[test]
fn a_selector_matches_the_old_object_too() {
    let mut held = Held::new();
    held.policy(
        "validating",
        "p",
        json!({
            "matchConstraints": {
                "objectSelector": { "matchLabels": { "case": "x" } },
                "resourceRules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"] }],
            },
            "validations": [{ "expression": "false" }],
        }),
        json!({}),
    );
    let mut write = Write::create(json!({ "metadata": { "name": "x" } }));
    assert!(write.validate(&held).is_ok());
    write.operation = Operation::Update;
    write.old = Some(config_map("x"));
    assert!(write.validate(&held).is_err());
    assert!(Write::delete(resource("", "configmaps"), config_map("x")).validate(&held).is_err());
}

#[test]
fn other_versions_match_unless_the_policy_is_exact() {
    struct Versions(Held);
    impl Lookup for Versions {
        fn get(&self, g: &str, p: &str, ns: Option<&str>, n: &str) -> Option<Found> {
            self.0.get(g, p, ns, n)
        }
        fn list(&self, g: &str, p: &str, ns: Option<&str>) -> Vec<Found> {
            self.0.list(g, p, ns)
        }
        fn resource(&self, g: &str, k: &str) -> Option<Resource> {
            self.0.resource(g, k)
        }
        fn equivalents(&self, of: &Resource, _: &str) -> Vec<Resource> {
            vec![Resource { version: "v2".into(), ..of.clone() }]
        }
    }
    for (policy, expected) in [("Exact", None), ("Equivalent", Some("v2 v1 ex.dev/v2"))] {
        let mut held = Held::new();
        let message =
            "request.kind.version + ' ' + request.requestKind.version + ' ' + object.apiVersion";
        held.policy(
            "validating",
            "p",
            json!({
                "matchConstraints": { "matchPolicy": policy, "resourceRules": [{
                    "apiGroups": ["ex.dev"], "apiVersions": ["v2"], "resources": ["*"], "operations": ["*"],
                }] },
                "validations": [{ "expression": "false", "messageExpression": message }],
            }),
            json!({}),
        );
        let mut custom = (*resource("", "configmaps")).clone();
        custom.group = "ex.dev".into();
        let write = Write::plain().of(Arc::new(custom));
        let lookup = Versions(held);
        let admission = Admission::default();
        let attributes = write.attributes();
        let said = admission.validate(&attributes, &lookup, &Unreachable).now_or_never().unwrap();
        let said = said.err().map(|failure| failure.message);
        let said = said.as_deref().and_then(|text| text.rsplit("denied request: ").next());
        assert_eq!(said, expected);
    }
}

#[test]
fn a_generated_name_is_named_by_its_beginning() {
    let mut held = Held::new();
    held.policy("validating", "p", validation("false", &json!({})), json!({}));
    let write = Write::create(json!({ "metadata": { "generateName": "gen-" } }));
    let message = write.validate(&held).unwrap_err().message;
    assert!(message.starts_with("configmaps \"gen-\" is forbidden: "), "{message}");
}
