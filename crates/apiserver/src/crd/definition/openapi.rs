//! What each node of a definition's schema may say, its defaults and its rules.

use serde_json::{Value, json};

use super::paths::field_path;
use super::text;
use crate::cel::{self, Program, Type};
use crate::crd::rules::{Rules, scope};
use crate::crd::{embedded, prune, shown, validate as values};
use crate::fields::{FieldError, Path};
use crate::schema::Node;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What is known of the place of a node.
#[derive(Clone)]
pub(super) struct Checking<'a> {
    /// The node as expressions see it; none where rules are not looked at.
    node: Option<Node<'a>>,
    root: bool,
    /// Why defaults are forbidden here.
    no_defaults: Option<String>,
    inside_meta: bool,
    /// The nearest place around from which on old and new cannot be matched.
    unmatched: Option<Path>,
    /// Whether the version's schema is as it was: what was accepted stays accepted.
    unchanged: bool,
    /// How often the value may stand in one object; none if there is no bound.
    cardinality: Option<u64>,
}

impl<'a> Checking<'a> {
    pub fn root(node: Option<Node<'a>>, unchanged: bool) -> Self {
        Self {
            node,
            root: true,
            no_defaults: None,
            inside_meta: false,
            unmatched: None,
            unchanged,
            cardinality: Some(1),
        }
    }

    fn below(&self, node: impl FnOnce(Node<'a>) -> Option<Node<'a>>) -> Self {
        let most = self.node.map_or(Some(1), |node| {
            let schema = node.schema;
            match schema.type_name.as_str() {
                "object" if schema.additional_properties.is_some() => schema.max_properties,
                "array" => schema.max_items,
                _ => Some(1),
            }
        });
        let cardinality = self.cardinality.zip(most).map(|(a, b)| a.saturating_mul(b));
        Self { node: self.node.and_then(node), root: false, cardinality, ..self.clone() }
    }
}

#[derive(Default)]
struct Found {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
    /// What rules cost, with where they stand.
    costs: Vec<(u64, Path)>,
}

/// What is wrong with the nodes of a schema: their keywords first, then their rules.
pub(super) fn validate(schema: &Value, at: &Path, checking: &Checking<'_>) -> Vec<FieldError> {
    let mut found = Found::default();
    node(schema, at, checking, &mut found);
    found.schema.extend(found.rules);
    let mut costs = found.costs;
    let total = costs.iter().map(|(cost, _)| *cost).fold(0, u64::saturating_add);
    if total > MOST_TOGETHER {
        costs.retain(|(cost, _)| *cost >= MOST_TOGETHER / 100);
        costs.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        for (_, place) in costs.iter().take(4) {
            found.schema.push(FieldError::forbidden(
                place,
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
            ));
        }
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        found.schema.push(FieldError::forbidden(at, too_dear(name, total, MOST_TOGETHER)));
    }
    found.schema
}

/// Most that one expression, and all of a schema together, may cost.
const MOST_EACH: u64 = 10_000_000;
const MOST_TOGETHER: u64 = 100_000_000;

#[expect(clippy::cast_precision_loss, reason = "a factor for people to read")]
fn too_dear(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

fn node(schema: &Value, at: &Path, here: &Checking<'_>, found: &mut Found) {
    if !schema.is_object() {
        return;
    }
    let (schema_before, embedded) =
        (found.schema.len(), schema["x-kubernetes-embedded-resource"] == true);
    keywords(schema, at, here, embedded, &mut found.schema);
    let values = &schema["additionalProperties"];
    let properties = schema["properties"].as_object();
    if !values.is_null() {
        if properties.is_some_and(|p| !p.is_empty()) && *values != true {
            found.schema.push(FieldError::forbidden(
                &at.child("additionalProperties"),
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        let mut inner = here.below(Node::values);
        if here.inside_meta {
            inner.no_defaults =
                Some("inside additionalProperties applying to object metadata".into());
        }
        node(values, &at.child("additionalProperties"), &inner, found);
    }
    for (name, property) in properties.into_iter().flatten() {
        let mut inner = here.below(|node| node.property(name));
        if (here.root || embedded) && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            inner.inside_meta = true;
            if here.root {
                inner.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        node(property, &at.child("properties").key(name), &inner, found);
    }
    let ruleless = Checking { node: None, root: false, ..here.clone() };
    node(&schema["not"], &at.child("not"), &ruleless, found);
    for name in ["allOf", "oneOf", "anyOf"] {
        for (index, inner) in schema[name].as_array().into_iter().flatten().enumerate() {
            node(inner, &at.child(name).index(index), &ruleless, found);
        }
    }
    if !schema["items"].is_null() {
        let mut inner = here.below(Node::items);
        if schema["x-kubernetes-list-type"] != "map" {
            inner.unmatched = inner.unmatched.or_else(|| Some(at.clone()));
        }
        node(&schema["items"], &at.child("items"), &inner, found);
    }
    extensions(schema, at, &mut found.schema);
    let rules = schema["x-kubernetes-validations"].as_array().cloned().unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        rule_words(
            rule,
            &at.child("x-kubernetes-validations").index(index),
            here,
            &mut found.schema,
        );
    }
    if found.schema.len() == schema_before
        && !rules.is_empty()
        && let Some(node) = here.node
    {
        expressions(&rules, node, at, here, found);
    }
}

fn keywords(
    schema: &Value,
    at: &Path,
    here: &Checking<'_>,
    embedded: bool,
    errors: &mut Vec<FieldError>,
) {
    let type_name = text(&schema["type"]);
    if !type_name.is_empty() && !TYPES.contains(&type_name) {
        errors.push(FieldError::not_supported(&at.child("type"), &schema["type"], &TYPES));
    }
    if let (Some(why), true) = (&here.no_defaults, !schema["default"].is_null()) {
        errors.push(FieldError::forbidden(&at.child("default"), format!("must not be set {why}")));
    }
    for (name, detail) in [
        ("id", "id is not supported"),
        ("additionalItems", "additionalItems is not supported"),
        ("patternProperties", "patternProperties is not supported"),
        ("definitions", "definitions is not supported"),
        ("dependencies", "dependencies is not supported"),
        ("$ref", "$ref is not supported"),
    ] {
        if !schema[name].is_null() {
            errors.push(FieldError::forbidden(&at.child(name), detail));
        }
    }
    if type_name == "null" {
        errors.push(FieldError::forbidden(
            &at.child("type"),
            "type cannot be set to null, use nullable as an alternative",
        ));
    }
    if schema["items"].is_array() {
        errors.push(FieldError::forbidden(
            &at.child("items"),
            "items must be a schema object and not an array",
        ));
    }
    if here.inside_meta && embedded {
        errors.push(FieldError::forbidden(
            &at.child("x-kubernetes-embedded-resource"),
            "must not be used inside of resource meta",
        ));
    }
    if schema["uniqueItems"] == true {
        errors.push(FieldError::forbidden(
            &at.child("uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ));
    }
}

/// Either missing or wrong: the type that an extension asks for.
fn wants_type(schema: &Value, at: &Path, wanted: &str, detail: &str, errors: &mut Vec<FieldError>) {
    match text(&schema["type"]) {
        name if name == wanted => {}
        "" => errors.push(FieldError::required(&at.child("type"), detail)),
        _ => errors.push(FieldError::invalid(&at.child("type"), &schema["type"], detail)),
    }
}

fn extensions(schema: &Value, at: &Path, errors: &mut Vec<FieldError>) {
    const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
    const MAP: &str = "x-kubernetes-map-type";
    const LIST: &str = "x-kubernetes-list-type";
    const KEYS: &str = "x-kubernetes-list-map-keys";
    if schema[PRESERVE] == false {
        errors.push(FieldError::invalid(
            &at.child(PRESERVE),
            &json!(false),
            "must be true or undefined",
        ));
    }
    if let Some(kind) = schema[MAP].as_str() {
        wants_type(
            schema,
            at,
            "object",
            "must be object if x-kubernetes-map-type is specified",
            errors,
        );
        if !matches!(kind, "atomic" | "granular") {
            errors.push(FieldError::not_supported(
                &at.child(MAP),
                &schema[MAP],
                &["atomic", "granular"],
            ));
        }
    }
    let items = &schema["items"];
    let list = schema[LIST].as_str();
    if list.is_some() && text(&schema["type"]) != "array" {
        wants_type(
            schema,
            at,
            "array",
            "must be array if x-kubernetes-list-type is specified",
            errors,
        );
    } else if list == Some("set") {
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        match text(&items["type"]) {
            "array" if !items[LIST].is_null() && items[LIST] != "atomic" => {
                errors.push(FieldError::invalid(
                    &at.child("items").child(LIST),
                    &items[LIST],
                    detail,
                ));
            }
            "object" if items[MAP] != "atomic" => {
                errors.push(FieldError::invalid(
                    &at.child("items").child(MAP),
                    &items[LIST],
                    detail,
                ));
            }
            _ => {}
        }
    }
    if let Some(kind) = list
        && !matches!(kind, "atomic" | "set" | "map")
    {
        errors.push(FieldError::not_supported(
            &at.child(LIST),
            &schema[LIST],
            &["atomic", "set", "map"],
        ));
    }
    let keys = schema[KEYS].as_array().cloned().unwrap_or_default();
    if !keys.is_empty() && list != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        errors.push(match list {
            None => FieldError::required(&at.child(LIST), detail),
            Some(_) => FieldError::invalid(&at.child(LIST), &schema[LIST], detail),
        });
    }
    if list == Some("map") {
        keyed(schema, items, &keys, at, errors);
    }
    let Some(kind @ ("set" | "map")) = list else { return };
    if items["nullable"] == true {
        errors.push(FieldError::forbidden(
            &at.child("items").child("nullable"),
            format!("cannot be nullable when x-kubernetes-list-type is {kind}"),
        ));
    }
    for key in keys.iter().filter(|_| kind == "map") {
        let property = &items["properties"][text(key)];
        if !property.is_object() {
            continue;
        }
        let at = at.child("items").child("properties").key(text(key));
        let required = items["required"].as_array().is_some_and(|list| list.contains(key));
        if !required && property["default"].is_null() {
            errors.push(FieldError::required(
                &at.child("default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ));
        }
        if property["nullable"] == true {
            errors.push(FieldError::forbidden(
                &at.child("nullable"),
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ));
        }
    }
}

fn keyed(schema: &Value, items: &Value, keys: &[Value], at: &Path, errors: &mut Vec<FieldError>) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    if keys.is_empty() {
        errors.push(FieldError::required(
            &at.child(KEYS),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    if items.is_null() {
        errors.push(FieldError::required(
            &at.child("items"),
            "must have a schema if x-kubernetes-list-type is map",
        ));
        return;
    }
    if items["type"] != "object" {
        errors.push(FieldError::invalid(
            &at.child("items").child("type"),
            &json!(text(&items["type"])),
            "must be object if parent array's x-kubernetes-list-type is map",
        ));
        return;
    }
    for (index, key) in keys.iter().enumerate() {
        let property = &items["properties"][text(key)];
        if property.is_null() {
            errors.push(FieldError::invalid(
                &at.child(KEYS),
                &schema[KEYS],
                "entries must all be names of item properties",
            ));
        } else if matches!(text(&property["type"]), "array" | "object") {
            errors.push(FieldError::invalid(
                &at.child("items").child("properties").key(text(key)).child("type"),
                &items["type"],
                "must be a scalar type if parent array's x-kubernetes-list-type is map",
            ));
        }
        if keys[..index].contains(key) {
            errors.push(FieldError::invalid(
                &at.child(KEYS),
                &schema[KEYS],
                "must not contain duplicate entries",
            ));
        }
    }
}

fn rule_words(rule: &Value, at: &Path, here: &Checking<'_>, errors: &mut Vec<FieldError>) {
    let lines = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (text(&rule["rule"]), text(&rule["message"]));
    if expression.trim().is_empty() {
        errors.push(FieldError::required(&at.child("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(
            &at.child("message"),
            &rule["message"],
            "must be non-empty if specified",
        ));
    } else if lines(message.trim()) {
        errors.push(FieldError::invalid(
            &at.child("message"),
            &rule["message"],
            "must not contain line breaks",
        ));
    } else if lines(expression.trim()) && message.trim().is_empty() {
        errors.push(FieldError::required(
            &at.child("message"),
            "message must be specified if rule contains line breaks",
        ));
    }
    let spoken = text(&rule["messageExpression"]);
    if !spoken.is_empty() && spoken.trim().is_empty() {
        errors.push(FieldError::required(
            &at.child("messageExpression"),
            "messageExpression must be non-empty if specified",
        ));
    }
    if rule["reason"].as_str().is_some_and(|reason| !REASONS.contains(&reason)) {
        errors.push(FieldError::not_supported(&at.child("reason"), &rule["reason"], &REASONS));
    }
    let path = text(&rule["fieldPath"]);
    if path.is_empty() {
        return;
    }
    let field = at.child("fieldPath");
    if path.trim().is_empty() {
        errors.push(FieldError::invalid(
            &field,
            &rule["fieldPath"],
            "must be non-empty if specified",
        ));
    }
    if lines(path) {
        errors.push(FieldError::invalid(
            &field,
            &rule["fieldPath"],
            "must not contain line breaks",
        ));
    }
    if here.node.is_some_and(|node| field_path(path, node, true).is_err()) {
        errors.push(FieldError::invalid(&field, &rule["fieldPath"], "must be a valid path"));
    }
}

/// A rule as the server prints its internal struct.
fn internal(rule: &Value) -> String {
    let quoted = |name: &str| shown(&json!([text(&rule[name])]));
    let inner = |name: &str| {
        let list = quoted(name);
        list[1..list.len() - 1].to_owned()
    };
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        inner("rule"),
        inner("message"),
        inner("messageExpression"),
        if rule["reason"].is_null() { "null".to_owned() } else { inner("reason") },
        inner("fieldPath"),
        rule["optionalOldSelf"]
    )
}

fn expressions(rules: &[Value], node: Node<'_>, at: &Path, here: &Checking<'_>, found: &mut Found) {
    let Found { rules: errors, costs, .. } = found;
    let at = at.child("x-kubernetes-validations");
    let Some(of) = cel::type_of(node, here.root || node.schema.embedded_resource) else {
        errors.push(FieldError {
            wrong: crate::fields::Wrong::Internal,
            field: at.as_str().to_owned(),
            shown: None,
            detail: "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations".into(),
        });
        return;
    };
    for (index, rule) in rules.iter().enumerate() {
        let at = at.index(index);
        let optional = rule["optionalOldSelf"] == true;
        let scope = scope(&of, optional);
        let wrong = |field: &str, detail: String| {
            FieldError::invalid_shown(&at.child(field), internal(rule), detail)
        };
        let program = match Program::compile(text(&rule["rule"]), &scope) {
            Ok(program) => program,
            Err(error) => {
                errors.push(wrong("rule", format!("compilation failed: {error}")));
                continue;
            }
        };
        if !matches!(program.result(), Type::Bool) {
            errors.push(wrong("rule", "cel expression must evaluate to a bool".into()));
            continue;
        }
        let resource = here.root || node.schema.embedded_resource;
        let often = here.cardinality.unwrap_or_else(|| cel::cardinality(node, resource));
        let cost = program.cost(node).saturating_mul(often);
        if cost > MOST_EACH && !here.unchanged {
            let detail = too_dear("estimated rule cost", cost, MOST_EACH);
            errors.push(FieldError::forbidden(&at.child("rule"), detail));
        }
        costs.push((cost, at.child("rule")));
        let spoken = text(&rule["messageExpression"]);
        if !spoken.is_empty() {
            match Program::compile(spoken, &scope) {
                Err(error) => errors.push(wrong(
                    "messageExpression",
                    format!("messageExpression compilation failed: {error}"),
                )),
                Ok(program) if !matches!(program.result(), Type::String) => errors.push(wrong(
                    "messageExpression",
                    "messageExpression must evaluate to a string".into(),
                )),
                Ok(program) => {
                    let cost = program.cost(node);
                    let field = at.child("messageExpression");
                    if cost > MOST_EACH && !here.unchanged {
                        let detail = too_dear("estimated messageExpression cost", cost, MOST_EACH);
                        errors.push(FieldError::forbidden(&field, detail));
                    }
                    costs.push((cost, field));
                }
            }
        }
        let transition = program.references("oldSelf");
        if let (true, Some(place)) = (transition, &here.unmatched) {
            errors.push(FieldError::invalid(
                &at.child("rule"),
                &rule["rule"],
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {place}"),
            ));
        } else if !transition && !rule["optionalOldSelf"].is_null() {
            errors.push(FieldError::invalid(
                &at.child("optionalOldSelf"),
                &rule["optionalOldSelf"],
                "may not be set if oldSelf is not used in rule",
            ));
        }
    }
}

/// What is wrong with the defaults of a schema.
pub(super) fn defaults(node: Node<'_>, at: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    default_values(node, at, true, &mut errors);
    errors
}

fn default_values(node: Node<'_>, at: &Path, root: bool, errors: &mut Vec<FieldError>) {
    if let Some(default) = node.schema.default.as_ref().filter(|default| !default.is_null()) {
        let field = at.child("default");
        let mut pruned = default.clone();
        if !prune::part(node, &mut pruned).is_empty() {
            errors.push(FieldError::invalid_shown(
                &field,
                shown(default),
                "must not have unknown fields",
            ));
        }
        let mut found = embedded::validate_at(node, &field, default);
        if found.is_empty() {
            found = values::values(node, field.as_str(), default, None);
        }
        if found.is_empty()
            && let Some(rules) = Rules::compile(node, root)
        {
            found = rules.check(node, &field, default, Some(default)).errors;
            if found.is_empty() {
                found = rules.check(node, &field, default, None).errors;
            }
        }
        errors.extend(found);
    }
    if let Some(items) = node.items() {
        default_values(items, &at.child("items"), false, errors);
    }
    for name in node.schema.properties.keys() {
        if let Some(inner) = node.property(name) {
            default_values(inner, &at.child("properties").key(name), false, errors);
        }
    }
}
