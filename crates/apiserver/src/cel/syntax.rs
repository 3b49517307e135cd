//! From words to an expression tree. Macros become nodes of their own.

use std::sync::Arc;

use super::error::Issue;
use super::token::{Kind as Word, Token, tokens};
use super::value::Value;

/// A node and where messages about it point.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    pub at: usize,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Literal(Value),
    Ident(Arc<str>),
    /// `operand.field`; with `optional` `operand.?field`.
    Select {
        operand: Box<Expr>,
        field: Arc<str>,
        optional: bool,
    },
    /// `has(operand.field)`
    Has {
        operand: Box<Expr>,
        field: Arc<str>,
    },
    /// `operand[index]`; with `optional` `operand[?index]`.
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    Call {
        function: Arc<str>,
        target: Option<Box<Expr>>,
        arguments: Vec<Expr>,
    },
    /// An operator by its CEL name: `_+_`, `-_`, `@in`.
    Operator {
        name: &'static str,
        operands: Vec<Expr>,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Items, each with whether it is optional (`[?x]`).
    List(Vec<(Expr, bool)>),
    Map(Vec<(Expr, Expr, bool)>),
    Struct {
        name: Arc<str>,
        fields: Vec<Field>,
    },
    Macro(Box<Macro>),
}

/// A field of a message: its name, its value, whether it is optional, the place of its colon.
pub(super) type Field = (Arc<str>, Expr, bool, usize);

/// A loop over a list or map.
#[derive(Debug, Clone)]
pub(super) struct Macro {
    pub name: MacroName,
    pub target: Expr,
    pub variable: Arc<str>,
    /// The value beside the index or key, in the two-variable forms.
    pub second: Option<Arc<str>>,
    /// The condition, where the macro has one.
    pub filter: Option<Expr>,
    /// What is computed (or tested) for each.
    pub body: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MacroName {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformList,
    TransformMap,
    TransformMapEntry,
    OptMap,
    OptFlatMap,
    SortBy,
}

const RESERVED: [&str; 14] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
];
const RESERVED_TOO: [&str; 4] = ["var", "void", "while", "in"];
const DEEPEST: usize = 250;

fn reserved(name: &str) -> bool {
    RESERVED.contains(&name) || RESERVED_TOO.contains(&name)
}

/// Parses an expression.
pub(super) fn parse(source: &str) -> Result<Expr, Vec<Issue>> {
    let (tokens, mut issues) = tokens(source);
    let mut parser = Parser { tokens, next: 0, depth: 0 };
    match parser.expression() {
        Ok(expr) if parser.peek().kind == Word::End && issues.is_empty() => return Ok(expr),
        Ok(_) if parser.peek().kind == Word::End => {}
        Ok(_) => issues.push(parser.left_over()),
        Err(issue) => issues.push(issue),
    }
    Err(issues)
}

const OPERAND: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

type Parsed = Result<Expr, Issue>;

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(&self.peek().kind, Word::Sign(s) if *s == sign)
    }

    fn eat(&mut self, sign: &str) -> Option<usize> {
        let at = self.peek().at;
        self.is(sign).then(|| {
            self.next += 1;
            at
        })
    }

    fn expect(&mut self, sign: &str) -> Result<usize, Issue> {
        self.eat(sign).ok_or_else(|| self.unexpected(&format!("'{sign}'")))
    }

    fn unexpected(&self, expected: &str) -> Issue {
        let token = self.peek();
        let text = &token.text;
        Issue::new(
            token.at,
            if expected.starts_with('\'') && token.kind == Word::End {
                format!("Syntax error: missing {expected} at '{text}'")
            } else {
                format!("Syntax error: mismatched input '{text}' expecting {expected}")
            },
        )
    }

    /// One word too many is told apart from many.
    fn left_over(&self) -> Issue {
        let token = self.peek();
        let last = self.tokens.get(self.next + 1).is_none_or(|next| next.kind == Word::End);
        let verdict = if last { "extraneous" } else { "mismatched" };
        Issue::new(
            token.at,
            format!("Syntax error: {verdict} input '{}' expecting <EOF>", token.text),
        )
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Issue::new(
                self.peek().at,
                format!("expression recursion limit exceeded: {DEEPEST}"),
            ));
        }
        let result = self.conditional();
        self.depth -= 1;
        result
    }

    fn conditional(&mut self) -> Parsed {
        let condition = self.or()?;
        let Some(at) = self.eat("?") else { return Ok(condition) };
        let yes = self.or()?;
        self.expect(":")?;
        let no = self.expression()?;
        Ok(Expr { at, kind: Kind::Conditional(Box::new(condition), Box::new(yes), Box::new(no)) })
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while let Some(at) = self.eat("||") {
            let right = self.and()?;
            left = Expr { at, kind: Kind::Or(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.relation()?;
        while let Some(at) = self.eat("&&") {
            let right = self.relation()?;
            left = Expr { at, kind: Kind::And(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    fn operators(
        &mut self,
        signs: &[(&str, &'static str)],
        operand: impl Fn(&mut Self) -> Parsed,
    ) -> Parsed {
        let mut left = operand(self)?;
        while let Some(name) = signs.iter().find(|(sign, _)| self.is(sign)).map(|(_, name)| *name) {
            let at = self.advance().at;
            let right = operand(self)?;
            left = Expr { at, kind: Kind::Operator { name, operands: vec![left, right] } };
        }
        Ok(left)
    }

    fn relation(&mut self) -> Parsed {
        const SIGNS: [(&str, &str); 7] = [
            ("<", "_<_"),
            ("<=", "_<=_"),
            (">=", "_>=_"),
            (">", "_>_"),
            ("==", "_==_"),
            ("!=", "_!=_"),
            ("in", "@in"),
        ];
        self.operators(&SIGNS, Self::sum)
    }

    fn sum(&mut self) -> Parsed {
        self.operators(&[("+", "_+_"), ("-", "_-_")], Self::product)
    }

    fn product(&mut self) -> Parsed {
        self.operators(&[("*", "_*_"), ("/", "_/_"), ("%", "_%_")], Self::unary)
    }

    fn unary(&mut self) -> Parsed {
        if let Some(at) = self.eat("!") {
            let mut times = 1;
            while self.eat("!").is_some() {
                times += 1;
            }
            let operand = self.member()?;
            if times % 2 == 0 {
                return Ok(operand);
            }
            return Ok(Expr { at, kind: Kind::Operator { name: "!_", operands: vec![operand] } });
        }
        if self.is("-") {
            let at = self.peek().at;
            if let Some(Token { kind: Word::Literal(number), .. }) = self.tokens.get(self.next + 1)
            {
                let negative = match number {
                    Value::Int(i) => Some(Value::Int(-i)),
                    Value::Uint(u) if *u == i64::MAX as u64 + 1 => Some(Value::Int(i64::MIN)),
                    Value::Double(d) => Some(Value::Double(-d)),
                    _ => None,
                };
                if let Some(value) = negative {
                    self.next += 2;
                    return self.rest_of_member(Expr { at, kind: Kind::Literal(value) });
                }
            }
            let mut times = 0;
            while self.eat("-").is_some() {
                times += 1;
            }
            let operand = self.member()?;
            if times % 2 == 0 {
                return Ok(operand);
            }
            return Ok(Expr { at, kind: Kind::Operator { name: "-_", operands: vec![operand] } });
        }
        self.member()
    }

    fn member(&mut self) -> Parsed {
        let primary = self.primary()?;
        self.rest_of_member(primary)
    }

    fn rest_of_member(&mut self, mut left: Expr) -> Parsed {
        let mut length = 0;
        loop {
            length += 1;
            if length > DEEPEST {
                return Err(Issue::new(
                    self.peek().at,
                    format!("expression recursion limit exceeded: {DEEPEST}"),
                ));
            }
            if let Some(at) = self.eat(".") {
                let optional = self.eat("?").is_some();
                let token = self.advance();
                let Word::Ident(field) = token.kind else {
                    let what = if token.kind == Word::End {
                        "no viable alternative at input '.'".to_owned()
                    } else {
                        format!("mismatched input '{}' expecting IDENTIFIER", token.text)
                    };
                    return Err(Issue::new(token.at, format!("Syntax error: {what}")));
                };
                if !optional && let Some(open) = self.eat("(") {
                    let arguments = self.arguments(")")?;
                    left = member_call(open, left, field, arguments)?;
                    continue;
                }
                left = Expr { at, kind: Kind::Select { operand: Box::new(left), field, optional } };
            } else if let Some(at) = self.eat("[") {
                let optional = self.eat("?").is_some();
                let index = self.expression()?;
                self.expect("]")?;
                left = Expr {
                    at,
                    kind: Kind::Index { operand: Box::new(left), index: Box::new(index), optional },
                };
            } else if self.is("{")
                && let Some(name) = dotted(&left)
            {
                let at = self.advance().at;
                left =
                    Expr { at, kind: Kind::Struct { name: name.into(), fields: self.fields()? } };
            } else {
                return Ok(left);
            }
        }
    }

    fn arguments(&mut self, close: &'static str) -> Result<Vec<Expr>, Issue> {
        let mut out = Vec::new();
        if self.eat(close).is_some() {
            return Ok(out);
        }
        loop {
            out.push(self.expression()?);
            if self.eat(",").is_some() {
                continue;
            }
            self.expect(close)?;
            return Ok(out);
        }
    }

    fn fields(&mut self) -> Result<Vec<Field>, Issue> {
        let mut out = Vec::new();
        while self.eat("}").is_none() {
            let optional = self.eat("?").is_some();
            let token = self.advance();
            let Word::Ident(name) = token.kind else {
                self.next -= 1;
                return Err(self.unexpected("IDENTIFIER"));
            };
            let colon = self.expect(":")?;
            out.push((name, self.expression()?, optional, colon));
            if self.eat(",").is_none() {
                self.expect("}")?;
                break;
            }
        }
        Ok(out)
    }

    fn primary(&mut self) -> Parsed {
        if self.eat("(").is_some() {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if let Some(at) = self.eat("[") {
            let mut items = Vec::new();
            while self.eat("]").is_none() {
                let optional = self.eat("?").is_some();
                items.push((self.expression()?, optional));
                if self.eat(",").is_none() {
                    self.expect("]")?;
                    break;
                }
            }
            return Ok(Expr { at, kind: Kind::List(items) });
        }
        if let Some(at) = self.eat("{") {
            let mut entries = Vec::new();
            while self.eat("}").is_none() {
                let optional = self.eat("?").is_some();
                let key = self.expression()?;
                self.expect(":")?;
                entries.push((key, self.expression()?, optional));
                if self.eat(",").is_none() {
                    self.expect("}")?;
                    break;
                }
            }
            return Ok(Expr { at, kind: Kind::Map(entries) });
        }
        let leading = self.eat(".").is_some();
        let token = self.advance();
        match token.kind {
            Word::Literal(Value::Uint(u))
                if u == i64::MAX as u64 + 1 && !token.text.ends_with(['u', 'U']) =>
            {
                Err(Issue::new(token.at, "invalid int literal"))
            }
            Word::Literal(value) if !leading => {
                Ok(Expr { at: token.at, kind: Kind::Literal(value) })
            }
            Word::Ident(name) => {
                if let Some(open) = self.eat("(") {
                    let arguments = self.arguments(")")?;
                    return global_call(open, name, arguments);
                }
                if reserved(&name) {
                    return Err(Issue::new(token.at, format!("reserved identifier: {name}")));
                }
                Ok(Expr { at: token.at, kind: Kind::Ident(name) })
            }
            _ => {
                self.next -= 1;
                Err(self.unexpected(OPERAND))
            }
        }
    }
}

/// `a.b.c` if the expression is such a chain.
pub(super) fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Ident(name) => Some(name.to_string()),
        Kind::Select { operand, field, optional: false } => {
            Some(format!("{}.{field}", dotted(operand)?))
        }
        _ => None,
    }
}

fn global_call(at: usize, function: Arc<str>, mut arguments: Vec<Expr>) -> Parsed {
    if &*function == "has" && arguments.len() == 1 {
        let argument = arguments.remove(0);
        return match argument.kind {
            Kind::Select { operand, field, optional: false } => {
                Ok(Expr { at, kind: Kind::Has { operand, field } })
            }
            _ => Err(Issue::new(argument.at, "invalid argument to has() macro")),
        };
    }
    Ok(Expr { at, kind: Kind::Call { function, target: None, arguments } })
}

fn member_call(at: usize, target: Expr, function: Arc<str>, mut arguments: Vec<Expr>) -> Parsed {
    use MacroName as M;
    let (name, variables) = match (&*function, arguments.len()) {
        ("all", 2) => (M::All, 1),
        ("exists", 2) => (M::Exists, 1),
        ("exists_one" | "existsOne", 2) => (M::ExistsOne, 1),
        ("map", 2 | 3) => (M::Map, 1),
        ("filter", 2) => (M::Filter, 1),
        ("all", 3) => (M::All, 2),
        ("exists", 3) => (M::Exists, 2),
        ("exists_one" | "existsOne", 3) => (M::ExistsOne, 2),
        ("transformList", 3 | 4) => (M::TransformList, 2),
        ("transformMap", 3 | 4) => (M::TransformMap, 2),
        ("transformMapEntry", 3 | 4) => (M::TransformMapEntry, 2),
        ("optMap", 2) => (M::OptMap, 1),
        ("optFlatMap", 2) => (M::OptFlatMap, 1),
        ("sortBy", 2) => (M::SortBy, 1),
        _ => {
            return Ok(Expr {
                at,
                kind: Kind::Call { function, target: Some(Box::new(target)), arguments },
            });
        }
    };
    let body = arguments.pop();
    let filter = if arguments.len() > variables { arguments.pop() } else { None };
    let mut names = Vec::new();
    for argument in arguments {
        match argument.kind {
            Kind::Ident(name) => names.push(name),
            _ => return Err(Issue::new(argument.at, "argument must be a simple name")),
        }
    }
    let (Some(body), Some(variable)) = (body, names.first().cloned()) else {
        return Err(Issue::new(at, "argument must be a simple name"));
    };
    let second = names.get(1).cloned();
    Ok(Expr {
        at,
        kind: Kind::Macro(Box::new(Macro { name, target, variable, second, filter, body })),
    })
}
