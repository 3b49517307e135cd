//! YAML texts of many styles for the same values.

use fastrand::Rng;

/// A value as it will be written. Scalars are YAML already.
#[derive(Clone, Debug)]
pub enum Yaml {
    /// One line of YAML.
    Scalar(String),
    /// A literal or folded text: its header and its lines.
    Block(&'static str, Vec<String>),
    /// Keys and values.
    Mapping(Vec<(String, Yaml)>),
    /// Values.
    List(Vec<Yaml>),
    /// A value with an anchor.
    Anchor(&'static str, Box<Yaml>),
}

impl From<&str> for Yaml {
    fn from(text: &str) -> Self {
        Self::Scalar(text.to_owned())
    }
}

impl From<String> for Yaml {
    fn from(text: String) -> Self {
        Self::Scalar(text)
    }
}

impl From<Vec<Yaml>> for Yaml {
    fn from(items: Vec<Yaml>) -> Self {
        Self::List(items)
    }
}

/// A mapping.
pub fn map<const N: usize>(entries: [(&str, Yaml); N]) -> Yaml {
    Yaml::Mapping(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

impl Yaml {
    /// Adds or replaces a field of a mapping.
    pub fn set(&mut self, key: &str, value: Yaml) {
        if let Self::Mapping(entries) = self {
            entries.retain(|(name, _)| name != key);
            entries.push((key.to_owned(), value));
        }
    }

    /// A field of a mapping, made if it is not there.
    pub fn field(&mut self, key: &str) -> &mut Yaml {
        if !matches!(self, Self::Mapping(_)) {
            *self = Self::Mapping(Vec::new());
        }
        let Self::Mapping(entries) = self else { unreachable!("it was made one above") };
        let place = entries.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            entries.push((key.to_owned(), Self::Mapping(Vec::new())));
            entries.len() - 1
        });
        &mut entries[place].1
    }

    fn fits_on_a_line(&self) -> bool {
        match self {
            Self::Scalar(text) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
                let quoted = text.len() > 1
                    && text.ends_with(['"', '\''])
                    && text.starts_with(['"', '\''])
                    && !text.contains(['\\', '{', '[']);
                quoted || !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
            }
            Self::Mapping(entries) => {
                entries.len() < 5 && entries.iter().all(|(_, value)| value.fits_on_a_line())
            }
            Self::List(items) => items.len() < 5 && items.iter().all(Self::fits_on_a_line),
            Self::Block(..) | Self::Anchor(..) => false,
        }
    }

    fn on_a_line(&self) -> String {
        match self {
            Self::Scalar(text) => text.clone(),
            Self::Mapping(entries) => {
                let inner: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", value.on_a_line()))
                    .collect();
                format!("{{{}}}", inner.join(", "))
            }
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::on_a_line).collect::<Vec<_>>().join(", "))
            }
            Self::Block(..) | Self::Anchor(..) => String::new(),
        }
    }
}

/// How one document is written.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    wide: bool,
    flow: f32,
    comments: f32,
    step: usize,
}

impl Style {
    /// Some style.
    pub fn some(rng: &mut Rng) -> Self {
        Self {
            wide: rng.bool(),
            flow: [0.0, 0.0, 0.1, 0.4][rng.usize(..4)],
            comments: [0.0, 0.0, 0.05][rng.usize(..3)],
            step: [2, 2, 2, 4][rng.usize(..4)],
        }
    }

    /// The document's text.
    pub fn write(self, rng: &mut Rng, value: &Yaml) -> String {
        let mut text = String::new();
        self.value(rng, value, 0, &mut text);
        text
    }

    /// Writes what follows a key or a dash; `indent` is where nested lines begin.
    fn value(self, rng: &mut Rng, value: &Yaml, indent: usize, out: &mut String) {
        match value {
            Yaml::Scalar(text) => {
                out.push_str(text);
                self.line_end(rng, out);
            }
            Yaml::Block(header, lines) => {
                out.push_str(header);
                out.push('\n');
                for line in lines {
                    if line.is_empty() {
                        out.push('\n');
                    } else {
                        out.push_str(&" ".repeat(indent.max(1)));
                        out.push_str(line);
                        out.push('\n');
                    }
                }
            }
            Yaml::Anchor(name, inner) => {
                out.push('&');
                out.push_str(name);
                match &**inner {
                    Yaml::Scalar(_) | Yaml::Block(..) => {
                        out.push(' ');
                        self.value(rng, inner, indent, out);
                    }
                    inner => {
                        out.push('\n');
                        self.nested(rng, inner, indent, out);
                    }
                }
            }
            Yaml::Mapping(entries) if entries.is_empty() => {
                out.push_str("{}");
                self.line_end(rng, out);
            }
            Yaml::List(items) if items.is_empty() => {
                out.push_str("[]");
                self.line_end(rng, out);
            }
            value => {
                if indent > 0 && value.fits_on_a_line() && rng.f32() < self.flow {
                    out.push_str(&value.on_a_line());
                    self.line_end(rng, out);
                    return;
                }
                if indent > 0 {
                    out.push('\n');
                }
                self.nested(rng, value, indent, out);
            }
        }
    }

    fn nested(self, rng: &mut Rng, value: &Yaml, indent: usize, out: &mut String) {
        match value {
            Yaml::Mapping(entries) => {
                for (key, value) in entries {
                    out.push_str(&" ".repeat(indent));
                    self.entry(rng, key, value, indent, out);
                }
            }
            Yaml::List(items) => {
                for item in items {
                    self.item(rng, item, indent, out);
                }
            }
            other => self.value(rng, other, indent, out),
        }
    }

    fn entry(self, rng: &mut Rng, key: &str, value: &Yaml, indent: usize, out: &mut String) {
        if rng.f32() < self.comments {
            out.push_str("# a word about it\n");
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(key);
        out.push_str(": ");
        let bare = match value {
            Yaml::Anchor(_, inner) => inner,
            value => value,
        };
        let inner =
            if matches!(bare, Yaml::List(_)) && !self.wide { indent } else { indent + self.step };
        if matches!(bare, Yaml::List(_)) && inner == 0 {
            // The top level: a list below a key.
            let Yaml::List(items) = bare else { return };
            if items.is_empty() {
                out.push_str("[]\n");
            } else if bare.fits_on_a_line() && rng.f32() < self.flow {
                out.push_str(&bare.on_a_line());
                out.push('\n');
            } else {
                trim(out);
                if let Yaml::Anchor(name, _) = value {
                    out.push_str(" &");
                    out.push_str(name);
                }
                out.push('\n');
                self.nested(rng, bare, 0, out);
            }
            return;
        }
        let before = out.len();
        self.value(rng, value, inner, out);
        if out[before..].starts_with('\n') {
            out.remove(before - 1);
        }
    }

    fn item(self, rng: &mut Rng, item: &Yaml, indent: usize, out: &mut String) {
        out.push_str(&" ".repeat(indent));
        out.push_str("- ");
        match item {
            Yaml::Mapping(entries) if !entries.is_empty() => {
                if item.fits_on_a_line() && rng.f32() < self.flow {
                    out.push_str(&item.on_a_line());
                    self.line_end(rng, out);
                    return;
                }
                for (place, (key, value)) in entries.iter().enumerate() {
                    if place > 0 {
                        out.push_str(&" ".repeat(indent + 2));
                    }
                    self.entry(rng, key, value, indent + 2, out);
                }
            }
            Yaml::List(items) if !items.is_empty() && item.fits_on_a_line() => {
                out.push_str(&item.on_a_line());
                self.line_end(rng, out);
            }
            item => self.value(rng, item, indent + 2, out),
        }
    }

    fn line_end(self, rng: &mut Rng, out: &mut String) {
        if rng.f32() < self.comments {
            out.push_str(" # why");
        }
        out.push('\n');
    }
}

fn trim(out: &mut String) {
    while out.ends_with(' ') {
        out.pop();
    }
}
