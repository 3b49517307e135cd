//! Webhooks: the review they get, what their answers do, and what their failures say.

use base64::Engine as _;

use super::*;

fn hook(name: &str, more: Value) -> Value {
    let mut hook = json!({
        "name": name, "clientConfig": { "url": "https://127.0.0.1:8443/hook" },
        "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"] }],
        "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
    });
    merge_into(&mut hook, more);
    hook
}

fn configured(sort: &str, hooks: &[Value]) -> Held {
    let mut held = Held::new();
    held.add(
        GROUP,
        &format!("{sort}webhookconfigurations"),
        json!({ "metadata": { "name": "c" }, "webhooks": hooks }),
    );
    held
}

fn answer(review: &Value, more: Value) -> Value {
    let mut response = json!({ "uid": review["request"]["uid"], "allowed": true });
    merge_into(&mut response, more);
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

fn patch(operations: &Value) -> Value {
    let text = base64::engine::general_purpose::STANDARD.encode(operations.to_string());
    json!({ "patchType": "JSONPatch", "patch": text })
}

#[test]
fn the_review_is_the_one_the_server_sends() {
    let held = configured("validating", &[hook("h.ex.dev", json!({}))]);
    let caller = Scripted::new(|_, review| Ok(answer(review, json!({}))));
    let mut write = Write::plain();
    write.dry_run = true;
    write.validate_through(&held, &caller).unwrap();
    let asked = caller.asked.lock().unwrap();
    let (target, review) = &asked[0];
    assert_eq!(target.url, "https://127.0.0.1:8443/hook");
    let kind = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
    let resource = json!({ "group": "", "version": "v1", "resource": "configmaps" });
    assert_eq!(
        *review,
        json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
            "uid": "0b2f0d5e-0000-4000-8000-000000000000",
            "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "name": "x", "namespace": "t", "operation": "CREATE",
            "userInfo": { "username": "admin", "groups": ["system:masters", "system:authenticated"] },
            "object": config_map("x"), "oldObject": null, "dryRun": true,
            "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        } })
    );
}

#[test]
fn answers_decide() {
    let held = configured("validating", &[hook("h.ex.dev", json!({}))]);
    let through = |response: Value| {
        let caller = Scripted::new(move |_, review| Ok(answer(review, response.clone())));
        Write::plain().validate_through(&held, &caller)
    };
    let verdict =
        through(json!({ "warnings": ["careful"], "auditAnnotations": { "k": "v" } })).unwrap();
    assert_eq!(verdict.warnings, ["careful"]);
    assert_eq!(verdict.audit["h.ex.dev/k"], "v");
    let failure =
        through(json!({ "allowed": false, "status": { "message": "no way" } })).unwrap_err();
    assert_eq!(
        failure.body(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 400,
            "message": "admission webhook \"h.ex.dev\" denied the request: no way",
        })
    );
}

#[test]
fn failures_are_worded_as_the_server_does() {
    let frame = "failed calling webhook \"h.ex.dev\": ";
    for (error, expected) in [
        (
            CallError::Timeout,
            "failed to call webhook: Post \"https://127.0.0.1:8443/hook?timeout=1s\": context deadline exceeded",
        ),
        (
            CallError::Connect("dial tcp 127.0.0.1:1: connect: connection refused".into()),
            "failed to call webhook: Post \"https://127.0.0.1:8443/hook?timeout=1s\": dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        (
            CallError::Answer("the server could not find the requested resource".into()),
            "failed to call webhook: the server could not find the requested resource",
        ),
        (
            CallError::Client(
                "unable to load root certificates: unable to parse bytes as PEM block".into(),
            ),
            "could not get REST client: unable to load root certificates: unable to parse bytes as PEM block",
        ),
    ] {
        let caller = Scripted::new(move |_, _| Err(error.clone()));
        for (sort, more) in [
            ("validating", "Fail"),
            ("validating", "Ignore"),
            ("mutating", "Fail"),
            ("mutating", "Ignore"),
        ] {
            let held = configured(sort, &[hook("h.ex.dev", json!({ "failurePolicy": more }))]);
            let outcome = if sort == "validating" {
                Write::plain().validate_through(&held, &caller).map(|_| ())
            } else {
                Write::plain().mutate_through(&held, &caller).map(|_| ())
            };
            match (more, outcome) {
                ("Ignore", Ok(())) => {}
                ("Fail", Err(failure)) => assert_eq!(
                    failure.body(),
                    json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": format!("Internal error occurred: {frame}{expected}"),
                        "reason": "InternalError",
                        "details": { "causes": [{ "message": format!("{frame}{expected}") }] }, "code": 500,
                    })
                ),
                (policy, other) => panic!("{policy}: {other:?}"),
            }
        }
    }
}

#[test]
fn services_and_urls_are_addressed_as_the_server_does() {
    let refused = |config: Value| {
        let held = configured("validating", &[hook("h.ex.dev", json!({ "clientConfig": config }))]);
        Write::plain().validate(&held).unwrap_err().message
    };
    assert!(refused(json!({ "service": { "name": "s", "namespace": "n", "path": "/p" } })).ends_with(
        "failed to call webhook: Post \"https://s.n.svc:443/p?timeout=1s\": service \"s\" not found"
    ));
    assert!(refused(json!({ "service": { "name": "s", "namespace": "n", "port": 8443 } })).ends_with(
        "failed to call webhook: Post \"https://s.n.svc:8443/?timeout=1s\": service \"s\" not found"
    ));
    assert!(
        refused(json!({ "url": "https://127.0.0.1:1" }))
            .contains("Post \"https://127.0.0.1:1/?timeout=1s\"")
    );
    assert!(
        refused(json!({ "url": "https://127.0.0.1:1/a/b" }))
            .contains("Post \"https://127.0.0.1:1/a/b?timeout=1s\"")
    );
}

#[test]
fn patches_are_applied_in_order() {
    let hooks = [hook("a.ex.dev", json!({})), hook("b.ex.dev", json!({}))];
    let held = configured("mutating", &hooks);
    let caller = Scripted::new(|_, review| {
        let seen =
            review["request"]["object"]["data"]["seen"].as_str().unwrap_or("none").to_owned();
        let next = format!("{seen}+1");
        Ok(answer(review, patch(&json!([{ "op": "add", "path": "/data/seen", "value": next }]))))
    });
    let (object, _) = Write::plain().mutate_through(&held, &caller).unwrap();
    assert_eq!(object["data"]["seen"], "none+1+1");
    let asked = caller.asked.lock().unwrap();
    assert_ne!(asked[0].1["request"]["uid"], asked[1].1["request"]["uid"]);
}

#[test]
fn patches_that_do_not_fit_fail_the_request() {
    let held = configured("mutating", &[hook("h.ex.dev", json!({}))]);
    let through = |response: Value| {
        let caller = Scripted::new(move |_, review| Ok(answer(review, response.clone())));
        Write::plain().mutate_through(&held, &caller).map(|(object, _)| object)
    };
    let raw = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    for (response, expected) in [
        (
            patch(&json!([{ "op": "test", "path": "/data/zz", "value": "x" }])),
            "testing value /data/zz failed: test failed",
        ),
        (
            patch(&json!([{ "op": "remove", "path": "/data/zz" }])),
            "error in remove for path: '/data/zz': Unable to remove nonexistent key: zz: missing value",
        ),
        (
            patch(&json!([{ "op": "add", "path": "/data/x", "value": 5 }])),
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            json!({ "patchType": "Merge", "patch": raw("[{\"op\":\"add\",\"path\":\"/data/x\",\"value\":\"1\"}]") }),
            "failed calling webhook \"h.ex.dev\": unsupported patch type \"Merge\"",
        ),
        (
            json!({ "patchType": "JSONPatch", "patch": raw("nope") }),
            "failed calling webhook \"h.ex.dev\": received undecodable patch in webhook response: invalid character 'o' in literal null (expecting 'u')",
        ),
    ] {
        let failure = through(response).unwrap_err();
        assert_eq!(failure.message, format!("Internal error occurred: {expected}"));
    }
    assert_eq!(through(patch(&json!([]))).unwrap(), config_map("x"));
    let unknown =
        through(patch(&json!([{ "op": "add", "path": "/bogus", "value": "x" }]))).unwrap();
    assert_eq!(unknown.get("bogus"), None);
}

#[test]
fn a_webhook_is_asked_again_only_if_it_wants_to() {
    for (reinvocation, expected) in [("Never", 1), ("IfNeeded", 2)] {
        let hooks = [
            hook(
                "a.ex.dev",
                json!({ "reinvocationPolicy": reinvocation, "clientConfig": { "url": "https://h/a" } }),
            ),
            hook("b.ex.dev", json!({ "clientConfig": { "url": "https://h/b" } })),
        ];
        let held = configured("mutating", &hooks);
        let caller = Scripted::new(|target, review| {
            let change = json!([{ "op": "add", "path": "/data/b", "value": "1" }]);
            Ok(answer(review, if target.url.ends_with('b') { patch(&change) } else { json!({}) }))
        });
        Write::plain().mutate_through(&held, &caller).unwrap();
        let asked = caller.asked.lock().unwrap();
        let count = asked.iter().filter(|(target, _)| target.url.ends_with('a')).count();
        assert_eq!(count, expected, "{reinvocation}");
    }
}

#[test]
fn conditions_and_dry_runs_are_heeded() {
    let deny = || Scripted::new(|_, review| Ok(answer(review, json!({ "allowed": false }))));
    let with = |expression: &str, failure: &str| {
        let conditions = json!([{ "name": "c", "expression": expression }]);
        let more = json!({ "matchConditions": conditions, "failurePolicy": failure });
        let held = configured("validating", &[hook("h.ex.dev", more)]);
        Write::plain().validate_through(&held, &deny()).map(|_| ()).map_err(|f| (f.code, f.message))
    };
    assert_eq!(with("object.data.a == '2'", "Fail"), Ok(()));
    assert!(with("object.data.a == '1'", "Fail").is_err());
    assert_eq!(
        with("object.data.zz == '2'", "Fail"),
        Err((403, "configmaps \"x\" is forbidden: expression 'object.data.zz == '2'' resulted in error: no such key: zz".into()))
    );
    assert_eq!(with("object.data.zz == '2'", "Ignore"), Ok(()));
    let held = configured("validating", &[hook("h.ex.dev", json!({ "sideEffects": "Some" }))]);
    let mut write = Write::plain();
    write.dry_run = true;
    let failure = write.validate_through(&held, &deny()).unwrap_err();
    assert_eq!(
        (failure.code, failure.message.as_str()),
        (400, "admission webhook \"h.ex.dev\" does not support dry run")
    );
}

#[test]
fn a_deletion_is_reviewed_with_the_old_object_only() {
    let held = configured("validating", &[hook("h.ex.dev", json!({}))]);
    let caller = Scripted::new(|_, review| Ok(answer(review, json!({}))));
    Write::delete(resource("", "configmaps"), config_map("x"))
        .validate_through(&held, &caller)
        .unwrap();
    let asked = caller.asked.lock().unwrap();
    let request = &asked[0].1["request"];
    assert_eq!((&request["object"], &request["oldObject"]), (&Value::Null, &config_map("x")));
    assert_eq!(request["operation"], "DELETE");
}
