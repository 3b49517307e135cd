//! flux-operator's ResourceSets, as far as the repository alone decides them: objects from templates
//! and inputs that are written down.

mod function;
mod template;
mod value;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::build::{Built, Object};
use super::known::Known;
use super::kustomization::Name;
use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::{Origin, Resource};
use crate::render::to_json;
use crate::yaml::{self, Fields, Mark, Node, Text};

/// The group of flux-operator's kinds.
const GROUP: &str = "fluxcd.controlplane.io";

/// Where the inputs of a set come from besides itself.
#[derive(Clone, Debug)]
enum From {
    /// One provider.
    Named(Text),
    /// Those with these labels.
    Labelled(Vec<(Text, Text)>),
}

/// A ResourceSet.
#[derive(Clone, Debug)]
pub struct ResourceSet {
    /// Namespace and name.
    pub name: Name,
    /// Where it is written.
    pub origin: Origin,
    /// The object itself.
    pub object: Node,
    /// Whether it is told to do nothing.
    pub disabled: bool,
    from: Vec<From>,
}

impl ResourceSet {
    /// Whether the object is one.
    pub fn is_one(object: &Node) -> bool {
        let text = |name| object.get(name).and_then(Node::text).unwrap_or_default();
        text("kind") == "ResourceSet"
            && text("apiVersion").split_once('/').is_some_and(|(group, _)| group == GROUP)
    }

    /// Reads the object. Without a namespace of its own it lives in `namespace`.
    pub fn read(object: &Node, origin: Origin, namespace: &str) -> Result<Self> {
        let file = origin.file.clone();
        Self::read_object(object, origin, namespace).map_err(|error| match file {
            Some(file) => error.in_file(file),
            None => error,
        })
    }

    fn read_object(object: &Node, origin: Origin, namespace: &str) -> Result<Self> {
        let text = |field| object.at(&["metadata", field]).and_then(Node::text);
        let name = Name {
            namespace: text("namespace").unwrap_or(namespace).into(),
            name: text("name").unwrap_or_default().into(),
        };
        let mut from = Vec::new();
        if let Some(spec) = object.get("spec").filter(|spec| !spec.is_null()) {
            let mut spec = Fields::of(spec, "the ResourceSet's spec")?;
            for node in spec.list("inputsFrom")? {
                let mut fields = Fields::of(node, "an entry of `inputsFrom`")?;
                if let Some(name) = fields.text("name")? {
                    from.push(From::Named(name));
                } else if let Some(selector) = fields.node("selector") {
                    let mut selector = Fields::of(selector, "a selector of `inputsFrom`")?;
                    if selector.node("matchExpressions").is_some() {
                        return Err(Diagnostic::new(
                            "`matchExpressions` of `inputsFrom` are not rendered",
                        )
                        .at(node.mark)
                        .hint("select by `matchLabels` or by name"));
                    }
                    from.push(From::Labelled(selector.text_map("matchLabels")?));
                }
            }
        }
        let disabled = object
            .at(&["metadata", "annotations"])
            .and_then(|map| map.get("fluxcd.controlplane.io/reconcile"))
            .and_then(Node::text)
            == Some("disabled");
        Ok(Self { name, origin, object: object.clone(), disabled, from })
    }

    /// Whether a provider it names was not rendered.
    pub(super) fn is_missing(&self, known: &Known) -> bool {
        self.from.iter().any(|from| match from {
            From::Named(name) => known.provider(&self.sibling(name)).is_none(),
            From::Labelled(_) => self.providers(from, known).is_empty(),
        })
    }

    fn sibling(&self, name: &Text) -> Name {
        Name { namespace: self.name.namespace.clone(), name: name.clone() }
    }

    fn providers<'a>(&self, from: &From, known: &'a Known) -> Vec<(Text, &'a Node)> {
        match from {
            From::Named(name) => known
                .provider(&self.sibling(name))
                .map(|node| (name.clone(), node))
                .into_iter()
                .collect(),
            From::Labelled(labels) => {
                let mut found = Vec::new();
                for (name, node) in known.providers() {
                    let has = |(key, value): &(Text, Text)| {
                        node.at(&["metadata", "labels"])
                            .and_then(|map| map.get(key))
                            .and_then(Node::text)
                            == Some(value.as_str())
                    };
                    if name.namespace == self.name.namespace && labels.iter().all(has) {
                        found.push((name.name.clone(), node));
                    }
                }
                found
            }
        }
    }

    /// Every set of inputs, the set's own first, then those of its providers by name.
    fn inputs(&self, known: &Known) -> Result<Vec<Value>> {
        let mut inputs = Vec::new();
        let kind = |object: &Node| {
            let text = |name| object.get(name).and_then(Node::text).unwrap_or_default().to_owned();
            (text("apiVersion"), text("kind"))
        };
        let (api_version, own_kind) = kind(&self.object);
        let own =
            self.object.at(&["spec", "inputs"]).and_then(Node::as_sequence).unwrap_or_default();
        for node in own {
            let mut input = to_json(node)?;
            if let Value::Object(map) = &mut input {
                map.insert(
                    "provider".to_owned(),
                    json!({
                        "apiVersion": api_version, "kind": own_kind,
                        "name": self.name.name.as_str(), "namespace": self.name.namespace.as_str(),
                    }),
                );
            }
            inputs.push(input);
        }
        let mut providers: Vec<(Text, &Node)> = Vec::new();
        for from in &self.from {
            let found = self.providers(from, known);
            if let (From::Named(name), true) = (from, found.is_empty()) {
                return Err(self.failed(
                    Diagnostic::new(format!(
                        "input provider {name} is not rendered from this repository"
                    ))
                    .hint("its inputs are known in the cluster only"),
                ));
            }
            providers.extend(found);
        }
        providers.sort_by(|one, two| one.0.cmp(&two.0));
        providers.dedup_by(|one, two| one.0 == two.0);
        for (name, provider) in providers {
            let asked = provider.at(&["spec", "type"]).and_then(Node::text).unwrap_or_default();
            if asked != "Static" {
                return Err(self.failed(
                    Diagnostic::new(format!("input provider {name} is of type {asked}"))
                        .hint("only Static ones can be rendered without the cluster"),
                ));
            }
            let mut input = match provider.at(&["spec", "defaultValues"]) {
                Some(values) => to_json(values)?,
                None => Value::Object(Map::new()),
            };
            let (api_version, kind) = kind(provider);
            if let Value::Object(map) = &mut input {
                map.insert(
                    "provider".to_owned(),
                    json!({
                        "apiVersion": api_version, "kind": kind,
                        "name": name.as_str(), "namespace": self.name.namespace.as_str(),
                    }),
                );
            }
            inputs.push(input);
        }
        Ok(inputs)
    }

    fn failed(&self, error: Diagnostic) -> Diagnostic {
        match &self.origin.file {
            Some(file) => error.in_file(file.clone()).at(Mark {
                line: self.origin.line,
                column: 1,
                ..Mark::default()
            }),
            None => error,
        }
    }
}

/// Renders a ResourceSet.
pub(super) fn build(set: &ResourceSet, known: &Known) -> Result<Built> {
    let spec = set.object.get("spec");
    let strategy = spec.and_then(|spec| spec.at(&["inputStrategy", "name"])).and_then(Node::text);
    if let Some(strategy) = strategy.filter(|name| *name != "Flatten") {
        return Err(
            set.failed(Diagnostic::new(format!("the input strategy {strategy} is not rendered")))
        );
    }
    let inputs = set.inputs(known)?;
    let mut built = Built::default();
    if inputs.is_empty() && !set.from.is_empty() {
        return Ok(built);
    }
    let inputs = if inputs.is_empty() { vec![Value::Null] } else { inputs };
    let mut names = BTreeSet::new();
    let steps =
        spec.and_then(|spec| spec.get("steps")).and_then(Node::as_sequence).unwrap_or_default();
    for part in spec.into_iter().chain(steps) {
        for node in part.get("resources").and_then(Node::as_sequence).unwrap_or_default() {
            let mut text = String::new();
            yaml::emit::object(node, &mut text)?;
            for input in &inputs {
                let place = if node.mark.is_known() { node.mark } else { set.object.mark };
                add(set, &text, input, place, &mut names, &mut built)?;
            }
        }
        if let Some(node) = part.get("resourcesTemplate") {
            let text = node.text().unwrap_or_default();
            for input in &inputs {
                add(set, text, input, node.mark, &mut names, &mut built)?;
            }
        }
    }
    set_common(set, &mut built);
    Ok(built)
}

fn add(
    set: &ResourceSet,
    template: &str,
    input: &Value,
    place: Mark,
    names: &mut BTreeSet<(Text, Text, String, String)>,
    built: &mut Built,
) -> Result<()> {
    let placed = |error: Diagnostic| set.failed(error.at(place));
    let text = template::render(template, input).map_err(|error| placed(Diagnostic::new(error)))?;
    let documents = yaml::documents(&text).map_err(|error| {
        let message = format!("what the template makes is no YAML: {}", error.message());
        placed(Diagnostic::new(message))
    })?;
    for document in documents {
        if document.root.is_null() {
            continue;
        }
        let mut node = document.root;
        forget(&mut node);
        node.mark = place;
        let resource = Resource::new(node, Origin { line: place.line, ..set.origin.clone() });
        if resource.kind().is_empty() || resource.name().is_empty() {
            return Err(placed(Diagnostic::new(
                "the template makes an object without kind or name",
            )));
        }
        let annotations = resource.node.at(&["metadata", "annotations"]);
        let left_out = annotations
            .and_then(|map| map.get("fluxcd.controlplane.io/reconcile"))
            .and_then(Node::text)
            == Some("disabled");
        let gvk = resource.gvk();
        let name =
            (gvk.group, gvk.kind, resource.namespace().to_owned(), resource.name().to_owned());
        if !left_out && names.insert(name) {
            built.objects.push(Object { resource, encrypted: false, kept: BTreeSet::new() });
        }
    }
    Ok(())
}

/// Places in what a template made are no places in a file.
fn forget(node: &mut Node) {
    node.mark = Mark::default();
    match &mut node.value {
        yaml::Value::Scalar(_) => {}
        yaml::Value::Sequence(items) => items.iter_mut().for_each(forget),
        yaml::Value::Mapping(mapping) => {
            for entry in mapping.iter_mut() {
                entry.key.mark = Mark::default();
                forget(&mut entry.value);
            }
        }
    }
}

fn set_common(set: &ResourceSet, built: &mut Built) {
    for field in ["labels", "annotations"] {
        let Some(pairs) =
            set.object.at(&["spec", "commonMetadata", field]).and_then(Node::as_mapping)
        else {
            continue;
        };
        for object in &mut built.objects {
            let Some(node) = object.resource.node.as_mapping_mut() else { continue };
            let metadata = node.get_or_insert_with("metadata", Node::mapping);
            let Some(metadata) = metadata.as_mapping_mut() else { continue };
            let Some(map) = metadata.get_or_insert_with(field, Node::mapping).as_mapping_mut()
            else {
                continue;
            };
            for entry in pairs {
                map.set(entry.key.text.clone(), entry.value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> ResourceSet {
        let node = yaml::documents(text).unwrap().remove(0).root;
        let origin = Origin { file: Some("set.yaml".into()), line: 1 };
        ResourceSet::read(&node, origin, "flux-system").unwrap()
    }

    fn rendered(text: &str) -> Result<String> {
        let built = build(&set(text), &Known::default())?;
        let mut out = String::new();
        yaml::emit::objects(built.objects.iter().map(|object| &object.resource.node), &mut out)?;
        Ok(out)
    }

    const HEAD: &str =
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: apps}\nspec:\n";

    #[test]
    fn each_input_makes_each_object() {
        let text = format!(
            "{HEAD}  inputs: [{{app: One, n: 1}}, {{app: two, n: 2}}]\n  commonMetadata: {{labels: {{a: b}}}}\n  resources:\n  \
             - apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: << inputs.app | lower >>\n    data:\n      \
             n: << inputs.n | quote >>\n      same: << inputs.provider.name >>\n"
        );
        assert_eq!(
            rendered(&text).unwrap(),
            "apiVersion: v1\ndata:\n  \"n\": \"1\"\n  same: apps\nkind: ConfigMap\nmetadata:\n  labels:\n    a: b\n  name: one\n\
             ---\napiVersion: v1\ndata:\n  \"n\": \"2\"\n  same: apps\nkind: ConfigMap\nmetadata:\n  labels:\n    a: b\n  name: two\n"
        );
    }

    #[test]
    fn templates_of_text_make_several_and_doubles_are_dropped() {
        let text = format!(
            "{HEAD}  inputs: [{{apps: [a, b]}}]\n  resourcesTemplate: |\n    <<- range $app := inputs.apps >>\n    ---\n    \
             apiVersion: v1\n    kind: Namespace\n    metadata:\n      name: << $app >>\n    <<- end >>\n    ---\n    \
             apiVersion: v1\n    kind: Namespace\n    metadata:\n      name: a\n"
        );
        assert_eq!(
            rendered(&text).unwrap(),
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: b\n"
        );
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let text = format!(
            "{HEAD}  inputs: [{{a: b}}]\n  resources:\n  - {{kind: X, metadata: {{name: '<< inputs.a | fancy >>'}}}}\n"
        );
        let error = rendered(&text).unwrap_err();
        assert_eq!(
            error.to_string(),
            "set.yaml:7:5: function \"fancy\" is not known here: `<< inputs.a | fancy >>`"
        );
        let text = format!("{HEAD}  inputsFrom: [{{name: branches}}]\n  resources: []\n");
        let error = rendered(&text).unwrap_err();
        assert_eq!(
            error.to_string(),
            "set.yaml:1:1: input provider branches is not rendered from this repository; its inputs \
             are known in the cluster only"
        );
    }
}
