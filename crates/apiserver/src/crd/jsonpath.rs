//! The JSON paths that printer columns use.

use serde_json::Value;

/// What a path leads to: `.a.b`, `.a['b']`, `.a[0]`, `.a[*]`, `.a[-1:]`, `.a[?(@.b=="c")].d`, `..a` not.
pub fn find<'a>(object: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = vec![object];
    let mut rest = path.trim().trim_start_matches('$');
    while !rest.is_empty() {
        let Some((step, tail)) = step(rest) else { return Vec::new() };
        rest = tail;
        found = found.into_iter().flat_map(|value| step.follow(value)).collect();
    }
    found
}

enum Step<'p> {
    Field(String),
    Index(i64),
    All,
    Slice(Option<i64>, Option<i64>),
    Filter { path: &'p str, sign: &'p str, wanted: Value },
    Exists(&'p str),
}

fn step(rest: &str) -> Option<(Step<'_>, &str)> {
    if let Some(inner) = rest.strip_prefix('[') {
        let end = closing(inner)?;
        return Some((bracket(&inner[..end])?, &inner[end + 1..]));
    }
    let name = rest.strip_prefix('.').unwrap_or(rest);
    // `\.` is a dot inside a name.
    let mut out = String::new();
    let mut chars = name.char_indices();
    let mut end = name.len();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => out.extend(chars.next().map(|(_, c)| c)),
            '.' | '[' => {
                end = at;
                break;
            }
            c => out.push(c),
        }
    }
    if out == "*" {
        return Some((Step::All, &name[end..]));
    }
    if out.is_empty() {
        // `.[0]` is `[0]`
        return name.starts_with('[').then(|| step(name)).flatten();
    }
    Some((Step::Field(out), &name[end..]))
}

/// Where the bracket ends; quoted text may hold brackets of its own.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim();
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text.strip_prefix(quote)?.strip_suffix(quote)
}

fn bracket(inside: &str) -> Option<Step<'_>> {
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(name) = unquoted(inside) {
        return Some(Step::Field(name.to_owned()));
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        for sign in ["==", "!=", "<=", ">=", "<", ">"] {
            if let Some((path, wanted)) = filter.split_once(sign) {
                let wanted = match unquoted(wanted) {
                    Some(text) => Value::from(text),
                    None => serde_json::from_str(wanted.trim()).ok()?,
                };
                return Some(Step::Filter { path: path.trim().strip_prefix('@')?, sign, wanted });
            }
        }
        return Some(Step::Exists(filter.trim().strip_prefix('@')?));
    }
    if let Some((from, to)) = inside.split_once(':') {
        let number =
            |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
        return Some(Step::Slice(number(from)?, number(to)?));
    }
    inside.trim().parse().ok().map(Step::Index)
}

impl Step<'_> {
    fn follow<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let items = || value.as_array().map_or(&[] as &[Value], Vec::as_slice);
        let place = |index: i64| {
            let index =
                if index < 0 { index + i64::try_from(items().len()).unwrap_or(0) } else { index };
            usize::try_from(index).unwrap_or(usize::MAX)
        };
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => items().get(place(*index)).into_iter().collect(),
            Self::All => match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(fields) => fields.values().collect(),
                _ => Vec::new(),
            },
            Self::Slice(from, to) => {
                let from = from.map_or(0, place);
                let to = to.map_or(items().len(), place).min(items().len());
                items().get(from..to).unwrap_or_default().iter().collect()
            }
            Self::Filter { path, sign, wanted } => items()
                .iter()
                .filter(|item| find(item, path).iter().any(|v| holds(v, sign, wanted)))
                .collect(),
            Self::Exists(path) => {
                items().iter().filter(|item| !find(item, path).is_empty()).collect()
            }
        }
    }
}

fn holds(value: &Value, sign: &str, wanted: &Value) -> bool {
    let order = match (value, wanted) {
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64().and_then(|a| b.as_f64().and_then(|b| a.partial_cmp(&b)))
        }
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => (value == wanted).then_some(std::cmp::Ordering::Equal),
    };
    match (sign, order) {
        ("!=", order) => order != Some(std::cmp::Ordering::Equal),
        (_, None) => false,
        ("==", Some(order)) => order.is_eq(),
        ("<", Some(order)) => order.is_lt(),
        ("<=", Some(order)) => order.is_le(),
        (">", Some(order)) => order.is_gt(),
        (_, Some(order)) => order.is_ge(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_where_they_should() {
        let object = json!({
            "a": {"b": 1, "x.y/z": 2, "list": [{"t": "R", "s": "True"}, {"t": "S", "s": "False", "n": 5}]},
        });
        for (path, expected) in [
            (".a.b", json!([1])),
            ("{.a.b}", json!([])),
            (".a['x.y/z']", json!([2])),
            (".a.x\\.y/z", json!([2])),
            (".a.list[0].s", json!(["True"])),
            (".a.list[-1].s", json!(["False"])),
            (".a.list[*].t", json!(["R", "S"])),
            (".a.list[?(@.t==\"S\")].s", json!(["False"])),
            (".a.list[?(@.t=='R')].s", json!(["True"])),
            (".a.list[?(@.n>4)].t", json!(["S"])),
            (".a.list[?(@.n)].t", json!(["S"])),
            (".a.list[0:1].t", json!(["R"])),
            (".a.none.c", json!([])),
        ] {
            let found: Vec<Value> = find(&object, path).into_iter().cloned().collect();
            assert_eq!(Value::from(found), expected, "{path}");
        }
    }
}
