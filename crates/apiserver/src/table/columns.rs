//! What the columns of each kind are called.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::openapi::description;

/// The columns of built-in kinds: a kind per paragraph, then `name|type|format|priority|description`, where
/// `@definition.field` stands for the description of that field.
const LIST: &str = include_str!("columns.txt");

static BUILT_IN: LazyLock<BTreeMap<&str, Value>> = LazyLock::new(|| {
    let mut kinds = BTreeMap::new();
    let (mut kind, mut columns) = ("", Vec::new());
    for line in LIST.lines() {
        let parts: Vec<&str> = line.splitn(5, '|').collect();
        let [name, type_name, format, priority, about] = parts[..] else {
            kinds.insert(kind, Value::from(std::mem::take(&mut columns)));
            kind = line;
            continue;
        };
        let said = match about.strip_prefix('@').and_then(|place| place.rsplit_once('.')) {
            Some((definition, field)) => about_field(definition, field),
            None => about.to_owned(),
        };
        let priority: i64 = priority.parse().unwrap_or_default();
        columns.push(column(name, type_name, format, &said, priority));
    }
    kinds.insert(kind, Value::from(columns));
    kinds
});

/// The columns of a built-in kind.
pub fn built_in(group: &str, kind: &str) -> Value {
    let group = if group == "events.k8s.io" { "" } else { group };
    BUILT_IN.get(format!("{group}/{kind}").as_str()).cloned().unwrap_or_else(|| {
        json!([named(), column("Created At", "date", "", &of_metadata("creationTimestamp"), 0),])
    })
}

/// The columns of a custom kind: its name and what the definition says.
pub fn custom(defined: &[Value]) -> Value {
    let mut columns = vec![named()];
    if defined.is_empty() {
        columns.push(column("Age", "date", "", &of_metadata("creationTimestamp"), 0));
    }
    for one in defined {
        let text = |field: &str| one[field].as_str().unwrap_or_default();
        let said = match text("description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text("jsonPath")
            ),
            said => said.to_owned(),
        };
        let priority = one["priority"].as_i64().unwrap_or_default();
        columns.push(column(text("name"), text("type"), text("format"), &said, priority));
    }
    Value::from(columns)
}

fn named() -> Value {
    column("Name", "string", "name", &of_metadata("name"), 0)
}

fn of_metadata(field: &str) -> String {
    about_field("apimachinery.pkg.apis.meta.v1.ObjectMeta", field)
}

fn about_field(definition: &str, field: &str) -> String {
    let text = description(&format!("io.k8s.{definition}"), field).unwrap_or_default();
    // Which values there are is said by the schema only.
    text.split("Possible enum values:").next().unwrap_or_default().trim_end().to_owned()
}

fn column(name: &str, type_name: &str, format: &str, description: &str, priority: i64) -> Value {
    json!({
        "name": name,
        "type": type_name,
        "format": format,
        "description": description,
        "priority": priority,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_kind_is_served_and_begins_with_a_name() {
        let known: Vec<String> = crate::builtin::resources()
            .iter()
            .map(|resource| format!("{}/{}", resource.group, resource.kind))
            .collect();
        for (kind, columns) in BUILT_IN.iter().filter(|(kind, _)| !kind.is_empty()) {
            assert!(known.iter().any(|one| one == kind), "{kind} is not served");
            let first = if *kind == "/Event" { "Last Seen" } else { "Name" };
            assert_eq!(columns[0]["name"], first, "{kind}");
        }
    }

    #[test]
    fn a_description_comes_from_the_field() {
        let columns = built_in("", "ConfigMap");
        let said = columns[1]["description"].as_str().unwrap();
        assert!(said.starts_with("Data contains the configuration data."), "{said}");
    }
}
