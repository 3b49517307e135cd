//! What a place in a schema means to apply: a scalar, a list whose items are or are not told apart, a
//! map whose fields are or are not owned one by one.

use serde_json::Value;

use super::fieldset::PathElement;
use crate::builtin;
use crate::schema::{Node, Schema};

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// What a scalar may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// An integer or a float.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of them.
    Untyped,
}

/// A type, to be resolved into an [`Atom`].
#[derive(Debug, Clone, Copy)]
pub enum Type<'a> {
    /// Nothing is allowed and nothing is known here.
    None,
    /// No schema: everything is one leaf.
    Atomic,
    /// No schema: scalars and lists are leaves, maps are owned key by key.
    Deduced,
    /// A string.
    Text,
    /// A place in a schema.
    Known(Known<'a>),
}

/// A place in a schema with what it inherits.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    node: Node<'a>,
    /// Unknown fields are kept here and below.
    preserve: bool,
    /// How the field that refers to this type overrides the type's own map type.
    map_type: &'a str,
    /// An object with apiVersion, kind and metadata, whatever its schema says of them.
    object: bool,
}

/// The possible meanings of a place; a value selects one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Atom<'a> {
    /// As a scalar.
    pub scalar: Option<Scalar>,
    /// As a list.
    pub list: Option<List<'a>>,
    /// As a map.
    pub map: Option<Map<'a>>,
}

/// A list.
#[derive(Debug, Clone, Copy)]
pub struct List<'a> {
    /// Whether items are told apart (by keys, or by value without keys).
    pub associative: bool,
    /// The keys of a `map` list.
    pub keys: Keys<'a>,
    /// The type of the items.
    pub element: Type<'a>,
}

/// The keys of a list.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'a> {
    /// Items are their own key.
    None,
    /// As declared.
    Many(&'a [String]),
    /// The merge key of strategic patches, for lists that declare nothing else.
    One(&'a str),
}

impl<'a> Keys<'a> {
    fn names(self) -> Vec<&'a str> {
        match self {
            Keys::None => Vec::new(),
            Keys::Many(names) => names.iter().map(String::as_str).collect(),
            Keys::One(name) => vec![name],
        }
    }
}

/// A map or an object.
#[derive(Debug, Clone, Copy)]
pub struct Map<'a> {
    /// Whether it is owned as a whole.
    pub atomic: bool,
    /// The type of values that are not declared fields.
    pub element: Type<'a>,
    fields: Option<Known<'a>>,
}

impl<'a> Type<'a> {
    /// The type of a whole object: a built-in kind if the shape is a named one, else a custom resource.
    pub fn root(shape: Node<'a>) -> Self {
        if shape.name.is_none()
            && shape.schema.type_name.is_empty()
            && shape.schema.properties.is_empty()
        {
            return Type::Deduced;
        }
        let object = shape.name.is_none();
        Type::Known(Known {
            node: shape,
            preserve: shape.schema.preserve_unknown,
            map_type: "",
            object,
        })
    }

    /// What the place can mean.
    pub fn atom(self) -> Atom<'a> {
        match self {
            Type::None => Atom::default(),
            Type::Atomic => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(List { associative: false, keys: Keys::None, element: Type::Atomic }),
                map: Some(Map { atomic: true, element: Type::Atomic, fields: None }),
            },
            Type::Deduced => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(List { associative: false, keys: Keys::None, element: Type::Atomic }),
                map: Some(Map { atomic: false, element: Type::Deduced, fields: None }),
            },
            Type::Text => Atom { scalar: Some(Scalar::String), ..Atom::default() },
            Type::Known(known) => known.atom(),
        }
    }
}

impl<'a> Known<'a> {
    fn below(self, node: Node<'a>, written: &'a Schema) -> Type<'a> {
        let named = node.name.is_some();
        Type::Known(Known {
            node,
            // A definition of its own does not inherit; what is written in place does.
            preserve: node.schema.preserve_unknown || (!named && self.preserve),
            map_type: if named { &written.map_type } else { "" },
            object: !named && node.schema.embedded_resource,
        })
    }

    fn atom(self) -> Atom<'a> {
        let schema = self.node.schema;
        match self.node.name {
            Some(QUANTITY) => return Atom { scalar: Some(Scalar::Untyped), ..Atom::default() },
            Some(RAW_EXTENSION) => return Type::Atomic.atom(),
            _ => {}
        }
        match schema.type_name.as_str() {
            "object" => Atom { map: Some(self.map()), ..Atom::default() },
            "array" => Atom { list: Some(self.list()), ..Atom::default() },
            "integer" | "number" => Atom { scalar: Some(Scalar::Numeric), ..Atom::default() },
            "boolean" => Atom { scalar: Some(Scalar::Boolean), ..Atom::default() },
            "string" => {
                let scalar = match schema.format.as_str() {
                    "" | "byte" => Scalar::String,
                    _ => Scalar::Untyped,
                };
                Atom { scalar: Some(scalar), ..Atom::default() }
            }
            _ => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(self.list()),
                map: Some(self.map()),
            },
        }
    }

    fn list(self) -> List<'a> {
        let schema = self.node.schema;
        let element = match (&schema.items, self.node.items()) {
            (Some(written), Some(node)) => self.below(node, written),
            _ => Type::Atomic,
        };
        let (associative, keys) = match schema.list_type.as_str() {
            "map" => (true, Keys::Many(&schema.list_map_keys)),
            "set" => (true, Keys::None),
            "" if matches!(schema.patch_strategy.as_str(), "merge" | "merge,retainKeys") => {
                let keys = if schema.patch_merge_key.is_empty() {
                    Keys::None
                } else {
                    Keys::One(&schema.patch_merge_key)
                };
                (true, keys)
            }
            _ => (false, Keys::None),
        };
        List { associative, keys, element }
    }

    fn map(self) -> Map<'a> {
        let schema = self.node.schema;
        let element = match (&schema.additional_properties, self.node.values()) {
            (Some(written), Some(node)) => self.below(node, written),
            _ if self.preserve || schema.properties.is_empty() => Type::Deduced,
            _ => Type::None,
        };
        let map_type = if self.map_type.is_empty() { &schema.map_type } else { self.map_type };
        Map { atomic: map_type == "atomic", element, fields: Some(self) }
    }
}

impl<'a> Map<'a> {
    /// The type of a declared field.
    pub fn field(&self, name: &str) -> Option<Type<'a>> {
        let known = self.fields?;
        if known.object {
            match name {
                "apiVersion" | "kind" => return Some(Type::Text),
                "metadata" => {
                    let node = builtin::definitions().get(OBJECT_META)?;
                    return Some(Type::Known(Known {
                        node,
                        preserve: false,
                        map_type: "",
                        object: false,
                    }));
                }
                _ => {}
            }
        }
        let node = known.node.property(name)?;
        let written = known.node.property_as_written(name)?;
        Some(known.below(node, written))
    }

    /// The type of a field or, failing that, of a value.
    pub fn at(&self, name: &str) -> Type<'a> {
        self.field(name).unwrap_or(self.element)
    }

    /// Whether nothing is known of the fields.
    pub fn is_untyped(&self) -> bool {
        let fields = self.fields.is_some_and(|k| k.object || !k.node.schema.properties.is_empty());
        matches!(self.element, Type::Deduced) && !fields
    }

    fn default_of(&self, name: &str) -> Option<&'a Value> {
        self.fields?.node.property_as_written(name)?.default.as_ref()
    }
}

impl<'a> Atom<'a> {
    /// The meaning that fits the value; all of them if none does or the value is null.
    #[must_use]
    pub fn fit(self, value: Option<&Value>) -> Self {
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if self.scalar.is_some() => {
                Self { scalar: self.scalar, ..Self::default() }
            }
            Some(Value::Array(_)) if self.list.is_some() => {
                Self { list: self.list, ..Self::default() }
            }
            Some(Value::Object(_)) if self.map.is_some() => {
                Self { map: self.map, ..Self::default() }
            }
            _ => self,
        }
    }

    /// Whether two fits of one atom kept the same meanings.
    pub fn alike(&self, other: &Self) -> bool {
        self.scalar.is_some() == other.scalar.is_some()
            && self.list.is_some() == other.list.is_some()
            && self.map.is_some() == other.map.is_some()
    }

    /// The meaning to act on.
    pub fn meaning(self) -> Meaning<'a> {
        match (self.map, self.scalar, self.list) {
            (Some(map), ..) => Meaning::Map(map),
            (None, Some(scalar), _) => Meaning::Scalar(scalar),
            (None, None, Some(list)) => Meaning::List(list),
            (None, None, None) => Meaning::Nothing,
        }
    }
}

/// One of an atom's meanings.
#[derive(Debug, Clone, Copy)]
pub enum Meaning<'a> {
    /// A map.
    Map(Map<'a>),
    /// A scalar.
    Scalar(Scalar),
    /// A list.
    List(List<'a>),
    /// The schema allows nothing here.
    Nothing,
}

impl List<'_> {
    /// How an item of an associative list is told apart from others.
    pub fn element_of(&self, item: &Value) -> Result<PathElement, String> {
        if matches!(self.keys, Keys::None) {
            return match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => {
                    Err("not supported: associative list with lists as elements".to_owned())
                }
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null"
                        .to_owned())
                }
                scalar => Ok(PathElement::Value(scalar.clone())),
            };
        }
        let map = match item {
            Value::Object(map) => map,
            Value::Null => {
                return Err("associative list with keys may not have a null element".to_owned());
            }
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let names = self.keys.names();
        let mut fields: Vec<(String, Value)> = Vec::with_capacity(names.len());
        for name in &names {
            if let Some(value) = map.get(*name) {
                fields.push(((*name).to_owned(), value.clone()));
                continue;
            }
            let Some(element) = self.element.atom().map else {
                return Err(format!(
                    "couldn't find default value for {name}: associative list may not have non-map types"
                ));
            };
            if let Some(value) = element.default_of(name).filter(|value| !value.is_null()) {
                fields.push(((*name).to_owned(), value.clone()));
            }
        }
        if fields.is_empty() {
            let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(PathElement::Key(fields))
    }
}
