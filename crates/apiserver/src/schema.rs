//! The shape of a kind, for built-in and custom kinds alike.
//!
//! A [`Schema`] is one node of an OpenAPI v3 schema with Kubernetes' extensions. Built-in schemas refer
//! to each other by name; a [`Node`] carries the [`Definitions`] along and follows references, so that
//! its users (apply, strategic merge, decoding, explain) never see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

/// One node of a schema, in the words of OpenAPI v3 and Kubernetes' extensions.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Schema {
    /// Name of another definition that this node stands for.
    #[serde(rename = "$ref", deserialize_with = "definition_name")]
    pub reference: Option<String>,
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; empty for "anything".
    #[serde(rename = "type")]
    pub type_name: String,
    /// `int32`, `int64`, `double`, `byte`, `date-time`, `int-or-string`, …
    pub format: String,
    /// For people; shown by `kubectl explain`.
    pub description: String,
    /// Fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// The values of a map.
    #[serde(deserialize_with = "schema_or_bool")]
    pub additional_properties: Option<Box<Schema>>,
    /// The items of a list.
    pub items: Option<Box<Schema>>,
    /// Fields that must be present.
    pub required: Vec<String>,
    /// Allowed values.
    #[serde(rename = "enum")]
    pub allowed: Vec<Value>,
    /// Value of an absent field.
    pub default: Option<Value>,
    /// Whether null is a value.
    pub nullable: bool,
    /// Lower bound of a number.
    pub minimum: Option<serde_json::Number>,
    /// Upper bound of a number.
    pub maximum: Option<serde_json::Number>,
    /// Whether the lower bound itself is excluded.
    pub exclusive_minimum: bool,
    /// Whether the upper bound itself is excluded.
    pub exclusive_maximum: bool,
    /// The number must be a multiple of this.
    pub multiple_of: Option<serde_json::Number>,
    /// Fewest characters of a string.
    pub min_length: Option<u64>,
    /// Most characters of a string.
    pub max_length: Option<u64>,
    /// Regular expression of a string.
    pub pattern: String,
    /// Fewest items of a list.
    pub min_items: Option<u64>,
    /// Most items of a list.
    pub max_items: Option<u64>,
    /// Whether items must differ.
    pub unique_items: bool,
    /// Fewest fields of an object.
    pub min_properties: Option<u64>,
    /// Most fields of an object.
    pub max_properties: Option<u64>,
    /// Every one of these must hold.
    pub all_of: Vec<Schema>,
    /// At least one of these must hold.
    pub any_of: Vec<Schema>,
    /// Exactly one of these must hold.
    pub one_of: Vec<Schema>,
    /// This must not hold.
    pub not: Option<Box<Schema>>,
    /// `atomic`, `set` or `map`.
    #[serde(rename = "x-kubernetes-list-type")]
    pub list_type: String,
    /// Keys that tell the items of a `map` list apart.
    #[serde(rename = "x-kubernetes-list-map-keys")]
    pub list_map_keys: Vec<String>,
    /// `granular` (default) or `atomic`.
    #[serde(rename = "x-kubernetes-map-type")]
    pub map_type: String,
    /// Key by which strategic merge patch matches list items.
    #[serde(rename = "x-kubernetes-patch-merge-key")]
    pub patch_merge_key: String,
    /// `merge`, `replace`, `retainKeys` or a comma-separated list of them.
    #[serde(rename = "x-kubernetes-patch-strategy")]
    pub patch_strategy: String,
    /// Whether unknown fields are kept here.
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub preserve_unknown: bool,
    /// Whether the value is a whole object with apiVersion, kind and metadata.
    #[serde(rename = "x-kubernetes-embedded-resource")]
    pub embedded_resource: bool,
    /// Whether the value is an integer or a string.
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub int_or_string: bool,
    /// CEL rules that the value must satisfy.
    #[serde(rename = "x-kubernetes-validations")]
    pub rules: Vec<Rule>,
    /// Kinds that this schema describes.
    #[serde(rename = "x-kubernetes-group-version-kind")]
    pub kinds: Vec<BTreeMap<String, String>>,
}

/// One CEL rule of a custom resource definition (`x-kubernetes-validations`).
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// The expression, over `self` and `oldSelf`.
    pub rule: String,
    /// Said when the rule does not hold.
    pub message: String,
    /// An expression that says it instead.
    pub message_expression: String,
    /// `FieldValueInvalid` (default), `FieldValueForbidden`, `FieldValueRequired`, `FieldValueDuplicate`.
    pub reason: String,
    /// Where to report it, relative to the rule's place.
    pub field_path: String,
    /// Whether a transition rule also runs on create, with an optional `oldSelf`.
    pub optional_old_self: Option<bool>,
}

fn definition_name<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.map(|t| t.rsplit('/').next().unwrap_or_default().to_owned()))
}

fn schema_or_bool<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<Option<Box<Schema>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Bool(bool),
        Schema(Box<Schema>),
    }
    Ok(match Option::<Either>::deserialize(from)? {
        None | Some(Either::Bool(false)) => None,
        Some(Either::Bool(true)) => Some(Box::default()),
        Some(Either::Schema(schema)) => Some(schema),
    })
}

/// Named schemas that refer to each other (`io.k8s.api.core.v1.PodSpec`).
#[derive(Debug, Clone, Default)]
pub struct Definitions(BTreeMap<String, Schema>);

impl Definitions {
    /// Definitions by name.
    pub fn new(schemas: BTreeMap<String, Schema>) -> Self {
        Self(schemas)
    }

    /// The definition of this name.
    pub fn get(&self, name: &str) -> Option<Node<'_>> {
        let (name, schema) = self.0.get_key_value(name)?;
        Some(Node { schema, name: Some(name), definitions: self }.followed())
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// A schema that can be shared and kept: a root inside some definitions.
#[derive(Debug, Clone)]
pub struct Shape {
    definitions: Arc<Definitions>,
    root: Root,
}

#[derive(Debug, Clone)]
enum Root {
    Named(Arc<str>),
    Own(Arc<Schema>),
    Anything,
}

const ANYTHING: &Schema = &Schema {
    reference: None,
    type_name: String::new(),
    format: String::new(),
    description: String::new(),
    properties: BTreeMap::new(),
    additional_properties: None,
    items: None,
    required: Vec::new(),
    allowed: Vec::new(),
    default: None,
    nullable: false,
    minimum: None,
    maximum: None,
    exclusive_minimum: false,
    exclusive_maximum: false,
    multiple_of: None,
    min_length: None,
    max_length: None,
    pattern: String::new(),
    min_items: None,
    max_items: None,
    unique_items: false,
    min_properties: None,
    max_properties: None,
    all_of: Vec::new(),
    any_of: Vec::new(),
    one_of: Vec::new(),
    not: None,
    list_type: String::new(),
    list_map_keys: Vec::new(),
    map_type: String::new(),
    patch_merge_key: String::new(),
    patch_strategy: String::new(),
    preserve_unknown: true,
    embedded_resource: false,
    int_or_string: false,
    rules: Vec::new(),
    kinds: Vec::new(),
};

impl Shape {
    /// The shape of a named definition.
    pub fn named(definitions: Arc<Definitions>, name: &str) -> Option<Self> {
        definitions.get(name)?;
        Some(Self { definitions, root: Root::Named(name.into()) })
    }

    /// A shape of its own (a custom resource's schema); `definitions` holds what it refers to, if anything.
    pub fn own(definitions: Arc<Definitions>, schema: Schema) -> Self {
        Self { definitions, root: Root::Own(Arc::new(schema)) }
    }

    /// A shape that allows everything and knows nothing.
    pub fn anything() -> Self {
        Self { definitions: Arc::default(), root: Root::Anything }
    }

    /// The root to walk from.
    pub fn node(&self) -> Node<'_> {
        let (schema, name) = match &self.root {
            Root::Named(name) => {
                (self.definitions.0.get(&**name).unwrap_or(ANYTHING), Some(&**name))
            }
            Root::Own(schema) => (&**schema, None),
            Root::Anything => (ANYTHING, None),
        };
        Node { schema, name, definitions: &self.definitions }.followed()
    }
}

/// A place in a schema, with references already followed.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// The schema at this place.
    pub schema: &'a Schema,
    /// Name of the definition it came from, if it is a named one.
    pub name: Option<&'a str>,
    definitions: &'a Definitions,
}

impl<'a> Node<'a> {
    fn followed(mut self) -> Self {
        // A field whose description or default accompanies a reference wraps it in a one-element allOf.
        for _ in 0..8 {
            let next = match (&self.schema.reference, self.schema.all_of.as_slice()) {
                (Some(name), _) => Some(name),
                (None, [only]) if self.schema.type_name.is_empty() => only.reference.as_ref(),
                _ => None,
            };
            let Some((name, schema)) = next.and_then(|name| self.definitions.0.get_key_value(name))
            else {
                break;
            };
            self = Node { schema, name: Some(name), definitions: self.definitions };
        }
        self
    }

    /// The node of a schema that lies inside this one (an element of `all_of`, say).
    #[must_use]
    pub fn at(self, schema: &'a Schema) -> Self {
        Node { schema, name: None, definitions: self.definitions }.followed()
    }

    /// A declared field of an object.
    pub fn property(self, name: &str) -> Option<Self> {
        self.schema.properties.get(name).map(|schema| self.at(schema))
    }

    /// The schema of a field before its reference is followed: description, default, patch strategy and list
    /// type of a field stand beside the reference.
    pub fn property_as_written(self, name: &str) -> Option<&'a Schema> {
        self.schema.properties.get(name)
    }

    /// A field of an object or, failing that, a value of a map.
    pub fn field(self, name: &str) -> Option<Self> {
        self.property(name).or_else(|| self.values())
    }

    /// The values of a map.
    pub fn values(self) -> Option<Self> {
        self.schema.additional_properties.as_deref().map(|schema| self.at(schema))
    }

    /// The items of a list.
    pub fn items(self) -> Option<Self> {
        self.schema.items.as_deref().map(|schema| self.at(schema))
    }

    /// The last part of the definition's name: the Go type (`ObjectMeta`).
    pub fn type_of(self) -> Option<&'a str> {
        self.name.and_then(|name| name.rsplit('.').next())
    }
}
