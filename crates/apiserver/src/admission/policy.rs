//! Policies and their bindings, parsed and compiled once per version.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::expression::{Expression, Inputs, Names, Sees, Variable, Wanted};
use super::matching::{Constraints, Match};
use super::selector::Selector;
use super::{Admission, Attributes, Found, GROUP, Kept, Kind, Lookup, text};
use crate::cel::Value;
use crate::rbac::Snapshot;
use crate::status::Failure;

/// A validating or mutating policy.
#[derive(Debug)]
pub(super) struct Policy {
    /// `metadata.name`
    pub name: String,
    /// Whether errors let the request pass.
    pub ignores_errors: bool,
    /// The kind of parameter objects.
    pub params: Option<Kind>,
    /// Which requests it is about.
    pub constraints: Constraints,
    /// Conditions that narrow that down.
    pub conditions: Vec<Expression>,
    /// Named expressions for the others.
    pub variables: Arc<[Variable]>,
    /// What must hold, in a validating policy.
    pub validations: Vec<Validation>,
    /// What goes into the audit log, in a validating policy.
    pub audits: Vec<(String, Expression)>,
    /// What changes, in a mutating policy.
    pub mutations: Vec<Mutation>,
    /// Whether to run again when something later changed the object.
    pub reinvoke: bool,
    asks: bool,
}

/// One thing that must hold.
#[derive(Debug)]
pub(super) struct Validation {
    /// The condition.
    pub expression: Expression,
    /// Said when it does not hold.
    pub message: String,
    /// Says it instead.
    pub message_expression: Option<Expression>,
    /// The reason of the refusal, or empty.
    pub reason: String,
}

/// One change.
#[derive(Debug)]
pub(super) enum Mutation {
    /// Fields merged into the object.
    Apply(Expression),
    /// A JSON patch.
    Patch(Expression),
}

/// Puts a policy to work.
#[derive(Debug)]
pub(super) struct Binding {
    /// `metadata.name`
    pub name: String,
    policy: String,
    params: Option<ParamRef>,
    constraints: Option<Constraints>,
    /// `Deny`, `Warn`, `Audit`
    pub actions: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ParamRef {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    selector: Option<Selector>,
    #[serde(default)]
    parameter_not_found_action: String,
}

/// A policy with its bindings.
#[derive(Debug, Clone)]
pub(super) struct Bound {
    /// The policy.
    pub policy: Arc<Policy>,
    /// Its bindings, by name.
    pub bindings: Vec<Arc<Binding>>,
}

impl Admission {
    /// All policies of a sort (`validating`, `mutating`) that have bindings.
    pub(super) fn policies(
        &self,
        sort: &str,
        kept: &Kept<Policy>,
        lookup: &dyn Lookup,
    ) -> Vec<Bound> {
        let bindings = lookup.list(GROUP, &format!("{sort}admissionpolicybindings"), None);
        if bindings.is_empty() {
            return Vec::new();
        }
        let mut by_policy: BTreeMap<String, Vec<Arc<Binding>>> = BTreeMap::new();
        for binding in self.bindings_of(sort).all(&bindings, Binding::parse) {
            by_policy.entry(binding.policy.clone()).or_default().push(binding);
        }
        let policies = lookup.list(GROUP, &format!("{sort}admissionpolicies"), None);
        kept.all(&policies, Policy::parse)
            .into_iter()
            .filter_map(|policy| {
                let bindings = by_policy.remove(&policy.name)?;
                Some(Bound { policy, bindings })
            })
            .collect()
    }

    fn bindings_of(&self, sort: &str) -> &Kept<Binding> {
        if sort == "validating" { &self.validating_bindings } else { &self.mutating_bindings }
    }
}

fn parsed<T: DeserializeOwned>(value: &Json) -> Option<T> {
    (!value.is_null()).then(|| serde_json::from_value(value.clone()).ok()).flatten()
}

fn items(value: &Json) -> &[Json] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

impl Policy {
    fn parse(object: &Json) -> Self {
        let spec = &object["spec"];
        let params = &spec["paramKind"];
        let mut names = Names { params: !params.is_null(), variables: None };
        let variables: Arc<[Variable]> = items(&spec["variables"])
            .iter()
            .map(|variable| {
                let (name, written) = (text(variable, "name"), text(variable, "expression"));
                let program = names.declare(name, written);
                Variable {
                    name: name.into(),
                    expression: Expression { text: written.to_owned(), program },
                }
            })
            .collect();
        let compile = |written: &str, sees, wanted| Expression {
            text: written.to_owned(),
            program: names.compile(written, sees, wanted),
        };
        let conditions: Vec<Expression> = items(&spec["matchConditions"])
            .iter()
            .map(|condition| compile(text(condition, "expression"), Sees::All, Wanted::Bool))
            .collect();
        let validations: Vec<Validation> = items(&spec["validations"])
            .iter()
            .map(|validation| {
                let message = text(validation, "messageExpression");
                Validation {
                    expression: compile(text(validation, "expression"), Sees::All, Wanted::Bool),
                    message: text(validation, "message").trim().to_owned(),
                    message_expression: (!message.is_empty())
                        .then(|| compile(message, Sees::NoAuthorizer, Wanted::String)),
                    reason: text(validation, "reason").to_owned(),
                }
            })
            .collect();
        let audits: Vec<(String, Expression)> = items(&spec["auditAnnotations"])
            .iter()
            .map(|annotation| {
                let value = text(annotation, "valueExpression");
                let key = text(annotation, "key").to_owned();
                (key, compile(value, Sees::All, Wanted::StringOrNull))
            })
            .collect();
        let mutations: Vec<Mutation> = items(&spec["mutations"])
            .iter()
            .map(|mutation| {
                if text(mutation, "patchType") == "JSONPatch" {
                    let written = text(&mutation["jsonPatch"], "expression");
                    Mutation::Patch(compile(written, Sees::Mutation, Wanted::Patch))
                } else {
                    let written = text(&mutation["applyConfiguration"], "expression");
                    Mutation::Apply(compile(written, Sees::Mutation, Wanted::Object))
                }
            })
            .collect();
        let asks = |expression: &Expression| {
            expression.program.as_ref().is_ok_and(|program| {
                program.references("authorizer") || program.references("authorizer.requestResource")
            })
        };
        let asks = conditions.iter().any(asks)
            || variables.iter().any(|variable| asks(&variable.expression))
            || validations.iter().any(|validation| asks(&validation.expression))
            || audits.iter().any(|(_, expression)| asks(expression))
            || mutations.iter().any(|mutation| match mutation {
                Mutation::Apply(expression) | Mutation::Patch(expression) => asks(expression),
            });
        Self {
            name: text(&object["metadata"], "name").to_owned(),
            ignores_errors: text(spec, "failurePolicy") == "Ignore",
            params: (!params.is_null()).then(|| {
                let version = text(params, "apiVersion");
                let (group, version) = version.split_once('/').unwrap_or(("", version));
                Kind::new(group, version, text(params, "kind"))
            }),
            constraints: parsed(&spec["matchConstraints"]).unwrap_or_default(),
            conditions,
            variables,
            validations,
            audits,
            mutations,
            reinvoke: text(spec, "reinvocationPolicy") == "IfNeeded",
            asks,
        }
    }

    /// The values behind the names in its expressions, without parameters.
    pub fn inputs(
        &self,
        attributes: &Attributes<'_>,
        matched: &Match,
        object: Option<&Json>,
        lookup: &dyn Lookup,
    ) -> Inputs {
        let roles = self.asks.then(|| Arc::new(Snapshot::of(lookup)));
        let object = matched.view(object, lookup);
        let old = matched.view(attributes.old, lookup);
        Inputs::new(attributes, matched, object.as_ref(), old.as_ref(), roles)
    }

    /// Whether the match conditions hold; conditions see no namespace.
    pub fn applies(&self, inputs: &Inputs) -> Result<bool, String> {
        applies(&self.conditions, self.ignores_errors, inputs)
    }

    /// The kind's resource, or why the policy cannot be used.
    pub fn param_resource(
        &self,
        lookup: &dyn Lookup,
    ) -> Result<Option<crate::resource::Resource>, String> {
        let Some(kind) = &self.params else { return Ok(None) };
        lookup
            .resource(&kind.group, &kind.kind)
            .map(Some)
            .ok_or_else(|| format!("failed to find resource referenced by paramKind: '{kind}'"))
    }
}

/// Whether conditions hold: one that is false decides, errors only if all others are true.
pub(super) fn applies(
    conditions: &[Expression],
    ignores_errors: bool,
    inputs: &Inputs,
) -> Result<bool, String> {
    let mut errors: Vec<String> = Vec::new();
    for condition in conditions {
        match condition.run(inputs) {
            Ok(Value::Bool(false)) => return Ok(false),
            Ok(_) => {}
            Err(why) if errors.contains(&why) => {}
            Err(why) => errors.push(why),
        }
    }
    match errors.as_slice() {
        [] => Ok(true),
        _ if ignores_errors => Ok(false),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

impl Binding {
    fn parse(object: &Json) -> Self {
        let spec = &object["spec"];
        Self {
            name: text(&object["metadata"], "name").to_owned(),
            policy: text(spec, "policyName").to_owned(),
            params: parsed(&spec["paramRef"]),
            constraints: parsed(&spec["matchResources"]),
            actions: parsed(&spec["validationActions"]).unwrap_or_default(),
        }
    }

    /// Whether it is about the request.
    pub fn matches(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Json>,
        lookup: &dyn Lookup,
    ) -> Result<bool, Failure> {
        match &self.constraints {
            None => Ok(true),
            Some(constraints) => {
                constraints.matches(attributes, object, lookup).map(|matched| matched.is_some())
            }
        }
    }

    /// The parameter objects to run with; `None` stands for "without parameters".
    pub fn params(
        &self,
        policy: &Policy,
        resource: Option<&crate::resource::Resource>,
        attributes: &Attributes<'_>,
        lookup: &dyn Lookup,
    ) -> Result<Vec<Option<Json>>, String> {
        let (Some(kind), Some(resource), Some(wanted)) = (&policy.params, resource, &self.params)
        else {
            return Ok(vec![None]);
        };
        let namespace = if resource.namespaced {
            let own = wanted.namespace.as_str();
            let namespace = if own.is_empty() { attributes.scope() } else { own };
            if namespace.is_empty() {
                return Err("cannot use namespaced paramRef in policy binding that matches \
                            cluster-scoped resources"
                    .into());
            }
            Some(namespace)
        } else if wanted.namespace.is_empty() {
            None
        } else {
            return Err(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into()
            );
        };
        let found: Vec<Found> = if wanted.name.is_empty() {
            let selector = wanted.selector.clone().unwrap_or_default();
            let all = lookup.list(&resource.group, &resource.plural, namespace);
            all.into_iter().filter(|object| selector.matches(object)).collect()
        } else {
            let one = lookup.get(&resource.group, &resource.plural, namespace, &wanted.name);
            one.into_iter().collect()
        };
        if found.is_empty() && wanted.parameter_not_found_action == "Deny" {
            return Err(
                "no params found for policy binding with `Deny` parameterNotFoundAction".into()
            );
        }
        let view = |object: Found| {
            let mut object = (*object).clone();
            object["kind"] = kind.kind.as_str().into();
            object["apiVersion"] = if kind.group.is_empty() {
                kind.version.as_str().into()
            } else {
                format!("{}/{}", kind.group, kind.version).into()
            };
            Some(object)
        };
        Ok(found.into_iter().map(view).collect())
    }
}

/// The namespace of the request as expressions see it; none at the cluster scope.
pub(super) fn namespace_of(
    attributes: &Attributes<'_>,
    lookup: &dyn Lookup,
) -> Result<Option<Found>, Failure> {
    if attributes.is_namespace() || attributes.scope().is_empty() {
        return Ok(None);
    }
    let name = attributes.scope();
    match lookup.get("", "namespaces", None, name) {
        Some(namespace) => Ok(Some(namespace)),
        None => Err(Failure::not_found("", "namespaces", name)),
    }
}
