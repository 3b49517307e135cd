//! What clients ask before they ask for objects: groups, resources, versions, health, tables.

use serde_json::json;

use super::case::{Case, Request, delete, get, post};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
const PARTIAL: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const PARTIAL_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// The groups that are built in. `/apis` as a whole lists those of other cases' CRDs too.
const VERSIONS: [&str; 21] = [
    "admissionregistration.k8s.io/v1",
    "apiextensions.k8s.io/v1",
    "apiregistration.k8s.io/v1",
    "apps/v1",
    "authentication.k8s.io/v1",
    "authorization.k8s.io/v1",
    "autoscaling/v1",
    "autoscaling/v2",
    "batch/v1",
    "certificates.k8s.io/v1",
    "coordination.k8s.io/v1",
    "discovery.k8s.io/v1",
    "events.k8s.io/v1",
    "flowcontrol.apiserver.k8s.io/v1",
    "networking.k8s.io/v1",
    "node.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "resource.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "storage.k8s.io/v1",
];

/// Cases of discovery and of other forms of an object.
pub fn cases() -> Vec<Case> {
    let group = |version: &&str| {
        let name = version.split('/').next().unwrap_or_default();
        get(&format!("/apis/{name}"))
    };
    let resources = |version: &&str| get(&format!("/apis/{version}"));
    vec![
        Case::new("discovery/core").compare(get("/api")).compare(get("/api/v1")),
        Case::new("discovery/core-aggregated").compare(get("/api").accept(AGGREGATED)),
        Case::new("discovery/groups").compare_all(VERSIONS.iter().map(group)),
        Case::new("discovery/resources").compare_all(VERSIONS.iter().map(resources)),
        Case::new("discovery/missing").compare_all([
            get("/apis/nothing.example"),
            get("/apis/nothing.example/v1"),
            get("/apis/apps/v9"),
            get("/api/v2"),
            get("/nothing"),
        ]),
        Case::new("discovery/health").compare_all([
            get("/healthz").accept("*/*"),
            get("/livez").accept("*/*"),
            get("/readyz").accept("*/*"),
            get("/healthz/nothing").accept("*/*"),
        ]),
        Case::new("discovery/version").compare(version()),
        forms(),
        Case::new("openapi/missing").compare_all([
            get("/openapi/v3/nothing").accept("*/*"),
            get("/openapi/v3/apis/nothing.example/v1").accept("*/*"),
        ]),
        document(),
    ]
}

/// The build of the real server is its own; what clients read of it is not.
fn version() -> Request {
    ["/buildDate", "/compiler", "/gitCommit", "/gitTreeState", "/goVersion", "/platform"]
        .into_iter()
        .fold(get("/version"), Request::ignoring)
}

/// What the server publishes of a definition. Operations carry long descriptions on the real server that no
/// client shows, and the built-in schemas beside the custom one are the subject of the generated files.
fn document() -> Case {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let path = "/openapi/v3/apis/documents.example/v1";
    let schema = json!({
        "type": "object", "description": "A gadget.",
        "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": {
                "size": {"type": "integer", "minimum": 1, "default": 3, "description": "How big."},
                "port": {"x-kubernetes-int-or-string": true},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "maybe": {"type": "string", "nullable": true, "enum": ["a", "b"]},
                "map": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}},
                "ruled": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}]},
                "one": {
                    "type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                },
            }},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        },
    });
    let definition = json!({
        "metadata": {"name": "gadgets.documents.example"},
        "spec": {
            "group": "documents.example", "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    let meta = "/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1";
    let list = "/components/schemas/example.documents.v1.GadgetList/properties";
    Case::new("openapi/custom-document")
        .given(post(definitions, definition))
        .until_status(get(path), 200)
        .compare(
            get(path)
                .ignoring("/paths")
                .ignoring(&format!("{meta}.DeleteOptions"))
                .ignoring(&format!("{meta}.Patch"))
                .ignoring(&format!("{list}/metadata"))
                .ignoring(&format!("{list}/items")),
        )
        .finally(delete(&format!("{definitions}/gadgets.documents.example")))
}

fn forms() -> Case {
    let maps = "/api/v1/namespaces/{ns}/configmaps";
    let one = "/api/v1/namespaces/{ns}/configmaps/a";
    let selected = "/api/v1/namespaces/{ns}/configmaps?labelSelector=app%3Da";
    let map = json!({
        "metadata": {"name": "a", "labels": {"app": "a"}, "annotations": {"n": "1"}},
        "data": {"k": "v", "l": "w"},
    });
    // A table says how old an object is.
    let table = |path: &str| get(path).accept(TABLE).ignoring("/rows/*/cells/2");
    Case::new("discovery/forms-of-an-object")
        .given(post(maps, map))
        .compare(get(one).accept(PARTIAL))
        .compare(get(selected).accept(PARTIAL_LIST))
        .compare(table(one))
        .compare(table(selected))
        .compare(table(selected).query("includeObject", "None"))
        .compare(table(selected).query("includeObject", "Object"))
        .compare(get(one).accept("application/json;as=Table;g=meta.k8s.io;v=v9"))
        .compare(get(one).accept("text/html"))
        .compare(get(one).accept("application/yaml"))
}
