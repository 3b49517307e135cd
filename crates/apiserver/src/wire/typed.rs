//! Decoding JSON into a Go type, and printing it again, in one step: the result is what the API server would store.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use serde_json::{Map, Value};

use super::scan::{Item, Kind, MAX_TREE_DEPTH, number};
use super::table::{Field, SCHEMA, Special, Struct, Type, table};
use super::{text, time};
use crate::quantity::Quantity;

/// As many strict errors as Go collects.
const MAX_STRICT: usize = 100;

/// What decoding gave: the object, and what a strict decoder has to say about it.
#[derive(Debug)]
pub(crate) struct Typed {
    pub object: Value,
    pub strict: Vec<String>,
}

/// A value that does not fit its type.
#[derive(Debug, Clone, PartialEq)]
enum Wrong {
    /// `cannot unmarshal <value> into … of type <ty>`, at a field of a struct.
    Type { value: String, owner: String, field: String, ty: String },
    /// Any other message.
    Other(String),
}

struct Decoder<'a> {
    /// Names of the fields entered, for type errors.
    fields: Vec<&'a str>,
    /// The struct entered last.
    owner: Option<&'a str>,
    /// The path, for strict errors: `spec.containers[0].`
    path: String,
    /// The first value that did not fit. Go goes on after it, since a later one may be worse.
    saved: Option<Wrong>,
    strict: Vec<String>,
}

/// Decodes a document as a struct. The error is Go's message.
pub(crate) fn decode(of: &'static Struct, item: Item<'_>) -> Result<Typed, String> {
    read(of, item).map_err(Wrong::message)
}

fn read(of: &'static Struct, item: Item<'_>) -> Result<Typed, Wrong> {
    let mut decoder = Decoder {
        fields: Vec::new(),
        owner: None,
        path: String::new(),
        saved: None,
        strict: Vec::new(),
    };
    // Schemas contain schemas; no other type contains itself.
    if of.id.contains("apiextensions") && item.depth() > MAX_TREE_DEPTH {
        return Err(Wrong::Other("exceeded max depth".into()));
    }
    let object = match item.kind() {
        Kind::Object => match decoder.fields_of(of, item, Map::new()) {
            Ok(map) => Value::Object(map),
            Err(wrong) => return Err(decoder.placed(wrong)),
        },
        Kind::Null => zero_struct(of),
        other => {
            return Err(Wrong::Type {
                value: other.word().into(),
                owner: String::new(),
                field: String::new(),
                ty: super::table::short(&of.id).into(),
            });
        }
    };
    match decoder.saved {
        Some(wrong) => Err(wrong),
        None => Ok(Typed { object, strict: decoder.strict }),
    }
}

impl Decoder<'static> {
    /// The error, at the place that decoding is at. An error out of a type that reads itself has a place already,
    /// which lies below this one.
    fn placed(&self, wrong: Wrong) -> Wrong {
        match (wrong, self.owner) {
            (Wrong::Type { value, field, ty, .. }, Some(owner)) => {
                let mut fields = self.fields.clone();
                if !field.is_empty() {
                    fields.push(&field);
                }
                Wrong::Type { value, owner: owner.into(), field: fields.join("."), ty }
            }
            (other, _) => other,
        }
    }

    /// Remembers the first error that does not end decoding.
    fn save(&mut self, wrong: Wrong) {
        if self.saved.is_none() {
            self.saved = Some(self.placed(wrong));
        }
    }

    fn mismatch(&mut self, item: Item<'_>, ty: &Type) {
        self.save(mismatch(item.kind().word(), ty));
    }

    fn strictly(&mut self, what: &str, name: &str) {
        let dot = if self.path.is_empty() || self.path.ends_with('.') { "" } else { "." };
        let message = format!("{what} {}", text::quote(&format!("{}{dot}{name}", self.path)));
        if self.strict.len() < MAX_STRICT && !self.strict.contains(&message) {
            self.strict.push(message);
        }
    }

    fn enter(&mut self, key: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        length
    }

    /// Reads an object into the fields of a struct, on top of what is there already.
    fn fields_of(
        &mut self,
        of: &'static Struct,
        item: Item<'_>,
        mut map: Map<String, Value>,
    ) -> Result<Map<String, Value>, Wrong> {
        let mut seen: Vec<&str> = Vec::new();
        for (key, item) in item.entries() {
            let Some(field) = of.field(&key) else {
                self.strictly("unknown field", &key);
                continue;
            };
            if seen.contains(&&*field.name) {
                self.strictly("duplicate field", &key);
            } else {
                seen.push(&field.name);
            }
            let (depth, owner) = (self.fields.len(), self.owner);
            self.fields.extend(field.embedded.iter().map(|name| &**name));
            self.fields.push(&field.name);
            self.owner = Some(of.name());
            let length = self.enter(&key);
            // Where an error ends decoding, the place it happened at stays entered for its message.
            let value = self.value(&field.ty, item, map.remove(&*field.name))?;
            map.insert(field.name.to_string(), value);
            self.path.truncate(length);
            self.fields.truncate(depth);
            self.owner = owner;
        }
        finish(of, &mut map);
        Ok(map)
    }

    fn value(
        &mut self,
        ty: &'static Type,
        item: Item<'_>,
        current: Option<Value>,
    ) -> Result<Value, Wrong> {
        let kind = item.kind();
        Ok(match ty.underlying() {
            Type::Pointer(of) => match kind {
                Kind::Null => Value::Null,
                _ => self.value(of, item, current.filter(|v| !v.is_null()))?,
            },
            Type::Special(special) => special_value(*special, item)?,
            Type::Struct(at) => match (kind, table().at(*at)) {
                (Kind::Object, Some(of)) => {
                    let map = match current {
                        Some(Value::Object(map)) => map,
                        _ => Map::new(),
                    };
                    Value::Object(self.fields_of(of, item, map)?)
                }
                (Kind::Null, _) => current.unwrap_or_else(|| zero(ty)),
                _ => {
                    self.mismatch(item, ty);
                    current.unwrap_or_else(|| zero(ty))
                }
            },
            Type::Any => tree(item)?,
            _ if kind == Kind::Null => match ty.underlying() {
                Type::List(_) | Type::Map(..) | Type::Bytes => Value::Null,
                _ => current.unwrap_or_else(|| zero(ty)),
            },
            Type::Map(_, of) => {
                let Kind::Object = kind else {
                    self.mismatch(item, ty);
                    return Ok(current.unwrap_or(Value::Null));
                };
                let mut map = match current {
                    Some(Value::Object(map)) => map,
                    _ => Map::new(),
                };
                let mut seen = std::collections::BTreeSet::new();
                for (key, item) in item.entries() {
                    if !seen.insert(key.clone().into_owned()) {
                        self.strictly("duplicate field", &key);
                    }
                    let length = self.enter(&key);
                    let value = self.value(of, item, None)?;
                    map.insert(key.into_owned(), rounded(ty, value));
                    self.path.truncate(length);
                }
                Value::Object(map)
            }
            Type::List(of) => {
                let Kind::Array = kind else {
                    self.mismatch(item, ty);
                    return Ok(current.unwrap_or(Value::Null));
                };
                let mut list = Vec::new();
                for (i, item) in item.items().enumerate() {
                    let length = self.path.len();
                    let place = format!("[{i}]");
                    self.path.push_str(&place);
                    list.push(self.value(of, item, None)?);
                    self.path.truncate(length);
                }
                Value::Array(list)
            }
            scalar => self.scalar(ty, scalar, item).or(current).unwrap_or_else(|| zero(ty)),
        })
    }

    fn scalar(&mut self, ty: &Type, underlying: &Type, item: Item<'_>) -> Option<Value> {
        let fits = match (underlying, item.kind()) {
            (Type::Bool, Kind::Bool) => Some(Value::Bool(item.is_true())),
            (Type::Text, Kind::Text) => Some(Value::String(item.text().into_owned())),
            (Type::Bytes, Kind::Text) => match bytes(&item.text()) {
                Ok(text) => Some(Value::String(text)),
                Err(message) => {
                    self.save(Wrong::Other(message));
                    return None;
                }
            },
            (Type::Int(_) | Type::Uint(_) | Type::Float(_), Kind::Number) => {
                let fits = sized(underlying, item.literal());
                if fits.is_none() {
                    self.save(mismatch(&format!("number {}", item.literal()), ty));
                    return None;
                }
                fits
            }
            _ => None,
        };
        if fits.is_none() {
            self.mismatch(item, ty);
        }
        fits
    }
}

impl Wrong {
    fn message(self) -> String {
        match self {
            Self::Other(message) => message,
            Self::Type { value, owner, field, ty } if owner.is_empty() && field.is_empty() => {
                format!("json: cannot unmarshal {value} into Go value of type {ty}")
            }
            Self::Type { value, owner, field, ty } => format!(
                "json: cannot unmarshal {value} into Go struct field {owner}.{field} of type {ty}"
            ),
        }
    }
}

fn mismatch(value: &str, ty: &Type) -> Wrong {
    Wrong::Type {
        value: value.into(),
        owner: String::new(),
        field: String::new(),
        ty: ty.go_name(),
    }
}

fn tree(item: Item<'_>) -> Result<Value, Wrong> {
    item.value().map_err(Wrong::Other)
}

/// A number that fits its type.
fn sized(ty: &Type, literal: &str) -> Option<Value> {
    match ty {
        Type::Int(bits) => {
            let number: i64 = literal.parse().ok()?;
            let high = i64::MAX >> (64 - u32::from(*bits));
            (-high - 1..=high).contains(&number).then(|| Value::from(number))
        }
        Type::Uint(bits) => {
            let number: u64 = literal.parse().ok()?;
            (number <= u64::MAX >> (64 - u32::from(*bits))).then(|| Value::from(number))
        }
        _ => number(literal).ok(),
    }
}

/// Base64 as Go decodes it (line breaks and trailing bits ignored), encoded again.
pub(super) fn bytes(text: &str) -> Result<String, String> {
    match whole_base64(text) {
        Ok(()) => {}
        Err(at) => return Err(format!("illegal base64 data at input byte {at}")),
    }
    let clean: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let loose = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&base64::alphabet::STANDARD, loose);
    let bytes = engine.decode(&clean).map_err(|_| "illegal base64 data at input byte 0")?;
    Ok(STANDARD.encode(bytes))
}

/// Whether base64 is whole, or where Go says that it is broken: at the first wrong character, at the last group
/// of four if that is too short, or where the padding goes wrong.
fn whole_base64(text: &str) -> Result<(), usize> {
    let mut place = 0;
    let mut chars = text.bytes().enumerate().filter(|(_, b)| !matches!(b, b'\r' | b'\n'));
    while let Some((at, byte)) = chars.next() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') {
            place = (place + 1) % 4;
            continue;
        }
        if byte != b'=' || place < 2 {
            return Err(at);
        }
        if place == 2 {
            match chars.next() {
                None => return Err(text.len()),
                Some((_, b'=')) => {}
                Some((at, _)) => return Err(at - 1),
            }
        }
        return chars.next().map_or(Ok(()), |(at, _)| Err(at));
    }
    if place == 0 { Ok(()) } else { Err(text.len() - place) }
}

/// Resource lists are rounded up to thousandths by the server's defaults.
fn rounded(ty: &Type, value: Value) -> Value {
    match (ty, &value) {
        (Type::Named(name, _), Value::String(text)) if &**name == "v1.ResourceList" => {
            match Quantity::parse(text) {
                Some(quantity) => Value::String(quantity.rounded_up_to_milli().to_string()),
                None => value,
            }
        }
        _ => value,
    }
}

/// Reads a type that reads itself.
fn special_value(special: Special, item: Item<'_>) -> Result<Value, Wrong> {
    let kind = item.kind();
    Ok(match (special, kind) {
        (Special::Quantity, Kind::Null) => Value::from("0"),
        (Special::IntOrString, Kind::Null) => Value::from(0),
        (
            Special::Time
            | Special::MicroTime
            | Special::Raw
            | Special::Json
            | Special::Fields
            | Special::Duration
            | Special::SchemaOrArray
            | Special::SchemaOrStrings,
            Kind::Null,
        ) => Value::Null,
        (Special::Quantity, _) => {
            let text = if kind == Kind::Text { item.text() } else { item.literal().into() };
            let quantity =
                Quantity::checked(text.trim()).map_err(|e| Wrong::Other(e.to_string()))?;
            Value::String(quantity.to_string())
        }
        (Special::Time | Special::MicroTime | Special::Duration, Kind::Text) => {
            Value::String(time_text(special, &item.text()).map_err(Wrong::Other)?)
        }
        (Special::Time | Special::MicroTime | Special::Duration, _) => {
            return Err(mismatch(kind.word(), &Type::Text));
        }
        (Special::IntOrString, Kind::Text) => Value::String(item.text().into_owned()),
        (Special::IntOrString, Kind::Number) => match sized(&Type::Int(32), item.literal()) {
            Some(number) => number,
            None => return Err(mismatch(&format!("number {}", item.literal()), &Type::Int(32))),
        },
        (Special::IntOrString, _) => return Err(mismatch(kind.word(), &Type::Int(32))),
        (Special::Raw | Special::Json | Special::Fields, _) => tree(item)?,
        (Special::SchemaOrBool, Kind::Bool) => Value::Bool(item.is_true()),
        (
            Special::SchemaOrBool | Special::SchemaOrArray | Special::SchemaOrStrings,
            Kind::Object,
        ) => schema(item)?,
        (Special::SchemaOrBool, _) => {
            return Err(Wrong::Other("boolean or JSON schema expected".into()));
        }
        (Special::SchemaOrArray, Kind::Array) => {
            Value::Array(item.items().map(schema).collect::<Result<_, _>>()?)
        }
        (Special::SchemaOrStrings, Kind::Array) => {
            let mut list = Vec::new();
            for one in item.items() {
                match one.kind() {
                    Kind::Text => list.push(Value::String(one.text().into_owned())),
                    Kind::Null => list.push(Value::from("")),
                    other => return Err(mismatch(other.word(), &Type::Text)),
                }
            }
            Value::Array(list)
        }
        (Special::SchemaOrArray | Special::SchemaOrStrings, _) => Value::Null,
    })
}

/// A schema inside a schema; what it does not know is not reported.
fn schema(item: Item<'_>) -> Result<Value, Wrong> {
    match table().named(SCHEMA) {
        Some(of) => read(of, item).map(|typed| typed.object),
        None => tree(item),
    }
}

pub(super) fn time_text(special: Special, text: &str) -> Result<String, String> {
    match special {
        Special::MicroTime => time::parse_micro(text).map(time::print_micro),
        Special::Time => time::parse(text).map(time::print),
        _ => Ok(text.to_owned()),
    }
}

/// The value of a field that was never set, as it prints.
pub(super) fn zero(ty: &Type) -> Value {
    match ty.underlying() {
        Type::Bool | Type::Special(Special::SchemaOrBool) => Value::Bool(false),
        Type::Int(_) | Type::Uint(_) | Type::Float(_) | Type::Special(Special::IntOrString) => {
            Value::from(0)
        }
        Type::Text | Type::Named(..) => Value::from(""),
        Type::Special(Special::Quantity) => Value::from("0"),
        Type::Special(Special::Duration) => Value::from("0s"),
        Type::Struct(at) => table().at(*at).map_or(Value::Null, zero_struct),
        Type::Bytes
        | Type::Any
        | Type::Pointer(_)
        | Type::List(_)
        | Type::Map(..)
        | Type::Special(_) => Value::Null,
    }
}

fn zero_struct(of: &Struct) -> Value {
    let mut map = Map::new();
    finish(of, &mut map);
    Value::Object(map)
}

/// Leaves out what the type leaves out when empty, and fills in what it always prints.
pub(super) fn finish(of: &Struct, map: &mut Map<String, Value>) {
    for field in &of.fields {
        match map.get(&*field.name) {
            // Their defaults and validation tell an empty list from none.
            Some(Value::Array(_))
                if (of.name(), &*field.name) == ("HPAScalingRules", "policies") => {}
            Some(value) if omitted(field, value) => {
                map.remove(&*field.name);
            }
            None if !left_out(field) => {
                map.insert(field.name.to_string(), zero(&field.ty));
            }
            Some(_) | None => {}
        }
    }
}

/// Whether a field that was never set is left out.
fn left_out(field: &Field) -> bool {
    field.omit_zero
        || (field.omit_empty
            && !matches!(field.ty.underlying(), Type::Struct(_) | Type::Special(_)))
}

fn omitted(field: &Field, value: &Value) -> bool {
    if field.omit_zero && (value.is_null() || *value == zero(&field.ty)) {
        return true;
    }
    field.omit_empty
        && match field.ty.underlying() {
            Type::Struct(_) | Type::Special(_) => false,
            Type::Pointer(_) => value.is_null(),
            _ => match value {
                Value::Null | Value::Bool(false) => true,
                Value::Bool(true) => false,
                Value::Number(number) => number.as_f64() == Some(0.0),
                Value::String(text) => text.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::Object(map) => map.is_empty(),
            },
        }
}

/// An object as its type prints it. What does not fit stays.
pub(super) fn canonical(of: &Struct, object: Value) -> Value {
    let Value::Object(map) = object else { return object };
    let mut kept = Map::new();
    for (key, value) in map {
        if let Some(field) = of.field(&key) {
            kept.insert(key, canonical_value(&field.ty, value));
        }
    }
    finish(of, &mut kept);
    Value::Object(kept)
}

fn canonical_value(ty: &Type, value: Value) -> Value {
    match (ty.underlying(), value) {
        (Type::Pointer(_), Value::Null) => Value::Null,
        (Type::Pointer(of), value) => canonical_value(of, value),
        (Type::Struct(at), value @ Value::Object(_)) => match table().at(*at) {
            Some(of) => canonical(of, value),
            None => value,
        },
        (Type::Struct(_), Value::Null) => zero(ty),
        (Type::List(of), Value::Array(list)) => {
            Value::Array(list.into_iter().map(|one| canonical_value(of, one)).collect())
        }
        (Type::Map(_, of), Value::Object(map)) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (key, rounded(ty, canonical_value(of, value))))
                .collect(),
        ),
        (Type::Special(Special::Quantity), Value::String(text)) => {
            Value::String(Quantity::parse(&text).map_or(text, |q| q.to_string()))
        }
        (Type::Special(Special::Quantity), Value::Number(number)) => {
            let text = number.to_string();
            Value::String(Quantity::parse(&text).map_or(text, |q| q.to_string()))
        }
        (Type::Special(special @ (Special::Time | Special::MicroTime)), Value::String(text)) => {
            Value::String(time_text(*special, &text).unwrap_or(text))
        }
        (_, value) => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::scan::Document;

    fn decode_as(kind: &str, version: &str, body: &str) -> Result<Typed, String> {
        let of = table().kind(version, kind).unwrap();
        let document = Document::read(body.as_bytes()).unwrap();
        decode(of, document.root())
    }

    fn pod(body: &str) -> String {
        decode_as("Pod", "v1", body).unwrap_err()
    }

    #[test]
    fn type_errors_name_struct_path_and_type() {
        let quantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        for (body, message) in [
            (
                r#"{"spec":{"volumes":[{"emptyDir":5}]}}"#,
                "json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
            ),
            (r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}"#, quantity),
            (r#"{"spec":{"containers":[{"resources":{"limits":{"cpu":true}}}]}}"#, quantity),
            (
                r#"{"spec":{"containers":[{"resources":{"limits":[]}}]}}"#,
                "json: cannot unmarshal array into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
            ),
            (
                r#"{"spec":{"containers":[{"imagePullPolicy":5}]}}"#,
                "json: cannot unmarshal number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
            ),
            (
                r#"{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}"#,
                "json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
            ),
            (
                r#"{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":99999999999}}}]}}"#,
                "json: cannot unmarshal number 99999999999 into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
            ),
            (
                r#"{"spec":{"tolerations":[{"tolerationSeconds":1.0}]}}"#,
                "json: cannot unmarshal number 1.0 into Go struct field Toleration.spec.tolerations.tolerationSeconds of type int64",
            ),
            (
                r#"{"spec":{"containers":[{"env":[{"name":"A","value":1},{"value":true}]}]}}"#,
                "json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string",
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":true}}}"#,
                "json: cannot unmarshal bool into Go struct field PodSpec.spec.nodeSelector of type string",
            ),
            // A value that cannot be read at all ends decoding and wins over an earlier one of a wrong type.
            (
                r#"{"metadata":{"name":5},"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}"#,
                quantity,
            ),
            (
                r#"{"metadata":{"name":5,"namespace":6}}"#,
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
            ),
            (
                r#"{"spec":{"containers":[[]]}}"#,
                "json: cannot unmarshal array into Go struct field PodSpec.spec.containers of type v1.Container",
            ),
            (
                r#"{"spec":5}"#,
                "json: cannot unmarshal number into Go struct field Pod.spec of type v1.PodSpec",
            ),
            (
                r#"{"metadata":{"creationTimestamp":5}}"#,
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
            ),
            (
                r#"{"metadata":{"ownerReferences":[{"uid":5}]}}"#,
                "json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.uid of type types.UID",
            ),
        ] {
            assert_eq!(pod(body), message, "{body}");
        }
    }

    #[test]
    fn the_object_prints_as_go_would_print_it() {
        let body = r#"{
            "metadata": {"name": "p", "creationTimestamp": null, "labels": {}, "finalizers": []},
            "spec": {
                "hostNetwork": false, "terminationGracePeriodSeconds": 0, "nodeName": "",
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{"name": "c", "image": null, "resources": {"limits": {"memory": "1024Mi", "cpu": 0.5}},
                    "env": [{"name": "E", "value": ""}]}]
            }}"#;
        let typed = decode_as("Pod", "v1", body).unwrap();
        assert_eq!(
            typed.object,
            json!({
                "metadata": {"name": "p"},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "containers": [{"name": "c", "env": [{"name": "E"}],
                        "resources": {"limits": {"memory": "1Gi", "cpu": "500m"}}}]
                },
                "status": {}
            })
        );
    }

    #[test]
    fn strict_errors_in_the_order_of_the_body() {
        let body = r#"{"metadata":{"foo":1,"labels":{"a":"1","a":"2"}},"spec":{"containers":[{"x":{"y":1}},{}]},"bogus":1,"bogus":2,"spec":{"nodeName":"n"}}"#;
        let typed = decode_as("Pod", "v1", body).unwrap();
        assert_eq!(
            typed.strict,
            [
                r#"unknown field "metadata.foo""#,
                r#"duplicate field "metadata.labels.a""#,
                r#"unknown field "spec.containers[0].x""#,
                r#"unknown field "bogus""#,
                r#"duplicate field "spec""#,
            ]
        );
        assert_eq!(typed.object["spec"]["nodeName"], "n");
        assert_eq!(typed.object["spec"]["containers"][0]["name"], "");
    }

    #[test]
    fn base64_places() {
        for (text, at) in [
            ("!!", 0),
            ("YQ", 0),
            ("YQ=", 3),
            ("YQ==x", 4),
            ("YWJj!", 4),
            ("Y", 0),
            ("YQ=x", 2),
            ("YWJjZ", 4),
            ("YWJj=", 4),
        ] {
            assert_eq!(
                bytes(text).unwrap_err(),
                format!("illegal base64 data at input byte {at}"),
                "{text}"
            );
        }
        assert_eq!(bytes("YW\nJj").as_deref(), Ok("YWJj"));
        assert_eq!(bytes("YR==").as_deref(), Ok("YQ=="));
    }

    #[test]
    fn canonical_is_idempotent() {
        let of = table().kind("apps/v1", "Deployment").unwrap();
        let object = json!({"metadata": {"name": "d", "labels": {}}, "spec": {"replicas": 0,
            "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "0.1"}}}]}}}});
        let once = canonical(of, object);
        assert_eq!(once["spec"]["strategy"], json!({}));
        assert_eq!(once["spec"]["selector"], Value::Null);
        assert_eq!(once["status"], json!({}));
        assert_eq!(
            once["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"],
            "100m"
        );
        assert_eq!(canonical(of, once.clone()), once);
    }
}
