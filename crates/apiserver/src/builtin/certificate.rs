//! CertificateSigningRequest.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::view::{at, default, items, number, one_of, restore, take, text, wrong};
use super::{Strategy, form, format};
use crate::fields::{FieldError, Path};

const V1: &str = "certificates.k8s.io/v1";

/// What a certificate may be used for, sorted.
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The rules of CertificateSigningRequest.
pub const REQUEST: Strategy = Strategy {
    defaults: |request| {
        form::settle(V1, "CertificateSigningRequest", request);
        for condition in request
            .pointer_mut("/status/conditions")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            default(condition, "", "status", "True");
        }
    },
    prepare_create: |request| {
        take(request, "status");
        form::settle(V1, "CertificateSigningRequest", request);
    },
    // Who asked for what is settled once: changes are dropped without a word.
    prepare_update: |new, old| {
        restore(new, old, "spec");
        restore(new, old, "status");
    },
    validate,
    validate_update: |_, _| Vec::new(),
    revalidate: false,
    ..Strategy::PLAIN
};

fn validate(request: &Value) -> Vec<FieldError> {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let sent = text(request, "spec.request");
    let pem = BASE64.decode(sent).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if !pem.is_some_and(|pem| pem.contains("-----BEGIN CERTIFICATE REQUEST-----")) {
        errors.push(FieldError::invalid_shown(
            &path.child("request"),
            at(request, "spec.request").to_string(),
            "PEM block type must be CERTIFICATE REQUEST",
        ));
    }
    let usages = items(request, "spec.usages");
    if usages.is_empty() {
        errors.push(FieldError::required(&path.child("usages"), ""));
    }
    let mut seen = BTreeSet::new();
    let mut repeated = Vec::new();
    for (index, usage) in usages.iter().filter_map(Value::as_str).enumerate() {
        let path = path.child("usages").index(index);
        errors.extend(one_of(&path, usage, USAGES));
        if !seen.insert(usage) {
            repeated.push(FieldError::duplicate(&path, &json!(usage)));
        }
    }
    errors.extend(repeated);
    errors.extend(signer(text(request, "spec.signerName"), &path.child("signerName")));
    if let Some(seconds) = number(request, "spec.expirationSeconds").filter(|&s| s < 600) {
        errors.push(FieldError::invalid(
            &path.child("expirationSeconds"),
            &json!(seconds),
            "may not specify a duration less than 600 seconds (10 minutes)",
        ));
    }
    errors
}

fn signer(name: &str, path: &Path) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    if name == "kubernetes.io/legacy-unknown" {
        return wrong(
            path,
            name,
            vec!["the legacy signerName is not allowed via this API version".into()],
        );
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        return wrong(
            path,
            name,
            vec![
                "must be a fully qualified domain and path of the form 'example.com/signer-name'"
                    .into(),
            ],
        );
    };
    let mut errors = wrong(path, domain, format::dns_subdomain(domain));
    if errors.is_empty() && !domain.contains('.') {
        errors.extend(wrong(
            path,
            domain,
            vec!["should be a domain with at least two segments separated by dots".into()],
        ));
    }
    for part in rest.split('.') {
        errors.extend(wrong(path, part, format::dns_label(part)));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_settled_once() {
        let old = json!({"spec": {"signerName": "a.b/c"}, "status": {}});
        let mut new = json!({"spec": {"signerName": "x.y/z"}, "status": {"certificate": "a"}});
        (REQUEST.prepare_update)(&mut new, &old);
        assert_eq!(new, old);
    }

    #[test]
    fn usages_and_signers() {
        let pem = BASE64.encode("-----BEGIN CERTIFICATE REQUEST-----\n");
        let said: Vec<String> = validate(&json!({"spec": {"request": pem, "usages": ["signing", "signing"], "signerName": "x", "expirationSeconds": 1}}))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "spec.usages[1]: Duplicate value: \"signing\"",
                "spec.signerName: Invalid value: \"x\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
                "spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 600 seconds (10 minutes)",
            ]
        );
    }
}
