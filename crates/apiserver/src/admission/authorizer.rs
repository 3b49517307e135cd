//! `authorizer`: asking from within an expression what the caller may do.

use std::sync::Arc;

use super::Attributes;
use crate::cel::{EvalError, Object, Type, Value};
use crate::identity::User;
use crate::rbac::{Access, Decision, Snapshot, authorize};

const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
const DECISION: &str = "kubernetes.authorization.Decision";

/// The type of the variable.
pub(super) fn declared() -> Type {
    Type::object(AUTHORIZER, [("requestResource", Type::opaque(RESOURCE_CHECK))])
}

type Outcome = Option<Result<Value, EvalError>>;

#[expect(clippy::unnecessary_wraps, reason = "methods answer with an option")]
fn object(of: impl Object + 'static) -> Outcome {
    Some(Ok(Value::Object(Arc::new(of))))
}

#[expect(clippy::unnecessary_wraps, reason = "methods answer with an option")]
fn fail(why: &str) -> Outcome {
    Some(Err(EvalError::new(why)))
}

/// Who asks, and whom.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    user: Arc<User>,
    roles: Arc<Snapshot>,
    request: Option<Arc<Wanted>>,
}

/// The resource that is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Wanted {
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

impl Asker {
    /// The caller of a request.
    pub fn new(attributes: &Attributes<'_>, roles: Arc<Snapshot>) -> Self {
        let request = Wanted {
            group: attributes.resource.group.clone(),
            resource: attributes.resource.plural.clone(),
            subresource: attributes.subresource.to_owned(),
            namespace: attributes.scope().to_owned(),
            name: attributes.name.to_owned(),
        };
        Self { user: Arc::new(attributes.user.clone()), roles, request: Some(Arc::new(request)) }
    }
}

impl Object for Asker {
    fn type_name(&self) -> &'static str {
        AUTHORIZER
    }

    fn field(&self, name: &str) -> Outcome {
        match (name, &self.request) {
            ("requestResource", Some(wanted)) => {
                object(ResourceCheck { asker: self.clone(), wanted: (**wanted).clone() })
            }
            _ => None,
        }
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Outcome {
        match (function, arguments) {
            ("path", [Value::String(path)]) => {
                if path.trim().is_empty() {
                    return fail("path must not be empty");
                }
                object(PathCheck { asker: self.clone(), path: path.to_string() })
            }
            ("group", [Value::String(group)]) => {
                object(GroupCheck { asker: self.clone(), group: group.to_string() })
            }
            ("serviceAccount", [Value::String(namespace), Value::String(name)]) => {
                if !is_subdomain(name) {
                    return fail("Invalid service account name");
                }
                if !is_label(namespace) {
                    return fail("Invalid service account namespace");
                }
                object(Self {
                    user: Arc::new(User::service_account(namespace, name)),
                    roles: self.roles.clone(),
                    request: None,
                })
            }
            _ => None,
        }
    }
}

fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(|part| part.len() > 63 || is_label(part))
}

#[derive(Debug, Clone)]
struct PathCheck {
    asker: Asker,
    path: String,
}

impl Object for PathCheck {
    fn type_name(&self) -> &'static str {
        PATH_CHECK
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Outcome {
        let ("check", [Value::String(verb)]) = (function, arguments) else { return None };
        let access = Access::Path { verb, path: &self.path };
        object(Answer(authorize(&self.asker.user, &access, &*self.asker.roles)))
    }
}

#[derive(Debug, Clone)]
struct GroupCheck {
    asker: Asker,
    group: String,
}

impl Object for GroupCheck {
    fn type_name(&self) -> &'static str {
        GROUP_CHECK
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Outcome {
        let ("resource", [Value::String(resource)]) = (function, arguments) else { return None };
        if resource.trim().is_empty() {
            return fail("resource must not be empty");
        }
        let wanted = Wanted {
            group: self.group.clone(),
            resource: resource.to_string(),
            ..Wanted::default()
        };
        object(ResourceCheck { asker: self.asker.clone(), wanted })
    }
}

#[derive(Debug, Clone)]
struct ResourceCheck {
    asker: Asker,
    wanted: Wanted,
}

impl Object for ResourceCheck {
    fn type_name(&self) -> &'static str {
        RESOURCE_CHECK
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Outcome {
        let [Value::String(text)] = arguments else { return None };
        let mut next = self.clone();
        let wanted = &mut next.wanted;
        match function {
            "subresource" => wanted.subresource = text.to_string(),
            "namespace" => wanted.namespace = text.to_string(),
            "name" => wanted.name = text.to_string(),
            // Roles say nothing about selectors.
            "fieldSelector" | "labelSelector" => {}
            "check" => {
                let access = Access::Resource {
                    verb: text,
                    group: &wanted.group,
                    resource: &wanted.resource,
                    subresource: &wanted.subresource,
                    namespace: &wanted.namespace,
                    name: &wanted.name,
                };
                return object(Answer(authorize(&self.asker.user, &access, &*self.asker.roles)));
            }
            _ => return None,
        }
        object(next)
    }
}

#[derive(Debug, Clone)]
struct Answer(Decision);

impl Object for Answer {
    fn type_name(&self) -> &'static str {
        DECISION
    }

    fn call(&self, function: &str, arguments: &[Value]) -> Outcome {
        if !arguments.is_empty() {
            return None;
        }
        Some(Ok(match function {
            "allowed" => Value::Bool(self.0.allowed),
            "reason" => Value::string(&self.0.reason),
            "errored" => Value::Bool(false),
            "error" => Value::string(""),
            _ => return None,
        }))
    }
}
