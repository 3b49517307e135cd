//! Query parameters and their rules.

use serde_json::{Value, json};

use super::route::percent_decode;
use crate::fields::{FieldError, Path};
use crate::status::Failure;

/// The query of a request, in order.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `a=b&c=d`.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|p| !p.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(&key.replace('+', " ")), percent_decode(&value.replace('+', " ")))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter, empty if absent.
    pub fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(k, _)| k == key).map_or("", |(_, v)| v.as_str())
    }

    /// Whether the parameter is there at all.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    /// All values of a parameter.
    pub fn all(&self, key: &str) -> Vec<&str> {
        self.0.iter().filter(|(k, _)| k == key).map(|(_, v)| v.as_str()).collect()
    }

    /// A boolean as Go's conversion reads it: present and not `false` or `0`.
    pub fn flag(&self, key: &str) -> bool {
        self.has(key) && !matches!(self.get(key).to_ascii_lowercase().as_str(), "false" | "0")
    }

    /// An integer, or the server's complaint.
    pub fn number(&self, key: &str) -> Result<Option<i64>, Failure> {
        let text = self.get(key);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
        })
    }
}

/// Which options object a complaint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// POST
    Create,
    /// PUT
    Update,
    /// PATCH; true for server-side apply
    Patch(bool),
}

/// Options of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Do everything but store.
    pub dry_run: bool,
    /// Who owns what is written.
    pub manager: String,
    /// Take over fields owned by others.
    pub force: bool,
    /// `Ignore`, `Warn` or `Strict`.
    pub field_validation: String,
    /// The options object that admission sees.
    pub shown: Value,
}

impl WriteOptions {
    /// Reads and checks the options of a write; `agent` is the User-Agent header.
    pub fn read(query: &Query, asked: Asked, agent: &str) -> Result<Self, Failure> {
        let mut errors = Vec::new();
        let dry_runs: Vec<&str> =
            query.all("dryRun").into_iter().filter(|v| !v.is_empty()).collect();
        if dry_runs.iter().any(|v| *v != "All") {
            errors.push(FieldError::not_supported(
                &Path::new("dryRun"),
                &json!(dry_runs),
                &["All"],
            ));
        }
        let manager = query.get("fieldManager");
        if manager.is_empty() && asked == Asked::Patch(true) {
            errors.push(FieldError::required(
                &Path::new("fieldManager"),
                "is required for apply patch",
            ));
        }
        if manager.len() > 128 {
            errors.push(FieldError::too_long(&Path::new("fieldManager"), 128));
        }
        if let Some((at, bad)) =
            manager.char_indices().find(|(_, c)| c.is_control() || *c == '\u{fffd}')
        {
            errors.push(FieldError::invalid_shown(
                &Path::new("fieldManager"),
                go_quote(manager),
                format!("invalid character U+{:04X} (at position {at})", u32::from(bad)),
            ));
        }
        let validation = query.get("fieldValidation");
        if !matches!(validation, "" | "Ignore" | "Warn" | "Strict") {
            errors.push(FieldError::not_supported(
                &Path::new("fieldValidation"),
                &json!(validation),
                &["", "Ignore", "Strict", "Warn"],
            ));
        }
        let force = query.flag("force");
        if query.has("force") && matches!(asked, Asked::Patch(false)) {
            errors.push(FieldError::forbidden(
                &Path::new("force"),
                "may not be specified for non-apply patch",
            ));
        }
        let kind = match asked {
            Asked::Create => "CreateOptions",
            Asked::Update => "UpdateOptions",
            Asked::Patch(_) => "PatchOptions",
        };
        if !errors.is_empty() {
            return Err(Failure::invalid("meta.k8s.io", kind, "", &errors));
        }
        let default_manager = match agent.split('/').next() {
            Some("") | None => "unknown",
            Some(first) => first,
        };
        let mut shown = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
        if let Some(map) = shown.as_object_mut() {
            if !manager.is_empty() {
                map.insert("fieldManager".into(), json!(manager));
            }
            if !dry_runs.is_empty() {
                map.insert("dryRun".into(), json!(["All"]));
            }
            if !validation.is_empty() {
                map.insert("fieldValidation".into(), json!(validation));
            }
            if force {
                map.insert("force".into(), json!(true));
            }
        }
        Ok(Self {
            dry_run: !dry_runs.is_empty(),
            manager: if manager.is_empty() { default_manager } else { manager }.to_owned(),
            force,
            field_validation: if validation.is_empty() { "Warn" } else { validation }.to_owned(),
            shown,
        })
    }
}

/// A string as Go's `%q` prints it: control characters as `\x01`.
pub fn go_quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() && u32::from(c) < 0x80 => {
                out.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Options of a list or watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// Watch instead of list.
    pub watch: bool,
    /// Label selector as text.
    pub labels: String,
    /// Field selector as text.
    pub fields: String,
    /// Page size; 0 for all.
    pub limit: usize,
    /// Token of the previous page.
    pub resume: String,
    /// As given; empty if absent.
    pub revision: String,
    /// `Exact`, `NotOlderThan` or empty.
    pub matching: String,
    /// Bookmarks wanted.
    pub bookmarks: bool,
    /// None if absent.
    pub initial_events: Option<bool>,
    /// Seconds after which the server ends a watch.
    pub timeout: Option<u64>,
}

impl ListOptions {
    /// Reads and checks the options of a list or watch.
    pub fn read(query: &Query, watch: bool) -> Result<Self, Failure> {
        let options = Self {
            watch: watch || query.flag("watch"),
            labels: query.get("labelSelector").to_owned(),
            fields: query.get("fieldSelector").to_owned(),
            limit: query
                .number("limit")?
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or_default(),
            resume: query.get("continue").to_owned(),
            revision: query.get("resourceVersion").to_owned(),
            matching: query.get("resourceVersionMatch").to_owned(),
            bookmarks: query.flag("allowWatchBookmarks"),
            initial_events: query.has("sendInitialEvents").then(|| query.flag("sendInitialEvents")),
            timeout: query.number("timeoutSeconds")?.and_then(|t| u64::try_from(t).ok()),
        };
        let errors = options.errors();
        if errors.is_empty() {
            Ok(options)
        } else {
            Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &errors))
        }
    }

    fn errors(&self) -> Vec<FieldError> {
        let matching = Path::new("resourceVersionMatch");
        let mut errors = Vec::new();
        if self.watch {
            if let Some(_initial) = self.initial_events {
                if self.matching != "NotOlderThan" {
                    errors.push(FieldError::forbidden(
                        &matching,
                        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                    ));
                }
                if !matches!(self.matching.as_str(), "" | "NotOlderThan") {
                    errors.push(FieldError::not_supported(
                        &matching,
                        &json!(self.matching),
                        &["NotOlderThan"],
                    ));
                }
            } else if !self.matching.is_empty() {
                errors.push(FieldError::forbidden(
                    &matching,
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                ));
            }
            if !self.resume.is_empty() && self.initial_events.is_some() {
                errors.push(FieldError::forbidden(
                    &Path::new("continue"),
                    "continue is forbidden for watch",
                ));
            }
            return errors;
        }
        if self.initial_events.is_some() {
            errors.push(FieldError::forbidden(
                &Path::new("sendInitialEvents"),
                "sendInitialEvents is forbidden for list",
            ));
        }
        if !self.matching.is_empty() {
            if self.revision.is_empty() {
                errors.push(FieldError::forbidden(
                    &matching,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !self.resume.is_empty() {
                errors.push(FieldError::forbidden(
                    &matching,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !matches!(self.matching.as_str(), "Exact" | "NotOlderThan") {
                errors.push(FieldError::not_supported(
                    &matching,
                    &json!(self.matching),
                    &["Exact", "NotOlderThan", ""],
                ));
            }
            if self.matching == "Exact" && self.revision == "0" {
                errors.push(FieldError::forbidden(
                    &matching,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        errors
    }
}

/// How a delete treats what depends on the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents go afterwards.
    Background,
    /// Dependents go first.
    Foreground,
    /// Dependents stay.
    Orphan,
}

/// Options of a delete, from the query or the body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Do everything but delete.
    pub dry_run: bool,
    /// None: the kind's default.
    pub grace: Option<i64>,
    /// None: the kind's default.
    pub propagation: Option<Propagation>,
    /// Must be the object's uid.
    pub uid: Option<String>,
    /// Must be the object's resourceVersion.
    pub revision: Option<String>,
    /// The options object that admission sees.
    pub shown: Value,
}

impl DeleteOptions {
    /// Joins query and body (a DeleteOptions object, or nothing).
    pub fn read(query: &Query, body: Option<&Value>) -> Result<Self, Failure> {
        let empty = json!({});
        let body = body.unwrap_or(&empty);
        let mut errors = Vec::new();
        let mut dry_runs: Vec<String> = body["dryRun"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect();
        if *body == empty {
            dry_runs = query.all("dryRun").iter().map(ToString::to_string).collect();
            dry_runs.retain(|v| !v.is_empty());
        }
        if dry_runs.iter().any(|v| v != "All") {
            errors.push(FieldError::not_supported(
                &Path::new("dryRun"),
                &json!(dry_runs),
                &["All"],
            ));
        }
        let policy = match body["propagationPolicy"].as_str() {
            Some(policy) => policy,
            None => query.get("propagationPolicy"),
        };
        let orphan = body["orphanDependents"]
            .as_bool()
            .or_else(|| query.has("orphanDependents").then(|| query.flag("orphanDependents")));
        let field = Path::new("propagationPolicy");
        if !policy.is_empty() && orphan.is_some() {
            errors.push(FieldError::invalid(
                &field,
                &json!(policy),
                "orphanDependents and deletionPropagation cannot be both set",
            ));
        }
        let propagation = match (policy, orphan) {
            ("Background", _) | ("", Some(false)) => Some(Propagation::Background),
            ("Foreground", _) => Some(Propagation::Foreground),
            ("Orphan", _) | ("", Some(true)) => Some(Propagation::Orphan),
            ("", None) => None,
            (other, _) => {
                errors.push(FieldError::not_supported(
                    &field,
                    &json!(other),
                    &["Foreground", "Background", "Orphan", "nil"],
                ));
                None
            }
        };
        if !errors.is_empty() {
            return Err(Failure::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let grace = match body["gracePeriodSeconds"].as_i64() {
            Some(grace) => Some(grace),
            None => query.number("gracePeriodSeconds")?,
        };
        let mut shown = body.clone();
        if let Some(map) = shown.as_object_mut() {
            map.insert("kind".into(), json!("DeleteOptions"));
            map.insert("apiVersion".into(), json!("meta.k8s.io/v1"));
            if !policy.is_empty() {
                map.insert("propagationPolicy".into(), json!(policy));
            }
            if !dry_runs.is_empty() {
                map.insert("dryRun".into(), json!(["All"]));
            }
        }
        Ok(Self {
            dry_run: !dry_runs.is_empty(),
            grace,
            propagation,
            uid: text(&body["preconditions"]["uid"]),
            revision: text(&body["preconditions"]["resourceVersion"]),
            shown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_refuse_unknown_options_with_the_servers_words() {
        let query = Query::parse("dryRun=Some&fieldValidation=Bogus");
        let failure = WriteOptions::read(&query, Asked::Create, "").unwrap_err();
        assert_eq!(failure.code, 422);
        assert!(
            failure
                .message
                .contains(r#"dryRun: Unsupported value: ["Some"]: supported values: "All""#)
        );
        let failure =
            WriteOptions::read(&Query::default(), Asked::Patch(true), "kubectl/1").unwrap_err();
        assert!(
            failure.message.ends_with("fieldManager: Required value: is required for apply patch")
        );
    }

    #[test]
    fn the_agent_is_the_default_manager() {
        let manager = |agent| {
            WriteOptions::read(&Query::default(), Asked::Create, agent).map(|o| o.manager).unwrap()
        };
        assert_eq!(manager("kubectl/v1.36 (linux)"), "kubectl");
        assert_eq!(manager(""), "unknown");
    }

    #[test]
    fn exact_needs_a_revision() {
        let read = |text| ListOptions::read(&Query::parse(text), false);
        assert!(read("resourceVersionMatch=Exact").is_err());
        assert!(read("resourceVersionMatch=Exact&resourceVersion=5").is_ok());
        assert!(read("limit=abc").is_err_and(|f| f.code == 400));
        assert_eq!(read("limit=-5").unwrap().limit, 0);
    }
}
