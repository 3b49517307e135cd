//! Server-side apply and the ownership of fields.
//!
//! Pure functions over objects: [`apply`] lays a configuration over a live object as one manager's
//! intent, [`track`] says who owns what after any other write. They behave as the API server does,
//! managers, versions, times and error texts included.

mod compare;
mod conflict;
mod fieldset;
mod last_applied;
mod manager;
mod merge;
mod overlay;
mod reset;
mod scale;
mod types;
mod validate;
mod zero;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use serde_json::Value;

use crate::schema::Node;
use crate::status::Failure;
use compare::{Comparison, Nulls, compare, field_set};
use conflict::Conflicts;
use fieldset::same_value;
pub use fieldset::{FieldSet, PathElement};
use manager::{Entry, Id, Managed};
pub use overlay::overlay;
pub use reset::{built_in as reset_of_built_in, custom as reset_of_custom};
pub use scale::{parent_entries, scale_entries};
use types::Type;

/// Who writes, through what, and when.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// The field manager; empty prints as `unknown`.
    pub manager: &'a str,
    /// The version written in, `apps/v1`.
    pub api_version: &'a str,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: &'a str,
    /// The time of the write, in whole seconds and UTC.
    pub now: &'a str,
}

/// The live object with a configuration applied, managed fields included, before defaulting.
///
/// Without a live object it creates one. Fails with 409 on conflicts, 500 when the configuration does not
/// have the type its schema says, 400 when it is another kind's or carries managed fields.
pub fn apply(
    shape: Node<'_>,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
) -> Result<Value, Failure> {
    apply_except(shape, live, config, writer, force, &resets(shape, config, writer))
}

/// Like [`apply`], where the write cannot change the fields in `reset`.
pub fn apply_except(
    shape: Node<'_>,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer<'_>,
    force: bool,
    reset: &FieldSet,
) -> Result<Value, Failure> {
    let ty = Type::root(shape);
    let managed = match live {
        Some(live) => Managed::of(live).map_err(|error| {
            Failure::internal_plain(format!("failed to decode managed fields: {error}"))
        })?,
        None => Managed::default(),
    };
    if !is_expected_kind(shape, live, config, writer) {
        return Err(wrong_kind(config));
    }
    let mut live = match live {
        Some(live) => live.clone(),
        None => zero::zero(shape, config),
    };
    clear_entries(&mut live);
    let engine = Engine { shape, ty, reset, writer };
    let mut out = match engine.apply_tracked(&live, config, managed.clone(), force)? {
        Ok(done) => done,
        Err(conflicts) if writer.manager == last_applied::MANAGER => {
            let Some(allowed) = last_applied::unchanged_since(ty, &live, writer.api_version) else {
                return Err(conflicts.failure());
            };
            if !conflicts.fields().difference(&allowed).is_empty() {
                return Err(conflicts.except(&allowed).failure());
            }
            match engine.apply_tracked(&live, config, managed, true)? {
                Ok(done) => done,
                Err(conflicts) => return Err(conflicts.failure()),
            }
        }
        Err(conflicts) => return Err(conflicts.failure()),
    };
    if writer.manager == last_applied::MANAGER {
        last_applied::refresh(&mut out.object, config);
    }
    if shape.name.is_some() {
        drop_nulls(shape, &mut out.object);
    }
    out.managed.write(&mut out.object);
    Ok(out.object)
}

/// Sets `new.metadata.managedFields` after a create, an update or a patch that is not an apply.
///
/// `new` is the object as the client wants it, defaulted and decoded; its own managed fields are taken
/// if they are valid, `[]` and `[{}]` clear them, and without any the live object's stay.
pub fn track(shape: Node<'_>, live: Option<&Value>, new: &mut Value, writer: &Writer<'_>) {
    let reset = resets(shape, new, writer);
    track_except(shape, live, new, writer, &reset);
}

/// Like [`track`], where the write cannot change the fields in `reset`.
pub fn track_except(
    shape: Node<'_>,
    live: Option<&Value>,
    new: &mut Value,
    writer: &Writer<'_>,
    reset: &FieldSet,
) {
    let of_live = || live.and_then(|live| Managed::of(live).ok()).unwrap_or_default();
    let sent = new.pointer("/metadata/managedFields");
    let managed = if !writer.subresource.is_empty() {
        of_live()
    } else if sent.is_some_and(|sent| is_reset(sent, shape.name.is_none())) {
        Managed::default()
    } else {
        Managed::decode(sent).ok().filter(|sent| !sent.0.is_empty()).unwrap_or_else(of_live)
    };
    clear_entries(new);
    // An object that nobody tracks stays so until its first apply.
    if managed.0.is_empty() && live.is_some() {
        return;
    }
    let ty = Type::root(shape);
    if !validate::type_errors(ty, new, true).is_empty() {
        return;
    }
    let engine = Engine { shape, ty, reset, writer };
    let empty;
    let live = if let Some(live) = live {
        live
    } else {
        empty = zero::zero(shape, new);
        &empty
    };
    let mut managed = engine.update(live, new, managed, writer.manager);
    managed.cap();
    managed.write(new);
}

/// Whether two objects differ in nothing but the times of their managed fields.
///
/// Such a write changes nothing and keeps the old object.
pub fn same_but_for_times(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return old == new };
    old.len() == new.len()
        && old.iter().zip(new).all(|((name, a), (other, b))| {
            name == other && (if name == "metadata" { same_metadata(a, b) } else { a == b })
        })
}

fn same_metadata(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return old == new };
    old.len() == new.len()
        && old.iter().zip(new).all(|((name, a), (other, b))| {
            name == other && (a == b || (name == "managedFields" && same_entries(a, b)))
        })
}

fn same_entries(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_array(), new.as_array()) else { return false };
    old.len() == new.len()
        && old.iter().zip(new).all(|(a, b)| {
            let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return false };
            let timeless = |entry: &'_ serde_json::Map<String, Value>| -> Vec<(String, Value)> {
                let fields = entry.iter().filter(|(name, _)| *name != "time");
                fields.map(|(name, value)| (name.clone(), value.clone())).collect()
            };
            timeless(a) == timeless(b)
        })
}

/// What a write of this kind resets, as far as the object itself tells: see [`reset_of_custom`] for the rest.
fn resets(shape: Node<'_>, object: &Value, writer: &Writer<'_>) -> FieldSet {
    if shape.name.is_none() {
        return reset::custom(false, writer.subresource);
    }
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let group = writer.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = match text("kind") {
        "" => shape.type_of().unwrap_or_default(),
        kind => kind,
    };
    reset::built_in(group, kind, writer.subresource)
}

fn clear_entries(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// `[]` and `[{}]` ask for managed fields to be forgotten. In custom resources an empty list does not
/// survive decoding and asks for nothing.
fn is_reset(entries: &Value, custom: bool) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => !custom,
        Some([only]) => only.as_object().is_some_and(serde_json::Map::is_empty),
        _ => false,
    }
}

fn group_version(object: &Value) -> (&str, &str) {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    version.split_once('/').unwrap_or(("", version))
}

/// `apps/v1, Kind=Deployment`
fn kind_text(object: &Value) -> String {
    let (group, version) = group_version(object);
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    format!("{group}/{version}, Kind={kind}")
}

/// The answer to a configuration of another kind than the one applied to.
pub fn wrong_kind(config: &Value) -> Failure {
    Failure::bad_request(format!("invalid object type: {}", kind_text(config)))
}

fn is_expected_kind(
    shape: Node<'_>,
    live: Option<&Value>,
    config: &Value,
    writer: &Writer<'_>,
) -> bool {
    let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != writer.api_version {
        return false;
    }
    let kinds = &shape.schema.kinds;
    if kinds.is_empty() {
        return live.and_then(|l| l.get("kind")).is_none_or(|kind| kind == text("kind"));
    }
    let (group, version) = group_version(config);
    kinds.iter().any(|kind| {
        let part = |name: &str| kind.get(name).map(String::as_str).unwrap_or_default();
        (part("group"), part("version"), part("kind")) == (group, version, text("kind"))
    })
}

/// Go structs do not keep null: a field is left out, a value of a map of strings becomes empty.
fn drop_nulls(node: Node<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let empty_string = node.values().is_some_and(|v| v.schema.type_name == "string");
            fields.retain(|name, value| {
                if !value.is_null() || node.property(name).is_none() && empty_string {
                    return true;
                }
                node.field(name).is_none()
            });
            for (name, value) in fields {
                if value.is_null() && node.property(name).is_none() && empty_string {
                    *value = Value::from("");
                } else if let Some(field) = node.field(name) {
                    drop_nulls(field, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = node.items() {
                for item in items {
                    drop_nulls(node, item);
                }
            }
        }
        _ => {}
    }
}

/// An applied object and its managers, apart from each other.
struct Applied {
    object: Value,
    managed: Managed,
}

struct Engine<'a> {
    shape: Node<'a>,
    ty: Type<'a>,
    reset: &'a FieldSet,
    writer: &'a Writer<'a>,
}

impl Engine<'_> {
    /// Ownership after `new` replaced `live`.
    fn update(&self, live: &Value, new: &Value, managed: Managed, name: &str) -> Managed {
        let nulls = if self.shape.name.is_some() { Nulls::Absent } else { Nulls::Values };
        let mut managed = self.reconciled(managed);
        let changes = compare(self.ty, live, new, nulls).without(self.reset);
        take_from_others(&mut managed, &changes, None);
        let set = changes.modified.union(&changes.added).difference(&UNTRACKED);
        if set.is_empty() {
            return managed;
        }
        let id = Id::updater(name, self.writer.api_version, self.writer.subresource);
        let set = match managed.0.get(&id) {
            Some(previous) => set.union(&previous.set),
            None => set,
        };
        let api_version = self.writer.api_version.to_owned();
        let time = Some(self.writer.now.to_owned());
        managed.0.insert(id, Entry { set, api_version, time });
        managed
    }

    fn apply_tracked(
        &self,
        live: &Value,
        config: &Value,
        mut managed: Managed,
        force: bool,
    ) -> Result<Result<Applied, Conflicts>, Failure> {
        if managed.0.is_empty() {
            let empty = zero::zero(self.shape, config);
            managed = self.update(&empty, live, managed, "before-first-apply");
        }
        let sent = config.pointer("/metadata/managedFields");
        if sent.is_some_and(|sent| !sent.is_null()) {
            return Err(Failure::bad_request("metadata.managedFields must be nil"));
        }
        let errors = validate::type_errors(self.ty, config, false);
        if !errors.is_empty() {
            return Err(Failure::internal_plain(format!(
                "failed to create typed patch object ({}): {}",
                name_text(config),
                validate::joined(&errors)
            )));
        }
        let errors = validate::type_errors(self.ty, live, true);
        if !errors.is_empty() {
            return Err(Failure::internal_plain(format!(
                "failed to create typed live object ({}): {}",
                name_text(live),
                validate::joined(&errors)
            )));
        }
        Ok(self.apply_typed(live, config, managed, force))
    }

    fn apply_typed(
        &self,
        live: &Value,
        config: &Value,
        managed: Managed,
        force: bool,
    ) -> Result<Applied, Conflicts> {
        let mut managed = self.reconciled(managed);
        let id = Id::applier(self.writer.manager, self.writer.subresource);
        let merged = merge::merge(self.ty, live, config);
        let set = field_set(self.ty, config).without(self.reset);
        let last = managed.0.remove(&id);
        let time = last.as_ref().and_then(|last| last.time.clone());
        let api_version = self.writer.api_version.to_owned();
        managed.0.insert(id.clone(), Entry { set, api_version, time });
        let object = match &last {
            Some(last) if !last.set.is_empty() => self.prune(&merged, &managed, &last.set),
            _ => merged,
        };
        let changes = compare(self.ty, live, &object, Nulls::Values).without(self.reset);
        if !force {
            let conflicts = conflicts(&managed, &changes, &id);
            if !conflicts.0.is_empty() {
                return Err(conflicts);
            }
        }
        take_from_others(&mut managed, &changes, Some(&id));
        let same = same_value(live, &object);
        if let Some(entry) = managed.0.get_mut(&id) {
            entry.set = entry.set.difference(&UNTRACKED);
            if entry.set.is_empty() {
                managed.0.remove(&id);
            } else if !same {
                entry.time = Some(self.writer.now.to_owned());
            }
        }
        Ok(Applied { object, managed })
    }

    /// Removes what the manager applied before, does not apply now, and nobody else owns.
    fn prune(&self, merged: &Value, managed: &Managed, last: &FieldSet) -> Value {
        let named = |set: &FieldSet| merge::with_named_fields(set, self.ty);
        let last = named(last);
        let in_merged = named(&field_set(self.ty, merged));
        let owned = managed.0.values().fold(FieldSet::default(), |all, e| all.union(&e.set));
        let without_last = merge::remove(self.ty, merged, &last);
        let kept = named(&field_set(self.ty, &without_last)).union(&named(&owned));
        let pruned = merge::remove(self.ty, merged, &in_merged.difference(&kept));
        let in_pruned = named(&field_set(self.ty, &pruned));
        merge::remove(self.ty, merged, &in_merged.difference(&in_pruned).intersection(&last))
    }

    fn reconciled(&self, mut managed: Managed) -> Managed {
        for entry in managed.0.values_mut() {
            if let Some(set) = merge::reconciled(&entry.set, self.ty) {
                entry.set = set;
            }
        }
        managed
    }
}

/// `namespace/name; group/version, Kind=kind`
fn name_text(object: &Value) -> String {
    let text = |name: &str| {
        object.pointer(&format!("/metadata/{name}")).and_then(Value::as_str).unwrap_or_default()
    };
    format!("{}/{}; {}", text("namespace"), text("name"), kind_text(object))
}

/// Fields of every object that nobody owns.
static UNTRACKED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

fn conflicts(managed: &Managed, changes: &Comparison, writer: &Id) -> Conflicts {
    let touched = changes.modified.union(&changes.added);
    let others = managed.0.iter().filter(|(id, _)| *id != writer);
    let conflicts = others.map(|(id, entry)| (id.clone(), entry.set.intersection(&touched)));
    Conflicts(conflicts.filter(|(_, set)| !set.is_empty()).collect())
}

/// What changed is no longer owned by those who had set it before; who owns nothing is gone.
fn take_from_others(managed: &mut Managed, changes: &Comparison, writer: Option<&Id>) {
    let touched = changes.modified.union(&changes.added).union(&changes.removed);
    if !touched.is_empty() {
        for (id, entry) in &mut managed.0 {
            if Some(id) != writer {
                entry.set = entry.set.difference(&touched);
            }
        }
    }
    managed.0.retain(|id, entry| Some(id) == writer || !entry.set.is_empty());
}
