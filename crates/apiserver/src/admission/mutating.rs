//! Mutating policies: what they change, and when they run a second time.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::expression::{Expression, Inputs};
use super::merge;
use super::policy::{Bound, Mutation, Policy, namespace_of};
use super::{Attributes, Lookup};
use crate::apply::overlay;
use crate::cel::{Struct, Value};
use crate::status::Failure;

/// An object on its way through mutation. Whoever asked for it runs once more if the object changed after
/// them; the second time ends it.
#[derive(Debug)]
pub(super) struct Round {
    /// The object as it is now.
    pub object: Json,
    /// For the caller.
    pub warnings: Vec<String>,
    /// Calls made so far.
    pub calls: u32,
    ran: [Again; 2],
    again: bool,
    changed: bool,
}

/// Who ran and wants to run again if the object changes.
#[derive(Debug, Default)]
struct Again {
    ran: BTreeSet<String>,
    due: BTreeSet<String>,
    seen: Option<Json>,
}

impl Again {
    fn require(&mut self) {
        self.due.append(&mut self.ran);
    }
}

/// Policies or webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Policies.
    Policies = 0,
    /// Webhooks.
    Hooks = 1,
}

impl Round {
    /// The object as it came.
    pub fn new(object: Json) -> Self {
        Self {
            object,
            warnings: Vec::new(),
            calls: 0,
            ran: Default::default(),
            again: false,
            changed: false,
        }
    }

    /// Whether something changed, so that a second round is due; begins it.
    pub fn begin_again(&mut self) -> bool {
        self.again = self.changed;
        self.again
    }

    /// Begins the turn of policies or webhooks.
    pub fn begin(&mut self, sort: Sort) {
        let turn = &mut self.ran[sort as usize];
        if self.again && turn.seen.as_ref() != Some(&self.object) {
            turn.require();
        }
    }

    /// Ends it: changes after this concern those who ran in it.
    pub fn end(&mut self, sort: Sort) {
        self.ran[sort as usize].seen = Some(self.object.clone());
    }

    /// Whether this one is to run now.
    pub fn is_due(&self, sort: Sort, key: &str) -> bool {
        !self.again || self.ran[sort as usize].due.contains(key)
    }

    /// Notes that this one ran: the object it left, and whether it wants to run again.
    pub fn ran(&mut self, sort: Sort, key: &str, object: Option<Json>, reinvoke: bool) {
        let turn = &mut self.ran[sort as usize];
        if let Some(object) = object
            && object != self.object
        {
            self.object = object;
            self.changed = true;
            turn.require();
        }
        if reinvoke {
            turn.ran.insert(key.to_owned());
        }
    }
}

/// A policy that could not do its work.
struct Denial {
    message: String,
    reason: Option<&'static str>,
}

/// Why a mutation failed: the policy's failure policy decides, or nothing can help.
enum Trouble {
    Policy(String),
    Server(Failure),
}

/// Runs all policies in order, each on what the ones before it left.
pub(super) fn mutate(
    policies: &[Bound],
    attributes: &Attributes<'_>,
    round: &mut Round,
    lookup: &dyn Lookup,
) -> Result<(), Failure> {
    if round.object.is_null() {
        return Ok(());
    }
    round.begin(Sort::Policies);
    let mut denials: Vec<Denial> = Vec::new();
    for bound in policies {
        let policy = &*bound.policy;
        let alone = format!("policy {:?}", policy.name);
        let mut deny = |who: &str, why: String, reason| {
            if !policy.ignores_errors {
                denials.push(Denial { message: format!("{who} denied request: {why}"), reason });
            }
        };
        let object = Some(&round.object);
        let matched = match policy.constraints.matches(attributes, object, lookup) {
            Ok(None) => continue,
            Ok(Some(matched)) => matched,
            Err(failure) => {
                deny(&alone, format!("failed to configure policy: {}", failure.message), None);
                continue;
            }
        };
        let resource = match policy.param_resource(lookup) {
            Ok(resource) => resource,
            Err(why) => {
                deny(&alone, format!("failed to configure policy: {why}"), None);
                continue;
            }
        };
        for binding in &bound.bindings {
            let who = format!("policy '{}' with binding '{}'", policy.name, binding.name);
            match binding.matches(attributes, Some(&round.object), lookup) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(failure) => {
                    deny(&who, format!("failed to configure binding: {}", failure.message), None);
                    continue;
                }
            }
            let params = match binding.params(policy, resource.as_ref(), attributes, lookup) {
                Ok(params) => params,
                Err(why) => {
                    deny(&who, format!("failed to configure binding: {why}"), None);
                    continue;
                }
            };
            let namespace = namespace_of(attributes, lookup)?;
            for param in &params {
                let named = |key: &str| {
                    let text = param.as_ref().and_then(|param| param["metadata"][key].as_str());
                    text.unwrap_or_default().to_owned()
                };
                let key = format!(
                    "{}/{}/{}/{}",
                    policy.name,
                    binding.name,
                    named("namespace"),
                    named("name")
                );
                let inputs = policy
                    .inputs(attributes, &matched, Some(&round.object), lookup)
                    .with_params(param.as_ref());
                match policy.applies(&inputs.clone().with_variables(&policy.variables)) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    Err(why) => {
                        deny(&who, why, Some("Invalid"));
                        continue;
                    }
                }
                if !round.is_due(Sort::Policies, &key) {
                    continue;
                }
                let inputs = inputs.with_namespace(namespace.as_deref());
                let mut object = round.object.clone();
                for mutation in &policy.mutations {
                    match changed(policy, mutation, &inputs, &object, attributes, lookup) {
                        Ok(after) => object = after,
                        Err(Trouble::Policy(why)) => deny(&who, why, Some("Invalid")),
                        Err(Trouble::Server(failure)) => return Err(failure),
                    }
                }
                round.ran(Sort::Policies, &key, Some(object), policy.reinvoke);
            }
        }
    }
    round.end(Sort::Policies);
    if denials.is_empty() { Ok(()) } else { Err(refusal(attributes, &denials)) }
}

/// The object after one mutation.
fn changed(
    policy: &Policy,
    mutation: &Mutation,
    inputs: &Inputs,
    object: &Json,
    attributes: &Attributes<'_>,
    lookup: &dyn Lookup,
) -> Result<Json, Trouble> {
    let inputs = inputs.clone().with_object(object).with_variables(&policy.variables);
    let mut after = match mutation {
        Mutation::Apply(expression) => apply(expression, &inputs, object, attributes)?,
        Mutation::Patch(expression) => patch(expression, &inputs, object, attributes)?,
    };
    if attributes.subresource.is_empty() {
        lookup.fill_defaults(attributes.resource, &mut after);
    }
    Ok(after)
}

fn apply(
    expression: &Expression,
    inputs: &Inputs,
    object: &Json,
    attributes: &Attributes<'_>,
) -> Result<Json, Trouble> {
    let value = expression.run(inputs).map_err(Trouble::Policy)?;
    let Value::Struct(built) = &value else {
        let why = format!(
            "unsupported return type from ApplyConfiguration expression: {}",
            value.type_name()
        );
        return Err(Trouble::Policy(why));
    };
    let mut wrong = Vec::new();
    misnamed(&value, &built.type_name.clone(), &mut wrong);
    if !wrong.is_empty() {
        return Err(Trouble::Policy(format!("type mismatch: {}", wrong.join("\n"))));
    }
    let mut config = value.to_json().ok_or_else(|| {
        Trouble::Policy("invalid return type: the object has no JSON form".to_owned())
    })?;
    for key in ["kind", "apiVersion"] {
        config[key] = object[key].clone();
    }
    overlay(attributes.resource.shape.node(), object, &config)
        .map_err(|why| Trouble::Policy(format!("error applying patch: {why}")))
}

/// The types of nested messages must be named after the fields they stand in.
fn misnamed(value: &Value, expected: &str, wrong: &mut Vec<String>) {
    match value {
        Value::Struct(built) => {
            let Struct { type_name, fields } = &**built;
            if **type_name != *expected {
                wrong.push(format!(
                    "unexpected type name {type_name:?}, expected {expected:?}, which matches field name path from root Object type"
                ));
            }
            for (field, value) in fields {
                misnamed(value, &format!("{expected}.{field}"), wrong);
            }
        }
        Value::List(list) => list.items.iter().for_each(|item| misnamed(item, expected, wrong)),
        Value::Map(map) => map.values().for_each(|item| misnamed(item, expected, wrong)),
        _ => {}
    }
}

fn patch(
    expression: &Expression,
    inputs: &Inputs,
    object: &Json,
    attributes: &Attributes<'_>,
) -> Result<Json, Trouble> {
    let value = expression.run(inputs).map_err(Trouble::Policy)?;
    let Value::List(list) = &value else {
        let why = "type mismatch: JSONPatchType.expression should evaluate to array";
        return Err(Trouble::Policy(why.to_owned()));
    };
    let mut operations = Vec::with_capacity(list.items.len());
    for item in list.items.iter() {
        operations.push(operation(item).map_err(Trouble::Policy)?);
    }
    match merge::patched(object, Json::Array(operations).to_string().as_bytes()) {
        Ok(after) => merge::decoded(attributes, after, true).map_err(Trouble::Server),
        // A failed test only means that there is nothing to do.
        Err(why) if why.ends_with("failed: test failed") => Ok(object.clone()),
        Err(why) => Err(Trouble::Policy(format!("JSON Patch: {why}"))),
    }
}

fn operation(item: &Value) -> Result<Json, String> {
    let Value::Struct(built) = item else {
        return Err(format!(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {}",
            item.type_name()
        ));
    };
    let mut operation = Map::new();
    for (field, value) in &built.fields {
        if **field == *"value"
            && let Value::Struct(inner) = value
        {
            let mut wrong = Vec::new();
            misnamed(value, &inner.type_name.clone(), &mut wrong);
            if !wrong.is_empty() {
                return Err(format!("type mismatch: {}", wrong.join("\n")));
            }
        }
        let json = value.to_json().ok_or_else(|| {
            "JSONPath valueExpression evaluated to a type that could not marshal to JSON".to_owned()
        })?;
        operation.insert(field.to_string(), json);
    }
    for key in ["op", "path"] {
        operation.entry(key).or_insert_with(|| "".into());
    }
    Ok(Json::Object(operation))
}

/// 403 whose reason may say Invalid: so the server answers.
fn refusal(attributes: &Attributes<'_>, denials: &[Denial]) -> Failure {
    let mut failure = attributes.forbidden("");
    if let Some(first) = denials.first() {
        failure.message.clone_from(&first.message);
        if let Some(reason) = first.reason {
            failure.reason = Some(reason.into());
        }
    }
    let causes: Json = denials.iter().map(|denial| json!({ "message": denial.message })).collect();
    failure.details.get_or_insert_default().insert("causes".into(), causes);
    failure
}
