//! The hash of a generated object's content that its name ends with.

use sha2::{Digest, Sha256};

use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::json_patch::json_float;
use crate::kustomize::{Resource, Resources};
use crate::yaml::scalar::Resolved;
use crate::yaml::{Node, Value, rewrite};

/// Appends the hash to the names of those that need one.
pub(crate) fn apply(resources: &mut Resources) -> Result<()> {
    for resource in resources.iter_mut().filter(|resource| resource.needs_hash) {
        let hash = of(resource)?;
        resource.remember_id();
        let name = format!("{}-{hash}", resource.name());
        resource.set_name(&name);
    }
    Ok(())
}

/// The hash of a ConfigMap's or Secret's content.
pub(crate) fn of(resource: &Resource) -> Result<String> {
    let node = &resource.node;
    let mut json = String::from("{");
    let field = |json: &mut String, name: &str, node: Option<&Node>| -> Result<()> {
        text(json, name);
        json.push(':');
        match node.filter(|node| !node.is_null()).map(|node| &node.value) {
            None => text(json, ""),
            Some(Value::Scalar(scalar)) => text(json, &scalar.text),
            Some(Value::Sequence(_)) => json.push_str("null"),
            Some(Value::Mapping(_)) => value(json, node.unwrap_or(&resource.node), false)?,
        }
        Ok(())
    };
    let is_mapping = |name: &str| node.get(name).is_some_and(|node| node.as_mapping().is_some());
    // Upstream looks for the name under a key it never has, so names do not count.
    let name = node.get("metadata/name");
    match resource.kind() {
        "ConfigMap" => {
            if is_mapping("binaryData") {
                field(&mut json, "binaryData", node.get("binaryData"))?;
                json.push(',');
            }
            field(&mut json, "data", node.get("data"))?;
            json.push_str(",\"kind\":\"ConfigMap\",");
            field(&mut json, "name", name)?;
        }
        "Secret" => {
            field(&mut json, "data", node.get("data"))?;
            json.push_str(",\"kind\":\"Secret\",");
            field(&mut json, "name", name)?;
            json.push(',');
            if is_mapping("stringData") {
                field(&mut json, "stringData", node.get("stringData"))?;
                json.push(',');
            }
            field(&mut json, "type", node.get("type"))?;
        }
        kind => {
            let message = format!("the name of a generated {kind} cannot end with a hash");
            return Err(Diagnostic::new(message)
                .hint("set `disableNameSuffixHash: true` where it is generated"));
        }
    }
    json.push('}');
    let digest = Sha256::digest(json.as_bytes());
    let hex = digest.iter().take(5).flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(hex.map(|digit| char::from(b"gh2k456789mbcdtf"[usize::from(digit)])).collect())
}

/// The value as Go's JSON encoder writes what it has read into an interface: keys sorted, numbers as
/// floats.
fn value(json: &mut String, node: &Node, flow: bool) -> Result<()> {
    match &node.value {
        Value::Mapping(mapping) => {
            let flow = flow || mapping.is_flow();
            let mut entries: Vec<_> = mapping.iter().collect();
            entries.sort_by(|one, two| one.key.text.cmp(&two.key.text));
            json.push('{');
            for (place, entry) in entries.into_iter().enumerate() {
                if place > 0 {
                    json.push(',');
                }
                text(json, &entry.key.text);
                json.push(':');
                value(json, &entry.value, flow)?;
            }
            json.push('}');
        }
        Value::Sequence(items) => {
            json.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    json.push(',');
                }
                value(json, item, flow)?;
            }
            json.push(']');
        }
        Value::Scalar(scalar) => match scalar.resolved()? {
            Resolved::Null => json.push_str("null"),
            Resolved::Bool(flag) => json.push_str(if flag { "true" } else { "false" }),
            Resolved::Int(number) => json.push_str(&json_float(number as f64)),
            Resolved::Float(number) => json.push_str(&json_float(number)),
            Resolved::Unsigned(number) => json.push_str(&json_float(number as f64)),
            Resolved::Text(content) if flow => text(json, &content),
            Resolved::Text(content) => text(json, &rewrite::again(content, scalar.style)?),
        },
    }
    Ok(())
}

/// A text as Go's JSON encoder writes it.
fn text(json: &mut String, content: &str) {
    json.push('"');
    for character in content.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                json.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => json.push(other),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kustomize::Origin;

    fn hash(text: &str) -> String {
        let node = crate::yaml::documents(text).unwrap().remove(0).root;
        of(&Resource::new(node, Origin::default())).unwrap()
    }

    #[test]
    fn hashes_are_upstreams() {
        let secret = "kind: Secret\nmetadata: {name: empty}\ntype: Opaque\ndata: {}\n";
        assert_eq!(hash(secret), "46f8b28mk5");
        let config = "kind: ConfigMap\nmetadata: {name: '123'}\ndata: {a: b}\n";
        assert_eq!(hash(config), "4h2mbtbbt6");
        let binary = "kind: ConfigMap\nmetadata: {name: b}\nbinaryData: {x.bin: //4=}\n";
        assert_eq!(hash(binary), "mc6tt9kf9h");
    }

    #[test]
    fn texts_are_escaped_as_go_escapes_them() {
        let mut json = String::new();
        text(&mut json, "<a&b>\"\\\n\u{1}\u{2028}é");
        assert_eq!(json, "\"\\u003ca\\u0026b\\u003e\\\"\\\\\\n\\u0001\\u2028é\"");
    }
}
