//! The language of Flux's substitutions, read exactly as Flux reads it: only `${…}` expands, `$$` is
//! one `$`, and what bash would do differently is done as Flux does it.

use std::sync::LazyLock;

use regex::Regex;

/// How deep expressions may be nested.
const DEEPEST: usize = 500;

/// One piece of a text with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text that stays.
    Text(String),
    /// `${…}`.
    Expansion(Expansion),
}

/// What stands in one pair of braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expansion {
    /// The variable.
    pub name: String,
    /// What is done with it: `:=`, `^^`, `/`; empty for its value alone.
    pub operator: String,
    /// What the operator works with.
    pub arguments: Vec<Piece>,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(super) struct Unreadable {
    /// Flux's own words.
    pub reason: &'static str,
    /// Where the expression begins, in bytes.
    pub at: usize,
}

const BAD_SUBSTITUTION: &str = "bad substitution";
const MISSING_BRACE: &str = "missing closing brace";
const NO_NAME: &str = "unable to parse variable name";
const BAD_ARGUMENT: &str = "unable to parse substitution within function";
const BAD_DEFAULT: &str = "unable to parse default function";
const TOO_DEEP: &str = "expressions are nested too deeply";

/// Reads a text.
pub(super) fn parse(text: &str) -> Result<Vec<Piece>, Unreadable> {
    let mut scanner = Scanner::new(text);
    let mut pieces = Vec::new();
    let mut begins = 0;
    loop {
        scanner.expect(
            Accept::Anything,
            Mode { word: true, opening: true, escape: true, ..Mode::NONE },
        );
        scanner.escape_backslash = false;
        match scanner.scan() {
            Token::End => return Ok(pieces),
            Token::Word => pieces.push(Piece::Text(scanner.token())),
            Token::Opening => {
                begins = scanner.start.max(begins);
                match scanner.expansion(0) {
                    Ok(expansion) => pieces.push(Piece::Expansion(expansion)),
                    Err(reason) => return Err(Unreadable { reason, at: begins }),
                }
            }
            Token::Closing | Token::Other => {
                return Err(Unreadable { reason: BAD_SUBSTITUTION, at: begins });
            }
        }
    }
}

/// Which characters belong to a word, given the character and how many bytes the word has with it.
#[derive(Clone, Copy)]
enum Accept {
    Anything,
    Name,
    Colons,
    OneColon,
    OneHash,
    OneEqual,
    Hashes,
    Percents,
    Default,
    Replace,
    Casing,
    Slashes,
    NotSlash,
    NotClosing,
    NotColonNorClosing,
}

impl Accept {
    fn takes(self, character: char, length: usize) -> bool {
        match self {
            Self::Anything => true,
            Self::Name => is_name(character),
            Self::Colons => character == ':',
            Self::OneColon => character == ':' && length == 1,
            Self::OneHash => character == '#' && length == 1,
            Self::OneEqual => character == '=' && length == 1,
            Self::Hashes => character == '#' && length < 3,
            Self::Percents => character == '%' && length < 3,
            Self::Default => {
                (length == 1 && character == ':') || (length == 2 && "=-?+".contains(character))
            }
            Self::Replace => {
                (length == 1 && character == '/') || (length == 2 && "/#%".contains(character))
            }
            Self::Casing => (character == ',' || character == '^') && length < 3,
            Self::Slashes => character == '/',
            Self::NotSlash => character != '/',
            Self::NotClosing => character != '}',
            Self::NotColonNorClosing => character != ':' && character != '}',
        }
    }
}

fn is_name(character: char) -> bool {
    static LETTER_OR_DIGIT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}]$").ok());
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    let mut buffer = [0; 4];
    let text = character.encode_utf8(&mut buffer);
    LETTER_OR_DIGIT.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// What the scanner looks for.
#[derive(Clone, Copy)]
struct Mode {
    word: bool,
    opening: bool,
    closing: bool,
    escape: bool,
}

impl Mode {
    const NONE: Self = Self { word: false, opening: false, closing: false, escape: false };
    const WORD: Self = Self { word: true, ..Self::NONE };
    const CLOSING: Self = Self { closing: true, ..Self::NONE };
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Word,
    Opening,
    Closing,
    Other,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    start: usize,
    width: usize,
    /// Places of the escaping characters inside of the current word.
    escapes: Vec<usize>,
    mode: Mode,
    accept: Accept,
    escape_backslash: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            start: 0,
            width: 0,
            escapes: Vec::new(),
            mode: Mode::NONE,
            accept: Accept::Anything,
            escape_backslash: false,
        }
    }

    fn expect(&mut self, accept: Accept, mode: Mode) {
        self.accept = accept;
        self.mode = mode;
    }

    /// The next character; a zero is the end, as it is for Flux.
    fn read(&mut self) -> char {
        let Some(character) = self.text[self.at..].chars().next() else {
            self.width = 0;
            return '\0';
        };
        self.width = character.len_utf8();
        self.at += self.width;
        character
    }

    fn unread(&mut self) {
        self.at -= self.width;
    }

    fn peek(&mut self) -> char {
        let character = self.read();
        self.unread();
        character
    }

    fn token(&self) -> String {
        let mut token = String::with_capacity(self.at - self.start);
        let mut from = self.start;
        for escape in &self.escapes {
            token.push_str(&self.text[from..*escape]);
            from = escape + 1;
        }
        token.push_str(&self.text[from..self.at]);
        token
    }

    fn scan(&mut self) -> Token {
        self.start = self.at;
        self.escapes.clear();
        let character = self.read();
        if character == '\0' {
            Token::End
        } else if self.opens(character) {
            Token::Opening
        } else if self.mode.closing && character == '}' {
            Token::Closing
        } else if self.word(character) {
            Token::Word
        } else {
            Token::Other
        }
    }

    fn word(&mut self, first: char) -> bool {
        if !self.mode.word {
            return false;
        }
        if self.escapes(first) {
            self.skip();
        } else if !self.accept.takes(first, self.at - self.start) {
            return false;
        }
        loop {
            let character = self.read();
            if character == '\0' {
                self.unread();
                return true;
            }
            if self.opens(character) {
                self.at -= 2;
                return true;
            }
            if self.escapes(character) {
                self.skip();
            } else if !self.accept.takes(character, self.at - self.start) {
                self.at -= character.len_utf8();
                return true;
            }
        }
    }

    /// The character just read is dropped, the next one is taken as it is.
    fn skip(&mut self) {
        self.escapes.push(self.at - 1);
        self.at += 1;
    }

    fn opens(&mut self, character: char) -> bool {
        if !self.mode.opening || character != '$' {
            return false;
        }
        if self.read() == '{' {
            return true;
        }
        self.unread();
        false
    }

    fn escapes(&mut self, character: char) -> bool {
        if !self.mode.escape {
            return false;
        }
        match character {
            '$' => self.peek() == '$',
            '\\' if self.escape_backslash => matches!(self.peek(), '/' | '\\'),
            _ => false,
        }
    }

    /// What follows `${`.
    fn expansion(&mut self, depth: usize) -> Result<Expansion, &'static str> {
        if depth > DEEPEST {
            return Err(TOO_DEEP);
        }
        self.escape_backslash = true;
        if self.peek() == '#' {
            let operator = self.word_of(Accept::OneHash).ok_or(BAD_SUBSTITUTION)?;
            let name = self.word_of(Accept::Name).ok_or(BAD_SUBSTITUTION)?;
            return self.close(Expansion { name, operator, arguments: Vec::new() });
        }
        let name = self.word_of(Accept::Name).ok_or(NO_NAME)?;
        match self.peek() {
            ':' => {
                self.read();
                let next = self.peek();
                self.at -= 1;
                if next == '\0' || !next.is_ascii() {
                    // Flux steps back by the width of the wrong character here.
                    Err(BAD_SUBSTITUTION)
                } else if "=-?+".contains(next) {
                    self.default(name, depth)
                } else {
                    self.substring(name, depth)
                }
            }
            '=' => self.default(name, depth),
            ',' | '^' => {
                let operator = self.word_of(Accept::Casing).ok_or(BAD_SUBSTITUTION)?;
                self.close(Expansion { name, operator, arguments: Vec::new() })
            }
            '/' => self.replace(name, depth),
            '#' => self.remove(name, Accept::Hashes, depth),
            '%' => self.remove(name, Accept::Percents, depth),
            _ => {
                self.expect(Accept::Name, Mode::CLOSING);
                match self.scan() {
                    Token::Closing => {
                        Ok(Expansion { name, operator: String::new(), arguments: Vec::new() })
                    }
                    _ => Err(MISSING_BRACE),
                }
            }
        }
    }

    fn word_of(&mut self, accept: Accept) -> Option<String> {
        self.expect(accept, Mode::WORD);
        (self.scan() == Token::Word).then(|| self.token())
    }

    fn argument(
        &mut self,
        accept: Accept,
        escape: bool,
        depth: usize,
    ) -> Result<Piece, &'static str> {
        self.expect(accept, Mode { word: true, opening: true, escape, ..Mode::NONE });
        match self.scan() {
            Token::Opening => self.expansion(depth + 1).map(Piece::Expansion),
            Token::Word => Ok(Piece::Text(self.token())),
            _ => Err(BAD_ARGUMENT),
        }
    }

    fn close(&mut self, expansion: Expansion) -> Result<Expansion, &'static str> {
        self.mode = Mode::CLOSING;
        if self.scan() == Token::Closing { Ok(expansion) } else { Err(BAD_SUBSTITUTION) }
    }

    fn default(&mut self, name: String, depth: usize) -> Result<Expansion, &'static str> {
        let accept = if self.peek() == '=' { Accept::OneEqual } else { Accept::Default };
        let operator = self.word_of(accept).ok_or(BAD_DEFAULT)?;
        let mut arguments = Vec::new();
        while self.peek() != '}' {
            arguments.push(self.argument(Accept::NotClosing, false, depth)?);
        }
        self.close(Expansion { name, operator, arguments })
    }

    fn substring(&mut self, name: String, depth: usize) -> Result<Expansion, &'static str> {
        let operator = self.word_of(Accept::OneColon).ok_or(BAD_SUBSTITUTION)?;
        let mut arguments = vec![self.argument(Accept::NotColonNorClosing, false, depth)?];
        self.expect(Accept::Colons, Mode { closing: true, ..Mode::WORD });
        match self.scan() {
            Token::Closing => return Ok(Expansion { name, operator, arguments }),
            Token::Word => {}
            _ => return Err(BAD_SUBSTITUTION),
        }
        arguments.push(self.argument(Accept::NotClosing, false, depth)?);
        self.close(Expansion { name, operator, arguments })
    }

    fn remove(
        &mut self,
        name: String,
        accept: Accept,
        depth: usize,
    ) -> Result<Expansion, &'static str> {
        let operator = self.word_of(accept).ok_or(BAD_SUBSTITUTION)?;
        let arguments = vec![self.argument(Accept::NotClosing, false, depth)?];
        self.close(Expansion { name, operator, arguments })
    }

    fn replace(&mut self, name: String, depth: usize) -> Result<Expansion, &'static str> {
        let operator = self.word_of(Accept::Replace).ok_or(BAD_SUBSTITUTION)?;
        let mut arguments = vec![self.argument(Accept::NotSlash, true, depth)?];
        self.word_of(Accept::Slashes).ok_or(BAD_SUBSTITUTION)?;
        if self.peek() != '}' {
            arguments.push(self.argument(Accept::NotClosing, true, depth)?);
        }
        self.close(Expansion { name, operator, arguments })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    fn expansion(name: &str, operator: &str, arguments: Vec<Piece>) -> Piece {
        Piece::Expansion(Expansion { name: name.into(), operator: operator.into(), arguments })
    }

    #[test]
    fn expressions_are_read() {
        let cases: &[(&str, Vec<Piece>)] = &[
            ("", vec![]),
            ("plain $v", vec![text("plain $v")]),
            ("a$$b", vec![text("a$b")]),
            ("$${v}", vec![text("${v}")]),
            ("$$${v}", vec![text("$"), expansion("v", "", vec![])]),
            ("${v}!", vec![expansion("v", "", vec![]), text("!")]),
            ("${v:=}", vec![expansion("v", ":=", vec![])]),
            ("${v:=d}", vec![expansion("v", ":=", vec![text("d")])]),
            (
                "${v:=a${w}b}",
                vec![expansion("v", ":=", vec![text("a"), expansion("w", "", vec![]), text("b")])],
            ),
            ("${v:=\"4\"}", vec![expansion("v", ":=", vec![text("\"4\"")])]),
            ("${v:1:2}", vec![expansion("v", ":", vec![text("1"), text("2")])]),
            (r"${v/\//-}", vec![expansion("v", "/", vec![text("/"), text("-")])]),
            ("${v/a/}", vec![expansion("v", "/", vec![text("a")])]),
            ("${#v}", vec![expansion("v", "#", vec![])]),
            ("${v##*/}", vec![expansion("v", "##", vec![text("*/")])]),
            ("${v,,}", vec![expansion("v", ",,", vec![])]),
        ];
        for (source, expected) in cases {
            assert_eq!(parse(source).as_ref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_where() {
        let cases = [
            ("${v-d}", MISSING_BRACE, 0),
            ("a ${a.b}", MISSING_BRACE, 2),
            ("${a} ${", NO_NAME, 5),
            ("${}", NO_NAME, 0),
            ("${ a }", NO_NAME, 0),
            ("${v:=d", BAD_ARGUMENT, 0),
            ("${v:}", BAD_ARGUMENT, 0),
            ("${#}", BAD_SUBSTITUTION, 0),
            ("${v/a}", BAD_SUBSTITUTION, 0),
            ("${v^^^}", BAD_SUBSTITUTION, 0),
        ];
        for (source, reason, at) in cases {
            assert_eq!(parse(source), Err(Unreadable { reason, at }), "{source}");
        }
        let deep = "${a=".repeat(100_000);
        assert_eq!(parse(&deep), Err(Unreadable { reason: TOO_DEEP, at: 0 }));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[ab$:/#%{}=\\\\^,é\\-\\x00]{0,40}") {
            let _ = parse(&text);
        }

        #[test]
        fn text_without_dollars_stays(text in "[^$\\x00]{1,40}") {
            prop_assert_eq!(parse(&text), Ok(vec![Piece::Text(text.clone())]));
        }
    }
}
