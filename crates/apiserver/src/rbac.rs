//! Who may do what: the RBAC authorizer over Role, ClusterRole and their bindings, and its refusals.

mod review;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::admission::{Found, Lookup};
use crate::identity::User;
use crate::status::Failure;

pub use review::answer;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The roles and bindings that a new server makes for itself, so that everybody may discover what it serves
/// and ask what they may do.
pub fn defaults() -> &'static [Value] {
    static DEFAULTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("rbac/defaults.json")).unwrap_or_default()
    });
    &DEFAULTS
}

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access<'a> {
    /// A verb on a resource.
    Resource {
        /// `get`, `list`, `upgrade`, …
        verb: &'a str,
        /// API group, empty for core.
        group: &'a str,
        /// Plural.
        resource: &'a str,
        /// Subresource or empty.
        subresource: &'a str,
        /// Namespace, empty at the cluster scope.
        namespace: &'a str,
        /// Name, empty for collections.
        name: &'a str,
    },
    /// A verb on a path that is no resource (`/metrics`).
    Path {
        /// Lower-case HTTP verb.
        verb: &'a str,
        /// The path.
        path: &'a str,
    },
}

/// Where the authorizer finds roles and bindings.
pub trait Roles {
    /// One object of the RBAC group.
    fn role(&self, plural: &str, namespace: Option<&str>, name: &str) -> Option<Found>;
    /// All bindings of a kind, in a namespace if the kind has one.
    fn bindings(&self, plural: &str, namespace: Option<&str>) -> Vec<Found>;
}

impl<L: Lookup + ?Sized> Roles for L {
    fn role(&self, plural: &str, namespace: Option<&str>, name: &str) -> Option<Found> {
        self.get(GROUP, plural, namespace, name)
    }

    fn bindings(&self, plural: &str, namespace: Option<&str>) -> Vec<Found> {
        self.list(GROUP, plural, namespace)
    }
}

/// All roles and bindings of a moment, for those who must own what they ask.
#[derive(Debug, Default)]
pub struct Snapshot {
    roles: BTreeMap<(String, String, String), Found>,
    bindings: Vec<(&'static str, Found)>,
}

impl Snapshot {
    /// What the server holds now.
    pub fn of(roles: &(impl Roles + ?Sized)) -> Self {
        let mut snapshot = Self::default();
        for plural in ["roles", "clusterroles"] {
            for role in roles.bindings(plural, None) {
                let metadata = &role["metadata"];
                let key = (plural, text(metadata, "namespace"), text(metadata, "name"));
                let key = (key.0.to_owned(), key.1.to_owned(), key.2.to_owned());
                snapshot.roles.insert(key, role);
            }
        }
        for plural in ["rolebindings", "clusterrolebindings"] {
            let all = roles.bindings(plural, None);
            snapshot.bindings.extend(all.into_iter().map(|binding| (plural, binding)));
        }
        snapshot
    }
}

impl Roles for Snapshot {
    fn role(&self, plural: &str, namespace: Option<&str>, name: &str) -> Option<Found> {
        let key = (plural.to_owned(), namespace.unwrap_or_default().to_owned(), name.to_owned());
        self.roles.get(&key).cloned()
    }

    fn bindings(&self, plural: &str, namespace: Option<&str>) -> Vec<Found> {
        let here = |binding: &Value| {
            namespace.is_none_or(|namespace| text(&binding["metadata"], "namespace") == namespace)
        };
        let all = self.bindings.iter().filter(|(of, binding)| *of == plural && here(binding));
        all.map(|(_, binding)| binding.clone()).collect()
    }
}

/// The authorizer's answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether some rule allows it.
    pub allowed: bool,
    /// Which rule, or which roles were missing.
    pub reason: String,
}

/// Decides by the roles bound to the user.
pub fn authorize(user: &User, access: &Access<'_>, roles: &(impl Roles + ?Sized)) -> Decision {
    if user.is_master() {
        return Decision { allowed: true, reason: String::new() };
    }
    let mut missing = Vec::new();
    let namespace = match access {
        Access::Resource { namespace, .. } => *namespace,
        Access::Path { .. } => "",
    };
    let mut scopes = vec![("clusterrolebindings", None)];
    if !namespace.is_empty() {
        scopes.push(("rolebindings", Some(namespace)));
    }
    for (plural, scope) in scopes {
        for binding in roles.bindings(plural, scope) {
            let Some(subject) = subject_of(user, &binding, scope.unwrap_or_default()) else {
                continue;
            };
            match rules_of(&binding, scope, roles) {
                Err(why) if missing.contains(&why) => {}
                Err(why) => missing.push(why),
                Ok(role) => {
                    if list(&role, "rules").iter().any(|rule| allows(rule, access)) {
                        let reason = format!("RBAC: allowed by {}", describe(&binding, subject));
                        return Decision { allowed: true, reason };
                    }
                }
            }
        }
    }
    let mut reason = aggregate(&missing);
    if !reason.is_empty() {
        reason.insert_str(0, "RBAC: ");
    }
    Decision { allowed: false, reason }
}

/// Every rule that applies to the user in a namespace, cluster-wide ones first, and the roles that were
/// bound but do not exist.
pub fn rules_for(
    user: &User,
    namespace: &str,
    roles: &(impl Roles + ?Sized),
) -> (Vec<Value>, String) {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (plural, scope) in [("clusterrolebindings", None), ("rolebindings", Some(namespace))] {
        for binding in roles.bindings(plural, scope) {
            if subject_of(user, &binding, scope.unwrap_or_default()).is_none() {
                continue;
            }
            match rules_of(&binding, scope, roles) {
                Ok(role) => found.extend(list(&role, "rules").iter().cloned()),
                Err(why) if missing.contains(&why) => {}
                Err(why) => missing.push(why),
            }
        }
    }
    (found, aggregate(&missing))
}

/// Several errors in one text, as Go's aggregate prints them.
fn aggregate(errors: &[String]) -> String {
    match errors {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// The 403 for a refused access.
pub fn forbidden(user: &User, access: &Access<'_>, decision: &Decision) -> Failure {
    let name = &user.name;
    let what = match access {
        Access::Path { verb, path } => format!("User {name:?} cannot {verb} path {path:?}"),
        Access::Resource { verb, group, resource, subresource, namespace, .. } => {
            let resource = if subresource.is_empty() {
                (*resource).to_owned()
            } else {
                format!("{resource}/{subresource}")
            };
            let scope = if namespace.is_empty() {
                "at the cluster scope".to_owned()
            } else {
                format!("in the namespace {namespace:?}")
            };
            format!(
                "User {name:?} cannot {verb} resource {resource:?} in API group {group:?} {scope}"
            )
        }
    };
    // A refusal must not read as HTML.
    let mut why = what.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    if !decision.reason.is_empty() {
        why.push_str(": ");
        why.push_str(&decision.reason);
    }
    match access {
        Access::Path { .. } => {
            Failure::new(403, "Forbidden", format!("forbidden: {why}")).with_details(json!({}))
        }
        Access::Resource { group, resource, name, .. } => {
            Failure::forbidden(group, resource, name, &why)
        }
    }
}

/// The first subject of a binding that is this user.
fn subject_of<'b>(user: &User, binding: &'b Value, namespace: &str) -> Option<&'b Value> {
    list(binding, "subjects").iter().find(|subject| {
        let name = text(subject, "name");
        match text(subject, "kind") {
            "User" => user.name == name,
            "Group" => user.groups.iter().any(|group| group == name),
            "ServiceAccount" => {
                let own = text(subject, "namespace");
                let namespace = if own.is_empty() { namespace } else { own };
                !namespace.is_empty()
                    && user
                        .name
                        .strip_prefix("system:serviceaccount:")
                        .and_then(|rest| rest.split_once(':'))
                        == Some((namespace, name))
            }
            _ => false,
        }
    })
}

/// The role that a binding refers to, or why there is none.
fn rules_of(
    binding: &Value,
    namespace: Option<&str>,
    roles: &(impl Roles + ?Sized),
) -> Result<Found, String> {
    let reference = &binding["roleRef"];
    let (kind, name) = (text(reference, "kind"), text(reference, "name"));
    let (plural, scope) = match kind {
        "Role" => ("roles", namespace),
        "ClusterRole" => ("clusterroles", None),
        _ => return Err(format!("unsupported role reference kind: {kind:?}")),
    };
    roles
        .role(plural, scope, name)
        .ok_or_else(|| format!("{}.{GROUP} {name:?} not found", plural.trim_end_matches('s')))
}

fn describe(binding: &Value, subject: &Value) -> String {
    let (metadata, reference) = (&binding["metadata"], &binding["roleRef"]);
    let namespace = text(metadata, "namespace");
    let (kind, place) = if namespace.is_empty() {
        ("ClusterRoleBinding", text(metadata, "name").to_owned())
    } else {
        ("RoleBinding", format!("{}/{namespace}", text(metadata, "name")))
    };
    let who = match text(subject, "kind") {
        "ServiceAccount" => {
            let own = text(subject, "namespace");
            let home = if own.is_empty() { namespace } else { own };
            format!("{:?}", format!("{}/{home}", text(subject, "name")))
        }
        _ => format!("{:?}", text(subject, "name")),
    };
    format!(
        "{kind} {place:?} of {} {:?} to {} {who}",
        text(reference, "kind"),
        text(reference, "name"),
        text(subject, "kind"),
    )
}

fn allows(rule: &Value, access: &Access<'_>) -> bool {
    let one_of =
        |key: &str, wanted: &str| strings(rule, key).any(|have| have == "*" || have == wanted);
    match *access {
        Access::Resource { verb, group, resource, subresource, name, .. } => {
            let resource_matches = || {
                strings(rule, "resources").any(|have| {
                    if have == "*" {
                        return true;
                    }
                    if subresource.is_empty() {
                        return have == resource;
                    }
                    match have.split_once('/') {
                        Some((of, sub)) => sub == subresource && (of == "*" || of == resource),
                        None => false,
                    }
                })
            };
            let name_matches = || {
                list(rule, "resourceNames").is_empty()
                    || strings(rule, "resourceNames").any(|have| have == name)
            };
            one_of("verbs", verb)
                && one_of("apiGroups", group)
                && resource_matches()
                && name_matches()
        }
        Access::Path { verb, path } => {
            one_of("verbs", verb)
                && strings(rule, "nonResourceURLs").any(|have| {
                    have == "*"
                        || have == path
                        || have.ends_with('*') && path.starts_with(have.trim_end_matches('*'))
                })
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn strings<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    list(value, key).iter().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests;
