//! The functions that expressions may call.

mod core;
mod format;
mod lists;
mod names;
mod net;
mod quantity;
mod semver;
mod strings;
mod url;

use super::error::EvalError;
use super::value::Value;

pub(super) use lists::sorted;

/// Whether a text is a URL that a request could be sent to.
pub(crate) fn is_url(text: &str) -> bool {
    url::parse(text).is_ok()
}

/// Whether a text is a network in CIDR notation.
pub(crate) fn is_cidr(text: &str) -> bool {
    net::cidr(text).is_ok()
}

type Outcome = Result<Value, EvalError>;

/// Calls a function, or a method of the first argument.
pub(super) fn call(function: &str, method: bool, arguments: &[Value]) -> Outcome {
    let found = core::call(function, method, arguments)
        .or_else(|| strings::call(function, method, arguments))
        .or_else(|| lists::call(function, method, arguments))
        .or_else(|| names::call(function, method, arguments))
        .or_else(|| constructed(function, method, arguments));
    if let Some(outcome) = found {
        return outcome;
    }
    if let (true, [Value::Object(object), rest @ ..]) = (method, arguments)
        && let Some(outcome) = object.call(function, rest)
    {
        return outcome;
    }
    Err(EvalError::no_overload(function, &arguments.iter().collect::<Vec<_>>()))
}

/// Functions that make an object out of text.
fn constructed(function: &str, method: bool, arguments: &[Value]) -> Option<Outcome> {
    if method {
        return None;
    }
    let text = arguments.first()?.as_str()?;
    Some(match (function, arguments) {
        ("quantity", [_]) => quantity::parse(text),
        ("isQuantity", [_]) => Ok(Value::Bool(quantity::parse(text).is_ok())),
        ("semver", [_]) => semver::parse(text, false),
        ("semver", [_, Value::Bool(lenient)]) => semver::parse(text, *lenient),
        ("isSemver", [_]) => Ok(Value::Bool(semver::parse(text, false).is_ok())),
        ("isSemver", [_, Value::Bool(lenient)]) => {
            Ok(Value::Bool(semver::parse(text, *lenient).is_ok()))
        }
        ("url", [_]) => url::parse(text),
        ("isURL", [_]) => Ok(Value::Bool(url::parse(text).is_ok())),
        ("ip", [_]) => net::ip(text),
        ("isIP", [_]) => Ok(Value::Bool(net::ip(text).is_ok())),
        ("ip.isCanonical", [_]) => net::is_canonical(text),
        ("cidr", [_]) => net::cidr(text),
        ("isCIDR", [_]) => Ok(Value::Bool(net::cidr(text).is_ok())),
        ("jsonpatch.escapeKey", [_]) => {
            Ok(Value::String(text.replace('~', "~0").replace('/', "~1").into()))
        }
        _ => return None,
    })
}
