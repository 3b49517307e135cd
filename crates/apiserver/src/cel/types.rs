//! What is known about a value before an expression runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A type as the checker sees it.
#[derive(Debug, Clone)]
pub enum Type {
    /// Anything; checked while the expression runs.
    Dyn,
    /// `null`
    Null,
    /// A boolean.
    Bool,
    /// A signed integer.
    Int,
    /// An unsigned integer.
    Uint,
    /// A floating point number.
    Double,
    /// A string.
    String,
    /// Bytes.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A length of time.
    Duration,
    /// The type of a value.
    Type,
    /// A list of values of one type.
    List(Arc<Type>),
    /// A map from keys of one type to values of one type.
    Map(Arc<Type>, Arc<Type>),
    /// A value that may be absent.
    Optional(Arc<Type>),
    /// An object whose fields are declared.
    Object(Arc<ObjectType>),
    /// A type known by name only (`kubernetes.Quantity`), with methods from the library.
    Opaque(Arc<str>),
    /// A type to be found out (`A` in `list(A)`); only in signatures.
    Param(u8),
}

/// An object type with declared fields.
#[derive(Debug)]
pub struct ObjectType {
    /// Its name in messages.
    pub name: String,
    /// Its fields, by the name that expressions use.
    pub fields: BTreeMap<Arc<str>, Type>,
    /// Whether fields that are not declared may be selected too.
    pub open: bool,
}

impl Type {
    /// A list of these.
    pub fn list(of: Self) -> Self {
        Self::List(Arc::new(of))
    }

    /// A map of strings to these.
    pub fn map(to: Self) -> Self {
        Self::Map(Arc::new(Self::String), Arc::new(to))
    }

    /// One of these, or nothing.
    pub fn optional(of: Self) -> Self {
        Self::Optional(Arc::new(of))
    }

    /// An object with these fields and no others.
    pub fn object<K: Into<Arc<str>>>(
        name: &str,
        fields: impl IntoIterator<Item = (K, Self)>,
    ) -> Self {
        Self::Object(Arc::new(ObjectType {
            name: name.to_owned(),
            fields: fields.into_iter().map(|(name, of)| (name.into(), of)).collect(),
            open: false,
        }))
    }

    /// A type known by name only.
    pub fn opaque(name: &str) -> Self {
        Self::Opaque(name.into())
    }

    /// Whether a value of this type may stand where `wanted` is asked for; binds parameters in passing.
    pub(super) fn fits(&self, wanted: &Self, bound: &mut BTreeMap<u8, Self>) -> bool {
        match (self, wanted) {
            (_, Self::Param(name)) => match bound.get(name).cloned() {
                None => {
                    bound.insert(*name, self.clone());
                    true
                }
                Some(earlier) if earlier.is_vague() && !self.is_vague() => {
                    // The more precise of two fitting types is what the parameter stands for.
                    let fits = self.fits(&earlier, bound);
                    if fits {
                        bound.insert(*name, self.clone());
                    }
                    fits
                }
                Some(earlier) => self.fits(&earlier, bound),
            },
            (Self::Dyn, _)
            | (_, Self::Dyn)
            | (
                Self::Null,
                Self::Null | Self::Opaque(_) | Self::Object(_) | Self::Timestamp | Self::Duration,
            )
            | (Self::Opaque(_) | Self::Object(_) | Self::Timestamp | Self::Duration, Self::Null)
            | (Self::Bool, Self::Bool)
            | (Self::Int, Self::Int)
            | (Self::Uint, Self::Uint)
            | (Self::Double, Self::Double)
            | (Self::String, Self::String)
            | (Self::Bytes, Self::Bytes)
            | (Self::Timestamp, Self::Timestamp)
            | (Self::Duration, Self::Duration)
            | (Self::Type, Self::Type) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => {
                a.fits(b, bound)
            }
            (Self::Map(ka, va), Self::Map(kb, vb)) => ka.fits(kb, bound) && va.fits(vb, bound),
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a.name == b.name,
            (Self::Opaque(a), Self::Opaque(b)) => a == b,
            (Self::Object(a), Self::Opaque(b)) | (Self::Opaque(b), Self::Object(a)) => {
                a.name == **b
            }
            _ => false,
        }
    }

    fn is_vague(&self) -> bool {
        match self {
            Self::Dyn | Self::Null => true,
            Self::List(of) | Self::Optional(of) => of.is_vague(),
            Self::Map(key, value) => key.is_vague() || value.is_vague(),
            _ => false,
        }
    }

    /// The type with its parameters filled in.
    pub(super) fn filled(&self, bound: &BTreeMap<u8, Self>) -> Self {
        match self {
            Self::Param(name) => bound.get(name).cloned().unwrap_or(Self::Dyn),
            Self::List(of) => Self::list(of.filled(bound)),
            Self::Optional(of) => Self::optional(of.filled(bound)),
            Self::Map(key, value) => {
                Self::Map(Arc::new(key.filled(bound)), Arc::new(value.filled(bound)))
            }
            other => other.clone(),
        }
    }

    /// Whether this is the same type, not only a fitting one.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Type => f.write_str("type"),
            Self::List(of) => write!(f, "list({of})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Optional(of) => write!(f, "optional_type({of})"),
            Self::Object(object) => f.write_str(&object.name),
            Self::Opaque(name) => f.write_str(name),
            Self::Param(name) => write!(f, "{}", char::from(*name)),
        }
    }
}

/// One way to call a function.
#[derive(Debug, Clone)]
pub(super) struct Overload {
    /// The receiver of a method; none for a function.
    pub receiver: Option<Type>,
    pub arguments: Vec<Type>,
    pub result: Type,
}

/// Every function and operator with its overloads.
pub(super) fn signatures() -> &'static BTreeMap<&'static str, Vec<Overload>> {
    static TABLE: OnceLock<BTreeMap<&'static str, Vec<Overload>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<Overload>> = BTreeMap::new();
        for line in super::signature::TABLE.lines().map(str::trim).filter(|l| !l.is_empty()) {
            if let Some((name, overload)) = overload(line) {
                table.entry(name).or_default().push(overload);
            }
        }
        table
    })
}

/// `name receiver.(argument, argument) result`; a function has no receiver before its bracket.
fn overload(line: &'static str) -> Option<(&'static str, Overload)> {
    let (name, rest) = line.split_once(' ')?;
    let mut depth = 0;
    let mut open = None;
    let mut close = None;
    for (at, c) in rest.char_indices() {
        match c {
            '(' => {
                if depth == 0 && (at == 0 || rest[..at].ends_with('.')) {
                    open = Some(at);
                }
                depth += 1;
            }
            ')' => {
                depth -= 1;
                if depth == 0 && open.is_some() && close.is_none() {
                    close = Some(at);
                }
            }
            _ => {}
        }
    }
    let (open, close) = (open?, close?);
    let receiver = rest[..open].strip_suffix('.').map(read);
    let arguments = split(&rest[open + 1..close]).into_iter().map(read).collect();
    Some((name, Overload { receiver, arguments, result: read(rest[close + 1..].trim()) }))
}

fn split(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        out.push(text[start..].trim());
    }
    out
}

fn read(text: &str) -> Type {
    if let Some((outer, inner)) = text.split_once('(')
        && let Some(inner) = inner.strip_suffix(')')
    {
        let parts = split(inner);
        return match (outer, parts.as_slice()) {
            ("list", [of]) => Type::list(read(of)),
            ("optional", [of]) => Type::optional(read(of)),
            ("map", [key, value]) => Type::Map(Arc::new(read(key)), Arc::new(read(value))),
            _ => Type::Dyn,
        };
    }
    match text {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Type,
        "A" | "B" | "K" | "V" | "T" => Type::Param(text.as_bytes()[0]),
        name => Type::opaque(name),
    }
}
