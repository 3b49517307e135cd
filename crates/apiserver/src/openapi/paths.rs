//! What can be asked: paths, operations and their parameters.
//!
//! Clients read the kind that an operation is about, whether a patch takes `dryRun` and
//! `fieldValidation`, and which kinds of patch there are.

use serde_json::{Map, Value, json};

use super::reference;
use crate::resource::{Resource, Subresource};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

const LIST: [(&str, &str); 11] = [
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("shardSelector", "string"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const DELETE: [(&str, &str); 5] = [
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const WRITE: [(&str, &str); 3] =
    [("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// Adds the paths of a resource. `name` and `list` are its schemas, `below` knows those of subresources.
pub fn of(
    resource: &Resource,
    name: &str,
    list: &str,
    below: &dyn Fn(&Subresource) -> String,
    paths: &mut Map<String, Value>,
) {
    let root = root(&resource.group, &resource.version);
    let maker = Maker { resource };
    let collection = if resource.namespaced {
        format!("{root}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        format!("{root}/{}", resource.plural)
    };
    let has = |verb: &str| resource.verbs.iter().any(|own| own == verb);
    if resource.namespaced && has("list") {
        let all = maker.operation(&Asked::new("list", list).everywhere());
        let item = json!({ "get": all, "parameters": maker.around(false, false) });
        paths.insert(format!("{root}/{}", resource.plural), item);
    }
    let mut item = Map::new();
    if has("list") {
        item.insert("get".into(), maker.operation(&Asked::new("list", list)));
    }
    if has("create") {
        item.insert("post".into(), maker.operation(&Asked::new("create", name)));
    }
    if has("deletecollection") {
        let status = format!("{META}.Status");
        item.insert("delete".into(), maker.operation(&Asked::new("deletecollection", &status)));
    }
    if !item.is_empty() {
        item.insert("parameters".into(), maker.around(resource.namespaced, false));
        paths.insert(collection.clone(), Value::Object(item));
    }
    let mut item = maker.single(&resource.verbs, name, "", has("delete"));
    if !item.is_empty() {
        item.insert("parameters".into(), maker.around(resource.namespaced, true));
        paths.insert(format!("{collection}/{{name}}"), Value::Object(item));
    }
    for sub in &resource.subresources {
        let mut item = maker.single(&sub.verbs, &below(sub), &sub.name, false);
        if sub.verbs.iter().any(|verb| verb == "create") {
            let answer = below(sub);
            item.insert("post".into(), maker.operation(&Asked::new("create", &answer).below(sub)));
        }
        if item.is_empty() {
            continue;
        }
        item.insert("parameters".into(), maker.around(resource.namespaced, true));
        paths.insert(format!("{collection}/{{name}}/{}", sub.name), Value::Object(item));
    }
}

/// Adds the path that lists a group version's resources.
pub fn resource_list(group: &str, version: &str, paths: &mut Map<String, Value>) {
    let (tag, camel) = names(group, version);
    let list = format!("{META}.APIResourceList");
    let operation = json!({
        "tags": [tag],
        "operationId": format!("get{camel}APIResources"),
        "responses": {
            "200": { "description": "OK", "content": content(&list, false, false) },
            "401": { "description": "Unauthorized" },
        },
    });
    paths.insert(format!("{}/", root(group, version)), json!({ "get": operation }));
}

fn root(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// `coordination_v1` and `CoordinationV1`.
fn names(group: &str, version: &str) -> (String, String) {
    let short = match group {
        "" => "core",
        group => group.strip_suffix(".k8s.io").unwrap_or(group),
    };
    let words: String = short.split(['.', '-']).map(upper).collect();
    let mut letters = words.chars();
    let tag: String =
        letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
    (format!("{tag}_{version}"), format!("{words}{}", upper(version)))
}

fn upper(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// One operation to be described.
struct Asked<'a> {
    verb: &'a str,
    /// The schema of its answer.
    answer: &'a str,
    everywhere: bool,
    sub: Option<&'a str>,
    /// Group, version and kind if they are not the resource's.
    kind: Option<(&'a str, &'a str, &'a str)>,
}

impl<'a> Asked<'a> {
    fn new(verb: &'a str, answer: &'a str) -> Self {
        Self { verb, answer, everywhere: false, sub: None, kind: None }
    }

    fn everywhere(self) -> Self {
        Self { everywhere: true, ..self }
    }

    fn below(self, sub: &'a Subresource) -> Self {
        let kind = (!sub.version.is_empty()).then_some((
            sub.group.as_str(),
            sub.version.as_str(),
            sub.kind.as_str(),
        ));
        Self { sub: Some(&sub.name), kind, ..self }
    }
}

struct Maker<'a> {
    resource: &'a Resource,
}

impl Maker<'_> {
    /// get, put, patch and delete of one object or of something below it.
    fn single(&self, verbs: &[String], name: &str, sub: &str, delete: bool) -> Map<String, Value> {
        let mut item = Map::new();
        let sub = (!sub.is_empty())
            .then(|| self.resource.subresources.iter().find(|one| one.name == sub))
            .flatten();
        for (verb, method) in [("get", "get"), ("update", "put"), ("patch", "patch")] {
            if verbs.iter().any(|own| own == verb) {
                let mut asked = Asked::new(verb, name);
                if let Some(sub) = sub {
                    asked = asked.below(sub);
                }
                item.insert(method.into(), self.operation(&asked));
            }
        }
        if delete {
            let status = format!("{META}.Status");
            item.insert("delete".into(), self.operation(&Asked::new("delete", &status)));
        }
        item
    }

    fn operation(&self, asked: &Asked<'_>) -> Value {
        let resource = self.resource;
        let (tag, camel) = names(&resource.group, &resource.version);
        let (word, action) = match asked.verb {
            "get" => ("read", "get"),
            "create" => ("create", "post"),
            "update" => ("replace", "put"),
            "deletecollection" => ("delete", "deletecollection"),
            verb => (verb, verb),
        };
        let collection = if asked.verb == "deletecollection" { "Collection" } else { "" };
        let scope = if resource.namespaced && !asked.everywhere { "Namespaced" } else { "" };
        let tail = if asked.everywhere { "ForAllNamespaces" } else { "" };
        let sub = asked.sub.map(upper).unwrap_or_default();
        let (group, version, kind) = asked.kind.filter(|_| !resource.custom).unwrap_or((
            &resource.group,
            &resource.version,
            &resource.kind,
        ));
        let mut operation = json!({
            "tags": [tag],
            "operationId":
                format!("{word}{camel}{collection}{scope}{}{sub}{tail}", resource.kind),
            "responses": self.responses(asked),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": group, "version": version, "kind": kind,
            },
        });
        let parameters = self.parameters(asked);
        if !parameters.is_empty() {
            operation["parameters"] = Value::from(parameters);
        }
        if let Some(body) = self.body(asked) {
            operation["requestBody"] = body;
        }
        operation
    }

    fn parameters(&self, asked: &Asked<'_>) -> Vec<Value> {
        let named = |(name, kind): &(&str, &str)| query(name, kind);
        match asked.verb {
            "list" if asked.everywhere => Vec::new(),
            "list" => LIST.iter().map(named).collect(),
            "get" if self.resource.custom => vec![query("resourceVersion", "string")],
            "create" | "update" => WRITE.iter().map(named).collect(),
            "patch" => WRITE.iter().chain(&[("force", "boolean")]).map(named).collect(),
            "delete" => DELETE.iter().map(named).collect(),
            "deletecollection" if self.resource.custom => LIST.iter().map(named).collect(),
            "deletecollection" => {
                let mut all: Vec<_> = LIST
                    .iter()
                    .filter(|(name, _)| !matches!(*name, "allowWatchBookmarks" | "watch"))
                    .chain(&DELETE)
                    .collect();
                all.sort_unstable();
                all.into_iter().map(named).collect()
            }
            _ => Vec::new(),
        }
    }

    fn body(&self, asked: &Asked<'_>) -> Option<Value> {
        let custom = self.resource.custom;
        let any = |name: &str| {
            if custom {
                content(name, true, false)
            } else {
                json!({ "*/*": { "schema": reference(name) } })
            }
        };
        Some(match asked.verb {
            "create" | "update" => json!({ "content": any(asked.answer), "required": true }),
            "deletecollection" if custom => return None,
            "delete" | "deletecollection" => {
                json!({ "content": any(&format!("{META}.DeleteOptions")) })
            }
            "patch" => {
                // A custom kind has no strategy.
                let kinds = if custom { &PATCHES[..3] } else { &PATCHES[..] };
                let schema = json!({ "schema": reference(&format!("{META}.Patch")) });
                let content: Map<String, Value> =
                    kinds.iter().map(|kind| ((*kind).to_owned(), schema.clone())).collect();
                json!({ "content": content, "required": true })
            }
            _ => return None,
        })
    }

    fn responses(&self, asked: &Asked<'_>) -> Value {
        let custom = self.resource.custom;
        let codes: &[(&str, &str)] = match asked.verb {
            "create" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            "update" => &[("200", "OK"), ("201", "Created")],
            "patch" if !custom => &[("200", "OK"), ("201", "Created")],
            "delete" => &[("200", "OK"), ("202", "Accepted")],
            _ => &[("200", "OK")],
        };
        let mut responses = Map::new();
        let content = content(asked.answer, custom, asked.verb == "list" && !custom);
        for (code, said) in codes {
            responses
                .insert((*code).into(), json!({ "description": said, "content": content.clone() }));
        }
        responses.insert("401".into(), json!({ "description": "Unauthorized" }));
        Value::Object(responses)
    }

    /// The parameters of a path.
    fn around(&self, namespaced: bool, named: bool) -> Value {
        let in_path = |name: &str| {
            json!({
                "name": name, "in": "path", "required": true,
                "schema": { "type": "string", "uniqueItems": true },
            })
        };
        let mut all = Vec::new();
        if named {
            all.push(in_path("name"));
        }
        if namespaced {
            all.push(in_path("namespace"));
        } else if self.resource.namespaced {
            // The list over all namespaces has its parameters here.
            all.extend(LIST.iter().map(|(name, kind)| query(name, kind)));
        }
        all.push(query("pretty", "string"));
        all.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
        Value::from(all)
    }
}

fn query(name: &str, kind: &str) -> Value {
    json!({ "name": name, "in": "query", "schema": { "type": kind, "uniqueItems": true } })
}

fn content(name: &str, custom: bool, stream: bool) -> Value {
    let mut kinds = vec!["application/json", "application/yaml"];
    if !custom {
        kinds.push("application/vnd.kubernetes.protobuf");
    }
    if stream {
        kinds.push("application/json;stream=watch");
        kinds.push("application/vnd.kubernetes.protobuf;stream=watch");
    }
    let schema = json!({ "schema": reference(name) });
    kinds.into_iter().map(|kind| (kind.to_owned(), schema.clone())).collect::<Map<_, _>>().into()
}
