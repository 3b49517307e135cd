//! JSON patches (RFC 6902), with the liberties that the API server's implementation takes.

use serde_json::Value;

use super::lazy::{Lazy, Order, Slot, same, sent};
use crate::decode::{self, Decoded, FieldValidation};
use crate::resource::Resource;
use crate::status::Failure;
use crate::wire::scan::{Document, Item, Kind};
use crate::wire::text;

/// As many operations as the API server takes.
const MAX_OPERATIONS: usize = 10_000;

pub(super) fn apply(
    resource: &Resource,
    live: &Value,
    body: &[u8],
    validation: FieldValidation,
) -> Result<Decoded, Failure> {
    let strict = validation != FieldValidation::Ignore;
    let bad = |why: String| {
        let frame = if strict { "error decoding patch: " } else { "" };
        Failure::bad_request(format!("{frame}{why}"))
    };
    let document = Document::read(body).map_err(bad)?;
    document.root().value().map_err(bad)?;
    let mut found = Vec::new();
    check(document.root(), strict, &mut found).map_err(bad)?;
    let count = document.root().items().count();
    if count > MAX_OPERATIONS {
        return Err(Failure::new(
            413,
            "RequestEntityTooLarge",
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
            ),
        ));
    }
    let patched = run(Lazy::Live(live, Order::of(resource)), document.root())
        .map_err(|_| super::rejected())?;
    decode::patched(resource, &patched.text(), validation, found)
}

pub(super) fn untyped(live: &Value, body: &[u8]) -> Result<Value, String> {
    let document = Document::read(body)?;
    document.root().value()?;
    check(document.root(), false, &mut Vec::new())?;
    run(Lazy::Live(live, Order::Sorted), document.root()).map(Lazy::value)
}

/// Whether the patch is a list of operations; what a strict reader finds in it goes to `found`.
fn check(root: Item<'_>, strict: bool, found: &mut Vec<String>) -> Result<(), String> {
    let (list, one) = if strict {
        ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
    } else {
        ("jsonpatch.Patch", "jsonpatch.Operation")
    };
    let wrong = |item: Item<'_>, ty: &str| {
        Err(format!("json: cannot unmarshal {} into Go value of type {ty}", item.kind().word()))
    };
    match root.kind() {
        Kind::Array => {}
        Kind::Null => return Ok(()),
        _ => return wrong(root, list),
    }
    for item in root.items() {
        match item.kind() {
            Kind::Object => {}
            Kind::Null => continue,
            _ => return wrong(item, one),
        }
        for (key, value) in item.entries().filter(|_| strict) {
            let text = matches!(value.kind(), Kind::Text | Kind::Null);
            if matches!(&*key, "op" | "path" | "from") && !text {
                let word = value.kind().word();
                return Err(format!(
                    "json: cannot unmarshal {word} into Go struct field jsonPatchOp.{key} of type string"
                ));
            }
        }
    }
    if strict {
        for (i, item) in root.items().enumerate() {
            for (key, _) in item.entries() {
                if !matches!(&*key, "op" | "path" | "from" | "value") {
                    let path = text::quote(&format!("[{i}].{key}"));
                    found.push(format!("json patch unknown field {path}"));
                }
            }
            let mut repeated = Vec::new();
            decode::repeated(item, &format!("[{i}]"), &mut repeated);
            found.extend(repeated.into_iter().map(|message| format!("json patch {message}")));
        }
    }
    Ok(())
}

struct Operation<'a> {
    op: String,
    path: Option<String>,
    from: Option<String>,
    value: Slot<'a>,
}

impl<'a> Operation<'a> {
    fn read(item: Item<'a>) -> Self {
        let mut read = Self { op: "unknown".into(), path: None, from: None, value: None };
        for (key, item) in item.entries() {
            let text = || (item.kind() == Kind::Text).then(|| item.text().into_owned());
            match &*key {
                "op" => read.op = text().unwrap_or_else(|| "unknown".into()),
                "path" => read.path = text(),
                "from" => read.from = text(),
                "value" => read.value = sent(item),
                _ => {}
            }
        }
        read
    }
}

fn run<'a>(live: Lazy<'a>, patch: Item<'a>) -> Result<Lazy<'a>, String> {
    let mut doc = live;
    doc.doc();
    for item in patch.items() {
        step(&mut doc, Operation::read(item))?;
    }
    Ok(doc)
}

fn step<'a>(doc: &mut Lazy<'a>, operation: Operation<'a>) -> Result<(), String> {
    let Operation { op, path, from, value } = operation;
    let undecoded = || format!("{op} operation failed to decode path: missing value");
    let missing = |what: &str, path: &str| {
        format!("{op} operation does not apply: doc is missing {what}: {path}: missing value")
    };
    match op.as_str() {
        "add" => {
            let path = path.ok_or_else(undecoded)?;
            let (parent, key) =
                find(doc, &path).ok_or_else(|| missing("path", &format!("\"{path}\"")))?;
            add(parent, &key, value)
                .map_err(|why| format!("error in add for path: '{path}': {why}"))
        }
        "remove" => {
            let path = path.ok_or_else(undecoded)?;
            let (parent, key) =
                find(doc, &path).ok_or_else(|| missing("path", &format!("\"{path}\"")))?;
            remove(parent, &key)
                .map(drop)
                .map_err(|why| format!("error in remove for path: '{path}': {why}"))
        }
        "replace" => {
            let path = path.ok_or_else(undecoded)?;
            if path.is_empty() {
                let mut value = value.ok_or_else(undecoded)?;
                if value.doc().is_none() && value.list().is_none() {
                    return Err("replace operation value must be object or array".into());
                }
                *doc = value;
                return Ok(());
            }
            let (parent, key) = find(doc, &path).ok_or_else(|| missing("path", &path))?;
            set(parent, &key, value).map_err(|_| missing("key", &path))
        }
        "test" => {
            let path = path.ok_or_else(undecoded)?;
            let failed = || format!("testing value {path} failed: test failed");
            let mut value = value;
            if path.is_empty() {
                let same = value.as_mut().is_some_and(|value| doc.same(value));
                return if same { Ok(()) } else { Err(failed()) };
            }
            let (parent, key) = find(doc, &path).ok_or_else(|| {
                format!("test operation does not apply: is missing path: {path}: missing value")
            })?;
            let found = get(parent, &key)
                .map_err(|why| format!("error in test for path: '{path}': {why}"))?;
            let mut nothing = None;
            if same(found.unwrap_or(&mut nothing), &mut value) { Ok(()) } else { Err(failed()) }
        }
        "move" | "copy" => {
            let from =
                from.ok_or_else(|| format!("{op} operation failed to decode from: missing value"))?;
            let (parent, key) = find(doc, &from).ok_or_else(|| missing("from path", &from))?;
            let value = if op == "move" {
                let value = get(parent, &key).map(|slot| slot.and_then(|v| v.clone()));
                value
                    .and_then(|value| remove(parent, &key).map(|()| value))
                    .map_err(|why| format!("error in move for path: '{key}': {why}"))?
            } else {
                get(parent, &key)
                    .map(|slot| slot.and_then(|v| v.clone()))
                    .map_err(|why| format!("error in copy for from: '{from}': {why}"))?
            };
            let path = path.ok_or_else(undecoded)?;
            let (parent, key) =
                find(doc, &path).ok_or_else(|| missing("destination path", &path))?;
            add(parent, &key, value)
                .map_err(|why| format!("error in {op} for path: '{path}': {why}"))
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

/// The object or list that a path's last part lies in, and that part.
fn find<'d, 'a>(doc: &'d mut Lazy<'a>, path: &str) -> Option<(&'d mut Lazy<'a>, String)> {
    // Whatever stands before the first slash is ignored.
    let (_, path) = path.split_once('/')?;
    let mut parts = path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~"));
    let key = parts.next_back()?;
    let mut at = doc;
    for part in parts {
        let next = if at.is_list() {
            let list = at.list()?;
            let index = index(&part, list.len(), false).ok()?;
            list.get_mut(index)?.as_mut()?
        } else {
            at.doc()?.get_mut(&part)?.as_mut()?
        };
        if !next.is_list() && next.doc().is_none() {
            return None;
        }
        at = next;
    }
    Some((at, key))
}

/// A place in a list; negative ones count from the end.
fn index(key: &str, length: usize, end: bool) -> Result<usize, String> {
    let number: i64 = key
        .parse()
        .map_err(|_| format!("strconv.Atoi: parsing {}: invalid syntax", text::quote(key)))?;
    let size = i64::try_from(length + usize::from(end)).unwrap_or(i64::MAX);
    let place = if number < 0 { number + size } else { number };
    if (0..size).contains(&place) {
        return Ok(usize::try_from(place).unwrap_or(usize::MAX));
    }
    Err(format!("Unable to access invalid index: {number}: invalid index referenced"))
}

fn get<'d, 'a>(parent: &'d mut Lazy<'a>, key: &str) -> Result<Option<&'d mut Slot<'a>>, String> {
    if parent.is_list() {
        let Some(list) = parent.list() else { return Ok(None) };
        let place = index(key, list.len(), false)?;
        return Ok(list.get_mut(place));
    }
    Ok(parent.doc().and_then(|doc| doc.get_mut(key)))
}

fn set<'a>(parent: &mut Lazy<'a>, key: &str, value: Slot<'a>) -> Result<(), String> {
    if parent.is_list() {
        if let Some(slot) = get(parent, key)? {
            *slot = value;
        }
    } else if let Some(doc) = parent.doc() {
        doc.insert(key.to_owned(), value);
    }
    Ok(())
}

fn add<'a>(parent: &mut Lazy<'a>, key: &str, value: Slot<'a>) -> Result<(), String> {
    if !parent.is_list() {
        return set(parent, key, value);
    }
    let Some(list) = parent.list() else { return Ok(()) };
    if key == "-" {
        list.push(value);
        return Ok(());
    }
    let place = index(key, list.len(), true).map_err(|why| {
        if why.starts_with("strconv") {
            format!("value was not a proper array index: '{key}': {why}")
        } else {
            why
        }
    })?;
    list.insert(place, value);
    Ok(())
}

fn remove(parent: &mut Lazy<'_>, key: &str) -> Result<(), String> {
    if parent.is_list() {
        if let Some(list) = parent.list() {
            let place = index(key, list.len(), false)?;
            list.remove(place);
        }
        return Ok(());
    }
    match parent.doc().and_then(|doc| doc.remove(key)) {
        Some(_) => Ok(()),
        None => Err(format!("Unable to remove nonexistent key: {key}: missing value")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patch(live: &Value, operations: &Value) -> Result<Value, String> {
        untyped(live, operations.to_string().as_bytes())
    }

    #[test]
    fn operations() {
        let live = json!({"a": {"b": [1, 2]}, "c": "x"});
        for (operations, expected) in [
            (json!([]), live.clone()),
            (
                json!([{"op": "add", "path": "/a/b/-", "value": 3}]),
                json!({"a": {"b": [1, 2, 3]}, "c": "x"}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/1", "value": 3}]),
                json!({"a": {"b": [1, 3, 2]}, "c": "x"}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/2", "value": 3}]),
                json!({"a": {"b": [1, 2, 3]}, "c": "x"}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/-1", "value": 3}]),
                json!({"a": {"b": [1, 2, 3]}, "c": "x"}),
            ),
            (
                json!([{"op": "replace", "path": "/a/b/-1", "value": 3}]),
                json!({"a": {"b": [1, 3]}, "c": "x"}),
            ),
            // An absent field is replaced as if it were added.
            (
                json!([{"op": "replace", "path": "/d", "value": 3}]),
                json!({"a": {"b": [1, 2]}, "c": "x", "d": 3}),
            ),
            (json!([{"op": "remove", "path": "/a/b/0"}]), json!({"a": {"b": [2]}, "c": "x"})),
            (
                json!([{"op": "move", "from": "/c", "path": "/a/d~1e"}]),
                json!({"a": {"b": [1, 2], "d/e": "x"}}),
            ),
            (
                json!([{"op": "copy", "from": "/a/b", "path": "/d"}, {"op": "remove", "path": "/d/0"}]),
                json!({"a": {"b": [1, 2]}, "c": "x", "d": [2]}),
            ),
            (
                json!([{"op": "copy", "from": "/zz", "path": "/d"}]),
                json!({"a": {"b": [1, 2]}, "c": "x", "d": null}),
            ),
            (json!([{"op": "test", "path": "/nope", "value": null}]), live.clone()),
            (json!([{"op": "test", "path": "/nope"}]), live.clone()),
            (json!([{"op": "test", "path": "/a", "value": {"b": [1, 2]}}]), live.clone()),
            (
                json!([{"op": "add", "path": "no/slash", "value": 1}]),
                json!({"a": {"b": [1, 2]}, "c": "x", "slash": 1}),
            ),
            (json!([{"op": "replace", "path": "", "value": {"z": 1}}]), json!({"z": 1})),
        ] {
            assert_eq!(patch(&live, &operations).unwrap(), expected, "{operations}");
        }
    }

    #[test]
    fn failures() {
        let live = json!({"a": {"b": [1]}, "c": "x", "n": null});
        for (operations, message) in [
            (
                json!([{"op": "test", "path": "/c", "value": "y"}]),
                "testing value /c failed: test failed",
            ),
            (
                json!([{"op": "test", "path": "/c", "value": null}]),
                "testing value /c failed: test failed",
            ),
            (
                json!([{"op": "test", "path": "/zz/y", "value": 1}]),
                "test operation does not apply: is missing path: /zz/y: missing value",
            ),
            (
                json!([{"op": "remove", "path": "/zz"}]),
                "error in remove for path: '/zz': Unable to remove nonexistent key: zz: missing value",
            ),
            (
                json!([{"op": "remove", "path": "/a/b/7"}]),
                "error in remove for path: '/a/b/7': Unable to access invalid index: 7: invalid index referenced",
            ),
            (
                json!([{"op": "add", "path": "/a/b/3", "value": 1}]),
                "error in add for path: '/a/b/3': Unable to access invalid index: 3: invalid index referenced",
            ),
            (
                json!([{"op": "add", "path": "/a/b/x", "value": 1}]),
                "error in add for path: '/a/b/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            (
                json!([{"op": "add", "path": "/zz/y", "value": 1}]),
                "add operation does not apply: doc is missing path: \"/zz/y\": missing value",
            ),
            (
                json!([{"op": "add", "path": "/c/y", "value": 1}]),
                "add operation does not apply: doc is missing path: \"/c/y\": missing value",
            ),
            (
                json!([{"op": "add", "path": "noslash", "value": 1}]),
                "add operation does not apply: doc is missing path: \"noslash\": missing value",
            ),
            (
                json!([{"op": "add", "value": 1}]),
                "add operation failed to decode path: missing value",
            ),
            (json!([{"op": "bogus", "path": "/a"}]), "Unexpected kind: bogus"),
            (json!([{"path": "/a"}]), "Unexpected kind: unknown"),
            (
                json!({"op": "add"}),
                "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
            ),
        ] {
            assert_eq!(patch(&live, &operations).unwrap_err(), message, "{operations}");
        }
    }
}
