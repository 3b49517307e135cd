//! Writing a value where another one stands, with the same outcome as upstream: how the old one was
//! written decides what the new one is read as.

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::scalar::tag_in;
use crate::yaml::{Node, Scalar, Style, Tag, Text, Value};

/// Sets a scalar's text. What it is read as follows from the text, unless the old one was quoted.
pub fn set_text(node: &mut Node, text: impl Into<Text>) -> Result<()> {
    let scalar = scalar(node)?;
    let text = text.into();
    scalar.tag = tag_in(&text, scalar.style);
    scalar.text = text;
    Ok(())
}

/// Sets a scalar to a text that stays text.
pub fn set_string(node: &mut Node, text: impl Into<Text>) -> Result<()> {
    let scalar = scalar(node)?;
    scalar.tag = Tag::Str;
    scalar.text = text.into();
    Ok(())
}

/// Sets a scalar to a whole number; in quotes, if the old one was.
pub fn set_number(node: &mut Node, number: i64) -> Result<()> {
    let scalar = scalar(node)?;
    scalar.tag = if scalar.style == Style::Plain { Tag::Int } else { Tag::Str };
    scalar.text = number.to_string().into();
    Ok(())
}

/// Sets an entry of a mapping to a text that stays text. Says whether it was not there before.
pub fn set_entry(node: &mut Node, key: &Text, value: impl FnOnce() -> Node) -> Result<bool> {
    if node.is_null() {
        return Ok(false);
    }
    let Value::Mapping(mapping) = &mut node.value else {
        return Err(wrong_kind("MappingNode", node));
    };
    let Some(old) = mapping.get_mut(key) else {
        mapping.put(key.clone(), value());
        return Ok(true);
    };
    let mut new = value().value;
    if let (Value::Scalar(old), Value::Scalar(new)) = (&old.value, &mut new) {
        new.style = old.style;
    }
    old.value = new;
    Ok(false)
}

/// An error that says what was expected where something else is.
pub fn wrong_kind(wanted: &str, node: &Node) -> Diagnostic {
    let found = match &node.value {
        Value::Scalar(_) => "ScalarNode",
        Value::Mapping(_) => "MappingNode",
        Value::Sequence(_) => "SequenceNode",
    };
    Diagnostic::new(format!("wrong node kind: expected {wanted} but got {found}")).at(node.mark)
}

fn scalar(node: &mut Node) -> Result<&mut Scalar> {
    if node.as_scalar().is_none() {
        return Err(wrong_kind("ScalarNode", node));
    }
    match &mut node.value {
        Value::Scalar(scalar) => Ok(scalar),
        Value::Mapping(_) | Value::Sequence(_) => Err(Diagnostic::new("expected a scalar")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::documents;

    fn node(text: &str) -> Node {
        documents(text).unwrap().remove(0).root
    }

    #[test]
    fn plain_text_is_read_anew_and_quoted_text_stays_text() {
        let mut plain = node("web");
        set_text(&mut plain, "12").unwrap();
        assert_eq!(plain, node("12"));
        let mut quoted = node("'web'");
        set_text(&mut quoted, "12").unwrap();
        assert_eq!(quoted, node("'12'"));
    }

    #[test]
    fn numbers_keep_quotes() {
        let mut plain = node("3");
        set_number(&mut plain, 5).unwrap();
        assert_eq!(plain, node("5"));
        let mut quoted = node("'3'");
        set_number(&mut quoted, 5).unwrap();
        assert_eq!(quoted, node("'5'"));
    }

    #[test]
    fn an_entry_is_text() {
        let mut mapping = node("{a: 1}");
        assert!(!set_entry(&mut mapping, &"a".into(), || Node::string("2")).unwrap());
        assert!(set_entry(&mut mapping, &"b".into(), || Node::string("true")).unwrap());
        assert_eq!(mapping, node("{a: '2', b: 'true'}"));
        assert!(set_entry(&mut node("[]"), &"a".into(), Node::null).is_err());
    }
}
