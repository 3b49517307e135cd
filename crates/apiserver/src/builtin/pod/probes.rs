//! What is wrong with probes and lifecycle hooks.

use serde_json::Value;

use crate::builtin::format::{header_name, invalid_each, port_name, port_number};
use crate::builtin::value::Fields as _;
use crate::fields::{FieldError, Path};

/// A number that must not be negative.
pub fn nonnegative(value: i64, field: &Path) -> Option<FieldError> {
    (value < 0).then(|| {
        FieldError::invalid(field, &Value::from(value), "must be greater than or equal to 0")
    })
}

/// Checks a container's three probes.
pub fn probes(container: &Value, grace: Option<i64>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.part(name) else { continue };
        let field = field.child(name);
        wrong.extend(handler(probe, grace, &field, &["exec", "httpGet", "tcpSocket", "grpc"]));
        for key in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            wrong.extend(nonnegative(probe.int(key), &field.child(key)));
        }
        let patience = probe.int_opt("terminationGracePeriodSeconds");
        let at = field.child("terminationGracePeriodSeconds");
        if let Some(seconds) = patience
            && seconds <= 0
        {
            wrong.push(FieldError::invalid(&at, &Value::from(seconds), "must be greater than 0"));
        }
        if name == "readinessProbe" {
            if let Some(seconds) = patience {
                wrong.push(FieldError::invalid(
                    &at,
                    &Value::from(seconds),
                    "must not be set for readinessProbes",
                ));
            }
        } else if probe.int("successThreshold") != 1 {
            wrong.push(FieldError::invalid(
                &field.child("successThreshold"),
                &Value::from(probe.int("successThreshold")),
                "must be 1",
            ));
        }
    }
    wrong
}

/// Checks a container's hooks.
pub fn lifecycle(container: &Value, grace: Option<i64>, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let Some(lifecycle) = container.part("lifecycle") else { return wrong };
    for name in ["postStart", "preStop"] {
        if let Some(hook) = lifecycle.part(name) {
            let field = field.child("lifecycle").child(name);
            wrong.extend(handler(hook, grace, &field, &["exec", "httpGet", "tcpSocket", "sleep"]));
        }
    }
    wrong
}

fn handler(handler: &Value, grace: Option<i64>, field: &Path, kinds: &[&str]) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    let mut found = false;
    for kind in kinds {
        let Some(action) = handler.part(kind) else { continue };
        let field = field.child(kind);
        if found {
            wrong.push(FieldError::forbidden(&field, "may not specify more than 1 handler type"));
            continue;
        }
        found = true;
        match *kind {
            "exec" => {
                if action.list("command").is_empty() {
                    wrong.push(FieldError::required(&field.child("command"), ""));
                }
            }
            "httpGet" => wrong.extend(http_get(action, &field)),
            "tcpSocket" => wrong.extend(port(action.get_or_null("port"), &field.child("port"))),
            "grpc" => {
                let number = action.int("port");
                wrong.extend(port(&Value::from(number), &field.child("port")));
            }
            _ => {
                let seconds = action.int("seconds");
                if let Some(grace) = grace
                    && !(0..=grace).contains(&seconds)
                {
                    wrong.push(FieldError::invalid(
                        &field,
                        &Value::from(seconds),
                        format!(
                            "must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                        ),
                    ));
                }
            }
        }
    }
    if !found {
        wrong.push(FieldError::required(field, "must specify a handler type"));
    }
    wrong
}

fn http_get(action: &Value, field: &Path) -> Vec<FieldError> {
    let mut wrong = Vec::new();
    if action.text("path").is_empty() {
        wrong.push(FieldError::required(&field.child("path"), ""));
    }
    wrong.extend(port(action.get_or_null("port"), &field.child("port")));
    let scheme = action.text("scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        wrong.push(FieldError::not_supported(
            &field.child("scheme"),
            &Value::from(scheme),
            &["HTTP", "HTTPS"],
        ));
    }
    for header in action.list("httpHeaders") {
        let name = header.text("name");
        wrong.extend(invalid_each(&field.child("httpHeaders"), name, header_name(name)));
    }
    wrong
}

/// A port by number or name.
fn port(port: &Value, field: &Path) -> Vec<FieldError> {
    match port {
        Value::String(name) => invalid_each(field, name, port_name(name)),
        other => {
            let number = other.as_i64().unwrap_or_default();
            port_number(number)
                .map(|detail| FieldError::invalid(field, &Value::from(number), detail))
                .into_iter()
                .collect()
        }
    }
}
