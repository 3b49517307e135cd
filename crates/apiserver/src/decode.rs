//! Request bodies to objects, with the errors and warnings the API server has for them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::fields::{FieldError, Path};
use crate::resource::Resource;
use crate::schema::Node;
use crate::status::Failure;
use crate::wire::scan::{Document, Item, Kind};
use crate::wire::table::{self, Struct};
use crate::wire::{convert, protobuf, text, typed, yaml};

/// What happens with unknown and repeated fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// They fail the request.
    Strict,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Media {
    /// `application/json`, also when nothing is said.
    #[default]
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// An object out of a body.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The object, with apiVersion and kind.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// Where Go's scheme says it was made; part of a message.
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// The object of a POST or PUT body of this resource.
///
/// Built-in kinds come out as the server would print them: unknown fields dropped, empty optional ones left out.
/// Custom objects are taken as they are but for their metadata; their unknown fields are reported, and pruned
/// elsewhere.
pub fn object(
    resource: &Resource,
    body: &[u8],
    media: Media,
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    let mut warned = Vec::new();
    let json: Cow<'_, [u8]> = match media {
        Media::Json => Cow::Borrowed(body),
        Media::Yaml => {
            let read = yaml::read(body).map_err(|why| unrecognized(resource, body, &why))?;
            warned = read.repeated;
            let mut out = String::new();
            text::write_value(&mut out, &read.value);
            Cow::Owned(out.into_bytes())
        }
        Media::Protobuf => {
            let value = protobuf::read(body).map_err(|why| unrecognized(resource, body, &why))?;
            Cow::Owned(value.to_string().into_bytes())
        }
    };
    let document = Document::read(&json).map_err(|why| {
        let why = format!("couldn't get version/kind; json parse error: {why}");
        unrecognized(resource, body, &why)
    })?;
    let sent =
        version_and_kind(document.root()).map_err(|why| unrecognized(resource, body, &why))?;
    let framed = |why: &str| {
        let kind = if sent.kind.is_empty() { &resource.kind } else { &sent.kind };
        let version = if sent.version.is_empty() { &resource.version } else { &sent.version };
        Failure::bad_request(format!(
            "{kind} in version {} cannot be handled as a {}: {why}",
            text::quote(version),
            resource.kind
        ))
    };
    let repeated =
        (!warned.is_empty()).then(|| format!("yaml: unmarshal errors:\n  {}", warned.join("\n  ")));
    let (object, strict) = match table::of(resource) {
        Some(of) => builtin(resource, of, document.root(), &sent, framed)?,
        None => custom(resource, document.root(), &sent, body, framed)?,
    };
    let warnings = match validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn => warned.into_iter().chain(strict).collect(),
        FieldValidation::Strict => {
            let all: Vec<String> = repeated.into_iter().chain(strict).collect();
            if !all.is_empty() {
                return Err(framed(&format!("strict decoding error: {}", all.join(", "))));
            }
            Vec::new()
        }
    };
    Ok(Decoded { object, warnings })
}

/// An object that a JSON or merge patch produced, given as the text that the API server would print in an error.
/// `strict` holds what is already known to be wrong with the patch itself.
pub(crate) fn patched(
    resource: &Resource,
    patched: &str,
    validation: FieldValidation,
    strict: Vec<String>,
) -> Result<Decoded, Failure> {
    let wrong = |why: String| refused(patched, why);
    let document = Document::read(patched.as_bytes()).map_err(&wrong)?;
    let sent = version_and_kind(document.root()).map_err(&wrong)?;
    let (object, more) = if let Some(of) = table::of(resource) {
        if sent.api_version().is_empty() && sent.kind.is_empty() {
            return Err(typeless(document.root(), validation).unwrap_or_else(wrong));
        }
        let (version, kind) = sent.or_of(resource);
        if !registered(resource, &version, &kind) {
            return Err(wrong(unregistered(&version, &kind)));
        }
        if kind != resource.kind {
            if let Some(other) = table::table().kind(&version, &kind) {
                typed::decode(other, document.root()).map_err(&wrong)?;
            }
            return Err(wrong(unconvertible(&version, &kind, resource)));
        }
        let typed = typed::decode(of, document.root()).map_err(&wrong)?;
        (typed.object, typed.strict)
    } else {
        if sent.kind.is_empty() {
            return Err(wrong(format!("Object 'Kind' is missing in '{patched}'")));
        }
        unstructured(resource, document.root()).map_err(&wrong)?
    };
    let object = identified(resource, object, &sent);
    if resource.custom {
        still_itself(resource, &sent, &object)?;
    }
    let all: Vec<String> = strict.into_iter().chain(more).collect();
    let warnings = judged(all, validation, |why| refused(patched, why))?;
    Ok(Decoded { object, warnings })
}

/// What becomes of an object whose apiVersion and kind were both patched away: it is read as something that
/// has no other fields, and so has no name.
fn typeless(object: Item<'_>, validation: FieldValidation) -> Result<Failure, String> {
    let name =
        object.value()?.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("").to_owned();
    let failure = Failure::bad_request(format!(
        "the name of the object ({name} based on URL) was undeterminable: name must be provided"
    ));
    let unknown: Vec<String> = (object.entries())
        .filter(|(key, _)| !matches!(&**key, "apiVersion" | "kind"))
        .map(|(key, _)| format!("unknown field {}", text::quote(&key)))
        .collect();
    Ok(match validation {
        FieldValidation::Ignore => failure,
        FieldValidation::Warn => Failure { warnings: Some(Box::new(unknown)), ..failure },
        FieldValidation::Strict => {
            return Err(format!("strict decoding error: {}", unknown.join(", ")));
        }
    })
}

/// The configuration of an apply patch: any YAML object.
pub fn applied(body: &[u8], validation: FieldValidation) -> Result<Decoded, Failure> {
    let read = yaml::read(body).map_err(|why| {
        Failure::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}"))
    })?;
    let word = match &read.value {
        Value::Object(_) | Value::Null => None,
        Value::Array(_) => Some("array"),
        Value::String(_) => Some("string"),
        Value::Number(_) => Some("number"),
        Value::Bool(_) => Some("bool"),
    };
    if let Some(word) = word {
        return Err(Failure::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
        )));
    }
    let warnings = match validation {
        FieldValidation::Strict if !read.repeated.is_empty() => {
            return Err(Failure::bad_request(format!(
                "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
                read.repeated.join("\n  ")
            )));
        }
        FieldValidation::Warn => read.repeated,
        FieldValidation::Strict | FieldValidation::Ignore => Vec::new(),
    };
    let object = match read.value {
        Value::Null => Value::Object(Map::new()),
        other => other,
    };
    Ok(Decoded { object, warnings })
}

/// An object that apply merged, as its kind prints it.
pub fn merged(resource: &Resource, object: Value) -> Result<Value, Failure> {
    let Some(of) = table::of(resource) else { return Ok(object) };
    let (object, _) = convert::convert(of, object).map_err(Failure::internal_plain)?;
    Ok(object)
}

/// What strict errors lead to: nothing, warnings, or a failure.
pub(crate) fn judged(
    strict: Vec<String>,
    validation: FieldValidation,
    refuse: impl FnOnce(String) -> Failure,
) -> Result<Vec<String>, Failure> {
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(strict),
        FieldValidation::Strict if strict.is_empty() => Ok(strict),
        FieldValidation::Strict => {
            Err(refuse(format!("strict decoding error: {}", strict.join(", "))))
        }
    }
}

/// 422 for a patch: ` "" is invalid: patch: Invalid value: "…": why`.
pub(crate) fn refused(shown: &str, why: String) -> Failure {
    let error = FieldError::invalid_shown(&Path::new("patch"), text::quote(shown), why);
    Failure::invalid("", "", "", &[error])
}

fn unrecognized(resource: &Resource, body: &[u8], why: &str) -> Failure {
    const SHOWN: usize = 30;
    let shown = body.get(..SHOWN).unwrap_or(body);
    let tail = if body.len() > SHOWN { " ..." } else { "" };
    let summary = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned() + tail,
        Some(_) => {
            shown.iter().flat_map(|b| [b >> 4, b & 15]).map(digit).collect::<String>() + tail
        }
    };
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({summary})",
        resource.kind
    ))
}

fn digit(nibble: u8) -> char {
    char::from_digit(nibble.into(), 16).unwrap_or('0')
}

/// What a body says it is; empty where it says nothing.
struct Sent {
    group: String,
    version: String,
    kind: String,
}

impl Sent {
    fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// apiVersion and kind, completed from the resource.
    fn or_of(&self, resource: &Resource) -> (String, String) {
        let kind = if self.kind.is_empty() { resource.kind.clone() } else { self.kind.clone() };
        let said =
            !(self.version.is_empty() && (self.group.is_empty() || self.group == resource.group));
        let version = if said { self.api_version() } else { resource.api_version() };
        (version, kind)
    }
}

fn version_and_kind(item: Item<'_>) -> Result<Sent, String> {
    const INTO: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let failed = |why: String| format!("couldn't get version/kind; json parse error: {why}");
    match item.kind() {
        Kind::Object | Kind::Null => {}
        other => {
            let word = other.word();
            return Err(failed(format!(
                "json: cannot unmarshal {word} into Go value of type {INTO}"
            )));
        }
    }
    let (mut api_version, mut kind) = (String::new(), String::new());
    let mut wrong = None;
    for (key, item) in item.entries() {
        let (into, name) = if key.eq_ignore_ascii_case("apiVersion") {
            (&mut api_version, "apiVersion")
        } else if key.eq_ignore_ascii_case("kind") {
            (&mut kind, "kind")
        } else {
            continue;
        };
        match item.kind() {
            Kind::Text => *into = item.text().into_owned(),
            Kind::Null => {}
            other => {
                wrong.get_or_insert_with(|| {
                    let word = other.word();
                    format!(
                        "json: cannot unmarshal {word} into Go struct field .{name} of type string"
                    )
                });
            }
        }
    }
    if let Some(wrong) = wrong {
        return Err(failed(wrong));
    }
    let (group, version) = match api_version.matches('/').count() {
        0 => ("", api_version.as_str()),
        1 => api_version.split_once('/').unwrap_or_default(),
        _ => return Err(format!("unexpected GroupVersion string: {api_version}")),
    };
    Ok(Sent { group: group.into(), version: version.into(), kind })
}

/// Whether the server of this resource knows a kind. The servers of definitions and of API services know only
/// their own.
fn registered(resource: &Resource, api_version: &str, kind: &str) -> bool {
    let own = matches!(resource.group.as_str(), "apiextensions.k8s.io" | "apiregistration.k8s.io");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let generic = api_version == "v1"
        && matches!(
            kind,
            "Status" | "APIVersions" | "APIGroup" | "APIGroupList" | "APIResourceList"
        );
    // Options are registered for every version there is.
    if kind.ends_with("Options") && table::table().knows("v1", kind) {
        return group.is_empty() && api_version == "v1"
            || group == resource.group
            || !own && crate::builtin::resources().iter().any(|r| r.api_version() == api_version);
    }
    if own && group != resource.group && !generic {
        return false;
    }
    table::table().knows(api_version, kind)
}

fn unregistered(api_version: &str, kind: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme {SCHEME:?}",
        text::quote(kind),
        text::quote(api_version)
    )
}

fn unconvertible(api_version: &str, kind: &str, resource: &Resource) -> String {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let package = match resource.group.split('.').next().unwrap_or_default() {
        "" | "events" => "core",
        other => other,
    };
    format!("converting ({version}.{kind}) to ({package}.{}): unknown conversion", resource.kind)
}

fn wrong_version(sent: &str, resource: &Resource) -> Failure {
    Failure::bad_request(format!(
        "the API version in the data ({sent}) does not match the expected API version ({})",
        resource.api_version()
    ))
}

type Read = (Value, Vec<String>);

fn builtin(
    resource: &Resource,
    of: &'static Struct,
    item: Item<'_>,
    sent: &Sent,
    framed: impl Fn(&str) -> Failure,
) -> Result<Read, Failure> {
    let (version, kind) = sent.or_of(resource);
    if !registered(resource, &version, &kind) {
        return Err(framed(&unregistered(&version, &kind)));
    }
    if kind != resource.kind {
        // The other kind is decoded first, and may have errors of its own.
        if let Some(other) = table::table().kind(&version, &kind) {
            typed::decode(other, item).map_err(|why| framed(&why))?;
        }
        return Err(framed(&unconvertible(&version, &kind, resource)));
    }
    if version != resource.api_version() {
        return Err(wrong_version(&version, resource));
    }
    let typed = typed::decode(of, item).map_err(|why| framed(&why))?;
    Ok((identified(resource, typed.object, sent), typed.strict))
}

fn custom(
    resource: &Resource,
    item: Item<'_>,
    sent: &Sent,
    body: &[u8],
    framed: impl Fn(&str) -> Failure,
) -> Result<Read, Failure> {
    if sent.kind.is_empty() {
        let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
        return Err(unrecognized(resource, body, &why));
    }
    let (object, strict) = unstructured(resource, item).map_err(|why| framed(&why))?;
    if sent.api_version() != resource.api_version() {
        return Err(wrong_version(&sent.api_version(), resource));
    }
    still_itself(resource, sent, &object)?;
    Ok((object, strict))
}

/// A custom object must say what it is.
fn still_itself(resource: &Resource, sent: &Sent, object: &Value) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let mut check = |field: &str, sent: &str, expected: &str| {
        if sent != expected {
            let detail = format!("must be {expected}");
            errors.push(FieldError::invalid(&Path::new(field), &Value::from(sent), detail));
        }
    };
    check("kind", &sent.kind, &resource.kind);
    check("apiVersion", &sent.api_version(), &resource.api_version());
    if errors.is_empty() {
        return Ok(());
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Failure::invalid(&sent.group, &sent.kind, name, &errors))
}

/// A custom object: a tree whose metadata is typed, and what its schema does not know.
fn unstructured(resource: &Resource, item: Item<'_>) -> Result<Read, String> {
    let mut object = item.value()?;
    let mut strict = Vec::new();
    repeated(item, "", &mut strict);
    if let Some(metadata) = object.get_mut("metadata") {
        *metadata = typed_metadata(metadata.take(), "metadata", &mut strict)?;
    }
    let mut unknown = Vec::new();
    if let Value::Object(map) = &mut object {
        embedded(resource.shape.node(), map, "", &mut strict)?;
        unknown_fields(resource.shape.node(), map, "", true, &mut unknown);
    }
    unknown.sort();
    strict.extend(unknown.into_iter().map(|path| format!("unknown field {}", text::quote(&path))));
    Ok((object, strict))
}

fn typed_metadata(metadata: Value, path: &str, strict: &mut Vec<String>) -> Result<Value, String> {
    const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let Some(of) = table::table().named(META) else { return Ok(metadata) };
    let mut body = String::new();
    text::write_value(&mut body, &metadata);
    let document = Document::read(body.as_bytes())?;
    let typed = typed::decode(of, document.root())?;
    for message in typed.strict {
        let name = message.strip_prefix("unknown field \"").and_then(|rest| rest.strip_suffix('"'));
        strict.extend(name.map(|name| format!("unknown field \"{path}.{name}\"")));
    }
    Ok(typed.object)
}

/// Types the metadata of whole objects inside an object.
fn embedded(
    node: Node<'_>,
    map: &mut Map<String, Value>,
    path: &str,
    strict: &mut Vec<String>,
) -> Result<(), String> {
    for (key, value) in map.iter_mut() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let Some(node) = node.field(key) else { continue };
        match value {
            Value::Object(inner) => inside(node, inner, &path, strict)?,
            Value::Array(list) => {
                let Some(node) = node.items() else { continue };
                for (i, one) in list.iter_mut().enumerate() {
                    if let Value::Object(inner) = one {
                        inside(node, inner, &format!("{path}[{i}]"), strict)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn inside(
    node: Node<'_>,
    map: &mut Map<String, Value>,
    path: &str,
    strict: &mut Vec<String>,
) -> Result<(), String> {
    if node.schema.embedded_resource
        && let Some(metadata) = map.get_mut("metadata")
    {
        let path = format!("{path}.metadata");
        let shown = metadata.to_string();
        *metadata = typed_metadata(metadata.take(), &path, strict)
            .map_err(|why| format!("{path}: Invalid value: {shown}: {why}"))?;
    }
    embedded(node, map, path, strict)
}

/// Fields that pruning will drop.
fn unknown_fields(
    node: Node<'_>,
    map: &Map<String, Value>,
    path: &str,
    whole: bool,
    unknown: &mut Vec<String>,
) {
    for (key, value) in map {
        if whole && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match node.field(key) {
            Some(node) => unknown_in(node, value, &path, unknown),
            None if node.schema.preserve_unknown => {}
            None => unknown.push(path),
        }
    }
}

fn unknown_in(node: Node<'_>, value: &Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            unknown_fields(node, map, path, node.schema.embedded_resource, unknown);
        }
        Value::Array(list) => {
            for (i, one) in list.iter().enumerate() {
                if let Some(node) = node.items() {
                    unknown_in(node, one, &format!("{path}[{i}]"), unknown);
                }
            }
        }
        _ => {}
    }
}

/// Repeated keys of a document without a type, which must not nest deeper than a value may.
pub(crate) fn repeated(item: Item<'_>, path: &str, found: &mut Vec<String>) {
    match item.kind() {
        Kind::Object => {
            let mut seen = std::collections::BTreeSet::new();
            for (key, item) in item.entries() {
                let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                if !seen.insert(key.into_owned()) {
                    let message = format!("duplicate field {}", text::quote(&path));
                    if !found.contains(&message) {
                        found.push(message);
                    }
                }
                if matches!(item.kind(), Kind::Object | Kind::Array) {
                    repeated(item, &path, found);
                }
            }
        }
        Kind::Array => {
            for (i, item) in item.items().enumerate() {
                if matches!(item.kind(), Kind::Object | Kind::Array) {
                    repeated(item, &format!("{path}[{i}]"), found);
                }
            }
        }
        _ => {}
    }
}

/// The object with the apiVersion and kind that it was taken for.
fn identified(resource: &Resource, mut object: Value, sent: &Sent) -> Value {
    if let Value::Object(map) = &mut object
        && !resource.custom
    {
        let (version, kind) = sent.or_of(resource);
        map.insert("apiVersion".into(), version.into());
        map.insert("kind".into(), kind.into());
    }
    object
}
