//! Templates of ResourceSets: `<< inputs.a.b >>`, with `quote`, `slugify` and `toYaml`, and nothing else.

use serde_json::{Map, Value};

/// An object with its templates filled in. A field that is one template takes the input's own type.
pub fn render(value: &Value, inputs: &Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(template) => match whole(template) {
            Some(expression) => {
                let (found, quoted) = evaluate(expression, inputs)?;
                if quoted { found } else { plain(found) }
            }
            None => Value::String(text(template, inputs)?),
        },
        Value::Array(items) => Value::Array(
            items.iter().map(|item| render(item, inputs)).collect::<Result<_, String>>()?,
        ),
        Value::Object(fields) => {
            let mut rendered = Map::new();
            for (key, field) in fields {
                rendered.insert(text(key, inputs)?, render(field, inputs)?);
            }
            Value::Object(rendered)
        }
        other => other.clone(),
    })
}

/// A text with its templates filled in.
pub fn text(template: &str, inputs: &Value) -> Result<String, String> {
    let mut rest = template;
    let mut done = String::new();
    while let Some((before, after)) = rest.split_once("<<") {
        let (expression, after) =
            after.split_once(">>").ok_or_else(|| format!("unclosed action in {template:?}"))?;
        done.push_str(before);
        let (found, quoted) = evaluate(expression, inputs)?;
        match found {
            Value::String(found) if quoted => done.push_str(&format!("{found:?}")),
            Value::String(found) => done.push_str(&found),
            other => done.push_str(&other.to_string()),
        }
        rest = after;
    }
    done.push_str(rest);
    Ok(done)
}

/// The expression of a text that is one template.
fn whole(template: &str) -> Option<&str> {
    let inner = template.trim().strip_prefix("<<")?.strip_suffix(">>")?;
    (!inner.contains("<<")).then_some(inner)
}

/// What YAML makes of a bare word.
fn plain(value: Value) -> Value {
    match &value {
        Value::String(word) => match word.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "~" | "" => Value::Null,
            number => number.parse::<i64>().map_or(value.clone(), Value::from),
        },
        _ => value,
    }
}

/// The value of an expression, and whether it is to be a string whatever it looks like.
fn evaluate(expression: &str, inputs: &Value) -> Result<(Value, bool), String> {
    let mut parts = expression.split('|').map(|part| part.trim().trim_matches('-').trim());
    let path = parts.next().unwrap_or_default();
    let Some(path) = path.strip_prefix("inputs.") else {
        return Err(format!(
            "the template << {path} >> is not played here: only << inputs.… >> is"
        ));
    };
    let mut value = inputs;
    for name in path.split('.') {
        value = value
            .get(name)
            .ok_or_else(|| format!("map has no entry for key {name:?} in << inputs.{path} >>"))?;
    }
    let mut value = value.clone();
    let mut quoted = false;
    for function in parts {
        match function {
            "quote" => {
                quoted = true;
                value = match value {
                    Value::String(_) => value,
                    other => Value::String(other.to_string()),
                };
            }
            "slugify" => value = Value::String(slug(value.as_str().unwrap_or_default())),
            "toYaml" | "mustToYaml" => {}
            other => return Err(format!("function {other:?} is not played here")),
        }
    }
    Ok((value, quoted))
}

/// A name fit for labels: lower case, dashes for the rest, 63 characters at most.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.truncate(63);
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn templates_take_values_and_their_types() {
        let inputs = json!({"app": "Shop One", "count": 2, "size": "3", "deep": {"er": true}});
        let template = json!({
            "name": "<< inputs.app | slugify >>-data", "count": "<< inputs.count >>",
            "size": "<< inputs.size >>", "text": "<< inputs.size | quote >>",
            "flag": ["<< inputs.deep.er >>"], "<< inputs.size >>": "key",
        });
        let made = render(&template, &inputs).unwrap();
        assert_eq!(
            made,
            json!({
                "name": "shop-one-data", "count": 2, "size": 3, "text": "3", "flag": [true],
                "3": "key",
            })
        );
        assert_eq!(text("a: << inputs.size | quote >>", &inputs).unwrap(), "a: \"3\"");
    }

    #[test]
    fn what_is_missing_or_unknown_is_refused() {
        let inputs = json!({"app": "a"});
        assert!(text("<< inputs.other >>", &inputs).unwrap_err().contains("\"other\""));
        assert!(text("<< range inputs >>", &inputs).is_err());
        assert!(text("<< inputs.app | upper >>", &inputs).unwrap_err().contains("\"upper\""));
        assert!(text("<< inputs.app", &inputs).is_err());
    }
}
