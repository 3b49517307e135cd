//! Who owns what: the entries of `metadata.managedFields`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fieldset::FieldSet;

/// Most Update entries that an object keeps apart.
const MOST_UPDATERS: usize = 10;

/// What tells entries apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Whether it is an Apply entry.
    pub applied: bool,
    /// The manager's name.
    pub manager: String,
    /// The version written in; empty for Apply, where one manager has one entry for all versions.
    pub api_version: String,
    /// The subresource written through; empty for the object itself.
    pub subresource: String,
}

impl Id {
    /// The entry of an applier.
    pub fn applier(manager: &str, subresource: &str) -> Self {
        Self {
            applied: true,
            manager: named(manager),
            api_version: String::new(),
            subresource: subresource.to_owned(),
        }
    }

    /// The entry of an updater.
    pub fn updater(manager: &str, api_version: &str, subresource: &str) -> Self {
        Self {
            applied: false,
            manager: named(manager),
            api_version: api_version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// The manager as conflicts name it.
    pub fn shown(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text = format!("{text} with subresource {:?}", self.subresource);
        }
        if !self.applied {
            text.push_str(" using ");
            text.push_str(&self.api_version);
        }
        text
    }

    /// The text by which the server orders entries that nothing else orders.
    pub fn text(&self) -> String {
        let mut parts = Vec::new();
        let operation = if self.applied { "Apply" } else { "Update" };
        for (name, value) in [
            ("manager", self.manager.as_str()),
            ("operation", operation),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ] {
            if !value.is_empty() {
                parts.push(format!("{name:?}:{}", Value::from(value)));
            }
        }
        format!("{{{}}}", parts.join(","))
    }
}

fn named(manager: &str) -> String {
    if manager.is_empty() { "unknown".to_owned() } else { manager.to_owned() }
}

/// What one manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The fields.
    pub set: FieldSet,
    /// The version whose fields they are.
    pub api_version: String,
    /// When it last changed; absent if only ownership ever changed.
    pub time: Option<String>,
}

/// All managers of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Managed(pub BTreeMap<Id, Entry>);

impl Managed {
    /// Reads `metadata.managedFields`; absent is empty.
    pub fn decode(entries: Option<&Value>) -> Result<Self, String> {
        let mut out = BTreeMap::new();
        let entries = entries.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, entry) in entries.iter().enumerate() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
            let applied = match text("operation") {
                "Apply" => true,
                "Update" => false,
                _ => return Err("operation must be `Apply` or `Update`".to_owned()),
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() {
                return Err("apiVersion must not be empty".to_owned());
            }
            match text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
                other => {
                    return Err(format!(
                        "invalid fieldsType {other:?} in managed fields entry {index}"
                    ));
                }
            }
            let set = entry.get("fieldsV1").map(FieldSet::decode).transpose();
            let set = set.map_err(|error| format!("error decoding set: {error}"))?;
            let id = Id {
                applied,
                manager: text("manager").to_owned(),
                api_version: if applied { String::new() } else { api_version.to_owned() },
                subresource: text("subresource").to_owned(),
            };
            let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
            out.insert(
                id,
                Entry { set: set.unwrap_or_default(), api_version: api_version.to_owned(), time },
            );
        }
        Ok(Self(out))
    }

    /// Reads the entries of an object.
    pub fn of(object: &Value) -> Result<Self, String> {
        Self::decode(object.pointer("/metadata/managedFields"))
    }

    /// `metadata.managedFields`, in the server's order; `None` if there are none.
    pub fn encode(&self) -> Option<Value> {
        if self.0.is_empty() {
            return None;
        }
        let mut entries: Vec<(&Id, &Entry)> = self.0.iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            (!a.applied, seconds(x), &a.manager, &x.api_version, &a.subresource).cmp(&(
                !b.applied,
                seconds(y),
                &b.manager,
                &y.api_version,
                &b.subresource,
            ))
        });
        let entries = entries.into_iter().map(|(id, entry)| {
            let mut out = json!({
                "operation": if id.applied { "Apply" } else { "Update" },
                "apiVersion": entry.api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": entry.set.encode(),
            });
            if let Some(map) = out.as_object_mut() {
                for (name, value) in [
                    ("manager", Some(id.manager.as_str())),
                    ("subresource", Some(id.subresource.as_str())),
                    ("time", entry.time.as_deref()),
                ] {
                    if let Some(value) = value.filter(|value| !value.is_empty()) {
                        map.insert(name.to_owned(), Value::from(value));
                    }
                }
            }
            out
        });
        Some(entries.collect())
    }

    /// Writes the entries into an object.
    pub fn write(&self, object: &mut Value) {
        let entries = self.encode();
        let Some(object) = object.as_object_mut() else { return };
        if entries.is_none() && !object.contains_key("metadata") {
            return;
        }
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        let Some(metadata) = metadata.as_object_mut() else { return };
        match entries {
            Some(entries) => drop(metadata.insert("managedFields".to_owned(), entries)),
            None => drop(metadata.remove("managedFields")),
        }
    }

    /// Folds the oldest Update entries of a version into one when there are too many.
    pub fn cap(&mut self) {
        let mut updaters: Vec<Id> = self.0.keys().filter(|id| !id.applied).cloned().collect();
        if updaters.len() <= MOST_UPDATERS {
            return;
        }
        updaters.sort_by_cached_key(|id| {
            (self.0.get(id).map(seconds).unwrap_or_default().to_owned(), id.text())
        });
        let mut left = updaters.len();
        let mut first_of: BTreeMap<String, Id> = BTreeMap::new();
        for id in updaters {
            if left <= MOST_UPDATERS {
                break;
            }
            let Some(version) = self.0.get(&id).map(|entry| entry.api_version.clone()) else {
                continue;
            };
            let Some(first) = first_of.get(&version) else {
                first_of.insert(version, id);
                continue;
            };
            let bucket = Id::updater("ancient-changes", &version, "");
            if !self.0.contains_key(&bucket)
                && let Some(entry) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), entry);
            }
            let Some(entry) = self.0.remove(&id) else { continue };
            if let Some(ancient) = self.0.get_mut(&bucket) {
                ancient.set = entry.set.union(&ancient.set);
                ancient.time = entry.time;
            } else {
                self.0.insert(bucket, entry);
            }
            left -= 1;
        }
    }
}

fn seconds(entry: &Entry) -> &str {
    entry.time.as_deref().unwrap_or_default()
}
