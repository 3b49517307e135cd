//! The JSON paths of printer columns: `.spec.size`, `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Only the first value that a path finds is shown, so only that one is looked for.

use serde_json::Value;

/// One step of a path.
#[derive(Debug, PartialEq)]
enum Step {
    /// A field by name.
    Field(String),
    /// An item by number; from the end if negative.
    Item(i64),
    /// Every field or item.
    All,
    /// The items of which something holds.
    Where(Filter),
    /// This value and everything below it.
    Below,
}

/// What must hold of an item.
#[derive(Debug, PartialEq)]
struct Filter {
    path: Vec<Step>,
    /// An operator and a literal; none: the path must find something.
    compared: Option<(String, Value)>,
}

/// The first value at a path; none if there is none or the path makes no sense.
pub fn first<'a>(path: &str, object: &'a Value) -> Option<&'a Value> {
    find(&parse(path)?, object).into_iter().next()
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("..") {
            steps.push(Step::Below);
            let (name, after) = name(after);
            if !name.is_empty() {
                steps.push(named(name));
            }
            rest = after;
        } else if next == '.' {
            let (name, after) = name(&rest[1..]);
            if !name.is_empty() {
                steps.push(named(name));
            }
            rest = after;
        } else if next == '[' {
            let end = closing(rest)?;
            steps.push(bracket(rest[1..end].trim())?);
            rest = &rest[end + 1..];
        } else {
            let (name, after) = name(rest);
            if after.len() == rest.len() {
                return None;
            }
            steps.push(named(name));
            rest = after;
        }
    }
    Some(steps)
}

fn named(name: String) -> Step {
    if name == "*" { Step::All } else { Step::Field(name) }
}

/// A name up to the next dot or bracket; a backslash keeps the character after it.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, kept)| kept)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(letter),
        }
    }
    (name, "")
}

/// Where the bracket that opens the text closes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) => quote = (letter != open).then_some(open),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|text| text.strip_suffix(')')) {
        return filter_of(filter.trim()).map(Step::Where);
    }
    if let Some(Value::String(name)) = literal(inside) {
        return Some(Step::Field(name));
    }
    inside.parse().ok().map(Step::Item)
}

fn filter_of(text: &str) -> Option<Filter> {
    let found = ["==", "!=", "<=", ">=", "<", ">"]
        .into_iter()
        .filter_map(|operator| text.find(operator).map(|at| (at, operator)))
        .min_by_key(|(at, operator)| (*at, std::cmp::Reverse(operator.len())));
    let inner = |text: &str| parse(text.trim().strip_prefix('@')?);
    let Some((at, operator)) = found else {
        return Some(Filter { path: inner(text)?, compared: None });
    };
    let literal = literal(text[at + operator.len()..].trim())?;
    Some(Filter { path: inner(&text[..at])?, compared: Some((operator.to_owned(), literal)) })
}

fn literal(text: &str) -> Option<Value> {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return Some(Value::from(inner));
        }
    }
    serde_json::from_str(text).ok()
}

fn find<'a>(steps: &[Step], value: &'a Value) -> Vec<&'a Value> {
    let Some((step, rest)) = steps.split_first() else { return vec![value] };
    let next: Vec<&Value> = match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Item(index) => item(value, *index).into_iter().collect(),
        Step::All => children(value),
        Step::Where(filter) => match value {
            Value::Array(items) => items.iter().filter(|item| filter.holds(item)).collect(),
            _ => Vec::new(),
        },
        Step::Below => below(value),
    };
    next.into_iter().flat_map(|value| find(rest, value)).collect()
}

fn item(value: &Value, index: i64) -> Option<&Value> {
    let items = value.as_array()?;
    let at = if index < 0 { index + i64::try_from(items.len()).ok()? } else { index };
    items.get(usize::try_from(at).ok()?)
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

fn below(value: &Value) -> Vec<&Value> {
    let mut all = vec![value];
    for child in children(value) {
        all.extend(below(child));
    }
    all
}

impl Filter {
    fn holds(&self, item: &Value) -> bool {
        let found = find(&self.path, item).into_iter().next();
        let (Some(found), Some((operator, literal))) = (found, &self.compared) else {
            return found.is_some() && self.compared.is_none();
        };
        let order = match (found, literal) {
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (Value::Number(a), Value::Number(b)) => {
                a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b))
            }
            _ => None,
        };
        match operator.as_str() {
            "==" => found == literal,
            "!=" => found != literal,
            "<" => order.is_some_and(std::cmp::Ordering::is_lt),
            "<=" => order.is_some_and(std::cmp::Ordering::is_le),
            ">" => order.is_some_and(std::cmp::Ordering::is_gt),
            _ => order.is_some_and(std::cmp::Ordering::is_ge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_what_columns_show() {
        let object = json!({
            "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
            "spec": {"size": 3, "list": ["a", "b"]},
            "status": {"conditions": [
                {"type": "Stalled", "status": "False", "level": 1},
                {"type": "Ready", "status": "True", "level": 2},
            ]},
        });
        let cases = [
            (".spec.size", json!(3)),
            ("spec.size", json!(3)),
            ("$.spec.list[1]", json!("b")),
            (".spec.list[-1]", json!("b")),
            (".spec.list[*]", json!("a")),
            (".metadata.labels.app\\.kubernetes\\.io/name", json!("web")),
            (".metadata.labels['app.kubernetes.io/name']", json!("web")),
            (".status.conditions[?(@.type==\"Ready\")].status", json!("True")),
            (".status.conditions[?(@.type == 'Ready')].status", json!("True")),
            (".status.conditions[?(@.level>1)].type", json!("Ready")),
            (".status.conditions[?(@.type!='Stalled')].level", json!(2)),
            ("..level", json!(1)),
        ];
        for (path, value) in cases {
            assert_eq!(first(path, &object), Some(&value), "{path}");
        }
        for path in [".spec.none", ".spec.list[7]", ".status.conditions[?(@.type=='X')].status"] {
            assert_eq!(first(path, &object), None, "{path}");
        }
    }
}
