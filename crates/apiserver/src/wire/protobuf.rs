//! Bodies in protobuf, which clients made from Go types send: read by the numbers in [`table`](super::table)
//! into the JSON they stand for.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Number, Value, json};

use super::table::{Special, Struct, Type, table};
use super::time;

/// What every body begins with.
const PREFIX: &[u8] = b"k8s\0";

/// No object nests deeper; a body may try to.
const DEEPEST: usize = 100;

/// The object in a body. A kind that is not known comes out with its name alone.
pub(crate) fn read(body: &[u8]) -> Result<Value, String> {
    let Some(envelope) = body.strip_prefix(PREFIX) else {
        return Err(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
                .to_owned(),
        );
    };
    let envelope = Message::read(envelope)?;
    let about = Message::read(envelope.bytes(1)?)?;
    let (api_version, kind) = (about.text(1)?, about.text(2)?);
    let mut object = match table().kind(&api_version, &kind) {
        Some(of) => structure(of, &Message::read(envelope.bytes(2)?)?, 0)?,
        None => Map::new(),
    };
    object.insert("apiVersion".into(), api_version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

#[derive(Clone, Copy)]
enum Payload<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message by number.
#[derive(Default)]
struct Message<'a>(BTreeMap<u32, Vec<Payload<'a>>>);

impl<'a> Message<'a> {
    fn read(mut bytes: &'a [u8]) -> Result<Self, String> {
        let mut fields = BTreeMap::<u32, Vec<Payload<'a>>>::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes)?;
            let payload = match key & 7 {
                0 => Payload::Number(varint(&mut bytes)?),
                1 => Payload::Number(u64::from_le_bytes(fixed(&mut bytes)?)),
                2 => {
                    let length = varint(&mut bytes)? as usize;
                    let Some((taken, rest)) = bytes.split_at_checked(length) else {
                        return Err("unexpected EOF".to_owned());
                    };
                    bytes = rest;
                    Payload::Bytes(taken)
                }
                5 => Payload::Number(u32::from_le_bytes(fixed(&mut bytes)?).into()),
                other => return Err(format!("proto: illegal wireType {other}")),
            };
            let number = u32::try_from(key >> 3).ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| format!("proto: illegal tag {}", key >> 3))?;
            fields.entry(number).or_default().push(payload);
        }
        Ok(Self(fields))
    }

    fn all(&self, number: u32) -> &[Payload<'a>] {
        self.0.get(&number).map(Vec::as_slice).unwrap_or_default()
    }

    /// The last one counts.
    fn last(&self, number: u32) -> Option<Payload<'a>> {
        self.all(number).last().copied()
    }

    fn bytes(&self, number: u32) -> Result<&'a [u8], String> {
        self.last(number).map_or(Ok(&[]), bytes)
    }

    fn text(&self, number: u32) -> Result<String, String> {
        self.last(number).map_or(Ok(String::new()), text)
    }

    fn number(&self, number: u32) -> u64 {
        match self.last(number) {
            Some(Payload::Number(number)) => number,
            _ => 0,
        }
    }
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let Some((first, rest)) = bytes.split_first() else {
            return Err("unexpected EOF".to_owned());
        };
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("proto: integer overflow".to_owned())
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], String> {
    let Some((taken, rest)) = bytes.split_first_chunk() else {
        return Err("unexpected EOF".to_owned());
    };
    *bytes = rest;
    Ok(*taken)
}

fn bytes(payload: Payload<'_>) -> Result<&[u8], String> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        Payload::Number(_) => Err("proto: wrong wireType".to_owned()),
    }
}

fn text(payload: Payload<'_>) -> Result<String, String> {
    // Go takes any bytes for a text and replaces what is none when it writes JSON.
    Ok(String::from_utf8_lossy(bytes(payload)?).into_owned())
}

fn structure(
    of: &Struct,
    message: &Message<'_>,
    depth: usize,
) -> Result<Map<String, Value>, String> {
    if depth > DEEPEST {
        return Err("proto: message nested too deeply".to_owned());
    }
    let mut object = Map::new();
    for field in &of.fields {
        let Some((number, embedded)) = field.numbers.split_last() else { continue };
        // Fields of an embedded struct lie in a message of their own.
        let mut inner = None;
        for outer in embedded {
            let from = inner.as_ref().unwrap_or(message);
            inner = Some(Message::read(from.bytes(*outer)?)?);
        }
        let payloads = inner.as_ref().unwrap_or(message).all(*number);
        if payloads.is_empty() {
            continue;
        }
        let value = field_value(&field.ty, payloads, depth)?;
        if !value.is_null() {
            object.insert(field.name.to_string(), value);
        }
    }
    Ok(object)
}

fn field_value(ty: &Type, payloads: &[Payload<'_>], depth: usize) -> Result<Value, String> {
    match ty {
        Type::Named(_, of) | Type::Pointer(of) => field_value(of, payloads, depth),
        Type::List(of) => payloads.iter().map(|payload| value(of, *payload, depth)).collect(),
        Type::Map(_, of) => {
            let mut map = Map::new();
            for payload in payloads {
                let entry = Message::read(bytes(*payload)?)?;
                let held = match (plain(of), entry.last(2)) {
                    // A list cannot be a map's value: it is wrapped into a message.
                    (Type::List(of), Some(wrapped)) => {
                        let wrapped = Message::read(bytes(wrapped)?)?;
                        field_value(&Type::List(of.clone()), wrapped.all(1), depth)?
                    }
                    (of, Some(held)) => value(of, held, depth)?,
                    (Type::Text | Type::Bytes, None) => json!(""),
                    (_, None) => Value::Null,
                };
                map.insert(entry.text(1)?, held);
            }
            Ok(Value::Object(map))
        }
        of => payloads.last().map_or(Ok(Value::Null), |payload| value(of, *payload, depth)),
    }
}

/// Without names and pointers.
fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Named(_, of) | Type::Pointer(of) => plain(of),
        of => of,
    }
}

fn value(ty: &Type, payload: Payload<'_>, depth: usize) -> Result<Value, String> {
    let number = || match payload {
        Payload::Number(number) => Ok(number),
        Payload::Bytes(_) => Err("proto: wrong wireType".to_owned()),
    };
    Ok(match plain(ty) {
        Type::Bool => json!(number()? != 0),
        Type::Int(_) => json!(number()?.cast_signed()),
        Type::Uint(_) => json!(number()?),
        Type::Float(32) => float(f32::from_bits(number()? as u32).into()),
        Type::Float(_) => float(f64::from_bits(number()?)),
        Type::Text => json!(text(payload)?),
        Type::Bytes => json!(STANDARD.encode(bytes(payload)?)),
        Type::Struct(at) => match table().at(*at) {
            Some(of) => structure(of, &Message::read(bytes(payload)?)?, depth + 1)?.into(),
            None => Value::Null,
        },
        Type::Special(special) => self::special(*special, bytes(payload)?, depth + 1)?,
        of @ (Type::List(_) | Type::Map(..)) => field_value(of, &[payload], depth)?,
        Type::Any | Type::Named(..) | Type::Pointer(_) => Value::Null,
    })
}

fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

fn special(special: Special, bytes: &[u8], depth: usize) -> Result<Value, String> {
    let message = Message::read(bytes)?;
    let schema = |number| -> Result<Value, String> {
        let of = table()
            .named("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
        match (of, message.all(number).is_empty()) {
            (Some(of), false) => {
                Ok(structure(of, &Message::read(message.bytes(number)?)?, depth)?.into())
            }
            _ => Ok(Value::Null),
        }
    };
    Ok(match special {
        Special::Quantity => json!(message.text(1)?),
        Special::Time | Special::MicroTime => {
            // A time that is not set is an empty message.
            if message.0.is_empty() {
                return Ok(Value::Null);
            }
            let nanos = message.number(2) as i32;
            let at = Timestamp::new(message.number(1).cast_signed(), nanos)
                .map_err(|error| error.to_string())?;
            json!(if special == Special::Time { time::print(at) } else { time::print_micro(at) })
        }
        Special::Duration => {
            let nanos = message.number(1).cast_signed();
            json!(format!("{nanos}ns"))
        }
        Special::IntOrString if message.number(1) == 0 => json!(message.number(2) as i32),
        Special::IntOrString => json!(message.text(3)?),
        Special::Fields | Special::Raw | Special::Json => {
            let raw = message.bytes(1)?;
            if raw.is_empty() {
                return Ok(Value::Null);
            }
            serde_json::from_slice(raw).map_err(|error| error.to_string())?
        }
        Special::SchemaOrBool => match schema(2)? {
            Value::Null => json!(message.number(1) != 0),
            schema => schema,
        },
        Special::SchemaOrArray => match (schema(1)?, message.all(2)) {
            (Value::Null, several) => {
                let of = table().named(
                    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
                );
                let one = |payload: &Payload<'_>| match of {
                    Some(of) => {
                        let message = Message::read(self::bytes(*payload)?)?;
                        structure(of, &message, depth).map(Value::Object)
                    }
                    None => Ok(Value::Null),
                };
                several.iter().map(one).collect::<Result<_, _>>()?
            }
            (schema, _) => schema,
        },
        Special::SchemaOrStrings => match schema(1)? {
            Value::Null => {
                let texts: Result<Vec<_>, _> = message.all(2).iter().map(|p| text(*p)).collect();
                json!(texts?)
            }
            schema => schema,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One field: a text or message.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2];
        let mut length = content.len();
        while length >= 0x80 {
            bytes.push((length as u8 & 0x7f) | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend(content);
        bytes
    }

    fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let about = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [PREFIX.to_vec(), field(1, &about), field(2, raw), field(3, b""), field(4, b"")].concat()
    }

    #[test]
    fn an_object_is_what_its_json_would_be() {
        // metadata: name, empty creationTimestamp, labels; data; immutable.
        let label = [field(1, b"app"), field(2, b"shop")].concat();
        let metadata = [field(1, b"config"), field(8, b""), field(11, &label)].concat();
        let entry = [field(1, b"key"), field(2, b"value")].concat();
        let raw = [field(1, &metadata), field(2, &entry), vec![4 << 3, 1]].concat();
        assert_eq!(
            read(&envelope("v1", "ConfigMap", &raw)).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "immutable": true,
                "metadata": {"name": "config", "labels": {"app": "shop"}},
                "data": {"key": "value"},
            })
        );
    }

    #[test]
    fn embedded_fields_numbers_and_quantities_are_found() {
        let volume =
            [field(1, b"data"), field(2, &field(2, &field(2, &field(1, b"1Gi"))))].concat();
        // containers: name, ports (containerPort -1, which Go would refuse later).
        let mut port = vec![3 << 3];
        port.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
        let container = [field(1, b"main"), field(6, &port)].concat();
        let raw = field(2, &[field(1, &volume), field(2, &container)].concat());
        let pod = read(&envelope("v1", "Pod", &raw)).unwrap();
        assert_eq!(
            pod["spec"]["volumes"],
            json!([{"name": "data", "emptyDir": {"sizeLimit": "1Gi"}}])
        );
        assert_eq!(
            pod["spec"]["containers"],
            json!([{"name": "main", "ports": [{"containerPort": -1}]}])
        );
    }

    #[test]
    fn nonsense_is_refused_and_depth_is_bounded() {
        assert!(read(b"{}").unwrap_err().contains("expected prefix"));
        assert_eq!(read(b"k8s\0\x0a\x05ab"), Err("unexpected EOF".into()));
        assert_eq!(read(b"k8s\0\x0f"), Err("proto: illegal wireType 7".into()));
        let mut schema = Vec::new();
        for _ in 0..300 {
            // JSONSchemaProps.not
            schema = [vec![0xe2, 0x01], field(0, &schema)[1..].to_vec()].concat();
        }
        // spec.versions[].schema.openAPIV3Schema
        let version = field(4, &field(1, &schema));
        let raw = field(2, &field(7, &version));
        let read = read(&envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", &raw));
        assert_eq!(read, Err("proto: message nested too deeply".into()));
    }
}
