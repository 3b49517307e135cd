//! `url('https://example.com:80/path?a=b')`

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Outcome;
use crate::cel::error::EvalError;
use crate::cel::value::{Object, Value};

#[derive(Debug)]
struct Url {
    text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

/// Reads an absolute URI or an absolute path, as the API server does.
pub(super) fn parse(text: &str) -> Outcome {
    read(text).map(|url| Value::Object(Arc::new(url) as Arc<dyn Object>)).map_err(|why| {
        EvalError::new(format!(
            "URL parse error during conversion from string: parse {text:?}: {why}"
        ))
    })
}

fn read(text: &str) -> Result<Url, &'static str> {
    if text.is_empty() {
        return Err("empty url");
    }
    if text.chars().any(|c| c.is_ascii_control()) {
        return Err("net/url: invalid control character in URL");
    }
    let (rest, query) = text.split_once('?').unwrap_or((text, ""));
    let (scheme, rest) = match rest.find(':') {
        Some(at)
            if at > 0
                && rest[..at].chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) =>
        {
            if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return Err("first path segment in URL cannot contain colon");
            }
            (rest[..at].to_ascii_lowercase(), &rest[at + 1..])
        }
        Some(0) => return Err("missing protocol scheme"),
        _ => (String::new(), rest),
    };
    if scheme.is_empty() && !rest.starts_with('/') {
        return Err("invalid URI for request");
    }
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) if !scheme.is_empty() => {
            let end = rest.find('/').unwrap_or(rest.len());
            (rest[..end].rsplit('@').next().unwrap_or_default().to_owned(), rest[end..].to_owned())
        }
        _ => (String::new(), rest.to_owned()),
    };
    if host.contains(' ') {
        return Err("invalid character \" \" in host name");
    }
    if let Some(port) = port(&host)
        && !port.bytes().all(|b| b.is_ascii_digit())
    {
        return Err("invalid port after host");
    }
    Ok(Url {
        text: text.to_owned(),
        scheme,
        host,
        path,
        query: query.split('#').next().unwrap_or_default().to_owned(),
    })
}

fn port(host: &str) -> Option<&str> {
    let after = host.rfind(']').map_or(0, |at| at + 1);
    host[after..].rfind(':').map(|at| &host[after + at + 1..])
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = text
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], escape) {
            (_, Some(byte)) => {
                out.push(byte);
                at += 2;
            }
            (b'+', None) => out.push(b' '),
            (byte, None) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Object for Url {
    fn type_name(&self) -> &'static str {
        "kubernetes.URL"
    }

    fn identity(&self) -> Option<String> {
        Some(self.text.clone())
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Option<Outcome> {
        if !arguments.is_empty() {
            return None;
        }
        let bare = |host: &str| {
            let end = port(host).map_or(host.len(), |port| host.len() - port.len() - 1);
            host[..end].trim_start_matches('[').trim_end_matches(']').to_owned()
        };
        Some(Ok(match function {
            "getScheme" => Value::string(&self.scheme),
            "getHost" => Value::string(&self.host),
            "getHostname" => Value::String(bare(&self.host).into()),
            "getPort" => Value::string(port(&self.host).unwrap_or_default()),
            "getEscapedPath" => Value::string(&self.path),
            "getQuery" => {
                let mut query: BTreeMap<String, Vec<Value>> = BTreeMap::new();
                for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    query
                        .entry(decoded(key))
                        .or_default()
                        .push(Value::String(decoded(value).into()));
                }
                Value::map(query.into_iter().map(|(key, values)| (key, Value::list(values))))
            }
            _ => return None,
        }))
    }
}
