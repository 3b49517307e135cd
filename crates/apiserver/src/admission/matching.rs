//! Which requests a policy or webhook is about.

use serde::Deserialize;
use serde_json::Value;

use super::selector::Selector;
use super::{Attributes, Kind, Lookup, Operation};
use crate::resource::Resource;
use crate::status::Failure;

/// `matchConstraints` of a policy and `matchResources` of a binding.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Constraints {
    namespace_selector: Selector,
    object_selector: Selector,
    resource_rules: Vec<Rule>,
    exclude_resource_rules: Vec<Rule>,
    match_policy: MatchPolicy,
}

/// Operations on resources.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    operations: Vec<String>,
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    scope: Option<String>,
    resource_names: Vec<String>,
}

/// Whether other versions of a resource count as the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum MatchPolicy {
    /// Only what the rule says.
    Exact,
    /// Any version of it.
    #[default]
    Equivalent,
}

/// The version in which a policy or webhook wants to see the request.
#[derive(Debug, Clone)]
pub(super) struct Match {
    /// The kind of the object.
    pub kind: Kind,
    /// Group, version and plural.
    pub resource: (String, String, String),
    /// The resource to convert the object to, if the request is in another version.
    pub convert: Option<Resource>,
}

impl Match {
    fn of(attributes: &Attributes<'_>) -> Self {
        let resource = attributes.resource;
        Self {
            kind: attributes.kind(),
            resource: (resource.group.clone(), resource.version.clone(), resource.plural.clone()),
            convert: None,
        }
    }

    /// The object in the version that was matched.
    pub fn view(&self, object: Option<&Value>, lookup: &dyn Lookup) -> Option<Value> {
        let object = object?;
        Some(match &self.convert {
            Some(resource) => lookup.convert(object, resource),
            None => object.clone(),
        })
    }
}

impl Constraints {
    /// How the request matches, if it does. `object` is the object as mutated so far.
    pub fn matches(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        lookup: &dyn Lookup,
    ) -> Result<Option<Match>, Failure> {
        // A namespace that does not exist only matters if the rules match.
        let namespace = namespace_matches(&self.namespace_selector, attributes, object, lookup);
        if namespace == Ok(false) || !object_matches(&self.object_selector, attributes, object) {
            return Ok(None);
        }
        let policy = self.match_policy;
        if by_rules(&self.exclude_resource_rules, policy, attributes, lookup).is_some() {
            return Ok(None);
        }
        let matched = if self.resource_rules.is_empty() {
            Some(Match::of(attributes))
        } else {
            by_rules(&self.resource_rules, policy, attributes, lookup)
        };
        match matched {
            None => Ok(None),
            Some(matched) => namespace.map(|_| Some(matched)),
        }
    }
}

/// How a webhook's selectors and rules match the request.
pub(super) fn webhook_matches(
    selectors: (&Selector, &Selector),
    rules: &[Rule],
    policy: MatchPolicy,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    lookup: &dyn Lookup,
) -> Result<Option<Match>, Failure> {
    let namespace = namespace_matches(selectors.0, attributes, object, lookup);
    if namespace == Ok(false) || !object_matches(selectors.1, attributes, object) {
        return Ok(None);
    }
    match by_rules(rules, policy, attributes, lookup) {
        None => Ok(None),
        Some(matched) => namespace.map(|_| Some(matched)),
    }
}

fn by_rules(
    rules: &[Rule],
    policy: MatchPolicy,
    attributes: &Attributes<'_>,
    lookup: &dyn Lookup,
) -> Option<Match> {
    let resource = attributes.resource;
    let direct = |rule: &Rule| {
        rule.matches(attributes, &resource.group, &resource.version, &resource.plural)
    };
    if rules.iter().any(direct) {
        return Some(Match::of(attributes));
    }
    if policy == MatchPolicy::Exact {
        return None;
    }
    let others = lookup.equivalents(resource, attributes.subresource);
    for rule in rules {
        for other in &others {
            let same = (&other.group, &other.version) == (&resource.group, &resource.version);
            if !same && rule.matches(attributes, &other.group, &other.version, &other.plural) {
                let plain = matches!(attributes.subresource, "" | "status");
                return Some(Match {
                    kind: if plain { Kind::of(other) } else { attributes.kind() },
                    resource: (other.group.clone(), other.version.clone(), other.plural.clone()),
                    convert: plain.then(|| other.clone()),
                });
            }
        }
    }
    None
}

impl Rule {
    fn matches(
        &self,
        attributes: &Attributes<'_>,
        group: &str,
        version: &str,
        plural: &str,
    ) -> bool {
        let listed = |list: &[String], wanted: &str| list.iter().any(|s| s == "*" || s == wanted);
        let namespaced = !attributes.is_namespace() && !attributes.scope().is_empty();
        let in_scope = match self.scope.as_deref() {
            None | Some("*") => true,
            Some("Namespaced") => namespaced,
            Some("Cluster") => !namespaced,
            Some(_) => false,
        };
        let resource = |written: &String| {
            let (of, sub) = written.split_once('/').unwrap_or((written, ""));
            (of == "*" || of == plural) && (sub == "*" || sub == attributes.subresource)
        };
        in_scope
            && listed(&self.operations, attributes.operation.as_str())
            && listed(&self.api_groups, group)
            && listed(&self.api_versions, version)
            && self.resources.iter().any(resource)
            && (self.resource_names.is_empty()
                || self.resource_names.iter().any(|name| name == attributes.name))
    }
}

fn object_matches(
    selector: &Selector,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
) -> bool {
    selector.is_empty()
        || [object, attributes.old].into_iter().flatten().any(|o| selector.matches(o))
}

fn namespace_matches(
    selector: &Selector,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    lookup: &dyn Lookup,
) -> Result<bool, Failure> {
    let scope = attributes.scope();
    if selector.is_empty() || (scope.is_empty() && !attributes.is_namespace()) {
        return Ok(true);
    }
    // A namespace that is being written counts as it will be.
    let written = attributes.is_namespace()
        && attributes.subresource.is_empty()
        && matches!(attributes.operation, Operation::Create | Operation::Update);
    if let (true, Some(object)) = (written, object) {
        return Ok(selector.matches(object));
    }
    match lookup.get("", "namespaces", None, scope) {
        Some(namespace) => Ok(selector.matches(&namespace)),
        None => Err(Failure::not_found("", "namespaces", scope)),
    }
}
