//! Admission policies: what they match, what they say, what they change.
//!
//! The real server takes up to a second to notice a policy. Each case therefore waits until a dry run shows
//! that its policy is at work, and all policies are about the case's own namespace only.

use serde_json::{Value, json};

use super::answer::Answer;
use super::case::{Case, Request, apply, delete, get, json_patch, merge_patch, post, put};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Cases of policies.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    cases.extend(validating());
    cases.extend(parameters());
    cases.extend(matching());
    cases.extend(authorizing());
    cases.extend(mutating());
    cases.extend(definitions());
    cases
}

/// Constraints to config maps of the case's namespace, with further parts.
fn constraints(more: Value) -> Value {
    let mut whole = json!({
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}},
        "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
    });
    lay(&mut whole, more);
    whole
}

fn lay(whole: &mut Value, more: Value) {
    if let (Some(whole), Value::Object(more)) = (whole.as_object_mut(), more) {
        whole.extend(more);
    }
}

fn path(sort: &str, plural: &str) -> String {
    format!("{GROUP}/{sort}admission{plural}")
}

/// A case with a policy and its binding, both named after the namespace, at work.
fn with(name: &str, sort: &str, spec: Value, binding: Value) -> Case {
    let mut whole = json!({"matchConstraints": constraints(json!({}))});
    if sort == "mutating" {
        whole["reinvocationPolicy"] = "Never".into();
    }
    lay(&mut whole, spec);
    if sort == "validating" && whole["validations"].is_array() {
        // What shows that the policy is at work.
        let probe = json!({"expression": "object == null || object.metadata.name != 'probe'", "message": "at work"});
        if let Some(all) = whole["validations"].as_array_mut() {
            all.push(probe);
        }
    }
    let mut bound = json!({"policyName": "{ns}"});
    if sort == "validating" {
        bound["validationActions"] = json!(["Deny"]);
    }
    lay(&mut bound, binding);
    let metadata = json!({"name": "{ns}"});
    Case::new(name)
        .given(post(&path(sort, "policies"), json!({"metadata": metadata, "spec": whole})))
        .given(post(&path(sort, "policybindings"), json!({"metadata": metadata, "spec": bound})))
        .finally(delete(&format!("{}/{{ns}}", path(sort, "policybindings"))))
        .finally(delete(&format!("{}/{{ns}}", path(sort, "policies"))))
}

/// A validating policy that refuses the config map `probe` once it is at work.
fn validating_case(name: &str, spec: Value, binding: Value) -> Case {
    at_work(with(name, "validating", spec, binding))
}

fn at_work(case: Case) -> Case {
    case.until(try_map("probe"), |answer| !answer.is_success())
}

/// A mutating policy, waited for with a config map `probe`.
fn mutating_case(
    name: &str,
    spec: Value,
    works: impl Fn(&Answer) -> bool + Send + Sync + 'static,
) -> Case {
    with(name, "mutating", spec, json!({})).until(try_map("probe"), works)
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"case": "x"}}, "data": {"a": "1"}})
}

/// A config map that is created without being stored.
fn try_map(name: &str) -> Request {
    post(MAPS, map(name)).dry_run()
}

fn one(name: &str) -> String {
    format!("{MAPS}/{name}")
}

fn validating() -> Vec<Case> {
    let unless = |name: &str, more: Value| {
        let mut one =
            json!({"expression": format!("object == null || object.metadata.name != '{name}'")});
        lay(&mut one, more);
        one
    };
    vec![
        validating_case(
            "admission/messages-and-reasons",
            json!({"validations": [
                unless("plain", json!({})),
                unless("message", json!({"message": " hi there "})),
                unless("computed", json!({"message": "m", "messageExpression": "'it is ' + object.metadata.name"})),
                unless("newline", json!({"messageExpression": "'a\\nb'"})),
                unless("forbidden", json!({"reason": "Forbidden"})),
                unless("large", json!({"reason": "RequestEntityTooLarge"})),
                unless("invalid", json!({"reason": "Invalid", "message": "no"})),
                {"expression": "object == null || object.metadata.name != 'error' || object.data.zz == '1'"},
                {"expression": "object == null || object.metadata.name != 'deep' || object.spec.a.b == 1"},
            ]}),
            json!({}),
        )
        .compare_all(
            ["plain", "message", "computed", "newline", "forbidden", "large", "invalid", "error", "deep", "fine"]
                .map(try_map),
        ),
        validating_case(
            "admission/every-operation",
            json!({"validations": [{
                "expression": "request.operation == 'CREATE' || has(request.options.dryRun) && request.name == 'probe'",
                "messageExpression": "request.operation + ' of ' + request.name + ' from ' + oldObject.data.a + ' by ' + request.options.kind",
            }]}),
            json!({}),
        )
        .given(post(MAPS, map("a")))
        .compare(put(&one("a"), json!({"metadata": {"name": "a"}, "data": {"a": "2"}})))
        .compare(merge_patch(&one("a"), json!({"data": {"a": "2"}})))
        .compare(json_patch(&one("a"), json!([{"op": "replace", "path": "/data/a", "value": "2"}])))
        .compare(apply(&one("a"), "m", json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "2"}})))
        .compare(delete(&one("a")))
        .compare(delete(MAPS).query("labelSelector", "case=x"))
        .compare(get(&one("a"))),
        validating_case(
            "admission/a-patch-without-effect-is-still-judged",
            json!({"validations": [{"expression": "request.operation != 'UPDATE'", "message": "no updates"}]}),
            json!({}),
        )
        .given(post(MAPS, map("a")))
        .compare(merge_patch(&one("a"), json!({"data": {"a": "1"}})))
        .compare(merge_patch(&one("zz"), json!({"data": {"a": "1"}}))),
        validating_case(
            "admission/variables",
            json!({
                "variables": [
                    {"name": "a", "expression": "object.data.a"},
                    {"name": "twice", "expression": "variables.a + variables.a"},
                    {"name": "missing", "expression": "object.data.missing"},
                ],
                "validations": [
                    {"expression": "object.metadata.name != 'twice' || variables.twice == ''", "messageExpression": "'twice is ' + variables.twice"},
                    {"expression": "object.metadata.name != 'missing' || variables.missing == ''"},
                    {"expression": "true || variables.missing == ''"},
                ],
            }),
            json!({}),
        )
        .compare_all(["twice", "missing", "fine"].map(try_map)),
        validating_case(
            "admission/match-conditions",
            json!({
                "matchConditions": [
                    {"name": "not-excluded", "expression": "object.metadata.name != 'excluded'"},
                    {"name": "may-fail", "expression": "object.metadata.name != 'error' || object.data.missing == 'x'"},
                    {"name": "may-fail-too", "expression": "object.metadata.name != 'error' || object.data.gone == 'x'"},
                ],
                "validations": [{"expression": "object.metadata.name == 'probe'", "message": "matched"}],
            }),
            json!({}),
        )
        .compare_all(["excluded", "error", "x"].map(try_map)),
        validating_case(
            "admission/errors-are-ignored",
            json!({"failurePolicy": "Ignore", "validations": [
                {"expression": "object.data.zz == '1'"},
                {"expression": "object.metadata.name != 'second'", "message": "second"},
            ]}),
            json!({}),
        )
        .compare_all(["x", "second"].map(try_map)),
        with(
            "admission/warnings",
            "validating",
            json!({"validations": [{"expression": "object.metadata.name != 'x'", "message": "careful \"now\""}]}),
            json!({"validationActions": ["Warn", "Audit"]}),
        )
        .until(try_map("probe"), |answer| answer.headers.iter().any(|(name, _)| name == "warning"))
        .compare_all(["x", "y"].map(try_map)),
        validating_case(
            "admission/request-and-namespace",
            json!({"validations": [
                {"expression": "object.metadata.name != 'request'", "messageExpression": "string(request.dryRun) + request.operation + request.name + request.kind.kind + request.resource.resource + request.requestKind.version + request.requestResource.group + request.userInfo.username + request.userInfo.groups[0]"},
                {"expression": "object.metadata.name != 'namespace'", "messageExpression": "namespaceObject.metadata.name + namespaceObject.metadata.labels['kubernetes.io/metadata.name'] + namespaceObject.status.phase + namespaceObject.spec.finalizers[0]"},
                {"expression": "object.metadata.name != 'absent' || request.subResource == ''"},
                {"expression": "object.metadata.name != 'uid' || namespaceObject.metadata.UID == ''"},
                {"expression": "object.metadata.name != 'old' || oldObject.metadata.name == ''"},
                {"expression": "object.metadata.name != 'options' || request.options.fieldManager == ''"},
            ]}),
            json!({}),
        )
        .compare_all(["request", "namespace", "absent", "uid", "old", "options"].map(try_map))
        .compare(try_map("request").impersonate("system:admin", &["system:masters"])),
        validating_case(
            "admission/runtime-errors",
            json!({"validations": expressions()}),
            json!({}),
        )
        .compare_all((0..EXPRESSIONS.len()).map(|index| try_map(&format!("e{index}")))),
    ]
}

/// Expressions whose failure is worded by the engine; each is reached by a name of its own.
const EXPRESSIONS: [&str; 14] = [
    "object.data.a.b == 'x'",
    "object.data.a[0] == 'x'",
    "dyn([1]).foo == 2",
    "dyn([1])[5] == 2",
    "object.data[1] == 'a'",
    "size(oldObject) == 1",
    "oldObject.all(x, true)",
    "object.data.a > 1",
    "dyn(1).lowerAscii() == 'a'",
    "double(object.metadata.name) == 1.0",
    "object.metadata.name.substring(50) == 'x'",
    "optional.none().value() == 1",
    "has(object.nope.x)",
    "authorizer.path('').check('get').allowed()",
];

fn expressions() -> Vec<Value> {
    EXPRESSIONS
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"expression": format!("object.metadata.name != 'e{index}' || {text}")}))
        .collect()
}

const PARAMETERS: &str = "/apis/{ns}.ex.dev/v1/namespaces/{ns}/parameters";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// An object that serves as a parameter.
fn parameter(name: &str, spec: &Value) -> Request {
    let metadata = json!({"name": name, "labels": {"parameter": "yes"}});
    let kind = json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Parameter"});
    let mut body = json!({"metadata": metadata, "spec": spec});
    lay(&mut body, kind);
    post(PARAMETERS, body)
}

fn parameter_kind() -> Value {
    json!({"apiVersion": "{ns}.ex.dev/v1", "kind": "Parameter"})
}

/// The case after a kind of its own and these parameters were made. The real server stops looking at built-in
/// kinds once the last policy that has them for parameters is gone, so they would not do.
fn with_parameters(mut case: Case, parameters: Vec<Request>) -> Case {
    let policy: Vec<_> = case.steps.drain(..).collect();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "metadata": {"name": "parameters.{ns}.ex.dev"},
        "spec": {
            "group": "{ns}.ex.dev", "scope": "Namespaced",
            "names": {"plural": "parameters", "singular": "parameter", "kind": "Parameter", "listKind": "ParameterList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let one = format!("{DEFINITIONS}/parameters.{{ns}}.ex.dev");
    let mut case = case
        .given(post(DEFINITIONS, definition))
        .until(get(&one), |answer| answer.condition("Established") == "True")
        .until_status(get(PARAMETERS), 200)
        .finally(delete(&one));
    for request in parameters {
        case = case.given(request);
    }
    case.steps.extend(policy);
    case
}

fn parameters() -> Vec<Case> {
    let of = |kind: &str| json!({"apiVersion": "v1", "kind": kind});
    let spec = || {
        json!({
            "paramKind": parameter_kind(),
            "validations": [{
                "expression": "object.data.a != params.spec.x",
                "messageExpression": "'a is ' + string(params.spec.x) + ' of ' + params.kind + ' ' + params.metadata.name",
            }],
        })
    };
    let reference = |more: Value| {
        let mut whole = json!({"parameterNotFoundAction": "Deny"});
        lay(&mut whole, more);
        json!({"paramRef": whole})
    };
    let refused = |name: &str, spec: Value, binding: Value| {
        with(name, "validating", spec, binding)
            .until(try_map("x"), |answer| !answer.is_success())
            .compare(try_map("x"))
    };
    let prepared = |name: &str, binding: Value| {
        let made = vec![parameter("one", &json!({"x": "1"})), parameter("two", &json!({"x": "2"}))];
        with_parameters(with(name, "validating", spec(), binding), made)
            .until(try_map("x"), |answer| answer.text_at("/message").contains("Parameter one"))
            .compare(try_map("x"))
    };
    let map_of = |value: &str| {
        post(MAPS, json!({"metadata": {"name": "y"}, "data": {"a": value}})).dry_run()
    };
    let config_map = || json!({"paramKind": of("ConfigMap"), "validations": [{"expression": "params.data.x == '1'"}]});
    vec![
        prepared(
            "admission/parameter-by-name",
            reference(json!({"name": "one", "namespace": "{ns}"})),
        )
        .compare(map_of("2"))
        .compare(post(MAPS, json!({"metadata": {"name": "y"}})).dry_run()),
        prepared("admission/parameter-of-the-namespace", reference(json!({"name": "one"}))),
        prepared(
            "admission/parameters-by-selector",
            reference(json!({"selector": {"matchLabels": {"parameter": "yes"}}})),
        )
        .compare(map_of("2"))
        .compare(map_of("3")),
        refused(
            "admission/parameter-missing-denies",
            config_map(),
            reference(json!({"name": "none"})),
        ),
        refused(
            "admission/parameter-selector-without-match-denies",
            config_map(),
            reference(json!({"selector": {"matchLabels": {"parameter": "{ns}"}}})),
        ),
        refused(
            "admission/parameter-kind-unknown",
            json!({"paramKind": {"apiVersion": "nope.dev/v1", "kind": "Nope"}, "validations": [{"expression": "true"}]}),
            reference(json!({"name": "none"})),
        ),
        refused("admission/parameters-without-reference", config_map(), json!({})),
        refused(
            "admission/parameter-namespace-of-a-cluster-kind",
            json!({"paramKind": of("Namespace"), "validations": [{"expression": "true"}]}),
            reference(json!({"name": "{ns}", "namespace": "x"})),
        ),
        refused(
            "admission/parameter-of-a-cluster-kind",
            json!({"paramKind": of("Namespace"), "validations": [
                {"expression": "params.metadata.name == 'z'", "messageExpression": "'not in ' + string(params.metadata.name)"},
            ]}),
            reference(json!({"name": "{ns}"})),
        ),
        // Without its parameter the policy lets everything pass; then the parameter comes.
        with_parameters(
            with(
                "admission/parameter-missing-allows-until-it-comes",
                "validating",
                spec(),
                reference(json!({"name": "late", "parameterNotFoundAction": "Allow"})),
            ),
            Vec::new(),
        )
        .compare(try_map("x"))
        .given(parameter("late", &json!({"x": "1"})))
        .until(try_map("x"), |answer| answer.text_at("/message").contains("Parameter late"))
        .compare(try_map("x")),
        fence(),
    ]
}

/// A fence that is opened by a change of its parameter.
fn fence() -> Case {
    let template = |hash: &str| {
        json!({"metadata": {"name": "p"}, "template": {
            "metadata": {"labels": {"pod-template-hash": hash}},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "e", "emptyDir": {}}],
            },
        }})
    };
    let start = |hash: &str| post("/api/v1/namespaces/{ns}/podtemplates", template(hash)).dry_run();
    let policy = with(
        "admission/fence-by-template-hash",
        "validating",
        json!({
            "paramKind": parameter_kind(),
            "matchConstraints": constraints(json!({"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["podtemplates"], "operations": ["CREATE"],
            }]})),
            "matchConditions": [{"name": "mounts", "expression": "has(object.template.spec.volumes) && object.template.spec.volumes.exists(v, has(v.persistentVolumeClaim))"}],
            "variables": [
                {"name": "claims", "expression": "object.template.spec.volumes.filter(v, has(v.persistentVolumeClaim)).map(v, v.persistentVolumeClaim.claimName)"},
                {"name": "fenced", "expression": "variables.claims.filter(c, c in params.spec.claims)"},
                {"name": "hash", "expression": "object.template.metadata.?labels[?'pod-template-hash'].orValue('')"},
            ],
            "validations": [{
                "expression": "variables.fenced.size() == 0 || variables.hash in params.spec.?allow.orValue([])",
                "messageExpression": "'claim ' + string(variables.fenced[0]) + ' is held by fence ' + params.metadata.name",
                "reason": "Forbidden",
            }],
        }),
        json!({"paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"}}),
    );
    let held = parameter("f", &json!({"claims": ["data"], "allow": ["new"]}));
    let refused = |answer: &Answer| answer.status == 403;
    with_parameters(policy, vec![held])
        .until(start("old"), refused)
        .compare(start("old"))
        .compare(start("new"))
        .given(merge_patch(&format!("{PARAMETERS}/f"), json!({"spec": {"allow": ["old"]}})))
        .until(start("new"), refused)
        .compare(start("old"))
        .compare(start("new"))
}

fn matching() -> Vec<Case> {
    let no = || json!([{"expression": "request.name == 'probe'", "message": "matched"}]);
    let rule = |more: Value| {
        let mut rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]});
        lay(&mut rule, more);
        rule
    };
    vec![
        validating_case(
            "admission/excluded-names",
            json!({
                "matchConstraints": constraints(json!({"excludeResourceRules": [rule(json!({"resourceNames": ["x"]}))]})),
                "validations": no(),
            }),
            json!({}),
        )
        .compare_all(["x", "y"].map(try_map)),
        validating_case(
            "admission/names",
            json!({
                "matchConstraints": constraints(json!({"resourceRules": [rule(json!({"resourceNames": ["x", "probe"]}))]})),
                "validations": no(),
            }),
            json!({}),
        )
        .compare_all(["x", "y"].map(try_map)),
        validating_case(
            "admission/object-selector",
            json!({
                "matchConstraints": constraints(json!({"objectSelector": {"matchLabels": {"case": "x"}}})),
                "validations": no(),
            }),
            json!({}),
        )
        .compare(try_map("x"))
        .compare(post(MAPS, json!({"metadata": {"name": "free"}})))
        // A label that comes or goes matches on either side.
        .compare(merge_patch(&one("free"), json!({"metadata": {"labels": {"case": "x"}}}))),
        validating_case(
            "admission/binding-narrows",
            json!({"validations": no()}),
            json!({"matchResources": {"resourceRules": [rule(json!({"resourceNames": ["x", "probe"]}))]}}),
        )
        .compare_all(["x", "y"].map(try_map)),
        validating_case(
            "admission/generated-names",
            json!({"validations": [{"expression": "has(object.metadata.name)", "message": "none"}, {"expression": "!has(object.metadata.generateName)", "message": "generated"}]}),
            json!({}),
        )
        .compare(post(MAPS, json!({"metadata": {"generateName": "g-"}})).ignoring("/message").ignoring("/details/name")),
        with(
            "admission/subresources",
            "validating",
            json!({
                "matchConstraints": constraints(json!({"resourceRules": [{
                    "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"], "operations": ["UPDATE"],
                }]})),
                "validations": [{
                    "expression": "object.spec.replicas < 3",
                    "messageExpression": "request.kind.group + '/' + request.kind.kind + ' ' + request.subResource + ' ' + string(object.spec.replicas)",
                }],
            }),
            json!({}),
        )
        .given(post("/apis/apps/v1/namespaces/{ns}/deployments", json!({
            "metadata": {"name": "d"},
            "spec": {
                "replicas": 0, "paused": true, "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            },
        })))
        .until(scale(5).dry_run(), |answer| !answer.is_success())
        .compare(scale(5))
        .compare(merge_patch("/apis/apps/v1/namespaces/{ns}/deployments/d", json!({"spec": {"replicas": 6}})).dry_run().ignoring("/metadata/resourceVersion").ignoring("/metadata/managedFields").ignoring("/status")),
        with(
            "admission/cluster-scope",
            "validating",
            json!({
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "matchConstraints": {
                    "objectSelector": {"matchLabels": {"case": "{ns}"}},
                    "resourceRules": [{
                        "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["clusterroles", "namespaces"], "operations": ["CREATE"],
                    }],
                },
                "validations": [{"expression": "true"}],
            }),
            json!({"paramRef": {"name": "one", "parameterNotFoundAction": "Deny"}}),
        )
        .until(labelled("clusterroles"), |answer| !answer.is_success())
        .compare(labelled("clusterroles"))
        .compare(labelled("namespaces")),
    ]
}

fn scale(replicas: u32) -> Request {
    let path = "/apis/apps/v1/namespaces/{ns}/deployments/d/scale";
    merge_patch(path, json!({"spec": {"replicas": replicas}}))
}

/// A cluster-scoped object with the label of the case, not stored.
fn labelled(plural: &str) -> Request {
    let path = if plural == "namespaces" { "/api/v1".to_owned() } else { RBAC.to_owned() };
    let body = json!({"metadata": {"name": "{ns}-x", "labels": {"case": "{ns}"}}});
    post(&format!("{path}/{plural}"), body).dry_run()
}

fn authorizing() -> Vec<Case> {
    let bind = |user: &str, rules: Value| {
        let role = json!({"metadata": {"name": user}, "rules": rules});
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": format!("{{ns}}-{user}")}],
        });
        let base = format!("{RBAC}/namespaces/{{ns}}");
        [post(&format!("{base}/roles"), role), post(&format!("{base}/rolebindings"), binding)]
    };
    let create = json!({"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]});
    let upgrade = json!({"verbs": ["upgrade"], "apiGroups": ["ex.dev"], "resources": ["apps"], "resourceNames": ["x"]});
    let asking = |name: &str, user: &str| try_map(name).impersonate(&format!("{{ns}}-{user}"), &[]);
    let check = "authorizer.group('ex.dev').resource('apps').namespace(request.namespace).name(object.metadata.name).check('upgrade')";
    let mut case = validating_case(
        "admission/authorizer",
        json!({"validations": [
            {"expression": format!("object.metadata.name in ['probe', 'own', 'reason', 'account'] || {check}.allowed()"), "messageExpression": "request.userInfo.username + ' may not upgrade ' + object.metadata.name", "reason": "Forbidden"},
            {"expression": "object.metadata.name != 'own' || authorizer.requestResource.check('delete').allowed()", "message": "may not delete"},
            {"expression": "object.metadata.name != 'reason' || authorizer.requestResource.check('create').reason() == ''", "message": "there is a reason"},
            {"expression": "object.metadata.name != 'account' || authorizer.serviceAccount('default', 'x').path('/nope').check('get').allowed()", "message": "the account may not"},
            {"expression": "object.metadata.name != 'x' || !authorizer.group('').resource('pods').check('get').errored()", "message": "errored"},
        ]}),
        json!({}),
    );
    for request in
        bind("allowed", json!([create, upgrade])).into_iter().chain(bind("plain", json!([create])))
    {
        case = case.given(request);
    }
    vec![
        case.until(asking("x", "allowed"), Answer::is_success)
            .until(asking("probe", "plain"), |answer| {
                answer.text_at("/message").contains("at work")
            })
            .compare(asking("x", "allowed"))
            .compare(asking("y", "allowed"))
            .compare(asking("x", "plain"))
            .compare(asking("own", "plain"))
            .compare(asking("reason", "plain"))
            .compare(asking("account", "plain"))
            .compare(try_map("y"))
            .compare(try_map("own"))
            .compare(try_map("reason")),
    ]
}

fn configuration(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch_of(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

/// An expression that differs by the name of the object.
fn by_name(cases: &[(&str, &str)], otherwise: &str) -> String {
    cases.iter().rev().fold(otherwise.to_owned(), |rest, (name, expression)| {
        format!("object.metadata.name == '{name}' ? {expression} : ({rest})")
    })
}

fn mutating() -> Vec<Case> {
    let failing = |answer: &Answer| !answer.is_success();
    let marked = |answer: &Answer| answer.text_at("/data/probe") == "yes";
    vec![
        mutating_case(
            "admission/apply-configuration",
            json!({
                "variables": [{"name": "who", "expression": "request.userInfo.username"}],
                "mutations": [configuration(&by_name(
                    &[
                        ("probe", "Object{ data: {'probe': 'yes'} }"),
                        ("labels", "Object{ metadata: Object.metadata{ labels: {'added': 'yes'}, annotations: {'ex.dev/requested-by': variables.who} } }"),
                        ("set", "Object{ metadata: Object.metadata{ finalizers: ['ex.dev/b'] } }"),
                        ("over", "Object{ data: {'a': object.data.a + '!', 'b': namespaceObject.metadata.name} }"),
                        ("flag", "Object{ immutable: true }"),
                    ],
                    "Object{}",
                ))],
            }),
            marked,
        )
        .compare_all(["labels", "over", "flag", "other"].map(try_map))
        .compare(post(MAPS, json!({"metadata": {"name": "set", "finalizers": ["ex.dev/a"]}})).dry_run())
        .compare(post(MAPS, map("labels")))
        .compare(merge_patch(&one("labels"), json!({"data": {"a": "2"}})))
        // What a policy set belongs to nobody, and comes back with every write.
        .compare(json_patch(&one("labels"), json!([{"op": "remove", "path": "/metadata/labels/added"}])))
        .compare(apply(&one("labels"), "m", json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"c": "1"}})))
        .compare(get(&one("labels"))),
        mutating_case(
            "admission/apply-configuration-refused",
            json!({"mutations": [configuration(&by_name(
                &[
                    ("wrong", "Object{ metadata: Object.spec{ labels: {'a': 'b'} } }"),
                    ("unknown", "Object{ bogus: 'x' }"),
                    ("type", "Object{ data: {'a': dyn(5)} }"),
                    ("flag", "Object{ immutable: dyn('x') }"),
                    ("atomic", "Object{ metadata: Object.metadata{ ownerReferences: [Object.metadata.ownerReferences{ uid: 'u', name: 'n', kind: 'K', apiVersion: 'v1' }] } }"),
                    ("error", "Object{ data: {'a': object.data.nope} }"),
                ],
                "Object{ data: {'probe': 'yes'} }",
            ))]}),
            marked,
        )
        .compare_all(["wrong", "unknown", "type", "flag", "atomic", "error"].map(try_map)),
        mutating_case(
            "admission/json-patch",
            json!({"mutations": [patch_of(&by_name(
                &[
                    ("add", "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a.b'), value: 'c'}, JSONPatch{op: 'add', path: '/metadata/labels/ex.dev~1x', value: 'v'}]"),
                    ("test", "[JSONPatch{op: 'test', path: '/data/a', value: 'no'}, JSONPatch{op: 'add', path: '/data/b', value: 'c'}]"),
                    ("move", "[JSONPatch{op: 'move', from: '/data/a', path: '/data/b'}, JSONPatch{op: 'copy', from: '/data/b', path: '/data/c'}]"),
                    ("map", "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]"),
                    ("object", "[JSONPatch{op: 'add', path: '/metadata/annotations', value: Object.metadata.annotations{a: 'b'}}]"),
                    ("missing", "[JSONPatch{op: 'remove', path: '/data/zz'}]"),
                    ("nowhere", "[JSONPatch{op: 'add', path: '/spec/zz/y', value: 'a'}]"),
                    ("bogus", "[JSONPatch{op: 'bogus', path: '/data/a', value: 'a'}]"),
                    ("type", "[JSONPatch{op: 'add', path: '/data/a', value: 5}]"),
                    ("unknown", "[JSONPatch{op: 'add', path: '/bogus', value: 5}]"),
                    ("invalid", "[JSONPatch{op: 'add', path: '/data/a~1b', value: 'x'}]"),
                ],
                "[JSONPatch{op: 'add', path: '/data/probe', value: 'yes'}]",
            ))]}),
            marked,
        )
        .compare_all(
            ["add", "test", "move", "map", "object", "missing", "nowhere", "bogus", "type", "unknown", "invalid"]
                .map(try_map),
        ),
        mutating_case(
            "admission/mutations-in-order",
            json!({
                "variables": [{"name": "a", "expression": "object.data.a"}],
                "mutations": [
                    configuration("Object{ data: {'a': variables.a + '1', 'probe': 'yes'} }"),
                    patch_of("[JSONPatch{op: 'add', path: '/data/b', value: variables.a + '2'}]"),
                ],
            }),
            marked,
        )
        .compare(try_map("x")),
        mutating_case(
            "admission/mutation-conditions",
            json!({
                "matchConditions": [
                    {"name": "a", "expression": "object.metadata.name != 'excluded'"},
                    {"name": "b", "expression": "object.metadata.name != 'error' || object.data.nope == 'x'"},
                ],
                "mutations": [configuration("Object{ data: {'probe': 'yes'} }")],
            }),
            marked,
        )
        .compare_all(["excluded", "error", "x"].map(try_map)),
        mutating_case(
            "admission/mutation-errors-are-ignored",
            json!({"failurePolicy": "Ignore", "mutations": [
                configuration("Object{ data: {'a': object.data.nope} }"),
                configuration("Object{ data: {'probe': 'yes'} }"),
            ]}),
            marked,
        )
        .compare(try_map("x")),
        with(
            "admission/mutation-parameter-missing",
            "mutating",
            json!({
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "mutations": [configuration("Object{ data: {'x': string(params.data.x)} }")],
            }),
            json!({"paramRef": {"name": "none", "parameterNotFoundAction": "Deny"}}),
        )
        .until(try_map("probe"), failing)
        .compare(try_map("x")),
        claims(),
        containers(),
        reinvoked(),
    ]
}

/// A claim gets a data source, unless it has one or asks for none.
fn claims() -> Case {
    let claims = "/api/v1/namespaces/{ns}/persistentvolumeclaims";
    let claim = |name: &str, labels: Value, more: Value| {
        let mut spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}});
        lay(&mut spec, more);
        json!({"metadata": {"name": name, "labels": labels}, "spec": spec})
    };
    let label = || json!({"ex.dev/restore": "auto"});
    let own = json!({"apiGroup": "other.dev", "kind": "Other", "name": "o"});
    with(
        "admission/data-source-of-claims",
        "mutating",
        json!({
            "matchConstraints": constraints(json!({
                "objectSelector": {"matchLabels": {"ex.dev/restore": "auto"}},
                "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["persistentvolumeclaims"], "operations": ["CREATE"]}],
            })),
            "matchConditions": [{"name": "none", "expression": "!has(object.spec.dataSourceRef) && !has(object.spec.dataSource)"}],
            "mutations": [patch_of("[JSONPatch{op: 'add', path: '/spec/dataSourceRef', value: Object.spec.dataSourceRef{apiGroup: 'ex.dev', kind: 'Restore', name: object.metadata.name}}]")],
        }),
        json!({}),
    )
    .until(post(claims, claim("probe", label(), json!({}))).dry_run(), |answer| {
        answer.at("/spec/dataSourceRef").is_some()
    })
    .compare(post(claims, claim("a", label(), json!({}))).dry_run())
    .compare(post(claims, claim("b", json!({}), json!({}))).dry_run())
    .compare(post(claims, claim("c", label(), json!({"dataSourceRef": own}))).dry_run())
    .compare(apply(&format!("{claims}/d"), "flux", {
        let mut body = claim("d", label(), json!({}));
        lay(&mut body, json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}));
        body
    }).dry_run())
}

/// Keyed lists are merged by key, lists without keys may not be mentioned.
fn containers() -> Case {
    let templates = "/api/v1/namespaces/{ns}/podtemplates";
    let body = |name: &str| {
        json!({"metadata": {"name": name}, "template": {"spec": {
            "containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1", "env": [{"name": "X", "value": "1"}]}],
        }}})
    };
    let create = |name: &str| post(templates, body(name)).dry_run();
    let container = "Object.template.spec.containers";
    with(
        "admission/keyed-lists",
        "mutating",
        json!({
            "matchConstraints": constraints(json!({"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["podtemplates"], "operations": ["CREATE"],
            }]})),
            "mutations": [configuration(&by_name(
                &[
                    ("args", &format!("Object{{ template: Object.template{{ spec: Object.template.spec{{ containers: [{container}{{ name: 'a', args: ['x'] }}] }} }} }}")),
                    ("every", &format!("Object{{ template: Object.template{{ spec: Object.template.spec{{ containers: object.template.spec.containers.map(c, {container}{{ name: c.name, imagePullPolicy: 'Never' }}) }} }} }}")),
                ],
                &format!("Object{{ template: Object.template{{ spec: Object.template.spec{{ containers: [{container}{{ name: 'b', env: [{container}.env{{ name: 'Y', value: '2' }}] }}, {container}{{ name: 'c', image: 'c:1' }}] }} }} }}"),
            ))],
        }),
        json!({}),
    )
    .until(create("probe"), |answer| answer.at("/template/spec/containers/2").is_some())
    .compare_all(["x", "args", "every"].map(create))
}

/// A policy that asked to run again sees what a later one changed.
fn reinvoked() -> Case {
    let sort = |plural: &str| path("mutating", plural);
    let mut case = Case::new("admission/reinvocation");
    for (name, reinvocation, expression) in [
        ("a", "IfNeeded", "Object{ data: {'a-saw': object.data[?'late'].orValue('nothing')} }"),
        ("b", "Never", "Object{ data: {'b-saw': object.data[?'later'].orValue('nothing')} }"),
        ("c", "Never", "Object{ data: {'late': 'yes', 'later': 'yes', 'probe': 'yes'} }"),
    ] {
        let name = format!("{{ns}}-{name}");
        let metadata = json!({"name": name});
        let spec = json!({
            "matchConstraints": constraints(json!({})), "reinvocationPolicy": reinvocation,
            "mutations": [configuration(expression)],
        });
        case = case
            .given(post(&sort("policies"), json!({"metadata": metadata, "spec": spec})))
            .given(post(
                &sort("policybindings"),
                json!({"metadata": metadata, "spec": {"policyName": name}}),
            ))
            .finally(delete(&format!("{}/{name}", sort("policybindings"))))
            .finally(delete(&format!("{}/{name}", sort("policies"))));
    }
    let all = |answer: &Answer| {
        ["a-saw", "b-saw", "late"].iter().all(|key| answer.at(&format!("/data/{key}")).is_some())
    };
    // The order of policies is random on the real server; that the first ran again is not.
    case.until(try_map("probe"), all).compare(try_map("x").ignoring("/data/b-saw"))
}

fn definitions() -> Vec<Case> {
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}]);
    let policy = |sort: &str, spec: Value| {
        let mut whole = json!({"matchConstraints": {"resourceRules": rules}});
        if sort == "mutating" {
            whole["reinvocationPolicy"] = "Never".into();
        }
        lay(&mut whole, spec);
        post(&path(sort, "policies"), json!({"metadata": {"name": "{ns}"}, "spec": whole}))
            .dry_run()
    };
    let binding = |sort: &str, spec: Value| {
        post(&path(sort, "policybindings"), json!({"metadata": {"name": "{ns}"}, "spec": spec}))
            .dry_run()
    };
    let says = |expression: &str| {
        policy("validating", json!({"validations": [{"expression": expression}]}))
    };
    vec![
        Case::new("admission/expressions-refused").compare_all(
            [
                "objectt.x",
                "object.x + 1",
                "params.x == 1",
                "variables.a",
                "request.foo == 'a'",
                "namespaceObject.metadata.uid == 'x'",
                "authorizer.requestResource.check(1).allowed()",
                "Object{}",
                "true &&",
                "foo(1)",
                "has(object)",
                "object.x.matches('[')",
                "duration('1h')",
            ]
            .map(says),
        ),
        Case::new("admission/policies-refused")
            .compare(policy("validating", json!({})))
            .compare(policy("validating", json!({"matchConstraints": null, "validations": [{"expression": "true"}]})))
            .compare(policy("validating", json!({"failurePolicy": "Foo", "paramKind": {"apiVersion": "a/b/c", "kind": "9x"}, "validations": [{"expression": " "}]})))
            .compare(policy("validating", json!({
                "variables": [{"name": "1a", "expression": "1"}, {"name": "b", "expression": "nope"}],
                "validations": [{"expression": "variables.foo == 1", "message": "a\nb", "reason": "Teapot"}],
                "matchConditions": [{"name": "a b", "expression": "object.x"}, {"name": "", "expression": ""}],
                "auditAnnotations": [{"key": "k", "valueExpression": "1"}, {"key": "k", "valueExpression": "'x'"}],
            })))
            .compare(policy("validating", json!({
                "matchConstraints": {"matchPolicy": "Foo", "resourceRules": [
                    {"apiGroups": ["*", "a"], "apiVersions": ["*", ""], "resources": ["*/*", "pods"], "operations": ["*", "FOO"], "scope": "Bar", "resourceNames": ["a/b", "x", "x"]}, {},
                ]},
                "validations": [{"expression": "true"}],
            })))
            .compare(policy("mutating", json!({})))
            .compare(policy("mutating", json!({"reinvocationPolicy": "Foo", "mutations": [
                {"patchType": "Foo"}, {}, configuration("1"), patch_of("[]"), {"patchType": "JSONPatch"}, configuration("Object.spec{}"),
            ]})))
            .compare(policy("mutating", json!({
                "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["DELETE"]}]},
                "mutations": [configuration("Object{}")],
            })))
            .compare(policy("validating", json!({"validations": [{"expression": "true"}]})))
            .compare(policy("mutating", json!({"mutations": [configuration("Object{}")]}))),
        Case::new("admission/bindings-refused")
            .compare(binding("validating", json!({})))
            .compare(binding("validating", json!({"policyName": "A_b", "validationActions": ["Deny", "Warn"]})))
            .compare(binding("validating", json!({"policyName": "a", "validationActions": ["Foo", "Audit", "Audit"], "paramRef": {}})))
            .compare(binding("validating", json!({"policyName": "a", "validationActions": ["Deny"], "paramRef": {"name": "a/b", "selector": {}, "parameterNotFoundAction": "Foo"}, "matchResources": {"matchPolicy": "F", "resourceRules": [{}]}})))
            .compare(binding("mutating", json!({"matchResources": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["DELETE"]}]}})))
            .compare(binding("validating", json!({"policyName": "a", "validationActions": ["Deny"], "paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}, "matchResources": {}}))),
    ]
}
