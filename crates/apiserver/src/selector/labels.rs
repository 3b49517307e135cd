//! Label selectors: `a=1,b in (x,y),!c`, and the same as an object.

use std::fmt;

use serde_json::Value;

use crate::status::Failure;
use crate::wire::text::quote;

/// How a requirement relates its key to its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// The label is there and has one of the values.
    In,
    /// The label is not there or has none of the values.
    NotIn,
    /// `=`: like `In` with one value.
    Equals,
    /// `==`
    DoubleEquals,
    /// `!=`: like `NotIn` with one value.
    NotEquals,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The label is an integer above the value.
    GreaterThan,
    /// The label is an integer below the value.
    LessThan,
}

/// One condition of a selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The label's key.
    pub key: String,
    /// How the label relates to the values.
    pub operator: Operator,
    /// Sorted, without repetition.
    pub values: Vec<String>,
}

/// A label selector: all requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    requirements: Vec<Requirement>,
    /// An absent selector object selects nothing; an empty one everything.
    nothing: bool,
}

impl Labels {
    /// Selects everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects nothing.
    pub fn nothing() -> Self {
        Self { requirements: Vec::new(), nothing: true }
    }

    /// Reads the `labelSelector` parameter; the failure is the API server's 400.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        Self::read(text).map_err(|wrong| {
            let frame = if wrong.bare { "" } else { "unable to parse requirement: " };
            Failure::bad_request(format!("{frame}{}", wrong.text))
        })
    }

    fn read(text: &str) -> Result<Self, Wrong> {
        let mut parser = Parser { tokens: scan(text), at: 0 };
        let mut requirements = parser.requirements()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements, nothing: false })
    }

    /// Reads a selector object with `matchLabels` and `matchExpressions`. A null one selects nothing. What is
    /// unsound in it, validation refuses elsewhere; here it matches nothing.
    pub fn from_object(selector: &Value) -> Self {
        let Value::Object(map) = selector else { return Self::nothing() };
        let mut requirements = Vec::new();
        if let Some(Value::Object(labels)) = map.get("matchLabels") {
            for (key, value) in labels {
                let values = vec![value.as_str().unwrap_or_default().to_owned()];
                requirements.push(Requirement {
                    key: key.clone(),
                    operator: Operator::Equals,
                    values,
                });
            }
        }
        for expression in
            map.get("matchExpressions").and_then(Value::as_array).into_iter().flatten()
        {
            let text = |name: &str| expression.get(name).and_then(Value::as_str);
            let operator = match text("operator") {
                Some("In") => Operator::In,
                Some("NotIn") => Operator::NotIn,
                Some("Exists") => Operator::Exists,
                Some("DoesNotExist") => Operator::DoesNotExist,
                Some("Gt") => Operator::GreaterThan,
                Some("Lt") => Operator::LessThan,
                _ => return Self::nothing(),
            };
            let values = expression.get("values").and_then(Value::as_array);
            let mut values: Vec<String> = values
                .into_iter()
                .flatten()
                .map(|value| value.as_str().unwrap_or_default().to_owned())
                .collect();
            values.sort();
            values.dedup();
            let key = text("key").unwrap_or_default().to_owned();
            requirements.push(Requirement { key, operator, values });
        }
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements, nothing: false }
    }

    /// Selects by equality with every label of a map, as a Service or replication controller does.
    pub fn equal_to(labels: &Value) -> Self {
        Self::from_object(&serde_json::json!({ "matchLabels": labels }))
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Its conditions.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether some labels (an object of strings, or null) are selected.
    pub fn matches(&self, labels: &Value) -> bool {
        !self.nothing
            && self.requirements.iter().all(|requirement| {
                requirement.matches(labels.get(&requirement.key).and_then(Value::as_str))
            })
    }

    /// Whether an object is selected by its labels.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.is_everything()
            || self.matches(object.pointer("/metadata/labels").unwrap_or(&Value::Null))
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let has = |value: &str| self.values.iter().any(|one| one == value);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(has),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(has),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan | Operator::LessThan => {
                let number = label.and_then(|label| label.parse::<i64>().ok());
                let [bound] = self.values.as_slice() else { return false };
                match (number, bound.parse::<i64>().ok()) {
                    (Some(number), Some(bound)) if self.operator == Operator::GreaterThan => {
                        number > bound
                    }
                    (Some(number), Some(bound)) => number < bound,
                    _ => false,
                }
            }
        }
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.join(",");
        let key = &self.key;
        match self.operator {
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    End,
    Close,
    Comma,
    Not,
    Operator(Operator),
    Open,
    Word(String),
    /// Symbols that are no operator, and what the lexer says about them.
    Error(String),
}

impl Token {
    /// The token as messages print it.
    fn literal(&self) -> String {
        match self {
            Self::End => String::new(),
            Self::Close => ")".into(),
            Self::Comma => ",".into(),
            Self::Not => "!".into(),
            Self::Open => "(".into(),
            Self::Word(text) | Self::Error(text) => text.clone(),
            Self::Operator(operator) => match operator {
                Operator::In => "in",
                Operator::NotIn => "notin",
                Operator::Equals => "=",
                Operator::DoubleEquals => "==",
                Operator::NotEquals => "!=",
                Operator::GreaterThan => ">",
                Operator::LessThan => "<",
                Operator::Exists | Operator::DoesNotExist => "",
            }
            .into(),
        }
    }

    /// `in` and `notin` are words where values are expected.
    fn word(&self) -> Option<String> {
        match self {
            Self::Word(text) => Some(text.clone()),
            Self::Operator(Operator::In | Operator::NotIn) => Some(self.literal()),
            _ => None,
        }
    }
}

fn symbol(text: &str) -> Option<Token> {
    Some(match text {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::Operator(Operator::DoubleEquals),
        "=" => Token::Operator(Operator::Equals),
        ">" => Token::Operator(Operator::GreaterThan),
        "<" => Token::Operator(Operator::LessThan),
        "!=" => Token::Operator(Operator::NotEquals),
        "(" => Token::Open,
        _ => return None,
    })
}

fn scan(text: &str) -> Vec<Token> {
    let special = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
    let space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let mut tokens = Vec::new();
    // Go's lexer takes a zero byte for the end.
    let mut rest = text.split('\0').next().unwrap_or_default();
    loop {
        rest = rest.trim_start_matches(space);
        let Some(first) = rest.chars().next() else { break };
        if special(first) {
            // The longest run of symbols that is one; symbols after it belong to the next token.
            let mut found = None;
            let mut end = 0;
            for c in rest.chars().take_while(|c| special(*c)) {
                let longer = end + c.len_utf8();
                match symbol(&rest[..longer]) {
                    Some(token) => found = Some(token),
                    None if found.is_some() => break,
                    None => {}
                }
                end = longer;
            }
            let text = &rest[..end];
            tokens.push(found.unwrap_or_else(|| {
                Token::Error(format!("error expected: keyword found '{text}'"))
            }));
            rest = &rest[end..];
        } else {
            let end = rest.find(|c| special(c) || space(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            tokens.push(match word {
                "in" => Token::Operator(Operator::In),
                "notin" => Token::Operator(Operator::NotIn),
                word => Token::Word(word.to_owned()),
            });
            rest = after;
        }
    }
    tokens.push(Token::End);
    tokens
}

/// What is wrong, and whether it is said without the frame around requirements.
struct Wrong {
    text: String,
    bare: bool,
}

fn inside(text: String) -> Wrong {
    Wrong { text, bare: false }
}

fn outside(text: String) -> Wrong {
    Wrong { text, bare: true }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn starts_requirement(&self) -> bool {
        let token = self.peek();
        *token == Token::Not || token.word().is_some()
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, Wrong> {
        let mut requirements = Vec::new();
        loop {
            if *self.peek() == Token::End {
                return Ok(requirements);
            }
            if !self.starts_requirement() {
                let found = self.peek().literal();
                return Err(outside(format!(
                    "found '{found}', expected: !, identifier, or 'end of string'"
                )));
            }
            requirements.push(self.requirement()?);
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Comma => {
                    if !self.starts_requirement() {
                        let found = self.peek().literal();
                        return Err(outside(format!(
                            "found '{found}', expected: identifier after ','"
                        )));
                    }
                }
                other => {
                    let found = other.literal();
                    return Err(outside(format!(
                        "found '{found}', expected: ',' or 'end of string'"
                    )));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, Wrong> {
        let absent = *self.peek() == Token::Not;
        if absent {
            self.next();
        }
        let token = self.next();
        let Some(key) = token.word() else {
            return Err(inside(format!("found '{}', expected: identifier", token.literal())));
        };
        if let Some(why) = wrong_key(&key) {
            return Err(inside(format!("<nil>: Invalid value: {}: {why}", quote(&key))));
        }
        let alone = matches!(self.peek(), Token::End | Token::Comma);
        if absent || alone {
            let operator = if absent { Operator::DoesNotExist } else { Operator::Exists };
            return Ok(Requirement { key, operator, values: Vec::new() });
        }
        let operator = match self.next() {
            Token::Operator(operator) => operator,
            other => {
                let found = other.literal();
                return Err(inside(format!(
                    "found '{found}', expected: in, notin, =, ==, !=, gt, lt"
                )));
            }
        };
        let mut values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.value()?],
        };
        values.sort();
        values.dedup();
        check_values(&key, operator, &values).map_err(inside)?;
        Ok(Requirement { key, operator, values })
    }

    fn values(&mut self) -> Result<Vec<String>, Wrong> {
        match self.next() {
            Token::Open => {}
            other => return Err(inside(format!("found '{}' expected: '('", other.literal()))),
        }
        let first = self.peek().clone();
        if first == Token::Close {
            self.next();
            return Ok(vec![String::new()]);
        }
        if first != Token::Comma && first.word().is_none() {
            let found = first.literal();
            return Err(inside(format!("found '{found}', expected: ',', ')' or identifier")));
        }
        let values = self.identifiers()?;
        match self.next() {
            Token::Close => Ok(values),
            _ => Err(inside(format!("found '{}', expected: ')'", first.literal()))),
        }
    }

    fn identifiers(&mut self) -> Result<Vec<String>, Wrong> {
        let mut values = Vec::new();
        loop {
            let token = self.next();
            if let Some(word) = token.word() {
                values.push(word);
                match self.peek() {
                    Token::Comma => {}
                    Token::Close => return Ok(values),
                    other => {
                        let found = other.literal();
                        return Err(inside(format!("found '{found}', expected: ',' or ')'")));
                    }
                }
            } else if token == Token::Comma {
                if values.is_empty() {
                    values.push(String::new());
                }
                match self.peek() {
                    Token::Close => {
                        values.push(String::new());
                        return Ok(values);
                    }
                    Token::Comma => values.push(String::new()),
                    _ => {}
                }
            } else {
                let found = token.literal();
                return Err(inside(format!("found '{found}', expected: ',', or identifier")));
            }
        }
    }

    fn value(&mut self) -> Result<String, Wrong> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok(String::new());
        }
        let token = self.next();
        token
            .word()
            .ok_or_else(|| inside(format!("found '{}', expected: identifier", token.literal())))
    }
}

fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
    let mut errors = Vec::new();
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        for (i, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                errors.push(format!(
                    "values[{i}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                    quote(value)
                ));
            }
        }
    }
    for (i, value) in values.iter().enumerate() {
        if let Some(why) = wrong_value(value) {
            errors.push(format!("values[{i}][{key}]: Invalid value: {}: {why}", quote(value)));
        }
    }
    match errors.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn named(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    ends(text.chars().next())
        && ends(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn subdomain(text: &str) -> bool {
    text.split('.').all(|part| {
        let ends =
            |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        ends(part.chars().next())
            && ends(part.chars().next_back())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    })
}

/// What is wrong with a label's key.
pub(crate) fn wrong_key(key: &str) -> Option<String> {
    let mut errors: Vec<String> = Vec::new();
    let mut parts = key.split('/');
    let (first, second, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if more.is_some() {
        return Some("a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')".into());
    }
    let name = match second {
        Some(name) => {
            if first.is_empty() {
                errors.push("prefix part must be non-empty".into());
            } else if !subdomain(first) {
                errors.push(PREFIX.into());
            }
            name
        }
        None => first,
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".into());
    }
    if !named(name) {
        errors.push(NAME.into());
    }
    (!errors.is_empty()).then(|| errors.join("; "))
}

/// What is wrong with a label's value.
pub(crate) fn wrong_value(value: &str) -> Option<String> {
    let mut errors: Vec<String> = Vec::new();
    if value.len() > 63 {
        errors.push("must be no more than 63 bytes".into());
    }
    if !value.is_empty() && !named(value) {
        errors.push(VALUE.into());
    }
    (!errors.is_empty()).then(|| errors.join("; "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn refused(text: &str) -> String {
        Labels::parse(text).unwrap_err().message
    }

    #[test]
    fn errors_are_those_of_go() {
        for (text, message) in [
            ("==", "found '==', expected: !, identifier, or 'end of string'".to_owned()),
            ("a=b=c", "found '=', expected: ',' or 'end of string'".into()),
            ("a in", "unable to parse requirement: found '' expected: '('".into()),
            ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier".into()),
            ("a in b", "unable to parse requirement: found 'b' expected: '('".into()),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'".into()),
            ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'".into()),
            ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier".into()),
            ("a,", "found '', expected: identifier after ','".into()),
            (",a", "found ',', expected: !, identifier, or 'end of string'".into()),
            ("a,,b", "found ',', expected: identifier after ','".into()),
            ("!a=b", "found '=', expected: ',' or 'end of string'".into()),
            ("!", "unable to parse requirement: found '', expected: identifier".into()),
            ("!!a", "unable to parse requirement: found '!', expected: identifier".into()),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt".into()),
            ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer".into()),
            ("a=-x", format!("unable to parse requirement: values[0][a]: Invalid value: \"-x\": {VALUE}")),
            ("a=x y", "found 'y', expected: ',' or 'end of string'".into()),
            ("/a", "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty".into()),
            ("a/", format!("unable to parse requirement: <nil>: Invalid value: \"a/\": name part must be non-empty; {NAME}")),
            ("A_B/c", format!("unable to parse requirement: <nil>: Invalid value: \"A_B/c\": {PREFIX}")),
            ("a=(b)", "unable to parse requirement: found '(', expected: identifier".into()),
            ("a!b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt".into()),
            ("a=>b", "unable to parse requirement: found '>', expected: identifier".into()),
            ("a in (b)c", "found 'c', expected: ',' or 'end of string'".into()),
            (")", "found ')', expected: !, identifier, or 'end of string'".into()),
            ("a in (-,_)", format!("unable to parse requirement: [values[0][a]: Invalid value: \"-\": {VALUE}, values[1][a]: Invalid value: \"_\": {VALUE}]")),
        ] {
            assert_eq!(refused(text), message, "{text}");
        }
    }

    #[test]
    fn selection() {
        let labels = json!({"a": "1", "b": "x", "in": "in", "n": "5"});
        for (text, expected) in [
            ("", true),
            ("a=1", true),
            ("a==1,b!=y", true),
            ("a=2", false),
            ("a!=1", false),
            ("zz!=1", true),
            ("b in (x,y)", true),
            ("b in ()", false),
            ("b notin (x)", false),
            ("zz notin (x)", true),
            ("a", true),
            ("!a", false),
            ("!zz", true),
            ("n>4", true),
            ("n<5", false),
            ("b>4", false),
            ("in in (in)", true),
            ("in=in", true),
            ("a=", false),
        ] {
            assert_eq!(Labels::parse(text).unwrap().matches(&labels), expected, "{text}");
        }
        assert!(Labels::everything().matches(&Value::Null));
    }

    #[test]
    fn selectors_as_objects() {
        let labels = json!({"a": "1", "b": "x"});
        for (selector, expected) in [
            (json!({}), true),
            (Value::Null, false),
            (json!({"matchLabels": {"a": "1"}}), true),
            (json!({"matchLabels": {"a": "1", "b": "y"}}), false),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "In", "values": ["x", "y"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "b", "operator": "Exists"}, {"key": "c", "operator": "DoesNotExist"}]}),
                true,
            ),
            (json!({"matchExpressions": [{"key": "b", "operator": "Bogus"}]}), false),
        ] {
            assert_eq!(Labels::from_object(&selector).matches(&labels), expected, "{selector}");
        }
        assert!(Labels::equal_to(&json!({"a": "1"})).matches(&labels));
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_the_same(text in "[ab!=,() in<>1]{0,16}") {
            if let Ok(labels) = Labels::parse(&text) {
                prop_assert_eq!(Labels::parse(&labels.to_string()).unwrap(), labels);
            }
        }
    }
}
