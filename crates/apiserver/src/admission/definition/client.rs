//! How a webhook is to be reached, and in which versions it understands reviews.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rule::dns_1035;
use super::{Errors, items};
use crate::admission::text;
use crate::builtin::format;
use crate::fields::{FieldError, Path};

const FORM: &str = "; desired format: https://host[/path]";

/// `admissionReviewVersions`
pub(super) fn versions(versions: &Value, at: &Path, errors: &mut Errors) {
    let all = items(versions);
    if all.is_empty() {
        return errors.push(FieldError::required(at, "must specify one of v1, v1beta1"));
    }
    let mut seen = BTreeSet::new();
    for (index, version) in all.iter().enumerate() {
        let here = at.index(index);
        let name = version.as_str().unwrap_or_default();
        if seen.insert(name) {
            errors.extend(format::invalid_each(&here, name, dns_1035(name)));
        } else {
            errors.push(FieldError::invalid(&here, version, "duplicate version"));
        }
    }
    if !seen.contains("v1") && !seen.contains("v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(at, versions, why));
    }
}

/// `clientConfig`
pub(super) fn config(config: &Value, at: &Path, errors: &mut Errors) {
    match (config["url"].as_str(), config["service"].is_object()) {
        (Some(address), false) => url(address, &at.child("url"), errors),
        (None, true) => service(&config["service"], &at.child("service"), errors),
        _ => {
            let why = "exactly one of url or service is required";
            errors.push(FieldError::required(at, why));
        }
    }
}

fn url(address: &str, at: &Path, errors: &mut Errors) {
    if let Some(bad) = bad_escape(address) {
        let why =
            format!("url must be a valid URL: parse {address:?}: invalid URL escape {bad:?}{FORM}");
        return errors.push(FieldError::required(at, why));
    }
    let (rest, fragment) = address.split_once('#').unwrap_or((address, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", ""));
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let mut wrong = |value: &str, why: &str| {
        errors.push(FieldError::invalid(at, &value.into(), why));
    };
    if scheme != "https" {
        wrong(scheme, &format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        wrong(host, &format!("host must be specified{FORM}"));
    }
    if !user.is_empty() {
        wrong(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        wrong(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        wrong(query, "query parameters are not permitted in the URL");
    }
}

fn bad_escape(address: &str) -> Option<&str> {
    address.match_indices('%').find_map(|(at, _)| {
        let rest = &address[at..];
        let digits = rest.bytes().skip(1).take(2);
        let fine = digits.clone().count() == 2 && digits.clone().all(|c| c.is_ascii_hexdigit());
        (!fine).then(|| rest.get(..3).unwrap_or(rest))
    })
}

fn service(service: &Value, at: &Path, errors: &mut Errors) {
    for field in ["name", "namespace"] {
        if text(service, field).is_empty() {
            errors.push(FieldError::required(&at.child(field), ""));
        }
    }
    if let Some(port) = service["port"].as_i64()
        && !(1..=65_535).contains(&port)
    {
        let why = format!("port is not valid: {}", format::between(1, 65_535));
        errors.push(FieldError::invalid(&at.child("port"), &service["port"], why));
    }
    let path = text(service, "path");
    let here = at.child("path");
    let mut wrong = |why: &str| errors.push(FieldError::invalid(&here, &path.into(), why));
    match path {
        "" | "/" => return,
        "//" => return wrong("segment[0] may not be empty"),
        _ => {}
    }
    if !path.starts_with('/') {
        wrong("must start with a '/'");
    }
    // The server cuts the first character off whatever it is.
    let steps = path.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            wrong(&format!("segment[{index}] may not be empty"));
            continue;
        }
        for why in format::dns_subdomain(step) {
            wrong(&format!("segment[{index}]: {why}"));
        }
    }
}
