//! Reading fields of an object the way typed code would: absent, null and zero look alike.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// Fields of a JSON object, with typed fallbacks.
pub trait Fields {
    /// A field that is there and not null.
    fn part(&self, key: &str) -> Option<&Value>;
    /// A field, or null.
    fn get_or_null(&self, key: &str) -> &Value;
    /// A string, or the empty one.
    fn text(&self, key: &str) -> &str;
    /// A string that is there, perhaps empty.
    fn text_opt(&self, key: &str) -> Option<&str>;
    /// A number, or zero.
    fn int(&self, key: &str) -> i64;
    /// A number that is there.
    fn int_opt(&self, key: &str) -> Option<i64>;
    /// A flag, or false.
    fn flag(&self, key: &str) -> bool;
    /// A flag that is there.
    fn flag_opt(&self, key: &str) -> Option<bool>;
    /// The items of a list, or none.
    fn list(&self, key: &str) -> &[Value];
    /// The entries of a map, or nothing.
    fn entries(&self, key: &str) -> Option<&Map<String, Value>>;
}

impl Fields for Value {
    fn part(&self, key: &str) -> Option<&Value> {
        self.get(key).filter(|v| !v.is_null())
    }

    fn get_or_null(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NULL)
    }

    fn text(&self, key: &str) -> &str {
        self.text_opt(key).unwrap_or_default()
    }

    fn text_opt(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    fn int(&self, key: &str) -> i64 {
        self.int_opt(key).unwrap_or_default()
    }

    fn int_opt(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Value::as_i64)
    }

    fn flag(&self, key: &str) -> bool {
        self.flag_opt(key).unwrap_or_default()
    }

    fn flag_opt(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Value::as_bool)
    }

    fn list(&self, key: &str) -> &[Value] {
        self.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn entries(&self, key: &str) -> Option<&Map<String, Value>> {
        self.get(key).and_then(Value::as_object)
    }
}

/// Fields of an object that is being filled in.
pub trait Fill {
    /// Sets a field that is absent, null or the empty string.
    fn fill(&mut self, key: &str, value: impl Into<Value>);
    /// Sets a number that is absent or zero.
    fn fill_number(&mut self, key: &str, value: i64);
    /// The object in a field, made if absent.
    fn object(&mut self, key: &str) -> &mut Value;
    /// The items of a list, to change.
    fn items_mut(&mut self, key: &str) -> std::slice::IterMut<'_, Value>;
    /// A field that is there and not null, to change.
    fn part_mut(&mut self, key: &str) -> Option<&mut Value>;
    /// Sets a field.
    fn put(&mut self, key: &str, value: impl Into<Value>);
    /// Removes a field.
    fn drop_field(&mut self, key: &str);
}

impl Fill for Value {
    fn fill(&mut self, key: &str, value: impl Into<Value>) {
        let absent = match self.get(key) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            _ => false,
        };
        if absent {
            self.put(key, value);
        }
    }

    fn fill_number(&mut self, key: &str, value: i64) {
        if self.int(key) == 0 {
            self.put(key, value);
        }
    }

    fn object(&mut self, key: &str) -> &mut Value {
        if !self.is_object() {
            *self = Value::Object(Map::new());
        }
        let Value::Object(map) = self else { return self };
        let inner = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if inner.is_null() {
            *inner = Value::Object(Map::new());
        }
        inner
    }

    fn items_mut(&mut self, key: &str) -> std::slice::IterMut<'_, Value> {
        match self.get_mut(key) {
            Some(Value::Array(items)) => items.iter_mut(),
            _ => std::slice::IterMut::default(),
        }
    }

    fn part_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.get_mut(key).filter(|v| !v.is_null())
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        if !self.is_object() {
            *self = Value::Object(Map::new());
        }
        if let Value::Object(map) = self {
            map.insert(key.to_owned(), value.into());
        }
    }

    fn drop_field(&mut self, key: &str) {
        if let Value::Object(map) = self {
            map.remove(key);
        }
    }
}

/// Equal to the server: null, empty lists and absent fields are the same. A struct that is there is not
/// nothing, even if it is empty; empty maps are gone from settled objects.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.iter().all(|(key, value)| same(value, y.get(key).unwrap_or(&NULL)))
                && y.iter().all(|(key, value)| x.contains_key(key) || empty(value))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same(a, b))
        }
        _ if empty(a) && empty(b) => true,
        _ => a == b,
    }
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
