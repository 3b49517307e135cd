//! Formats of names and other short texts, and what is said when one does not hold.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::fields::{FieldError, Path};

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_UNDERSCORE: &str =
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const CONFIG_KEY: &str = "[-._a-zA-Z0-9]+";
const PERCENT: &str = "[0-9]+%";
const HEADER: &str = "[-A-Za-z0-9]+";
const HTTP_PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
const REASON: &str = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const IDENTIFIER: &str = "[A-Za-z_][A-Za-z0-9_]*";

/// A whole-text expression, compiled once.
macro_rules! whole {
    ($pattern:expr) => {{
        static COMPILED: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(&format!("^(?:{})$", $pattern)).ok());
        COMPILED.as_ref()
    }};
}

fn matches(pattern: Option<&Regex>, text: &str) -> bool {
    // `$` must not match before a trailing line end.
    !text.ends_with('\n') && pattern.is_some_and(|p| p.is_match(text))
}

fn expression(message: &str, pattern: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{pattern}')");
    }
    let shown: Vec<String> = examples.iter().map(|e| format!("'{e}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", shown.join(" or "))
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

/// Labels and their keys are measured in bytes, names in characters; both mean bytes.
fn too_long_in_bytes(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

/// `must be between 1 and 65535, inclusive`
pub fn between(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// A name without dots: containers, volumes, namespaces.
pub fn dns_label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_long(63));
    }
    if !matches(whole!(LABEL), text) {
        if matches(whole!(SUBDOMAIN), text) {
            wrong.push("must not contain dots".to_owned());
        } else {
            wrong.push(expression(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            ));
        }
    }
    wrong
}

/// A name of most kinds.
pub fn dns_subdomain(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(too_long(253));
    }
    if !matches(whole!(SUBDOMAIN), text) {
        wrong.push(expression(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    wrong
}

/// A search domain of a resolver.
pub fn dns_subdomain_underscore(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(too_long(253));
    }
    if !matches(whole!(SUBDOMAIN_UNDERSCORE), text) {
        wrong.push(expression(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN_UNDERSCORE,
            &["example.com"],
        ));
    }
    wrong
}

/// A label key: a name with an optional domain before it.
pub fn qualified_name(text: &str) -> Vec<String> {
    const WHAT: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
    const EXAMPLES: [&str; 3] = ["MyName", "my.name", "123-abc"];
    let mut wrong = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                for sentence in dns_subdomain(prefix) {
                    let sentence =
                        if sentence == too_long(253) { too_long_in_bytes(253) } else { sentence };
                    wrong.push(format!("prefix part {sentence}"));
                }
            }
            *name
        }
        _ => {
            wrong.push(format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                expression(WHAT, KEY, &EXAMPLES)
            ));
            return wrong;
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push(format!("name part {}", too_long_in_bytes(63)));
    }
    if !matches(whole!(KEY), name) {
        wrong.push(format!("name part {}", expression(WHAT, KEY, &EXAMPLES)));
    }
    wrong
}

/// A label's value.
pub fn label_value(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_long_in_bytes(63));
    }
    if !matches(whole!(LABEL_VALUE), text) {
        wrong.push(expression(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            LABEL_VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    wrong
}

/// The name of a port.
pub fn port_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 15 {
        wrong.push(too_long(15));
    }
    let allowed = |c: char| c == '-' || c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.is_empty() || !text.chars().all(allowed) {
        wrong.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !text.contains(|c: char| c.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)".into());
    }
    if text.contains("--") {
        wrong.push("must not contain consecutive hyphens".into());
    }
    if text.starts_with('-') || text.ends_with('-') {
        wrong.push("must not begin or end with a hyphen".into());
    }
    wrong
}

/// The number of a port.
pub fn port_number(port: i64) -> Option<String> {
    (!(1..=65535).contains(&port)).then(|| between(1, 65535))
}

/// A share: `25%`.
pub fn percent(text: &str) -> Option<String> {
    (!matches(whole!(PERCENT), text)).then(|| {
        expression(
            "a valid percent string must be a numeric string followed by an ending '%'",
            PERCENT,
            &["1%", "93%"],
        )
    })
}

/// The name of an HTTP header.
pub fn header_name(text: &str) -> Option<String> {
    (!matches(whole!(HEADER), text)).then(|| {
        expression(
            "a valid HTTP header must consist of alphanumeric characters or '-'",
            HEADER,
            &["X-Header-Name"],
        )
    })
}

/// The name of an environment variable, as pods may have them.
pub fn env_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.is_empty() {
        wrong.push("environment variable name must be non-empty".to_owned());
    }
    if text.chars().any(|c| !(' '..='~').contains(&c) || c == '=') {
        wrong.push("a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned());
    }
    wrong
}

/// A key of a ConfigMap or Secret.
pub fn config_key(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(too_long(253));
    }
    if !matches(whole!(CONFIG_KEY), text) {
        wrong.push(expression(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            CONFIG_KEY,
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match text {
        "." | ".." => wrong.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => wrong.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrong
}

/// A name that stands in a URL path.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|c| text.contains(**c))
        .map(|c| format!("may not contain '{c}'"))
        .collect()
}

/// The reason of a condition.
pub fn condition_reason(text: &str) -> Option<String> {
    (!matches(whole!(REASON), text)).then(|| {
        expression(
            "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
            REASON,
            &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
        )
    })
}

/// A name that programs can use.
pub fn identifier(text: &str) -> bool {
    matches(whole!(IDENTIFIER), text)
}

/// `acme.io/foo`
pub fn domain_prefixed_path(field: &Path, text: &str) -> Vec<FieldError> {
    if text.is_empty() {
        return vec![FieldError::required(field, "")];
    }
    let (Some(host), Some(path)) = (text.split('/').next(), text.split_once('/').map(|p| p.1))
    else {
        return vec![unprefixed(field, text)];
    };
    if host.is_empty() || path.is_empty() {
        return vec![unprefixed(field, text)];
    }
    let mut wrong = invalid_each(field, host, dns_subdomain(host));
    if !matches(whole!(HTTP_PATH), path) {
        wrong.push(FieldError::invalid(
            field,
            &Value::from(path),
            expression("Invalid path", HTTP_PATH, &[]),
        ));
    }
    wrong
}

fn unprefixed(field: &Path, text: &str) -> FieldError {
    FieldError::invalid(
        field,
        &Value::from(text),
        "must be a domain-prefixed path (such as \"acme.io/foo\")",
    )
}

/// An address, strictly written.
pub fn ip_address(field: &Path, text: &str) -> Vec<FieldError> {
    let invalid = |detail: &str| vec![FieldError::invalid(field, &Value::from(text), detail)];
    match text.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            invalid("must not be an IPv4-mapped IPv6 address")
        }
        Ok(_) => Vec::new(),
        Err(_) => {
            let sloppy: Vec<&str> = text.split('.').collect();
            let number = |p: &&str| {
                !p.is_empty() && p.trim_start_matches('0').parse::<u8>().is_ok_and(|_| true)
                    || p.chars().all(|c| c == '0') && !p.is_empty()
            };
            if sloppy.len() == 4 && sloppy.iter().all(number) {
                invalid("must not have leading 0s")
            } else {
                invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
            }
        }
    }
}

/// One `Invalid value` per message.
pub fn invalid_each(
    field: &Path,
    text: &str,
    messages: impl IntoIterator<Item = String>,
) -> Vec<FieldError> {
    messages.into_iter().map(|m| FieldError::invalid(field, &Value::from(text), m)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_in_the_servers_words() {
        assert!(dns_label("a-1").is_empty());
        assert_eq!(dns_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            dns_label("A"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert_eq!(qualified_name("a/b/c").len(), 1);
        assert_eq!(qualified_name("").len(), 2);
        assert!(qualified_name("example.com/Name").is_empty());
        assert_eq!(port_name("1"), ["must contain at least one letter (a-z)"]);
        assert!(percent("25%").is_none() && percent("25").is_some());
        assert!(env_name("a b").is_empty() && !env_name("a=b").is_empty());
    }

    #[test]
    fn addresses_are_read_strictly() {
        let path = Path::new("ip");
        let detail = |text: &str| ip_address(&path, text).first().map(|e| e.detail.clone());
        assert_eq!(detail("10.0.0.1"), None);
        assert_eq!(detail("010.0.0.1").as_deref(), Some("must not have leading 0s"));
        assert_eq!(
            detail("::ffff:1.2.3.4").as_deref(),
            Some("must not be an IPv4-mapped IPv6 address")
        );
        assert!(detail("nope").is_some_and(|d| d.starts_with("must be a valid IP address")));
    }
}
