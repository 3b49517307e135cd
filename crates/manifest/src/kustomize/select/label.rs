//! Label selectors: `app=web,tier in (a,b),!old`.

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Text};

/// A label selector; empty, it matches anything. It is read when it is first needed: one that nothing
/// is held against may be wrong.
#[derive(Clone, Debug, Default)]
pub struct LabelSelector {
    text: Text,
    requirements: Option<Result<Vec<Requirement>>>,
}

#[derive(Clone, Debug)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    Missing,
    Greater,
    Less,
}

impl LabelSelector {
    /// From its text.
    pub fn new(text: impl Into<Text>) -> Self {
        let text = text.into();
        let requirements = (!text.is_empty()).then(|| Parser::new(&text).parse());
        Self { text, requirements }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether these labels fit.
    pub fn matches(&self, labels: Option<&Mapping>) -> Result<bool> {
        match &self.requirements {
            None => Ok(true),
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(requirements)) => Ok(requirements.iter().all(|one| one.matches(labels))),
        }
    }
}

impl Requirement {
    fn matches(&self, labels: Option<&Mapping>) -> bool {
        let value = labels.and_then(|labels| labels.get(&self.key));
        let text = value.map(|value| value.as_scalar().map_or("", |scalar| scalar.text.as_str()));
        let listed = |text: &str| self.values.iter().any(|value| value == text);
        let compared = |greater: bool| {
            let number = |text: &str| text.parse::<i64>().ok();
            let wanted = self.values.first().and_then(|value| number(value));
            match (text.and_then(number), wanted) {
                (Some(found), Some(wanted)) if greater => found > wanted,
                (Some(found), Some(wanted)) => found < wanted,
                _ => false,
            }
        };
        match self.operator {
            Operator::In => text.is_some_and(listed),
            Operator::NotIn => !text.is_some_and(listed),
            Operator::Exists => text.is_some(),
            Operator::Missing => text.is_none(),
            Operator::Greater => compared(true),
            Operator::Less => compared(false),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    End,
    Open,
    Close,
    Comma,
    Not,
    Equals,
    NotEquals,
    Greater,
    Less,
    Word(String),
    Bad(String),
}

impl Token {
    fn shown(&self) -> &str {
        match self {
            Self::End => "",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::Not => "!",
            Self::Equals => "=",
            Self::NotEquals => "!=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Word(text) | Self::Bad(text) => text,
        }
    }

    fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }
}

struct Parser {
    tokens: Vec<Token>,
    place: usize,
}

impl Parser {
    fn new(text: &str) -> Self {
        Self { tokens: tokens(text), place: 0 }
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.place).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.place += 1;
        token
    }

    fn parse(mut self) -> Result<Vec<Requirement>> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                Token::Word(_) | Token::Not => {
                    let requirement = self.requirement().map_err(|error| {
                        Diagnostic::new(format!("unable to parse requirement: {}", error.message()))
                    })?;
                    requirements.push(requirement);
                    match self.next() {
                        Token::End => return Ok(requirements),
                        Token::Comma if matches!(self.peek(), Token::Word(_) | Token::Not) => {}
                        Token::Comma => {
                            return Err(found(self.peek(), "identifier after ','"));
                        }
                        other => return Err(found(&other, "',' or 'end of string'")),
                    }
                }
                other => return Err(found(other, "!, identifier, or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement> {
        let mut token = self.next();
        let denied = token == Token::Not;
        if denied {
            token = self.next();
        }
        let Some(key) = token.word().map(str::to_owned) else {
            return Err(found(&token, "identifier"));
        };
        check_key(&key)?;
        if denied || matches!(self.peek(), Token::End | Token::Comma) {
            let operator = if denied { Operator::Missing } else { Operator::Exists };
            return Ok(Requirement { key, operator, values: Vec::new() });
        }
        let token = self.next();
        let operator = match &token {
            Token::Equals => Operator::In,
            Token::NotEquals => Operator::NotIn,
            Token::Greater => Operator::Greater,
            Token::Less => Operator::Less,
            Token::Word(word) if word == "in" => Operator::In,
            Token::Word(word) if word == "notin" => Operator::NotIn,
            other => return Err(found(other, "'=', '!=', '==', 'in', notin'")),
        };
        let values = if token.word().is_some() { self.values()? } else { vec![self.value()?] };
        if matches!(operator, Operator::Greater | Operator::Less)
            && values.iter().any(|value| value.parse::<i64>().is_err())
        {
            return Err(Diagnostic::new("for 'Gt', 'Lt' operators, the value must be an integer"));
        }
        values.iter().try_for_each(|value| check_value(&key, value))?;
        Ok(Requirement { key, operator, values })
    }

    fn value(&mut self) -> Result<String> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(word) => Ok(word),
            other => Err(found(&other, "identifier")),
        }
    }

    /// `(a,b)`; parts may be empty.
    fn values(&mut self) -> Result<Vec<String>> {
        let open = self.next();
        if open != Token::Open {
            return Err(Diagnostic::new(format!("found '{}' expected: '('", open.shown())));
        }
        let mut values = Vec::new();
        let mut expected = true;
        loop {
            match self.next() {
                Token::Word(word) => {
                    values.push(word);
                    expected = false;
                    if !matches!(self.peek(), Token::Comma | Token::Close) {
                        return Err(found(self.peek(), "',' or ')'"));
                    }
                }
                Token::Comma => {
                    if expected {
                        values.push(String::new());
                    }
                    expected = true;
                }
                Token::Close => {
                    if expected {
                        values.push(String::new());
                    }
                    return Ok(values);
                }
                other => return Err(found(&other, "',', ')' or identifier")),
            }
        }
    }
}

fn found(token: &Token, expected: &str) -> Diagnostic {
    Diagnostic::new(format!("found '{}', expected: {expected}", token.shown()))
}

fn tokens(text: &str) -> Vec<Token> {
    let is_symbol = |c: char| "=!(),><".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = if is_symbol(first) {
            let two = rest.get(..2).unwrap_or_default();
            match (two, first) {
                ("==", _) => (Token::Equals, 2),
                ("!=", _) => (Token::NotEquals, 2),
                (_, '=') => (Token::Equals, 1),
                (_, '!') => (Token::Not, 1),
                (_, '(') => (Token::Open, 1),
                (_, ')') => (Token::Close, 1),
                (_, ',') => (Token::Comma, 1),
                (_, '>') => (Token::Greater, 1),
                (_, '<') => (Token::Less, 1),
                _ => (Token::Bad(first.to_string()), first.len_utf8()),
            }
        } else {
            let end = rest.find(|c: char| is_symbol(c) || c.is_ascii_whitespace());
            let word = &rest[..end.unwrap_or(rest.len())];
            (Token::Word(word.to_owned()), word.len())
        };
        tokens.push(token);
        rest = rest[length..].trim_start();
    }
    tokens.push(Token::End);
    tokens
}

/// `[prefix/]name`.
fn check_key(key: &str) -> Result<()> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let good_prefix = prefix.is_none_or(|prefix| {
        !prefix.is_empty()
            && prefix.len() <= 253
            && prefix.split('.').all(|part| {
                let inside = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
                is_framed(part, inside, |c| inside(c) || c == b'-')
            })
    });
    if good_prefix && is_name(name) {
        return Ok(());
    }
    Err(Diagnostic::new(format!(
        "invalid label key {key:?}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    )))
}

fn check_value(key: &str, value: &str) -> Result<()> {
    if value.is_empty() || is_name(value) {
        return Ok(());
    }
    Err(Diagnostic::new(format!(
        "invalid label value: {value:?}: at key: {key:?}: a valid label must be an empty string or consist of at most 63 alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    )))
}

fn is_name(text: &str) -> bool {
    let inside = |c: u8| c.is_ascii_alphanumeric();
    text.len() <= 63 && is_framed(text, inside, |c| inside(c) || b"-_.".contains(&c))
}

fn is_framed(text: &str, ends: impl Fn(u8) -> bool, all: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|c| ends(*c))
        && bytes.last().is_some_and(|c| ends(*c))
        && bytes.iter().all(|c| all(*c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Node;

    fn matches(selector: &str, labels: &[(&str, &str)]) -> Result<bool> {
        let mut mapping = Mapping::new();
        for (key, value) in labels {
            mapping.set(*key, Node::string(*value));
        }
        LabelSelector::new(selector).matches(Some(&mapping))
    }

    #[test]
    fn every_operator_is_understood() {
        let labels = [("app", "web"), ("size", "7"), ("empty", ""), ("example.org/x", "y")];
        let fits = [
            "app",
            "app=web",
            "app==web",
            "app!=api",
            "app in (api,web)",
            "app notin (api)",
            "!gone",
            "size>6",
            "size<8",
            "empty=",
            "empty in ()",
            "empty in (a,)",
            "gone!=a",
            "gone notin (a)",
            "app=web,size=7, example.org/x = y",
            "",
        ];
        for selector in fits {
            assert!(matches(selector, &labels).unwrap(), "{selector}");
        }
        let fails = ["gone", "app=api", "app!=web", "!app", "size>7", "app>1", "app in ()"];
        for selector in fails {
            assert!(!matches(selector, &labels).unwrap(), "{selector}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for selector in
            ["=a", "app in web", "app=a,", "app=(", "a b", "-x", "app=!", "size>x", "a/b/c"]
        {
            assert!(matches(selector, &[]).is_err(), "{selector}");
        }
    }
}
