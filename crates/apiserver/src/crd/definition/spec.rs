//! What `spec` of a definition may say.

use serde_json::{Value, json};

use super::openapi::{self, Checking};
use super::paths::field_path;
use super::{label_1035, structural, subdomain, text};
use crate::crd::shown;
use crate::fields::{FieldError, Path};
use crate::schema::Shape;

/// Most fields by which objects may be selected.
const MOST_SELECTABLE: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// What is wrong with a definition's spec.
pub(super) fn validate(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = Path::new("spec");
    group(spec, &at, &mut errors);
    match text(&spec["scope"]) {
        "" => errors.push(FieldError::required(&at.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        _ => errors.push(FieldError::not_supported(
            &at.child("scope"),
            &spec["scope"],
            &["Cluster", "Namespaced"],
        )),
    }
    let versions = spec["versions"].as_array().cloned().unwrap_or_default();
    for (index, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let field = at.child("versions").index(index).child("schema").child("openAPIV3Schema");
            errors.push(FieldError::required(&field, ""));
        }
    }
    if has_default(&spec["versions"]) && spec["preserveUnknownFields"] == true {
        errors.push(FieldError::invalid(
            &at.child("preserveUnknownFields"),
            &json!(true),
            "must be false in order to use defaults in the schema",
        ));
    }
    // What all versions share is written once, in fields of older versions of this API.
    let shared = |field: &str| {
        let first = versions.first().map_or(&Value::Null, |version| &version[field]);
        !first.is_null() && versions.iter().all(|version| version[field] == *first)
    };
    let parts = Shared {
        schema: shared("schema"),
        subresources: shared("subresources"),
        columns: shared("additionalPrinterColumns"),
        selectable: shared("selectableFields"),
    };
    for (index, version) in versions.iter().enumerate() {
        let field = at.child("versions").index(index);
        let wrong = label_1035(text(&version["name"]));
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(
                &field.child("name"),
                &version["name"],
                wrong.join(","),
            ));
        }
        deprecation(version, &field, &mut errors);
        let unchanged = old.is_some_and(|old| same_schema(old, version));
        parts.check_version(version, &field, unchanged, &mut errors);
    }
    let mut names: Vec<&str> = versions.iter().map(|version| text(&version["name"])).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    if names.len() != count {
        errors.push(FieldError::invalid_shown(
            &at.child("versions"),
            internal_versions(&versions, &parts),
            "must contain unique version names",
        ));
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        errors.push(FieldError::invalid_shown(
            &at.child("versions"),
            internal_versions(&versions, &parts),
            "must have exactly one version marked as storage version",
        ));
    }
    if let Some(first) = versions.first() {
        let wrong = label_1035(text(&first["name"]));
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&at.child("version"), &first["name"], wrong.join(",")));
        }
    }
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"][field]).is_empty() {
            errors.push(FieldError::required(&at.child("names").child(field), ""));
        }
    }
    errors.extend(validate_names(&spec["names"], &at.child("names")));
    if let Some(first) = versions.first() {
        let unchanged = old.is_some_and(|old| same_schema(old, first));
        parts.check_shared(first, &versions, &at, unchanged, &mut errors);
    }
    if spec["preserveUnknownFields"] == true
        && old.is_none_or(|old| old["preserveUnknownFields"] != true)
    {
        errors.push(FieldError::invalid(
            &at.child("preserveUnknownFields"),
            &json!(true),
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    conversion(&spec["conversion"], &at.child("conversion"), &mut errors);
    errors
}

fn has_default(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.get("default").is_some_and(|v| !v.is_null()) || fields.values().any(has_default)
        }
        Value::Array(items) => items.iter().any(has_default),
        _ => false,
    }
}

fn same_schema(old: &Value, version: &Value) -> bool {
    old["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|before| before["name"] == version["name"] && before["schema"] == version["schema"])
}

fn group(spec: &Value, at: &Path, errors: &mut Vec<FieldError>) {
    let group = text(&spec["group"]);
    let wrong = subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required(&at.child("group"), ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid(&at.child("group"), &json!(group), wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            &at.child("group"),
            &json!(group),
            "should be a domain with at least one dot",
        ));
    }
}

fn deprecation(version: &Value, at: &Path, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let mut wrong: Vec<String> = Vec::new();
    if version["deprecated"] == true {
        if warning.len() > 256 {
            wrong.push("must be <= 256 characters long".into());
        }
        if warning.is_empty() {
            wrong.push("must not be an empty string".into());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
            wrong.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    } else {
        wrong.push("can only be set for deprecated versions".into());
    }
    for detail in wrong {
        errors.push(FieldError::invalid(&at.child("deprecationWarning"), &json!(warning), detail));
    }
}

/// Which parts all versions share.
#[expect(clippy::struct_excessive_bools, reason = "one answer per part")]
struct Shared {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Shared {
    fn check_version(
        &self,
        version: &Value,
        at: &Path,
        unchanged: bool,
        errors: &mut Vec<FieldError>,
    ) {
        if !self.schema {
            let has_status = !version["subresources"]["status"].is_null();
            schema(&version["schema"], &at.child("schema"), has_status, unchanged, errors);
        }
        if !self.subresources {
            subresources(&version["subresources"], &at.child("subresources"), errors);
        }
        if !self.columns {
            columns(
                &version["additionalPrinterColumns"],
                &at.child("additionalPrinterColumns"),
                errors,
            );
        }
        if !self.selectable {
            selectable(version, &at.child("selectableFields"), errors);
        }
    }

    fn check_shared(
        &self,
        first: &Value,
        versions: &[Value],
        at: &Path,
        unchanged: bool,
        errors: &mut Vec<FieldError>,
    ) {
        if self.schema {
            let has_status =
                versions.iter().any(|version| !version["subresources"]["status"].is_null());
            schema(&first["schema"], &at.child("validation"), has_status, unchanged, errors);
        }
        if self.subresources {
            subresources(&first["subresources"], &at.child("subresources"), errors);
        }
        if self.columns {
            columns(
                &first["additionalPrinterColumns"],
                &at.child("additionalPrinterColumns"),
                errors,
            );
        }
        if self.selectable {
            selectable(first, &at.child("selectableFields"), errors);
        }
    }
}

/// What stands beside the schema at the root when status is extracted from it.
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

fn schema(
    holder: &Value,
    at: &Path,
    has_status: bool,
    unchanged: bool,
    errors: &mut Vec<FieldError>,
) {
    let Some(root) = holder["openAPIV3Schema"].as_object() else { return };
    let at = at.child("openAPIV3Schema");
    let mut found = Vec::new();
    if has_status {
        if root.get("type").is_some_and(|name| name != "object" && name != "") {
            found.push(FieldError::invalid(
                &at.child("type"),
                &root["type"],
                "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled",
            ));
        }
        let allowed = |name: &str| {
            let internal = match name {
                "x-kubernetes-preserve-unknown-fields" => "XPreserveUnknownFields".to_owned(),
                "x-kubernetes-validations" => "XValidations".to_owned(),
                name => {
                    let mut chars = name.chars();
                    chars.next().map(|c| c.to_ascii_uppercase().to_string()).unwrap_or_default()
                        + chars.as_str()
                }
            };
            AT_ROOT.contains(&internal.as_str())
        };
        if let Some((_, value)) =
            root.iter().find(|(name, value)| !value.is_null() && !allowed(name))
        {
            found.push(FieldError::invalid_shown(
                &at,
                shown(value),
                format!(
                    "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                    AT_ROOT.join(" ")
                ),
            ));
        }
    }
    if root.get("nullable") == Some(&Value::Bool(true)) {
        found.push(FieldError::forbidden(
            &at.child("nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let json = &holder["openAPIV3Schema"];
    let wrong = structural::validate(json, &at);
    let shape = Shape::own(std::sync::Arc::default(), super::schema(&json!({ "schema": holder })));
    let sound = if wrong.is_empty() {
        let wrong = openapi::defaults(shape.node(), &at);
        let sound = wrong.is_empty();
        found.extend(wrong);
        sound
    } else {
        found.extend(wrong);
        false
    };
    found.extend(openapi::validate(
        json,
        &at,
        &Checking::root(sound.then(|| shape.node()), unchanged),
    ));
    errors.extend(found);
}

/// Names and their forms.
pub(super) fn validate_names(names: &Value, at: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["plural", "singular"] {
        let name = text(&names[field]);
        let wrong = label_1035(name);
        if !name.is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(&at.child(field), &json!(name), wrong.join(",")));
        }
    }
    for field in ["kind", "listKind"] {
        let name = text(&names[field]);
        let wrong = label_1035(&name.to_lowercase());
        if !name.is_empty() && !wrong.is_empty() {
            errors.push(FieldError::invalid(
                &at.child(field),
                &json!(name),
                format!("may have mixed case, but should otherwise match: {}", wrong.join(",")),
            ));
        }
    }
    let mut each = |field: &str| {
        for (index, name) in names[field].as_array().into_iter().flatten().enumerate() {
            let wrong = label_1035(text(name));
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(
                    &at.child(field).index(index),
                    name,
                    wrong.join(","),
                ));
            }
        }
    };
    each("shortNames");
    let same = !text(&names["kind"]).is_empty() && names["kind"] == names["listKind"];
    each("categories");
    if same {
        errors.push(FieldError::invalid(
            &at.child("listKind"),
            &names["listKind"],
            "kind and listKind may not be the same",
        ));
    }
    errors
}

fn simple_path(path: &str, at: &Path) -> Option<FieldError> {
    (!path.starts_with('.')).then(|| {
        FieldError::invalid(at, &json!(path), "must be a simple json path starting with .")
    })
}

fn columns(columns: &Value, at: &Path, errors: &mut Vec<FieldError>) {
    for (index, column) in columns.as_array().into_iter().flatten().enumerate() {
        let at = at.index(index);
        if text(&column["name"]).is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        match text(&column["type"]) {
            "" => errors.push(FieldError::required(&at.child("type"), types)),
            name if COLUMN_TYPES.contains(&name) => {}
            _ => errors.push(FieldError::invalid(&at.child("type"), &column["type"], types)),
        }
        let format = text(&column["format"]);
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            errors.push(FieldError::invalid(
                &at.child("format"),
                &column["format"],
                format!("must be one of {}", COLUMN_FORMATS.join(",")),
            ));
        }
        match text(&column["jsonPath"]) {
            "" => errors.push(FieldError::required(&at.child("JSONPath"), "")),
            path => errors.extend(simple_path(path, &at.child("JSONPath"))),
        }
    }
}

fn selectable(version: &Value, at: &Path, errors: &mut Vec<FieldError>) {
    let Some(fields) = version["selectableFields"].as_array().filter(|fields| !fields.is_empty())
    else {
        return;
    };
    let shape = Shape::own(std::sync::Arc::default(), super::schema(version));
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let at = at.index(index).child("jsonPath");
        let path = text(&field["jsonPath"]);
        if path.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let (found, node) = match field_path(path, shape.node(), false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid(
                    &at,
                    &json!(path),
                    format!("is an invalid path: {why}"),
                ));
                continue;
            }
        };
        if found.as_str().split(['.', '[']).next() == Some("metadata") {
            errors.push(FieldError::invalid(
                &at,
                &json!(path),
                "must not point to fields in metadata",
            ));
        }
        if !matches!(node.schema.type_name.as_str(), "string" | "boolean" | "integer") {
            errors.push(FieldError::invalid(
                &at,
                &json!(path),
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            ));
        }
        if seen.iter().any(|known| known == found.as_str()) {
            errors.push(FieldError::duplicate(&at, &json!(path)));
        } else {
            seen.push(found.as_str().to_owned());
        }
    }
    if seen.len() > MOST_SELECTABLE {
        errors.push(FieldError::too_many(at, seen.len(), MOST_SELECTABLE));
    }
}

fn subresources(subresources: &Value, at: &Path, errors: &mut Vec<FieldError>) {
    let Some(scale) = subresources["scale"].as_object() else { return };
    let path = |name: &str| scale.get(name).and_then(Value::as_str).unwrap_or_default();
    for (name, under, word) in [
        ("specReplicasPath", ".spec.", "should be a json path under .spec"),
        ("statusReplicasPath", ".status.", "should be a json path under .status"),
    ] {
        let at = at.child("scale").child(name);
        let value = path(name);
        if value.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if let Some(error) = simple_path(value, &at) {
            errors.push(error);
        } else if !value.starts_with(under) {
            errors.push(FieldError::invalid(&at, &json!(value), word));
        }
    }
    let selector = path("labelSelectorPath");
    let at = at.child("scale").child("labelSelectorPath");
    if !selector.is_empty() {
        if let Some(error) = simple_path(selector, &at) {
            errors.push(error);
        } else if !selector.starts_with(".spec.") && !selector.starts_with(".status.") {
            errors.push(FieldError::invalid(
                &at,
                &json!(selector),
                "should be a json path under either .spec or .status",
            ));
        }
    }
}

fn conversion(conversion: &Value, at: &Path, errors: &mut Vec<FieldError>) {
    if conversion.is_null() {
        return;
    }
    let webhook = &conversion["webhook"];
    let reviews = webhook["conversionReviewVersions"].as_array().cloned().unwrap_or_default();
    match text(&conversion["strategy"]) {
        "" => errors.push(FieldError::required(&at.child("strategy"), "")),
        "Webhook" => {
            let client = at.child("webhookClientConfig");
            let config = &webhook["clientConfig"];
            if config.is_null() {
                errors.push(FieldError::required(
                    &client,
                    "required when strategy is set to Webhook",
                ));
            } else if config["url"].is_null() == config["service"].is_null() {
                errors.push(FieldError::required(
                    &client,
                    "exactly one of url or service is required",
                ));
            }
            if reviews.is_empty() {
                errors.push(FieldError::required(&at.child("conversionReviewVersions"), ""));
            } else if !reviews.iter().any(|v| v == "v1" || v == "v1beta1") {
                errors.push(FieldError::invalid(
                    &at.child("conversionReviewVersions"),
                    &Value::Array(reviews),
                    "must include at least one of v1, v1beta1",
                ));
            }
        }
        strategy => {
            if strategy != "None" {
                errors.push(FieldError::not_supported(
                    &at.child("strategy"),
                    &conversion["strategy"],
                    &["None", "Webhook"],
                ));
            }
            if !webhook["clientConfig"].is_null() {
                errors.push(FieldError::forbidden(
                    &at.child("webhookClientConfig"),
                    "should not be set when strategy is not set to Webhook",
                ));
            }
            if !reviews.is_empty() {
                errors.push(FieldError::forbidden(
                    &at.child("conversionReviewVersions"),
                    "should not be set when strategy is not set to Webhook",
                ));
            }
        }
    }
}

/// Versions as the server prints its internal structs. What all of them share is not part of them there.
fn internal_versions(versions: &[Value], parts: &Shared) -> String {
    let list: Vec<String> = versions
        .iter()
        .map(|version| {
            let flag = |name: &str| version[name] == true;
            let part = |shared: bool, name: &str| {
                if shared { "null".to_owned() } else { shown(&version[name]) }
            };
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
                json!(text(&version["name"])),
                flag("served"),
                flag("storage"),
                flag("deprecated"),
                version["deprecationWarning"],
                part(parts.schema, "schema"),
                part(parts.subresources, "subresources"),
                part(parts.columns, "additionalPrinterColumns"),
                part(parts.selectable, "selectableFields"),
            )
        })
        .collect();
    format!("[{}]", list.join(","))
}
