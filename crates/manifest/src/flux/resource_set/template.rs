//! Go's templates between `<<` and `>>`, as far as sets of resources use them.

use serde_json::Value;

use super::function;
use super::value::{is_true, printed};

/// How deep blocks and parentheses may be nested.
const DEEPEST: usize = 100;

/// How long a text may become.
const LONGEST: usize = 16 << 20;

/// The text with its templates filled in.
pub(super) fn render(template: &str, inputs: &Value) -> Result<String, String> {
    let pieces = split(template)?;
    let mut parser = Parser { pieces: &pieces, at: 0 };
    let block = parser.block(&[], 0)?.0;
    let mut scope = Scope { inputs, variables: Vec::new(), output: String::new() };
    scope.run(&block, &Value::Null)?;
    Ok(scope.output)
}

enum Piece<'a> {
    Text(&'a str),
    Action(&'a str),
}

/// Text and actions; dashes at the delimiters take the white space beside them.
fn split(template: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = template;
    let mut trim_next = false;
    loop {
        let start = rest.find("<<");
        let mut text = start.map_or(rest, |start| &rest[..start]);
        if trim_next {
            text = text.trim_start();
        }
        let Some(start) = start else {
            pieces.push(Piece::Text(text));
            return Ok(pieces);
        };
        let after = &rest[start + 2..];
        let after = match after.strip_prefix('-') {
            Some(trimmed) if trimmed.starts_with(char::is_whitespace) => {
                text = text.trim_end();
                trimmed
            }
            _ => after,
        };
        let end = closing(after)
            .ok_or_else(|| format!("unclosed action: `{}`", shown(&rest[start..])))?;
        let mut action = &after[..end];
        trim_next = false;
        if let Some(inner) = action.strip_suffix('-')
            && inner.ends_with(char::is_whitespace)
        {
            action = inner;
            trim_next = true;
        }
        pieces.push(Piece::Text(text));
        pieces.push(Piece::Action(action.trim()));
        rest = &after[end + 2..];
    }
}

/// Where an action ends, quotes and comments aside.
fn closing(text: &str) -> Option<usize> {
    if let Some(start) = text.trim_start().strip_prefix("/*") {
        let offset = text.len() - start.len();
        let comment = start.find("*/")? + offset;
        return text[comment..].find(">>").map(|end| end + comment);
    }
    let bytes = text.as_bytes();
    let mut quote = None;
    let mut at = 0;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(b'"'), b'\\') => at += 1,
            (Some(open), byte) if open == byte => quote = None,
            (None, byte @ (b'"' | b'`')) => quote = Some(byte),
            (None, b'>') if bytes.get(at + 1) == Some(&b'>') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn shown(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(60).collect()
}

enum Step {
    Text(String),
    Output(Pipeline),
    Set(String, Pipeline, bool),
    If(Vec<(Pipeline, Vec<Step>)>, Vec<Step>),
    Range(Vec<String>, Pipeline, Vec<Step>, Vec<Step>),
    With(Pipeline, Vec<Step>, Vec<Step>),
}

/// Commands, each fed with the value of the one before.
struct Pipeline {
    commands: Vec<Vec<Operand>>,
    source: String,
}

struct Operand {
    term: Term,
    fields: Vec<String>,
}

enum Term {
    Value(Value),
    Dot,
    Variable(String),
    Function(String),
    Group(Pipeline),
}

struct Parser<'p> {
    pieces: &'p [Piece<'p>],
    at: usize,
}

impl Parser<'_> {
    /// Steps up to one of these words, and that action.
    fn block(&mut self, ends: &[&str], depth: usize) -> Result<(Vec<Step>, String), String> {
        if depth > DEEPEST {
            return Err("blocks are nested too deeply".to_owned());
        }
        let mut steps = Vec::new();
        while let Some(piece) = self.pieces.get(self.at) {
            self.at += 1;
            let action = match piece {
                Piece::Text(text) => {
                    steps.push(Step::Text((*text).to_owned()));
                    continue;
                }
                Piece::Action(action) => *action,
            };
            if action.starts_with("/*") || action.is_empty() {
                continue;
            }
            let (word, rest) = action.split_once(char::is_whitespace).unwrap_or((action, ""));
            if ends.contains(&word) {
                return Ok((steps, action.to_owned()));
            }
            steps.push(match word {
                "if" => self.condition(rest, depth)?,
                "range" => self.range(rest, depth)?,
                "with" => {
                    let pipeline = pipeline(rest)?;
                    let (body, end) = self.block(&["else", "end"], depth + 1)?;
                    let other = self.otherwise(&end, depth)?;
                    Step::With(pipeline, body, other)
                }
                "else" | "end" => return Err(format!("unexpected `<< {action} >>`")),
                "define" | "template" | "block" | "break" | "continue" => {
                    return Err(format!("`<< {word} >>` is not known here"));
                }
                _ => assignment(action)?,
            });
        }
        if ends.is_empty() {
            Ok((steps, String::new()))
        } else {
            Err("a block has no `<< end >>`".to_owned())
        }
    }

    fn condition(&mut self, rest: &str, depth: usize) -> Result<Step, String> {
        let mut cases = Vec::new();
        let mut condition = pipeline(rest)?;
        loop {
            let (body, end) = self.block(&["else", "end"], depth + 1)?;
            cases.push((condition, body));
            if end == "end" {
                return Ok(Step::If(cases, Vec::new()));
            }
            let after = end.strip_prefix("else").unwrap_or_default().trim_start();
            let Some(next) = after.strip_prefix("if") else {
                return Ok(Step::If(cases, self.otherwise(&end, depth)?));
            };
            condition = pipeline(next)?;
        }
    }

    fn range(&mut self, rest: &str, depth: usize) -> Result<Step, String> {
        let (names, source) = match rest.split_once(":=") {
            Some((names, source)) => {
                let names = names.split(',').map(|name| name.trim().to_owned()).collect();
                (names, source)
            }
            None => (Vec::new(), rest),
        };
        let pipeline = pipeline(source)?;
        let (body, end) = self.block(&["else", "end"], depth + 1)?;
        let other = self.otherwise(&end, depth)?;
        Ok(Step::Range(names, pipeline, body, other))
    }

    fn otherwise(&mut self, end: &str, depth: usize) -> Result<Vec<Step>, String> {
        if end == "end" {
            return Ok(Vec::new());
        }
        if end != "else" {
            return Err(format!("unexpected `<< {end} >>`"));
        }
        Ok(self.block(&["end"], depth + 1)?.0)
    }
}

fn assignment(action: &str) -> Result<Step, String> {
    if action.starts_with('$') {
        for (operator, declares) in [(":=", true), ("=", false)] {
            if let Some((name, value)) = action.split_once(operator) {
                let name = name.trim();
                let is_name =
                    name[1..].chars().all(|letter| letter.is_alphanumeric() || letter == '_');
                if is_name {
                    return Ok(Step::Set(name.to_owned(), pipeline(value)?, declares));
                }
            }
        }
    }
    Ok(Step::Output(pipeline(action)?))
}

fn pipeline(source: &str) -> Result<Pipeline, String> {
    let tokens = tokens(source)?;
    let mut reader = Reader { tokens: &tokens, at: 0, source };
    let pipeline = reader.pipeline(0)?;
    if reader.at < tokens.len() {
        return Err(reader.unexpected());
    }
    Ok(pipeline)
}

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Number(Value),
    Variable(String),
    /// `.a.b`; without names, the dot alone. Whether it belongs to what stands before it.
    Fields(Vec<String>, bool),
    Pipe,
    Open,
    Close,
}

fn tokens(source: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    let name_end = |text: &str| {
        text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len())
    };
    while let Some(first) = rest.chars().next() {
        let before = source[..source.len() - rest.len()].chars().next_back();
        let glued = before.is_some_and(|letter| !letter.is_whitespace() && !"(|".contains(letter));
        match first {
            '|' => {
                tokens.push(Token::Pipe);
                rest = &rest[1..];
            }
            '(' => {
                tokens.push(Token::Open);
                rest = &rest[1..];
            }
            ')' => {
                tokens.push(Token::Close);
                rest = &rest[1..];
            }
            '"' => {
                let mut end = 1;
                while let Some(byte) = rest.as_bytes().get(end) {
                    match byte {
                        b'\\' => end += 2,
                        b'"' => break,
                        _ => end += 1,
                    }
                }
                let literal =
                    rest.get(..=end).ok_or_else(|| format!("unclosed text in `{source}`"))?;
                let text: String = serde_json::from_str(literal)
                    .map_err(|_| format!("{literal} is no text that can be read"))?;
                tokens.push(Token::Text(text));
                rest = &rest[end + 1..];
            }
            '`' => {
                let end =
                    rest[1..].find('`').ok_or_else(|| format!("unclosed text in `{source}`"))?;
                tokens.push(Token::Text(rest[1..=end].to_owned()));
                rest = &rest[end + 2..];
            }
            '$' => {
                let end = 1 + name_end(&rest[1..]);
                tokens.push(Token::Variable(rest[..end].to_owned()));
                rest = &rest[end..];
            }
            '.' => {
                let mut names = Vec::new();
                while let Some(after) = rest.strip_prefix('.') {
                    let end = name_end(after);
                    if end == 0 {
                        rest = after;
                        break;
                    }
                    names.push(after[..end].to_owned());
                    rest = &after[end..];
                }
                tokens.push(Token::Fields(names, glued));
            }
            first if first.is_ascii_digit() || first == '-' => {
                let end = 1 + rest[1..]
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '.')
                    .unwrap_or(rest.len() - 1);
                let number = serde_json::from_str(&rest[..end])
                    .map_err(|_| format!("`{}` is no number", &rest[..end]))?;
                tokens.push(Token::Number(number));
                rest = &rest[end..];
            }
            first if first.is_alphabetic() || first == '_' => {
                let end = name_end(rest);
                tokens.push(Token::Word(rest[..end].to_owned()));
                rest = &rest[end..];
            }
            _ => return Err(format!("unexpected `{first}` in `<< {} >>`", source.trim())),
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
    source: &'t str,
}

impl Reader<'_> {
    fn unexpected(&self) -> String {
        format!("`<< {} >>` cannot be read", self.source.trim())
    }

    fn pipeline(&mut self, depth: usize) -> Result<Pipeline, String> {
        if depth > DEEPEST {
            return Err("parentheses are nested too deeply".to_owned());
        }
        let mut commands = Vec::new();
        loop {
            let mut operands = Vec::new();
            while let Some(operand) = self.operand(depth)? {
                operands.push(operand);
            }
            if operands.is_empty() {
                return Err(self.unexpected());
            }
            commands.push(operands);
            match self.tokens.get(self.at) {
                Some(Token::Pipe) => self.at += 1,
                _ => return Ok(Pipeline { commands, source: self.source.trim().to_owned() }),
            }
        }
    }

    fn operand(&mut self, depth: usize) -> Result<Option<Operand>, String> {
        let term = match self.tokens.get(self.at) {
            None | Some(Token::Pipe | Token::Close) => return Ok(None),
            Some(Token::Fields(names, _)) => {
                self.at += 1;
                return Ok(Some(Operand { term: Term::Dot, fields: names.clone() }));
            }
            Some(Token::Text(text)) => Term::Value(Value::String(text.clone())),
            Some(Token::Number(number)) => Term::Value(number.clone()),
            Some(Token::Variable(name)) => Term::Variable(name.clone()),
            Some(Token::Word(word)) => match word.as_str() {
                "true" => Term::Value(Value::Bool(true)),
                "false" => Term::Value(Value::Bool(false)),
                "nil" => Term::Value(Value::Null),
                word => Term::Function(word.to_owned()),
            },
            Some(Token::Open) => {
                self.at += 1;
                let inner = self.pipeline(depth + 1)?;
                if self.tokens.get(self.at) != Some(&Token::Close) {
                    return Err(self.unexpected());
                }
                Term::Group(inner)
            }
        };
        self.at += 1;
        let fields = match self.tokens.get(self.at) {
            Some(Token::Fields(names, true)) => {
                self.at += 1;
                names.clone()
            }
            _ => Vec::new(),
        };
        Ok(Some(Operand { term, fields }))
    }
}

struct Scope<'s> {
    inputs: &'s Value,
    variables: Vec<(String, Value)>,
    output: String,
}

impl Scope<'_> {
    fn run(&mut self, steps: &[Step], dot: &Value) -> Result<(), String> {
        let depth = self.variables.len();
        for step in steps {
            if self.output.len() > LONGEST {
                return Err("the template makes too much text".to_owned());
            }
            match step {
                Step::Text(text) => self.output.push_str(text),
                Step::Output(pipeline) => {
                    let value = self.value(pipeline, dot)?;
                    self.output.push_str(&printed(&value));
                }
                Step::Set(name, pipeline, declares) => {
                    let value = self.value(pipeline, dot)?;
                    let known = self.variables.iter_mut().rev().find(|(known, _)| known == name);
                    match known {
                        Some((_, known)) if !declares => *known = value,
                        None if !declares => return Err(format!("undefined variable {name}")),
                        _ => self.variables.push((name.clone(), value)),
                    }
                }
                Step::If(cases, other) => {
                    let mut chosen = other;
                    for (condition, body) in cases {
                        if is_true(&self.value(condition, dot)?) {
                            chosen = body;
                            break;
                        }
                    }
                    self.run(chosen, dot)?;
                }
                Step::With(pipeline, body, other) => {
                    let value = self.value(pipeline, dot)?;
                    if is_true(&value) { self.run(body, &value)? } else { self.run(other, dot)? }
                }
                Step::Range(names, pipeline, body, other) => {
                    let items = self.items(pipeline, dot)?;
                    if items.is_empty() {
                        self.run(other, dot)?;
                    }
                    for (key, item) in items {
                        let before = self.variables.len();
                        match names.as_slice() {
                            [one] => self.variables.push((one.clone(), item.clone())),
                            [one, two] => {
                                self.variables.push((one.clone(), key));
                                self.variables.push((two.clone(), item.clone()));
                            }
                            _ => {}
                        }
                        self.run(body, &item)?;
                        self.variables.truncate(before);
                    }
                }
            }
        }
        self.variables.truncate(depth);
        Ok(())
    }

    fn items(&self, pipeline: &Pipeline, dot: &Value) -> Result<Vec<(Value, Value)>, String> {
        Ok(match self.value(pipeline, dot)? {
            Value::Null => Vec::new(),
            Value::Array(items) => items
                .into_iter()
                .enumerate()
                .map(|(place, item)| (Value::from(place), item))
                .collect(),
            Value::Object(map) => {
                map.into_iter().map(|(key, value)| (Value::String(key), value)).collect()
            }
            Value::Number(number) if number.is_u64() => {
                let count = number.as_u64().unwrap_or(0).min(1 << 16);
                (0..count).map(|place| (Value::from(place), Value::from(place))).collect()
            }
            other => return Err(format!("range can't iterate over {}", printed(&other))),
        })
    }

    fn value(&self, pipeline: &Pipeline, dot: &Value) -> Result<Value, String> {
        let with_source = |error: String| {
            if error.contains("`<<") {
                error
            } else {
                format!("{error}: `<< {} >>`", pipeline.source)
            }
        };
        let mut carried: Option<Value> = None;
        for command in &pipeline.commands {
            let value = self.command(command, carried.take(), dot).map_err(with_source)?;
            carried = Some(value);
        }
        Ok(carried.unwrap_or(Value::Null))
    }

    fn command(
        &self,
        command: &[Operand],
        carried: Option<Value>,
        dot: &Value,
    ) -> Result<Value, String> {
        let Some((first, rest)) = command.split_first() else { return Ok(Value::Null) };
        if let Term::Function(name) = &first.term
            && name != "inputs"
        {
            // These two stop as soon as the answer is sure.
            let mut arguments = Vec::with_capacity(rest.len() + 1);
            for operand in rest {
                let value = self.operand(operand, dot)?;
                let stops = match name.as_str() {
                    "and" => !is_true(&value),
                    "or" => is_true(&value),
                    _ => false,
                };
                if stops {
                    return Ok(value);
                }
                arguments.push(value);
            }
            arguments.extend(carried);
            let value = function::call(name, &arguments)?;
            return fields(value, &first.fields);
        }
        if !rest.is_empty() || carried.is_some() {
            return Err("can't give argument to non-function".to_owned());
        }
        self.operand(first, dot)
    }

    fn operand(&self, operand: &Operand, dot: &Value) -> Result<Value, String> {
        let value = match &operand.term {
            Term::Value(value) => value.clone(),
            Term::Dot => dot.clone(),
            Term::Variable(name) if name == "$" => Value::Null,
            Term::Variable(name) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                known
                    .map(|(_, value)| value.clone())
                    .ok_or_else(|| format!("undefined variable {name}"))?
            }
            Term::Function(name) if name == "inputs" => return at(self.inputs, &operand.fields),
            Term::Function(name) => function::call(name, &[])?,
            Term::Group(pipeline) => self.value(pipeline, dot)?,
        };
        fields(value, &operand.fields)
    }
}

fn fields(value: Value, names: &[String]) -> Result<Value, String> {
    if names.is_empty() { Ok(value) } else { at(&value, names) }
}

fn at(value: &Value, names: &[String]) -> Result<Value, String> {
    let mut value = value;
    for name in names {
        value = match value {
            Value::Object(map) => {
                map.get(name).ok_or_else(|| format!("map has no entry for key {name:?}"))?
            }
            Value::Null => return Err(format!("there is no input, so no key {name:?}")),
            other => return Err(format!("can't evaluate field {name} in {}", printed(other))),
        };
    }
    Ok(value.clone())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn made(template: &str) -> Result<String, String> {
        let inputs = json!({
            "app": "Shop One", "n": 3, "list": ["a", "b"], "map": {"x": 1, "y": "z"}, "empty": "", "on": true,
        });
        render(template, &inputs)
    }

    #[test]
    fn templates_are_filled_in() {
        let cases = [
            ("plain", "plain"),
            ("<< inputs.app >>", "Shop One"),
            ("a <<- inputs.n ->> b", "a3b"),
            ("<<inputs.n>>", "3"),
            ("<< inputs.map.y | quote >>", "\"z\""),
            ("<< inputs.app | lower | replace \" \" \"-\" >>", "shop-one"),
            ("<< if inputs.on >>yes<< else >>no<< end >>", "yes"),
            ("<< if eq inputs.n 4 >>4<< else if eq inputs.n 3 >>3<< else >>x<< end >>", "3"),
            ("<< range inputs.list >>[<< . >>]<< end >>", "[a][b]"),
            ("<< range $i, $v := inputs.list >><< $i >><< $v >><< end >>", "0a1b"),
            ("<< range $k, $v := inputs.map >><< $k >>=<< $v >>;<< end >>", "x=1;y=z;"),
            ("<< $x := inputs.n >><< $x >>", "3"),
            ("<< with inputs.empty >>a<< else >>b<< end >>", "b"),
            ("<< with inputs.map >><< .y >><< end >>", "z"),
            ("<< inputs.empty | default \"d\" >>", "d"),
            ("<< (inputs.map).y >>", "z"),
            ("<< printf \"%s-%d\" inputs.app inputs.n >>", "Shop One-3"),
            ("<< inputs.map | toYaml | nindent 2 >>", "\n  x: 1\n  \"y\": z\n  "),
            ("<</* nothing */>>x", "x"),
            ("<< inputs.app | slugify >>", "shop-one"),
            ("<< and inputs.on (eq inputs.n 3) >>", "true"),
            ("<< \"a >> b\" >>", "a >> b"),
            ("<< index inputs.list 1 >>", "b"),
        ];
        for (template, expected) in cases {
            assert_eq!(made(template).as_deref(), Ok(expected), "{template}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let cases = [
            ("<< inputs.other >>", "map has no entry for key \"other\": `<< inputs.other >>`"),
            ("<< inputs.app", "unclosed action: `<< inputs.app`"),
            ("<< if inputs.on >>x", "a block has no `<< end >>`"),
            ("<< fancy 1 >>", "function \"fancy\" is not known here: `<< fancy 1 >>`"),
            ("<< template \"x\" >>", "`<< template >>` is not known here"),
            ("<< $x >>", "undefined variable $x: `<< $x >>`"),
        ];
        for (template, expected) in cases {
            assert_eq!(made(template), Err(expected.to_owned()), "{template}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[<>\\- a-c.$|()\"`=:/*0-9é]{0,60}") {
            let _ = made(&text);
        }
    }
}
