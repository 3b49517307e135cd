//! Cases of single filters, recorded as the dump of upstream's filter. A dump has no functions and no
//! sets of objects in it; what of those is needed is read from the input and the result.

use std::path::Path;

use holdfast_manifest::files::Memory;
use holdfast_manifest::kustomize::config::Config;
use holdfast_manifest::kustomize::field::FieldSpec;
use holdfast_manifest::kustomize::replacement::Replacements;
use holdfast_manifest::kustomize::schema::Schema;
use holdfast_manifest::kustomize::transform::annotations::Annotations;
use holdfast_manifest::kustomize::transform::images::Images;
use holdfast_manifest::kustomize::transform::labels::Labels;
use holdfast_manifest::kustomize::transform::namespace::Namespace;
use holdfast_manifest::kustomize::transform::patches::Patch;
use holdfast_manifest::kustomize::transform::prefix::Prefix;
use holdfast_manifest::kustomize::transform::replicas::Replicas;
use holdfast_manifest::kustomize::transform::suffix::Suffix;
use holdfast_manifest::kustomize::transform::value::ValueAdd;
use holdfast_manifest::kustomize::variable::{self, Content};
use holdfast_manifest::kustomize::{
    Gvk, Loader, Options, Origin, PreviousName, Resource, Resources, reference,
};
use holdfast_manifest::yaml::{Node, Tag, Value as Shape, documents, emit};
use serde_json::{Value, json};

use super::read;
use crate::difference;

/// Applies the filter to the input and compares.
pub fn run(path: &Path) -> Result<(), String> {
    let dump = read(&path.join("filter.json"))?;
    let input = read(&path.join("input.yaml"))?;
    let refusal = path.join("error.txt");
    let wanted = if refusal.exists() { None } else { Some(read(&path.join("expected.yaml"))?) };
    let got = apply(&dump, &input, wanted.as_deref());
    match (got, wanted) {
        (Err(_), None) => Ok(()),
        (Err(error), Some(_)) => Err(format!("failed: {error}")),
        (Ok(_), None) => Err(format!("did not fail as upstream does: {}", read(&refusal)?)),
        (Ok(got), Some(wanted)) => {
            let wanted = nodes(&wanted)?;
            if equal(&got, &wanted) {
                Ok(())
            } else {
                Err(difference::lines(&text(&wanted)?, &text(&got)?))
            }
        }
    }
}

fn apply(dump: &str, input: &str, wanted: Option<&str>) -> Result<Vec<Node>, String> {
    if dump.contains("refvar.Filter{") {
        return expand(dump, input, wanted);
    }
    let dump: Value = serde_json::from_str(dump).map_err(|error| error.to_string())?;
    let config = &dump["config"];
    let kind = dump["type"].as_str().unwrap_or_default();
    if kind == "nameref.Filter" {
        return refer(config, input, wanted);
    }
    if kind == "patchstrategicmerge.Filter" {
        return merge(config, input, wanted);
    }
    filter(kind, config, input)
}

fn filter(kind: &str, config: &Value, input: &str) -> Result<Vec<Node>, String> {
    let mut plugin = plugin(kind, config)?;
    plugin["apiVersion"] = "builtin".into();
    plugin["metadata"]["name"] = "filter".into();
    let config = first(&plugin.to_string())?;
    let options = Options::default();
    let files = Memory::new();
    let mut resources = Resources { list: resources(input)? };
    Loader::new(&files, "", &options)
        .and_then(|loader| run_filter(kind, &config, &loader, &mut resources))
        .map_err(|error| error.to_string())?;
    Ok(resources.list.into_iter().map(|resource| resource.node).collect())
}

fn run_filter(
    kind: &str,
    config: &Node,
    loader: &Loader<'_>,
    resources: &mut Resources,
) -> holdfast_manifest::Result<()> {
    let mut list = resources.list.iter_mut();
    match kind {
        "annotations.Filter" => {
            let annotations = Annotations::from_config(config)?;
            list.try_for_each(|resource| annotations.apply_to(resource))
        }
        "labels.Filter" => {
            let labels = Labels::from_config(config)?;
            list.try_for_each(|resource| labels.apply_to(resource))
        }
        "imagetag.Filter" => {
            let images = Images::from_config(config)?;
            list.try_for_each(|resource| images.apply_to_fields(resource))
        }
        "imagetag.LegacyFilter" => {
            let images = Images::from_config(config)?;
            list.try_for_each(|resource| images.apply_to_containers(resource))
        }
        "namespace.Filter" => {
            let namespace = Namespace::from_config(config)?;
            list.try_for_each(|resource| namespace.apply_to(&mut resource.node))
        }
        "replicacount.Filter" => {
            let replicas = Replicas::from_config(config)?;
            list.try_for_each(|resource| {
                let mut fields = replicas.fields.iter();
                fields.try_for_each(|field| replicas.apply_field(field, &mut resource.node))
            })
        }
        "prefix.Filter" => Prefix::from_config(config)?.apply(resources),
        "suffix.Filter" => Suffix::from_config(config)?.apply(resources),
        "valueadd.Filter" => ValueAdd::from_config(config, loader)?.apply(resources),
        "replacement.Filter" => Replacements::from_config(config, loader)?.apply(resources),
        _ => Patch::from_config(config, loader)?.apply(resources, &Schema::new()),
    }
}

/// Merging takes the directives out of the patch before it is dumped: where the patch as it is does not
/// give the result, one directive is put back.
fn merge(config: &Value, input: &str, wanted: Option<&str>) -> Result<Vec<Node>, String> {
    let kind = "patchstrategicmerge.Filter";
    let got = filter(kind, config, input);
    let Some(wanted) = wanted else { return got };
    let wanted = nodes(wanted)?;
    if got.as_ref().is_ok_and(|got| equal(got, &wanted)) {
        return got;
    }
    let mut places = Vec::new();
    mappings(&config["Patch"], "/Patch", &mut places);
    for place in places {
        for directive in ["delete", "replace"] {
            let mut config = config.clone();
            if let Some(mapping) = config.pointer_mut(&place) {
                mapping["$patch"] = directive.into();
            }
            let got = filter(kind, &config, input);
            if got.as_ref().is_ok_and(|got| equal(got, &wanted)) {
                return got;
            }
        }
    }
    got
}

fn mappings(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            found.push(path.to_owned());
            for (key, value) in entries {
                let key = key.replace('~', "~0").replace('/', "~1");
                mappings(value, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                mappings(value, &format!("{path}/{place}"), found);
            }
        }
        _ => {}
    }
}

/// The objects of a text, with the names they say they had.
fn resources(text: &str) -> Result<Vec<Resource>, String> {
    let resource = |node: Node| {
        let noted = |name: &str| -> Vec<String> {
            let key = format!("internal.config.kubernetes.io/{name}");
            let value = node.at(&["metadata", "annotations", &key]).and_then(Node::text);
            value.map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
        };
        let names = noted("previousNames").into_iter().zip(noted("previousNamespaces"));
        let previous = names
            .zip(noted("previousKinds"))
            .map(|((name, namespace), kind)| PreviousName {
                name: name.into(),
                namespace: namespace.into(),
                kind: kind.into(),
            })
            .collect();
        let mut resource = Resource::new(node, Origin::default());
        resource.previous = previous;
        resource
    };
    Ok(nodes(text)?.into_iter().map(resource).collect())
}

/// The built-in transformer that does what the filter does.
fn plugin(kind: &str, config: &Value) -> Result<Value, String> {
    let every = json!({ "kind": ".*" });
    let fields = [&config["FsSlice"], &config["fieldSpecs"]]
        .into_iter()
        .find(|fields| fields.is_array())
        .cloned()
        .unwrap_or_else(|| {
            let field = &config["fieldSpec"];
            if field.is_null() { json!([]) } else { json!([field]) }
        });
    Ok(match kind {
        "annotations.Filter" => json!({
            "kind": "AnnotationsTransformer",
            "annotations": config["Annotations"], "fieldSpecs": fields,
        }),
        "labels.Filter" => json!({
            "kind": "LabelTransformer", "labels": config["Labels"], "fieldSpecs": fields,
        }),
        "imagetag.Filter" | "imagetag.LegacyFilter" => json!({
            "kind": "ImageTagTransformer", "imageTag": config["imageTag"], "fieldSpecs": fields,
        }),
        "namespace.Filter" => {
            let mut plugin = json!({
                "kind": "NamespaceTransformer",
                "metadata": { "namespace": config["Namespace"] },
                "fieldSpecs": fields,
                "unsetOnly": config["unsetOnly"],
            });
            if config["setRoleBindingSubjects"].as_str().is_some_and(|mode| !mode.is_empty()) {
                plugin["setRoleBindingSubjects"] = config["setRoleBindingSubjects"].clone();
            }
            plugin
        }
        "patchjson6902.Filter" => json!({
            "kind": "PatchTransformer", "patch": config["Patch"], "target": every,
        }),
        "patchstrategicmerge.Filter" => json!({
            "kind": "PatchTransformer", "patch": config["Patch"].to_string(), "target": every,
        }),
        "prefix.Filter" => json!({
            "kind": "PrefixTransformer", "prefix": config["prefix"], "fieldSpecs": fields,
        }),
        "suffix.Filter" => json!({
            "kind": "SuffixTransformer", "suffix": config["suffix"], "fieldSpecs": fields,
        }),
        "replacement.Filter" => json!({
            "kind": "ReplacementTransformer", "replacements": config["replacements"],
        }),
        "replicacount.Filter" => json!({
            "kind": "ReplicaCountTransformer", "replica": config["replica"], "fieldSpecs": fields,
        }),
        "valueadd.Filter" => json!({
            "kind": "ValueAddTransformer",
            "value": config["Value"],
            "targets": [{
                "fieldPath": config["FieldPath"],
                "filePathPosition": config["filePathPosition"].as_i64().unwrap_or_default(),
            }],
        }),
        other => return Err(format!("a filter that is not known here: {other}")),
    })
}

/// References: the candidates are not in the dump. A changed reference tells what its candidate was
/// and is called; a refusal that there were two; an unchanged one that there was none.
fn refer(config: &Value, input: &str, wanted: Option<&str>) -> Result<Vec<Node>, String> {
    let said = |error: holdfast_manifest::Diagnostic| error.to_string();
    let mut referrer = Resource::new(first(input)?, Origin::default());
    let annotations = &config["Referrer"]["metadata"]["annotations"];
    let affixes = |name: &str| {
        let key = format!("internal.config.kubernetes.io/{name}");
        let text = annotations[key].as_str().unwrap_or_default();
        text.split(',').filter(|part| !part.is_empty()).map(Into::into).collect::<Vec<_>>()
    };
    (referrer.prefixes, referrer.suffixes) = (affixes("prefixes"), affixes("suffixes"));
    let target = &config["ReferralTarget"];
    let part = |name: &str| target[name].as_str().unwrap_or_default();
    let gvk = Gvk {
        group: part("group").into(),
        version: part("version").into(),
        kind: part("kind").into(),
    };
    let mut renamed = Vec::new();
    if let Some(wanted) = wanted {
        changes(&referrer.node, &first(wanted)?, &mut renamed);
    } else {
        let mut names = Vec::new();
        let path = config["NameFieldToUpdate"]["path"].as_str().unwrap_or_default();
        scalars_at(&referrer.node, &path.split('/').collect::<Vec<_>>(), &mut names);
        for name in names {
            renamed.push((name.clone(), "one".to_owned()));
            renamed.push((name, "two".to_owned()));
        }
    }
    let namespace = referrer.node.at(&["metadata", "namespace"]).and_then(Node::text);
    let namespace = namespace.unwrap_or_default().to_owned();
    let mut list = vec![referrer];
    for (old, new) in renamed {
        let mut object = json!({
            "apiVersion": gvk.api_version(), "kind": gvk.kind.as_str(), "metadata": { "name": new },
        });
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.as_str().into();
        }
        let mut candidate = Resource::new(first(&object.to_string())?, Origin::default());
        candidate.prefixes.clone_from(&list[0].prefixes);
        candidate.suffixes.clone_from(&list[0].suffixes);
        let namespace = if namespace.is_empty() { "default" } else { &namespace };
        candidate.previous.push(PreviousName {
            name: old.into(),
            namespace: namespace.into(),
            kind: gvk.kind.clone(),
        });
        list.push(candidate);
    }
    let mut reference = target.clone();
    reference["fieldSpecs"] = json!([config["NameFieldToUpdate"]]);
    let table = json!({ "nameReference": [reference] });
    let table = Config::parse(&first(&table.to_string())?).map_err(said)?;
    let mut resources = Resources::from_list(list).map_err(said)?;
    reference::fix_names(&mut resources, &table).map_err(said)?;
    Ok(resources.list.into_iter().take(1).map(|resource| resource.node).collect())
}

/// Variables: their values are not in the dump. One that stands alone has the value that the result
/// has in its place.
fn expand(dump: &str, input: &str, wanted: Option<&str>) -> Result<Vec<Node>, String> {
    let path = dump
        .split_once("Path:\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(path, _)| path)
        .ok_or("the filter has no path")?;
    let field = FieldSpec::new(Gvk::default(), path, dump.contains("CreateIfNotPresent:true"));
    let mut object = first(input)?;
    let mut values = Vec::new();
    if let Some(wanted) = wanted {
        scalar_pairs(&object, &first(wanted)?, &mut values);
    }
    let value = |name: &str| {
        let (_, value) = values.iter().find(|(text, _)| *text == format!("$({name})"))?;
        Some(value.clone())
    };
    variable::expand(&mut object, &field, &value).map_err(|error| error.to_string())?;
    Ok(vec![object])
}

fn scalar_pairs(input: &Node, wanted: &Node, pairs: &mut Vec<(String, Content)>) {
    match (&input.value, &wanted.value) {
        (Shape::Scalar(one), Shape::Scalar(two)) if one.text != two.text => {
            let text = two.text.as_str();
            let content = match two.tag {
                Tag::Int => text.parse().map_or(Content::Other, Content::Int),
                Tag::Float => text.parse().map_or(Content::Other, Content::Float),
                Tag::Bool => Content::Bool(text == "true"),
                _ => Content::Text(text.to_owned()),
            };
            pairs.push((one.text.to_string(), content));
        }
        (Shape::Mapping(one), Shape::Mapping(two)) => {
            for (one, two) in one.iter().zip(two) {
                scalar_pairs(&one.value, &two.value, pairs);
            }
        }
        (Shape::Sequence(one), Shape::Sequence(two)) => {
            for (one, two) in one.iter().zip(two) {
                scalar_pairs(one, two, pairs);
            }
        }
        _ => {}
    }
}

/// Scalars with another text.
fn changes(before: &Node, after: &Node, found: &mut Vec<(String, String)>) {
    match (&before.value, &after.value) {
        (Shape::Scalar(one), Shape::Scalar(two)) if one.text != two.text => {
            found.push((one.text.to_string(), two.text.to_string()));
        }
        (Shape::Mapping(one), Shape::Mapping(_)) => {
            for entry in one {
                if let Some(other) = after.get(&entry.key.text) {
                    changes(&entry.value, other, found);
                }
            }
        }
        (Shape::Sequence(one), Shape::Sequence(two)) => {
            for (one, two) in one.iter().zip(two) {
                changes(one, two, found);
            }
        }
        _ => {}
    }
}

fn scalars_at(node: &Node, path: &[&str], found: &mut Vec<String>) {
    match (&node.value, path) {
        (Shape::Scalar(scalar), []) => found.push(scalar.text.to_string()),
        (Shape::Mapping(_), []) => {
            found.extend(node.get("name").and_then(Node::text).map(str::to_owned));
        }
        (Shape::Mapping(mapping), [key, rest @ ..]) => {
            if let Some(value) = mapping.get(key) {
                scalars_at(value, rest, found);
            }
        }
        (Shape::Sequence(items), path) => {
            for item in items {
                scalars_at(item, path, found);
            }
        }
        (Shape::Scalar(_), _) => {}
    }
}

fn first(text: &str) -> Result<Node, String> {
    nodes(text)?.into_iter().next().ok_or_else(|| "the text has no document".to_owned())
}

fn nodes(text: &str) -> Result<Vec<Node>, String> {
    let documents = documents(text).map_err(|error| error.to_string())?;
    Ok(documents.into_iter().map(|document| document.root).filter(|node| !node.is_null()).collect())
}

fn text(nodes: &[Node]) -> Result<String, String> {
    let mut text = String::new();
    emit::objects(nodes, &mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

fn equal(one: &[Node], two: &[Node]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same_in_order(one, two))
}

/// Whether both say the same, with their keys in the same order.
fn same_in_order(one: &Node, two: &Node) -> bool {
    match (&one.value, &two.value) {
        (Shape::Mapping(one), Shape::Mapping(two)) => {
            one.len() == two.len()
                && one.iter().zip(two).all(|(one, two)| {
                    one.key.text == two.key.text && same_in_order(&one.value, &two.value)
                })
        }
        (Shape::Sequence(one), Shape::Sequence(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same_in_order(one, two))
        }
        _ => one == two,
    }
}
