//! What SOPS encrypted: recognised, never read.

use crate::yaml::{Node, Value};

/// How SOPS marks the formats it writes.
const MARKS: [&str; 4] = ["\"mac\": \"ENC[", "mac: ENC[", "sops_mac=ENC[", "[sops]"];

/// Whether SOPS encrypted the object.
pub fn is_encrypted(object: &Node) -> bool {
    object.at(&["sops", "mac"]).is_some_and(|mac| mac.text().is_some_and(|text| !text.is_empty()))
}

/// Whether a text is one value that SOPS encrypted.
pub fn is_encrypted_value(text: &str) -> bool {
    text.starts_with("ENC[") && text.ends_with(']')
}

/// Whether a Secret was generated from a file that SOPS encrypted: what Flux applies has other values,
/// and another hash in its name.
pub fn holds_encrypted_file(object: &Node) -> bool {
    if object.get("kind").and_then(Node::text) != Some("Secret") {
        return false;
    }
    let Some(Value::Mapping(data)) = object.get("data").map(|node| &node.value) else {
        return false;
    };
    data.iter().filter_map(|entry| entry.value.text()).any(|value| {
        let decoded = super::base64::decode(value).unwrap_or_default();
        let decoded = String::from_utf8_lossy(&decoded);
        MARKS.iter().any(|mark| decoded.contains(mark))
    })
}

/// Whether Flux is told to leave an encrypted object as it is.
pub(super) fn is_decryption_disabled(object: &Node) -> bool {
    object
        .at(&["metadata", "annotations"])
        .and_then(|annotations| annotations.get("kustomize.toolkit.fluxcd.io/decrypt"))
        .and_then(Node::text)
        .is_some_and(|text| text.eq_ignore_ascii_case("disabled"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Node {
        crate::yaml::documents(text).unwrap().remove(0).root
    }

    #[test]
    fn encryption_is_seen() {
        assert!(is_encrypted(&object("kind: Secret\nsops:\n  mac: ENC[x]\n")));
        assert!(!is_encrypted(&object("kind: Secret\nsops: {}\n")));
        assert!(is_encrypted_value("ENC[AES256_GCM,data:x,type:str]"));
        assert!(!is_encrypted_value("plain"));
        // "token=ENC[x]\nsops_mac=ENC[y]"
        let data = "dG9rZW49RU5DW3hdCnNvcHNfbWFjPUVOQ1t5XQ==";
        assert!(holds_encrypted_file(&object(&format!("kind: Secret\ndata: {{a: {data}}}\n"))));
        assert!(!holds_encrypted_file(&object("kind: Secret\ndata: {a: eA==}\n")));
    }
}
