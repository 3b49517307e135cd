//! Formats with a name: `format.dns1123Label().validate(x)`.

use std::sync::{Arc, OnceLock};

use regex::Regex;

use super::Outcome;
use crate::cel::value::{Object, Value};

#[derive(Debug)]
struct Format(&'static str);

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

pub(super) fn call(function: &str, method: bool, arguments: &[Value]) -> Option<Outcome> {
    let named = |name: &str| {
        NAMES.iter().find(|known| **known == name).map(|name| Value::Object(Arc::new(Format(name))))
    };
    if method {
        return None;
    }
    let name = function.strip_prefix("format.")?;
    match (name, arguments) {
        ("named", [Value::String(name)]) => Some(Ok(Value::Optional(named(name).map(Arc::new)))),
        (name, []) => named(name).map(Ok),
        _ => None,
    }
}

impl Object for Format {
    fn type_name(&self) -> &'static str {
        "kubernetes.NamedFormat"
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Option<Outcome> {
        let ("validate", [Value::String(text)]) = (function, arguments) else { return None };
        let wrong = self.wrong(text);
        Some(Ok(Value::Optional((!wrong.is_empty()).then(|| {
            Arc::new(Value::list(wrong.iter().map(|text| Value::string(text)).collect()))
        }))))
    }

    fn identity(&self) -> Option<String> {
        Some(self.0.to_owned())
    }
}

fn pattern(cell: &'static OnceLock<Option<Regex>>, pattern: &str) -> Option<&'static Regex> {
    cell.get_or_init(|| Regex::new(pattern).ok()).as_ref()
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

impl Format {
    fn wrong(&self, text: &str) -> Vec<String> {
        static LABELS: OnceLock<Option<Regex>> = OnceLock::new();
        static SUBDOMAINS: OnceLock<Option<Regex>> = OnceLock::new();
        static LABELS_1035: OnceLock<Option<Regex>> = OnceLock::new();
        static QUALIFIEDS: OnceLock<Option<Regex>> = OnceLock::new();
        static UUIDS: OnceLock<Option<Regex>> = OnceLock::new();
        let label = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
        let subdomain = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
        let label_1035 = r"^[a-z]([-a-z0-9]*[a-z0-9])?$";
        // A prefix may end in a dash, for the rest will be appended.
        let text = if self.0.ends_with("Prefix") && text.ends_with('-') && text.len() > 1 {
            format!("{}a", &text[..text.len() - 1])
        } else {
            text.to_owned()
        };
        let mut wrong = Vec::new();
        let mut limited = |most: usize| {
            if text.len() > most {
                wrong.push(format!("must be no more than {most} characters"));
            }
        };
        let held =
            |regex: Option<&Regex>, text: &str| regex.is_some_and(|regex| regex.is_match(text));
        match self.0 {
            "dns1123Label" | "dns1123LabelPrefix" => {
                limited(63);
                if !held(pattern(&LABELS, label), &text) {
                    wrong.push(LABEL.into());
                }
            }
            "dns1123Subdomain" | "dns1123SubdomainPrefix" => {
                limited(253);
                if !held(pattern(&SUBDOMAINS, subdomain), &text) {
                    wrong.push(SUBDOMAIN.into());
                }
            }
            "dns1035Label" | "dns1035LabelPrefix" => {
                limited(63);
                if !held(pattern(&LABELS_1035, label_1035), &text) {
                    wrong.push(LABEL_1035.into());
                }
            }
            "qualifiedName" => {
                let name = text.rsplit('/').next().unwrap_or_default();
                if !held(pattern(&QUALIFIEDS, r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"), name)
                {
                    wrong.push(QUALIFIED.into());
                }
            }
            "labelValue" => {
                limited(63);
                if !text.is_empty()
                    && !held(
                        pattern(&QUALIFIEDS, r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"),
                        &text,
                    )
                {
                    wrong.push(LABEL_VALUE.into());
                }
            }
            "uri" => {
                if super::url::parse(&text).is_err() {
                    wrong.push(format!("parse {text:?}: invalid URI for request"));
                }
            }
            "uuid" => {
                let uuid =
                    r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
                if !held(pattern(&UUIDS, uuid), &text) {
                    wrong.push("does not match the UUID format".into());
                }
            }
            "byte" => {
                use base64::Engine as _;
                if base64::engine::general_purpose::STANDARD.decode(&text).is_err() {
                    wrong.push("invalid base64".into());
                }
            }
            "date" => {
                if text.parse::<jiff::civil::Date>().is_err() || text.len() != 10 {
                    wrong.push("invalid date".into());
                }
            }
            _ => {
                if crate::cel::operator::parse_timestamp(&text).is_none() {
                    wrong.push("invalid datetime".into());
                }
            }
        }
        wrong
    }
}
