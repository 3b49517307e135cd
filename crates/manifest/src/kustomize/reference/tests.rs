use super::super::config::Config;
use super::super::fixture::{node, resources, same};
use super::super::transform::namespace::Namespace;
use super::super::transform::prefix::Prefix;
use super::super::{PreviousName, Resources};
use super::fix_names;

fn fixed(mut objects: Resources) -> Resources {
    fix_names(&mut objects, &Config::default()).unwrap();
    objects
}

/// Objects, each with the name it had before.
fn renamed(text: &str, before: &[&str]) -> Resources {
    let mut objects = resources(text);
    for (resource, name) in objects.list.iter_mut().zip(before) {
        if !name.is_empty() {
            resource.previous.push(PreviousName {
                name: (*name).into(),
                namespace: resource.effective_namespace(),
                kind: resource.kind().into(),
            });
        }
    }
    objects
}

#[test]
fn pods_follow_the_names_of_what_they_mount() {
    let mut objects = resources(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: conf}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {
  volumes: [{configMap: {name: conf}}, {configMap: {name: other}}, {secret: {secretName: conf}}]}}}}",
    );
    Prefix::new("p-".into(), &Config::default()).apply(&mut objects).unwrap();
    same(
        &fixed(objects),
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: p-conf}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: p-web}, spec: {template: {spec: {
  volumes: [{configMap: {name: p-conf}}, {configMap: {name: other}}, {secret: {secretName: conf}}]}}}}",
    );
}

#[test]
fn the_one_in_the_same_namespace_is_meant() {
    let objects = renamed(
        "{apiVersion: v1, kind: Secret, metadata: {name: a-new, namespace: one}}
---
{apiVersion: v1, kind: Secret, metadata: {name: b-new, namespace: two}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: two}, spec: {imagePullSecrets: [{name: old}]}}",
        &["old", "old", ""],
    );
    let objects = fixed(objects);
    assert_eq!(
        objects.list[2].node.get("spec"),
        Some(&node("{imagePullSecrets: [{name: b-new}]}"))
    );
    assert_eq!(objects.list[1].referred_by.len(), 1);
}

#[test]
fn the_one_with_the_same_prefix_is_meant() {
    let mut objects = renamed(
        "{apiVersion: v1, kind: Secret, metadata: {name: a-old}}
---
{apiVersion: v1, kind: Secret, metadata: {name: b-old}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {imagePullSecrets: [{name: old}]}}",
        &["old", "old", ""],
    );
    let error = fix_names(&mut objects.clone(), &Config::default()).unwrap_err();
    assert!(error.to_string().contains("found multiple possible referrals"), "{error}");
    objects.list[0].prefixes.push("a-".into());
    objects.list[1].prefixes.push("b-".into());
    objects.list[2].prefixes.push("b-".into());
    let objects = fixed(objects);
    assert_eq!(
        objects.list[2].node.get("spec"),
        Some(&node("{imagePullSecrets: [{name: b-old}]}"))
    );
}

#[test]
fn roles_are_told_apart_by_their_kind() {
    let objects = renamed(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a-role}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: b-role}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: x},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: role}}",
        &["role", "role", ""],
    );
    let objects = fixed(objects);
    let role = objects.list[2].node.at(&["roleRef", "name"]).and_then(crate::yaml::Node::text);
    assert_eq!(role, Some("b-role"));
}

#[test]
fn subjects_follow_into_other_namespaces() {
    let mut objects = resources(
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: bot, namespace: old}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x},
 subjects: [{kind: ServiceAccount, name: bot, namespace: old}, {kind: ServiceAccount, name: bot, namespace: other}]}",
    );
    let config = Config::default();
    Namespace::new("new".into(), &config).apply(&mut objects).unwrap();
    Prefix::new("p-".into(), &config).apply(&mut objects).unwrap();
    let objects = fixed(objects);
    assert_eq!(
        objects.list[1].node.get("subjects"),
        Some(&node(
            "[{kind: ServiceAccount, name: p-bot, namespace: new}, {kind: ServiceAccount, name: bot, namespace: other}]"
        ))
    );
}

#[test]
fn a_path_to_nothing_with_a_name_is_refused() {
    let mut objects = resources(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: x}, subjects: [{kind: User}]}",
    );
    assert!(fix_names(&mut objects, &Config::default()).is_err());
}
