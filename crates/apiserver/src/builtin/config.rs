//! ConfigMap and Secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::view::{at, default, fields, flag, has, immutable, object, take, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};

const SIZE_LIMIT: usize = 1024 * 1024;
const FROZEN: &str = "field is immutable when `immutable` is set";

/// The rules of ConfigMap.
pub const CONFIG_MAP: Strategy = Strategy {
    defaults: |map| form::settle("v1", "ConfigMap", map),
    validate: validate_config_map,
    validate_update: |new, old| {
        let mut errors = frozen(new, old, &["data", "binaryData"]);
        errors.extend(validate_config_map(new));
        errors
    },
    revalidate: false,
    ..Strategy::PLAIN
};

/// The rules of Secret.
pub const SECRET: Strategy = Strategy {
    defaults: default_secret,
    prepare_update: |new, old| {
        // An update without a type keeps it; defaulting has already said Opaque.
        if !text(old, "type").is_empty() && text(new, "type").is_empty() {
            object(new, "").insert("type".into(), at(old, "type").clone());
        }
    },
    validate: validate_secret,
    validate_update: |new, old| {
        let mut errors = immutable(&Path::new("type"), at(new, "type"), at(old, "type"));
        errors.extend(frozen(new, old, &["data"]));
        errors.extend(validate_secret(new));
        errors
    },
    revalidate: false,
    ..Strategy::PLAIN
};

/// What may not change once `immutable` is set.
fn frozen(new: &Value, old: &Value, parts: &[&str]) -> Vec<FieldError> {
    if !flag(old, "immutable") {
        return Vec::new();
    }
    let mut errors = Vec::new();
    if !flag(new, "immutable") {
        errors.push(FieldError::forbidden(&Path::new("immutable"), FROZEN));
    }
    for part in parts {
        if at(new, part) != at(old, part) {
            errors.push(FieldError::forbidden(&Path::new(*part), FROZEN));
        }
    }
    errors
}

fn validate_config_map(map: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in fields(map, "data") {
        let path = Path::new("data").key(key);
        errors.extend(wrong(&path, key, format::config_key(key)));
        if at(map, "binaryData").get(key).is_some() {
            errors.extend(wrong(&path, key, vec!["duplicate of key present in binaryData".into()]));
        }
        size += value.as_str().map_or(0, str::len);
    }
    for (key, value) in fields(map, "binaryData") {
        errors.extend(wrong(&Path::new("binaryData").key(key), key, format::config_key(key)));
        size += decoded(value).len();
    }
    if size > SIZE_LIMIT {
        errors.push(FieldError::too_long(&Path::new("[]"), SIZE_LIMIT));
    }
    errors
}

fn decoded(value: &Value) -> Vec<u8> {
    value.as_str().and_then(|text| BASE64.decode(text).ok()).unwrap_or_default()
}

fn default_secret(secret: &mut Value) {
    if let Some(Value::Object(plain)) = take(secret, "stringData") {
        let encoded: Map<String, Value> = plain
            .into_iter()
            .map(|(key, value)| {
                (key, Value::from(BASE64.encode(value.as_str().unwrap_or_default())))
            })
            .collect();
        if !encoded.is_empty() {
            object(secret, "data").extend(encoded);
        }
    }
    default(secret, "", "type", "Opaque");
    form::settle("v1", "Secret", secret);
}

fn validate_secret(secret: &Value) -> Vec<FieldError> {
    let data = Path::new("data");
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in fields(secret, "data") {
        errors.extend(wrong(&data.key(key), key, format::config_key(key)));
        size += decoded(value).len();
    }
    if size > SIZE_LIMIT {
        errors.push(FieldError::too_long(&data, SIZE_LIMIT));
    }
    let held = |key: &str| at(secret, "data").get(key);
    let mut require = |keys: &[&str]| {
        for key in keys.iter().filter(|key| held(key).is_none()) {
            errors.push(FieldError::required(&data.key(key), ""));
        }
    };
    match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            let named = at(secret, "metadata.annotations").get(key).and_then(Value::as_str);
            if named.is_none_or(str::is_empty) {
                errors.push(FieldError::required(&Path::new("metadata.annotations").key(key), ""));
            }
        }
        "kubernetes.io/dockercfg" => errors.extend(json_file(secret, ".dockercfg")),
        "kubernetes.io/dockerconfigjson" => errors.extend(json_file(secret, ".dockerconfigjson")),
        "kubernetes.io/basic-auth" if held("username").is_none() && held("password").is_none() => {
            require(&["username", "password"]);
        }
        "kubernetes.io/ssh-auth"
            if held("ssh-privatekey").is_none_or(|key| decoded(key).is_empty()) =>
        {
            errors.push(FieldError::required(&data.key("ssh-privatekey"), ""));
        }
        "kubernetes.io/tls" => require(&["tls.crt", "tls.key"]),
        _ => {}
    }
    errors
}

fn json_file(secret: &Value, key: &str) -> Vec<FieldError> {
    let path = Path::new("data").key(key);
    let Some(held) = at(secret, "data").get(key) else {
        return vec![FieldError::required(&path, "")];
    };
    let text = decoded(held);
    if serde_json::from_slice::<Map<String, Value>>(&text).is_ok() || !has(secret, "data") {
        return Vec::new();
    }
    // The rest of what a JSON parser may say depends on where it stopped; these two are common.
    let why = match text.iter().find(|c| !c.is_ascii_whitespace()) {
        None => "unexpected end of JSON input".to_owned(),
        Some(b'{' | b'[' | b'"' | b'0'..=b'9' | b'-' | b't' | b'f' | b'n') => {
            "unexpected end of JSON input".to_owned()
        }
        Some(&c) => {
            format!("invalid character '{}' looking for beginning of value", char::from(c))
        }
    };
    wrong(&path, "<secret contents redacted>", vec![why])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn string_data_is_merged_into_data() {
        let mut secret = json!({"metadata": {"name": "s"}, "data": {"a": "eA=="}, "stringData": {"a": "y", "b": ""}});
        (SECRET.defaults)(&mut secret);
        assert_eq!(secret["data"], json!({"a": "eQ==", "b": ""}));
        assert_eq!(secret["type"], "Opaque");
        assert!(secret.get("stringData").is_none());
    }

    #[test]
    fn types_ask_for_their_keys() {
        for (kind, expected) in [
            (
                "kubernetes.io/tls",
                vec!["data[tls.crt]: Required value", "data[tls.key]: Required value"],
            ),
            (
                "kubernetes.io/basic-auth",
                vec!["data[username]: Required value", "data[password]: Required value"],
            ),
            ("kubernetes.io/ssh-auth", vec!["data[ssh-privatekey]: Required value"]),
            ("kubernetes.io/dockerconfigjson", vec!["data[.dockerconfigjson]: Required value"]),
            (
                "kubernetes.io/service-account-token",
                vec!["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
            ),
            ("anything/else", vec![]),
        ] {
            assert_eq!(said(&validate_secret(&json!({"type": kind}))), expected, "{kind}");
        }
    }

    #[test]
    fn immutable_objects_stay() {
        let old = json!({"immutable": true, "data": {"a": "b"}});
        let new = json!({"data": {"a": "c"}, "binaryData": {"x": ""}});
        assert_eq!(
            said(&(CONFIG_MAP.validate_update)(&new, &old)),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
                "binaryData: Forbidden: field is immutable when `immutable` is set",
            ]
        );
        assert!((CONFIG_MAP.validate_update)(&old, &json!({"data": {}})).is_empty());
        assert_eq!(
            said(&(SECRET.validate_update)(&json!({"type": "a"}), &json!({"type": "Opaque"}))),
            ["type: Invalid value: \"a\": field is immutable"]
        );
    }

    #[test]
    fn keys_and_sizes() {
        let big = "x".repeat(SIZE_LIMIT + 1);
        assert_eq!(
            said(&validate_config_map(&json!({"data": {"a": big}}))),
            ["[]: Too long: may not be more than 1048576 bytes"]
        );
        assert_eq!(
            said(&validate_config_map(&json!({"data": {"a": "x"}, "binaryData": {"a": ""}}))),
            ["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"]
        );
        assert!(
            said(&validate_config_map(&json!({"data": {"a b": "x"}})))[0].starts_with(
                "data[a b]: Invalid value: \"a b\": a valid config key must consist of"
            )
        );
    }
}
