//! Who may have which name in a group, and the conditions that say so.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::text;

/// A condition of a definition, by type.
pub(super) fn condition<'a>(definition: &'a Value, name: &str) -> Option<&'a Value> {
    definition["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == name)
}

/// Sets a condition (type, status, reason) with its message; the time moves with the status only.
pub fn set_condition(
    definition: &mut Value,
    stamp: &str,
    (name, status, reason): (&str, &str, &str),
    message: &str,
) {
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(list) = conditions.as_array_mut() else { return };
    let mut wanted = json!({
        "type": name, "status": status, "reason": reason, "message": message, "lastTransitionTime": stamp,
    });
    match list.iter_mut().find(|condition| condition["type"] == name) {
        Some(found) => {
            if found["status"] == status {
                wanted["lastTransitionTime"] = found["lastTransitionTime"].take();
            }
            *found = wanted;
        }
        None => list.push(wanted),
    }
}

/// The status of a definition beside the others: which of its names it gets, and whether it is served.
pub fn accept(definition: &Value, others: &[Value], stamp: &str) -> Value {
    let spec = &definition["spec"];
    let wanted = &spec["names"];
    let has = &definition["status"]["acceptedNames"];
    let established = condition(definition, "Established").is_some_and(|c| c["status"] == "True");
    if wanted == has && established {
        return definition["status"].clone();
    }
    let mut resources = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for other in others.iter().filter(|other| other["spec"]["group"] == spec["group"]) {
        let taken = &other["status"]["acceptedNames"];
        resources.extend([text(&taken["plural"]), text(&taken["singular"])]);
        resources.extend(taken["shortNames"].as_array().into_iter().flatten().map(text));
        kinds.extend([text(&taken["kind"]), text(&taken["listKind"])]);
    }
    let mut gets = has.clone();
    if !gets.is_object() {
        gets = json!({ "plural": "", "kind": "" });
    }
    let mut conflict: Option<(&str, String)> = None;
    for (field, taken, reason) in [
        ("plural", &resources, "PluralConflict"),
        ("singular", &resources, "SingularConflict"),
        ("shortNames", &resources, "ShortNamesConflict"),
        ("kind", &kinds, "KindConflict"),
        ("listKind", &kinds, "ListKindConflict"),
    ] {
        let asked: Vec<&str> = match &wanted[field] {
            Value::Array(names) => names.iter().map(text).collect(),
            Value::String(name) => vec![name],
            _ => Vec::new(),
        };
        let mine = |name: &str| match &has[field] {
            Value::Array(names) => names.iter().any(|own| own == name),
            own => own == name,
        };
        let lost: Vec<String> = asked
            .iter()
            .filter(|name| !mine(name) && taken.contains(*name))
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        match lost.as_slice() {
            [] => match (&wanted[field], gets.as_object_mut()) {
                (Value::Null, Some(gets)) => drop(gets.remove(field)),
                (names, Some(gets)) => drop(gets.insert(field.to_owned(), names.clone())),
                _ => {}
            },
            [one] => conflict = Some((reason, one.clone())),
            many => conflict = Some((reason, format!("[{}]", many.join(", ")))),
        }
    }
    if let (Some(categories), Some(gets)) = (wanted.get("categories"), gets.as_object_mut()) {
        gets.insert("categories".into(), categories.clone());
    }
    let mut changed = definition.clone();
    changed["status"]["acceptedNames"] = gets;
    if let Some((reason, message)) = conflict {
        set_condition(&mut changed, stamp, ("NamesAccepted", "False", reason), &message);
        if condition(definition, "Established").is_none() {
            let no = ("Established", "False", "NotAccepted");
            set_condition(&mut changed, stamp, no, "not all names are accepted");
        }
    } else {
        let yes = ("NamesAccepted", "True", "NoConflicts");
        set_condition(&mut changed, stamp, yes, "no conflicts found");
        if !established {
            let yes = ("Established", "True", "InitialNamesAccepted");
            set_condition(&mut changed, stamp, yes, "the initial names have been accepted");
        }
    }
    changed["status"].take()
}
