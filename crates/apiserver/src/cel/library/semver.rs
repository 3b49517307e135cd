//! `semver('1.2.3')`

use std::cmp::Ordering;
use std::sync::Arc;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::value::{Object, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    numbers: [u64; 3],
    pre: Vec<String>,
    build: String,
}

/// Reads a version; leniently also `v1`, `1.2` and leading zeros.
pub(super) fn parse(text: &str, lenient: bool) -> Outcome {
    let text = if lenient { normalized(text) } else { text.to_owned() };
    read(&text)
        .map(|version| Value::Object(Arc::new(version) as Arc<dyn Object>))
        .map_err(EvalError::new)
}

fn normalized(text: &str) -> String {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let mut parts: Vec<String> = core
        .split('.')
        .map(|part| {
            let short = part.trim_start_matches('0');
            if short.is_empty() && !part.is_empty() { "0".to_owned() } else { short.to_owned() }
        })
        .collect();
    while parts.len() < 3 && rest.is_empty() {
        parts.push("0".into());
    }
    format!("{}{rest}", parts.join("."))
}

fn read(text: &str) -> Result<Version, String> {
    if text.is_empty() {
        return Err("Version string empty".into());
    }
    let (rest, build) = text.split_once('+').unwrap_or((text, ""));
    let (core, pre) = rest.split_once('-').map_or((rest, None), |(core, pre)| (core, Some(pre)));
    let parts: Vec<&str> = core.split('.').collect();
    let [major, minor, patch] = parts.as_slice() else {
        return Err("No Major.Minor.Patch elements found".into());
    };
    let mut numbers = [0; 3];
    for ((slot, part), name) in
        numbers.iter_mut().zip([major, minor, patch]).zip(["major", "minor", "patch"])
    {
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!("Invalid character(s) found in {name} number {part:?}"));
        }
        if part.len() > 1 && part.starts_with('0') {
            let capital = format!("{}{}", name[..1].to_uppercase(), &name[1..]);
            return Err(format!("{capital} number must not contain leading zeroes {part:?}"));
        }
        *slot = part
            .parse()
            .map_err(|_| format!("strconv.ParseUint: parsing {part:?}: value out of range"))?;
    }
    let identifier = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let pre: Vec<String> =
        pre.map(|pre| pre.split('.').map(str::to_owned).collect()).unwrap_or_default();
    for part in &pre {
        if part.is_empty() {
            return Err("Prerelease is empty".into());
        }
        if !identifier(part) {
            return Err(format!("Invalid character(s) found in prerelease {part:?}"));
        }
    }
    if text.contains('+') && !build.split('.').all(identifier) {
        return Err("Build meta data is empty".into());
    }
    Ok(Version { numbers, pre, build: build.to_owned() })
}

impl Version {
    fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => {
                    for (a, b) in self.pre.iter().zip(&other.pre) {
                        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
                            (Ok(a), Ok(b)) => a.cmp(&b),
                            (Ok(_), Err(_)) => Ordering::Less,
                            (Err(_), Ok(_)) => Ordering::Greater,
                            (Err(_), Err(_)) => a.cmp(b),
                        };
                        if order != Ordering::Equal {
                            return order;
                        }
                    }
                    self.pre.len().cmp(&other.pre.len())
                }
            }
        })
    }
}

impl Object for Version {
    fn type_name(&self) -> &'static str {
        "kubernetes.Semver"
    }

    fn identity(&self) -> Option<String> {
        Some(format!("{:?}-{}", self.numbers, self.pre.join(".")))
    }

    fn any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Option<Outcome> {
        let number =
            |place: usize| Value::Int(i64::try_from(self.numbers[place]).unwrap_or(i64::MAX));
        let order = |with: &Value| match with {
            Value::Object(object) => Some(self.compare(object.any()?.downcast_ref::<Self>()?)),
            _ => None,
        };
        Some(Ok(match (function, arguments) {
            ("major", []) => number(0),
            ("minor", []) => number(1),
            ("patch", []) => number(2),
            ("isLessThan", [with]) => Value::Bool(order(with)? == Ordering::Less),
            ("isGreaterThan", [with]) => Value::Bool(order(with)? == Ordering::Greater),
            ("compareTo", [with]) => Value::Int(order(with)? as i64),
            _ => return None,
        }))
    }
}
