//! Keys and values of a generator.

use crate::diagnostic::{Diagnostic, Result};
use crate::kustomize::Loader;
use crate::kustomize::kustomization::GeneratorArguments;
use crate::yaml::{Mark, Text};

/// Where upstream's reader of lines stops without a word.
const LONGEST_LINE: usize = 64 << 10;

/// A key and its value.
pub(super) struct Pair {
    /// The key.
    pub key: Text,
    /// The value, which need not be text.
    pub value: Vec<u8>,
}

/// All pairs of a generator.
pub(super) fn read(arguments: &GeneratorArguments, loader: &Loader<'_>) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for (path, mark) in &arguments.environments {
        let source = loader.read(path).map_err(|error| placed(error, path, *mark))?;
        lines(&source.blob.bytes, &mut pairs)
            .map_err(|error| error.in_file(source.path.clone()))?;
    }
    for (source, mark) in &arguments.literals {
        pairs.push(literal(source).map_err(|error| error.at(*mark))?);
    }
    for (source, mark) in &arguments.files {
        let (key, path) = file(source).map_err(|error| error.at(*mark))?;
        let source = loader.read(path).map_err(|error| placed(error, path, *mark))?;
        pairs.push(Pair { key: key.into(), value: source.blob.bytes.to_vec() });
    }
    Ok(pairs)
}

fn placed(error: Diagnostic, path: &str, mark: Mark) -> Diagnostic {
    error.at(mark).while_doing(format!("reading '{path}'"))
}

fn literal(source: &str) -> Result<Pair> {
    match source.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok(Pair { key: key.into(), value: unquoted(value).into() })
        }
        _ => Err(Diagnostic::new(format!("invalid literal source {source}, expected key=value"))),
    }
}

/// The text without the quotes around it.
fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// The key and the path of a file.
fn file(source: &str) -> Result<(&str, &str)> {
    let Some((key, path)) = source.split_once('=') else {
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or(source);
        return Ok((name, source));
    };
    if path.contains('=') {
        return Err(Diagnostic::new(format!(
            "source \"{source}\" key name or file path contains '='"
        )));
    }
    if key.is_empty() {
        return Err(Diagnostic::new(format!(
            "missing key name for file path \"{path}\" in source \"{source}\""
        )));
    }
    if path.is_empty() {
        return Err(Diagnostic::new(format!(
            "missing file path for key name \"{key}\" in source \"{source}\""
        )));
    }
    Ok((key, path))
}

/// The pairs of a file with one on each line.
fn lines(content: &[u8], pairs: &mut Vec<Pair>) -> Result<()> {
    let mut rest = content;
    let mut number = 0;
    while !rest.is_empty() {
        number += 1;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) =
            end.map_or((rest, &rest[rest.len()..]), |end| (&rest[..end], &rest[end + 1..]));
        if line.len() >= LONGEST_LINE {
            break;
        }
        rest = after;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(line) = std::str::from_utf8(line) else {
            let mark = Mark { line: number, column: 1, ..Mark::default() };
            return Err(Diagnostic::new(format!("line {number} has invalid utf8 bytes")).at(mark));
        };
        let line = if number == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        let line = line.trim_start();
        if line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            pairs.push(Pair { key: key.into(), value: value.into() });
        }
    }
    Ok(())
}
