//! The Go types of the built-in kinds: field order, type names, and what is left out when empty.
//!
//! `types.txt` is printed by `testbed/types` from the modules that the real API server is built of. Its lines are
//! `kind KIND APIVERSION TYPE`, `type NAME UNDERLYING`, `struct NAME` and, below a struct,
//! `field FLAGS[:NUMBERS] TYPE [EMBEDDED [STRATEGY:KEY]]` with the flags `e` (omitempty) and `z` (omitzero), and the
//! numbers in protobuf, those of embedded structs first.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::resource::Resource;

/// A Go type, as far as JSON can tell.
#[derive(Debug, Clone)]
pub(crate) enum Type {
    Bool,
    Int(u8),
    Uint(u8),
    Float(u8),
    Text,
    Bytes,
    Any,
    Pointer(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Struct(usize),
    /// A named type and what it stands for: `v1.PullPolicy`, a string.
    Named(Box<str>, Box<Type>),
    Special(Special),
}

/// Types that read and write themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Quantity,
    Time,
    MicroTime,
    Duration,
    Fields,
    IntOrString,
    Raw,
    Json,
    SchemaOrBool,
    SchemaOrArray,
    SchemaOrStrings,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub name: Box<str>,
    pub omit_empty: bool,
    pub omit_zero: bool,
    pub ty: Type,
    /// Its number in protobuf, after those of the embedded structs it comes from; none if it is not sent.
    pub numbers: Vec<u32>,
    /// Names of the embedded structs it comes from, outermost first.
    pub embedded: Vec<Box<str>>,
    /// `merge`, `replace`, `retainKeys`.
    pub strategies: Vec<Box<str>>,
    /// Key by which strategic merge patch matches list items.
    pub merge_key: Box<str>,
}

/// A Go struct.
#[derive(Debug)]
pub(crate) struct Struct {
    /// `io.k8s.api.core.v1.PodSpec`
    pub id: Box<str>,
    pub fields: Vec<Field>,
    index: BTreeMap<Box<str>, usize>,
}

impl Struct {
    /// `PodSpec`
    pub fn name(&self) -> &str {
        self.id.rsplit('.').next().unwrap_or_default()
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.index.get(name).and_then(|&at| self.fields.get(at))
    }
}

/// All types.
#[derive(Debug, Default)]
pub(crate) struct Table {
    structs: Vec<Struct>,
    by_id: BTreeMap<Box<str>, usize>,
    kinds: BTreeMap<(Box<str>, Box<str>), Option<usize>>,
}

/// The types of Kubernetes 1.36.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table::read(include_str!("types.txt")))
}

/// The type of a resource's objects; custom kinds have none.
pub(crate) fn of(resource: &Resource) -> Option<&'static Struct> {
    if resource.custom {
        return None;
    }
    table().kind(&resource.api_version(), &resource.kind)
}

impl Table {
    fn read(text: &str) -> Self {
        let mut table = Self::default();
        let mut named: BTreeMap<&str, &str> = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("type") => {
                    if let (Some(name), Some(of)) = (words.next(), words.next()) {
                        named.insert(name, of);
                    }
                }
                Some("struct") => {
                    if let Some(id) = words.next() {
                        table.by_id.insert(id.into(), table.structs.len());
                        table.structs.push(Struct {
                            id: id.into(),
                            fields: Vec::new(),
                            index: BTreeMap::new(),
                        });
                    }
                }
                _ => {}
            }
        }
        let mut at = None;
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["kind", kind, version, id] if line.starts_with("kind") => {
                    let found = table.by_id.get(*id).copied();
                    table.kinds.insert(((*version).into(), (*kind).into()), found);
                }
                ["struct", id] if line.starts_with("struct") => at = table.by_id.get(*id).copied(),
                [name, flags, ty, rest @ ..] if line.starts_with(' ') => {
                    let Some(ty) = table.parse(ty, &named) else { continue };
                    let embedded = match rest.first() {
                        None | Some(&".") => Vec::new(),
                        Some(path) => path.split('.').map(Into::into).collect(),
                    };
                    let (strategies, key) =
                        rest.get(1).and_then(|p| p.split_once(':')).unwrap_or_default();
                    let (flags, numbers) = flags.split_once(':').unwrap_or((flags, ""));
                    let field = Field {
                        name: (*name).into(),
                        omit_empty: flags.contains('e'),
                        omit_zero: flags.contains('z'),
                        ty,
                        numbers: numbers.split('.').filter_map(|n| n.parse().ok()).collect(),
                        embedded,
                        strategies: strategies.split(',').map(Into::into).collect(),
                        merge_key: key.into(),
                    };
                    if let Some(of) = at.and_then(|at| table.structs.get_mut(at)) {
                        of.index.insert(field.name.clone(), of.fields.len());
                        of.fields.push(field);
                    }
                }
                _ => {}
            }
        }
        table
    }

    fn parse(&self, text: &str, named: &BTreeMap<&str, &str>) -> Option<Type> {
        if let Some(of) = text.strip_prefix('*') {
            return Some(Type::Pointer(Box::new(self.parse(of, named)?)));
        }
        if let Some(of) = text.strip_prefix("[]") {
            return Some(Type::List(Box::new(self.parse(of, named)?)));
        }
        if let Some(rest) = text.strip_prefix("map[") {
            let (key, of) = rest.split_once(']')?;
            let key = Box::new(self.parse(key, named)?);
            return Some(Type::Map(key, Box::new(self.parse(of, named)?)));
        }
        if let Some(id) = text.strip_prefix('#') {
            return self.by_id.get(id).copied().map(Type::Struct);
        }
        if let Some(id) = text.strip_prefix('=') {
            let of = self.parse(named.get(id)?, named)?;
            return Some(Type::Named(short(id).into(), Box::new(of)));
        }
        Some(match text {
            "bool" => Type::Bool,
            "string" => Type::Text,
            "bytes" => Type::Bytes,
            "any" => Type::Any,
            "int" | "int64" => Type::Int(64),
            "int32" => Type::Int(32),
            "int16" => Type::Int(16),
            "int8" => Type::Int(8),
            "uint8" => Type::Uint(8),
            "uint32" => Type::Uint(32),
            "uint64" | "uint" => Type::Uint(64),
            "float64" => Type::Float(64),
            "float32" => Type::Float(32),
            "!quantity" => Type::Special(Special::Quantity),
            "!time" => Type::Special(Special::Time),
            "!microtime" => Type::Special(Special::MicroTime),
            "!duration" => Type::Special(Special::Duration),
            "!fields" => Type::Special(Special::Fields),
            "!intorstring" => Type::Special(Special::IntOrString),
            "!raw" => Type::Special(Special::Raw),
            "!json" => Type::Special(Special::Json),
            "!schema-or-bool" => Type::Special(Special::SchemaOrBool),
            "!schema-or-array" => Type::Special(Special::SchemaOrArray),
            "!schema-or-strings" => Type::Special(Special::SchemaOrStrings),
            _ => return None,
        })
    }

    pub fn at(&self, at: usize) -> Option<&Struct> {
        self.structs.get(at)
    }

    /// A struct by the name of its OpenAPI definition.
    pub fn named(&self, id: &str) -> Option<&Struct> {
        self.by_id.get(id).and_then(|&at| self.structs.get(at))
    }

    /// Whether a kind is registered.
    pub fn knows(&self, api_version: &str, kind: &str) -> bool {
        self.kinds.contains_key(&(api_version.into(), kind.into()))
    }

    /// The type of a kind, if it is one the server handles.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<&Struct> {
        let found = self.kinds.get(&(api_version.into(), kind.into()))?;
        found.and_then(|at| self.structs.get(at))
    }
}

/// `v1.PodSpec` of `io.k8s.api.core.v1.PodSpec`.
pub(crate) fn short(id: &str) -> &str {
    let mut dots = id.rmatch_indices('.');
    dots.next();
    dots.next().map_or(id, |(at, _)| &id[at + 1..])
}

impl Type {
    /// The type without pointers.
    pub fn pointed(&self) -> &Type {
        match self {
            Self::Pointer(of) => of.pointed(),
            other => other,
        }
    }

    /// What a named type stands for.
    pub fn underlying(&self) -> &Type {
        match self {
            Self::Named(_, of) => of.underlying(),
            other => other,
        }
    }

    /// The name Go prints.
    pub fn go_name(&self) -> String {
        match self {
            Self::Bool => "bool".into(),
            Self::Int(bits) => format!("int{bits}"),
            Self::Uint(bits) => format!("uint{bits}"),
            Self::Float(bits) => format!("float{bits}"),
            Self::Text => "string".into(),
            Self::Bytes => "[]uint8".into(),
            Self::Any => "interface {}".into(),
            Self::Pointer(of) => format!("*{}", of.go_name()),
            Self::List(of) => format!("[]{}", of.go_name()),
            Self::Map(key, of) => format!("map[{}]{}", key.go_name(), of.go_name()),
            Self::Struct(at) => table().at(*at).map_or("", |s| short(&s.id)).into(),
            Self::Named(name, _) => name.to_string(),
            Self::Special(special) => special.go_name().into(),
        }
    }

    /// Go's `reflect.Kind`.
    pub fn go_kind(&self) -> &'static str {
        match self.underlying() {
            Self::Bool => "bool",
            Self::Int(32) => "int32",
            Self::Int(_) => "int64",
            Self::Uint(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Bytes | Self::List(_) => "slice",
            Self::Any => "interface",
            Self::Pointer(_) => "ptr",
            Self::Map(..) => "map",
            Self::Struct(_) | Self::Special(_) => "struct",
            Self::Text | Self::Named(..) => "string",
        }
    }
}

impl Special {
    pub fn go_name(self) -> &'static str {
        match self {
            Self::Quantity => "resource.Quantity",
            Self::Time => "v1.Time",
            Self::MicroTime => "v1.MicroTime",
            Self::Duration => "v1.Duration",
            Self::Fields => "v1.FieldsV1",
            Self::IntOrString => "intstr.IntOrString",
            Self::Raw => "runtime.RawExtension",
            Self::Json => "v1.JSON",
            Self::SchemaOrBool => "v1.JSONSchemaPropsOrBool",
            Self::SchemaOrArray => "v1.JSONSchemaPropsOrArray",
            Self::SchemaOrStrings => "v1.JSONSchemaPropsOrStringArray",
        }
    }
}

/// The type of a custom resource definition's schema.
pub(crate) const SCHEMA: &str =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_file_has_a_type() {
        let text = include_str!("types.txt");
        let lines = text.lines().filter(|l| l.starts_with(' ')).count();
        let fields: usize = table().structs.iter().map(|s| s.fields.len()).sum();
        assert_eq!(fields, lines);
        assert!(table().named(SCHEMA).is_some());
    }

    #[test]
    fn every_built_in_kind_has_a_type() {
        for resource in crate::builtin::resources() {
            assert!(of(resource).is_some(), "{} {}", resource.api_version(), resource.kind);
        }
    }

    #[test]
    fn names_are_those_go_prints() {
        let volume = table().named("io.k8s.api.core.v1.Volume").unwrap();
        let field = volume.field("emptyDir").unwrap();
        assert_eq!(field.ty.pointed().go_name(), "v1.EmptyDirVolumeSource");
        assert_eq!(field.embedded, ["VolumeSource".into()]);
        let container = table().named("io.k8s.api.core.v1.Container").unwrap();
        assert_eq!(container.field("ports").unwrap().ty.go_name(), "[]v1.ContainerPort");
        assert_eq!(&*container.field("ports").unwrap().merge_key, "containerPort");
        assert_eq!(container.field("imagePullPolicy").unwrap().ty.go_name(), "v1.PullPolicy");
        let limits = table().named("io.k8s.api.core.v1.ResourceRequirements").unwrap();
        assert_eq!(limits.field("limits").unwrap().ty.go_name(), "v1.ResourceList");
    }
}
