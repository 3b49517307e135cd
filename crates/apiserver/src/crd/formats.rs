//! Formats of strings that a schema may name.

use super::pattern::compiled;
use crate::cel;

/// The formats the server knows for strings; others are ignored.
const KNOWN: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// The format that counts for a type, or nothing.
pub(super) fn recognized<'a>(type_name: &str, format: &'a str) -> &'a str {
    let known = match type_name {
        "" | "string" => KNOWN.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    };
    if known { format } else { "" }
}

/// Whether a string has the format.
pub(super) fn holds(format: &str, text: &str) -> bool {
    let matches = |pattern: &str| compiled(pattern).is_some_and(|pattern| pattern.is_match(text));
    match format.replace('-', "").as_str() {
        "uri" => cel::is_url(text),
        "email" => matches(r"^[^\s@<>]+@[^\s@<>]+$") || matches(r"^[^<>]*<[^\s@<>]+@[^\s@<>]+>$"),
        "hostname" => {
            text.len() <= 255
                && matches(
                    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
                )
        }
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "cidr" => cel::is_cidr(text),
        "mac" => matches(
            r"^([0-9A-Fa-f]{2}[:-]){5}([0-9A-Fa-f]{2})$|^([0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}$",
        ),
        "uuid" => {
            matches(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
        }
        "uuid3" => {
            matches(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
        }
        "uuid4" => matches(
            r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
        ),
        "uuid5" => matches(
            r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$",
        ),
        "bsonobjectid" => matches(r"^[0-9a-fA-F]{24}$"),
        "ssn" => matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$"),
        "hexcolor" => matches(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
        "rgbcolor" => matches(
            r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$",
        ),
        "isbn10" => matches(r"^[- ]*([0-9][- ]*){9}[0-9xX]$"),
        "isbn13" => matches(r"^[- ]*([0-9][- ]*){13}$"),
        "isbn" => holds("isbn10", text) || holds("isbn13", text),
        "creditcard" => matches(r"^[0-9][0-9 -]{11,22}$"),
        "byte" => {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD.decode(text).is_ok()
        }
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "datetime" => cel::is_timestamp(text),
        "duration" => cel::parse_duration(text).is_some(),
        "k8sshortname" => crate::builtin::format::dns_label(text).is_empty(),
        "k8slongname" => crate::builtin::format::dns_subdomain(text).is_empty(),
        _ => true,
    }
}
