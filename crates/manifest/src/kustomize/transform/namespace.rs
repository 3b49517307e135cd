//! One namespace for every object that has one, and for what names it inside of them.

use std::sync::{Arc, LazyLock};

use super::super::config::Config;
use super::super::field::setter::{set_string, wrong_kind};
use super::super::field::{FieldSpec, Leaf};
use super::super::resources::placed;
use super::super::{Gvk, Resource, Resources};
use super::settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Node, Text, Value};

/// Which subjects of role bindings get the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subjects {
    /// Those called `default`.
    #[default]
    DefaultOnly,
    /// Every service account.
    AllServiceAccounts,
    /// None.
    Nobody,
}

/// The one field that is made in every object that can have it.
static OWN: LazyLock<FieldSpec> =
    LazyLock::new(|| FieldSpec::new(Gvk::default(), "metadata/namespace", true));

/// Sets the namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// The namespace.
    pub namespace: Text,
    /// Where it is written, beside `metadata.namespace`.
    pub fields: Arc<[FieldSpec]>,
    /// Whether a namespace that is there stays.
    pub unset_only: bool,
    /// Which subjects of role bindings get it.
    pub subjects: Subjects,
}

impl Namespace {
    /// `namespace` of a kustomization.
    pub fn new(namespace: Text, config: &Config) -> Self {
        let fields = config.namespace.clone();
        Self { namespace, fields, unset_only: false, subjects: Subjects::default() }
    }

    /// From an object of kind `NamespaceTransformer`.
    pub fn from_config(node: &Node) -> Result<Self> {
        let empty = Node::mapping();
        let metadata = settings::mapping(node, "metadata")?.unwrap_or(&empty);
        Ok(Self {
            namespace: settings::text(metadata, "namespace")?,
            fields: settings::field_specs(node)?.into(),
            unset_only: settings::flag(node, "unsetOnly")?,
            subjects: Subjects::parse(&settings::text(node, "setRoleBindingSubjects")?)
                .map_err(|error| error.at(node.mark))?,
        })
    }

    /// Sets it. Two objects that become the same are an error.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        for resource in &mut resources.list {
            let empty = resource.node.as_mapping().is_none_or(crate::yaml::Mapping::is_empty);
            if !empty {
                resource.remember_id();
                self.set_in(&mut resource.node, resource.cluster_scoped)
                    .map_err(|error| placed(error, resource))?;
            }
        }
        let Some((one, two)) = twice(&resources.list) else { return Ok(()) };
        let id = one.current_id();
        let message =
            format!("namespace transformation produces ID conflict: {id} would be there twice");
        let origin = &two.origin;
        let hint = match &origin.file {
            Some(file) => format!("the other one is in {file}, line {}", origin.line),
            None => "rename one of the two".to_owned(),
        };
        Err(placed(Diagnostic::new(message).hint(hint), one))
    }

    /// Sets it in one object.
    pub fn apply_to(&self, object: &mut Node) -> Result<()> {
        self.set_in(object, false)
    }

    fn set_in(&self, object: &mut Node, cluster_scoped: bool) -> Result<()> {
        let gvk = Gvk::of(object);
        if !cluster_scoped && !gvk.is_cluster_scoped() {
            OWN.apply(object, Leaf::Scalar, &mut |node| self.set(node))?;
        }
        let binding = matches!(gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
        if binding {
            self.set_subjects(object)?;
        }
        let core = gvk.group.is_empty() && gvk.version == "v1";
        for field in self.fields.iter() {
            let path = field.path.as_str();
            let own = path == "metadata/namespace"
                || (path == "metadata/name" && !core)
                || (binding
                    && path == "subjects/namespace"
                    && matches!(field.gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding"));
            if !own {
                field
                    .apply_if_matching(object, Leaf::Scalar, &mut |node| self.set(node))
                    .map_err(|error| error.while_doing("namespace transformation failed"))?;
            }
        }
        Ok(())
    }

    fn set_subjects(&self, object: &mut Node) -> Result<()> {
        let (name, wanted) = match self.subjects {
            Subjects::Nobody => return Ok(()),
            Subjects::DefaultOnly => ("name", "default"),
            Subjects::AllServiceAccounts => ("kind", "ServiceAccount"),
        };
        let Some(subjects) = object.get_mut("subjects").filter(|node| !node.is_null()) else {
            return Ok(());
        };
        let doing = "setting namespace on (cluster)role binding subjects";
        let Value::Sequence(subjects) = &mut subjects.value else {
            return Err(wrong_kind("SequenceNode", subjects).while_doing(doing));
        };
        for subject in subjects {
            if subject.is_null() {
                continue;
            }
            if subject.as_mapping().is_none() {
                return Err(wrong_kind("MappingNode", subject).while_doing(doing));
            }
            if subject.get(name).and_then(Node::text) == Some(wanted)
                && let Some(mapping) = subject.as_mapping_mut()
            {
                let namespace = mapping.get_or_insert_with("namespace", || Node::string(""));
                self.set(namespace).map_err(|error| error.while_doing(doing))?;
            }
        }
        Ok(())
    }

    fn set(&self, node: &mut Node) -> Result<()> {
        if self.unset_only && node.text().is_some_and(|text| !text.is_empty()) {
            return Ok(());
        }
        set_string(node, self.namespace.clone())
    }
}

impl Subjects {
    fn parse(text: &str) -> Result<Self> {
        match text {
            "" | "defaultOnly" => Ok(Self::DefaultOnly),
            "allServiceAccounts" => Ok(Self::AllServiceAccounts),
            "none" => Ok(Self::Nobody),
            _ => Err(Diagnostic::new(format!(
                "invalid value \"{text}\" for setRoleBindingSubjects: must be one of \"defaultOnly\", \"none\" or \"allServiceAccounts\""
            ))),
        }
    }
}

/// Two objects that share an id.
fn twice(list: &[Resource]) -> Option<(&Resource, &Resource)> {
    let name = |resource: &&Resource| {
        let text = |name: &str| resource.node.get(name).and_then(Node::text).unwrap_or_default();
        (resource.name().to_owned(), text("kind").to_owned())
    };
    let mut sorted: Vec<&Resource> = list.iter().collect();
    sorted.sort_by_cached_key(name);
    let mut rest = sorted.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let alike = others.iter().take_while(|other| other.name() == first.name());
        let mut alike = alike.peekable();
        if alike.peek().is_some() {
            let id = first.current_id();
            if let Some(other) = alike.find(|other| other.current_id().same(&id)) {
                return Some((first, other));
            }
        }
        rest = others;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{node, resources, same};
    use super::*;

    fn moved(text: &str) -> Result<Resources> {
        let mut objects = resources(text);
        Namespace::new("shop".into(), &Config::default()).apply(&mut objects)?;
        Ok(objects)
    }

    #[test]
    fn every_object_that_has_one() {
        let objects = moved(
            "{apiVersion: v1, kind: Service, metadata: {name: a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: old}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a},
 subjects: [{kind: ServiceAccount, name: default}, {kind: ServiceAccount, name: b, namespace: x}]}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}}",
        );
        same(
            &objects.unwrap(),
            "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a},
 subjects: [{kind: ServiceAccount, name: default, namespace: shop}, {kind: ServiceAccount, name: b, namespace: x}]}
---
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {service: {namespace: shop}}}",
        );
    }

    #[test]
    fn two_that_become_one_are_refused() {
        let error = moved(
            "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}}
---
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: 'y'}}",
        );
        assert!(error.unwrap_err().to_string().contains("ID conflict"));
    }

    #[test]
    fn a_configuration_can_be_careful() {
        let own = "{metadata: {namespace: shop}, unsetOnly: true, setRoleBindingSubjects: allServiceAccounts}";
        let mut objects = resources(
            "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a},
 subjects: [{kind: ServiceAccount, name: b}, {kind: User, name: default}]}",
        );
        Namespace::from_config(&node(own)).unwrap().apply(&mut objects).unwrap();
        same(
            &objects,
            "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop},
 subjects: [{kind: ServiceAccount, name: b, namespace: shop}, {kind: User, name: default}]}",
        );
        assert!(Namespace::from_config(&node("{setRoleBindingSubjects: some}")).is_err());
    }
}
