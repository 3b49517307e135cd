//! Paths into a schema, as `fieldPath` of rules and `jsonPath` of selectable fields write them.

use crate::fields::Path;
use crate::schema::Node;

/// Follows a path (`.spec.name`, `.labels['a/b']`) through a schema. Gives the path as messages print it and
/// the node at its end.
pub(in crate::crd) fn field_path<'a>(
    text: &str,
    mut node: Node<'a>,
    brackets: bool,
) -> Result<(Path, Node<'a>), String> {
    let mut path = Path::root();
    let mut tokens = tokens(text).into_iter();
    let end = || "unexpected end of JSON path".to_owned();
    while let Some(token) = tokens.next() {
        let name = match token.as_str() {
            "[" => {
                if !brackets {
                    return Err("array notation is not allowed".into());
                }
                let quoted = tokens.next().ok_or_else(end)?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                match tokens.next() {
                    Some(close) if close == "]" => {}
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err(end()),
                }
                inner.replace("\\'", "'").replace("\\\\", "\\")
            }
            "." => tokens.next().ok_or_else(end)?,
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let invalid = || "does not refer to a valid field".to_owned();
        if node.schema.properties.is_empty() {
            node = node.values().ok_or_else(invalid)?;
            path = path.key(&name);
        } else {
            node = node.property(&name).ok_or_else(invalid)?;
            path = path.child(&name);
        }
    }
    Ok((path, node))
}

/// Dots and brackets by themselves, names and quoted strings in one piece.
fn tokens(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut previous = ' ';
    for c in text.chars() {
        if quoted {
            word.push(c);
            if c == '\'' && previous != '\\' && word.len() > 1 {
                quoted = false;
                out.push(std::mem::take(&mut word));
            }
        } else if matches!(c, '.' | '[' | ']') {
            if !word.is_empty() {
                out.push(std::mem::take(&mut word));
            }
            out.push(c.to_string());
        } else {
            quoted = c == '\'' && word.is_empty();
            word.push(c);
        }
        previous = c;
    }
    if !word.is_empty() {
        out.push(word);
    }
    out
}
