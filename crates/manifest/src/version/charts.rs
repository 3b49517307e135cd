//! The chart of a HelmRelease: named in it, or by the source it refers to.

use super::inventory::{Inventory, Object};
use super::{Form, Place, Reference, Subject, Version};
use crate::document::{Address, Identity};
use crate::yaml::Node;

const HELM: &str = "helm.toolkit.fluxcd.io";
const SOURCE: &str = "source.toolkit.fluxcd.io";

/// The chart's version, wherever it is written.
pub(super) fn find(inventory: &Inventory, object: &Object) -> Vec<Version> {
    if object.identity.kind != "HelmRelease" || object.identity.group.as_deref() != Some(HELM) {
        return Vec::new();
    }
    if let Some(chart) = object.node.at(&["spec", "chart", "spec"]) {
        let address = Address::keys(["spec", "chart", "spec", "version"]);
        let explanation = format!("{} names its chart's version itself", object.identity);
        return named(object, chart, address, explanation).into_iter().collect();
    }
    let Some(source) = source_of(inventory, object) else { return Vec::new() };
    let how = format!("{} takes its chart from {}", object.identity, source.identity);
    let mut versions = match source.identity.kind.as_str() {
        "OCIRepository" => from_repository(source, &how),
        "HelmChart" => source.node.get("spec").map_or_else(Vec::new, |chart| {
            let address = Address::keys(["spec", "version"]);
            named(source, chart, address, format!("{how}, which names its version"))
                .into_iter()
                .collect()
        }),
        _ => Vec::new(),
    };
    let others = others(inventory, object, source);
    for version in &mut versions {
        version.shared.clone_from(&others);
    }
    versions
}

/// The source that a release's `chartRef` means.
fn source_of<'a>(inventory: &'a Inventory, object: &Object) -> Option<&'a Object> {
    let reference = object.node.at(&["spec", "chartRef"])?;
    let text = |key: &str| reference.get(key).and_then(Node::text).map(str::to_owned);
    let identity = Identity {
        group: Some(SOURCE.to_owned()),
        kind: text("kind")?,
        namespace: text("namespace").or_else(|| object.identity.namespace.clone()),
        name: text("name")?,
    };
    let mut found = inventory.find(&identity);
    if found.len() > 1 && text("namespace").is_some() {
        // The namespace that is said counts more than nearness.
        let exact = |source: &&Object| source.identity.namespace == identity.namespace;
        if found.iter().any(exact) {
            found.retain(exact);
        }
    }
    inventory.nearest(&object.path, found)
}

/// The other releases that use the same source.
fn others(inventory: &Inventory, object: &Object, source: &Object) -> Vec<Identity> {
    let same = |other: &&Object| {
        other.identity.kind == "HelmRelease"
            && (other.path != object.path || other.document != object.document)
            && source_of(inventory, other)
                .is_some_and(|found| found.path == source.path && found.document == source.document)
    };
    inventory.objects.iter().filter(same).map(|other| other.identity.clone()).collect()
}

fn named(object: &Object, chart: &Node, address: Address, how: String) -> Option<Version> {
    let name = chart.get("chart").and_then(Node::text).unwrap_or_default().to_owned();
    let node = chart.get("version").filter(|node| !node.is_null());
    let version = node.and_then(Node::text).map(str::to_owned);
    Some(Version {
        subject: Subject::Chart,
        name,
        floating: range(version.as_deref()),
        current: Reference { tag: version, ..Reference::default() },
        place: Place {
            path: object.path.clone(),
            document: object.document,
            address,
            mark: node.unwrap_or(chart).mark,
            form: Form::Version,
        },
        digest: None,
        explanation: how,
        shared: Vec::new(),
    })
}

/// Why a chart's version is not one version, if it is not.
fn range(version: Option<&str>) -> Option<String> {
    let Some(version) = version.filter(|version| !version.is_empty()) else {
        return Some("there is no version: the newest chart is what runs".to_owned());
    };
    if version.contains("${") {
        return None;
    }
    let core = version.strip_prefix('v').unwrap_or(version);
    let core = core.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = core.split('.').collect();
    let exact = parts.len() == 3
        && parts
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    (!exact).then(|| format!("`{version}` is a range of versions"))
}

fn from_repository(source: &Object, how: &str) -> Vec<Version> {
    let url = source.node.at(&["spec", "url"]).and_then(Node::text).unwrap_or_default();
    let name = url.strip_prefix("oci://").unwrap_or(url).trim_end_matches('/').to_owned();
    let reference = source.node.at(&["spec", "ref"]);
    let at = |key: &str| {
        let node = reference?.get(key).filter(|node| !node.is_null())?;
        Some((node.text()?.to_owned(), node.mark))
    };
    let place = |key: &str, mark, form| Place {
        path: source.path.clone(),
        document: source.document,
        address: Address::keys(["spec", "ref", key]),
        mark,
        form,
    };
    let version = |current, place, digest, what: &str, floating| Version {
        subject: Subject::Chart,
        name: name.clone(),
        current,
        place,
        digest,
        explanation: format!("{how}, {what}"),
        shared: Vec::new(),
        floating,
    };
    // Upstream's order: a digest counts most, then a range, then a tag.
    let digest = at("digest");
    let digest_place = digest.as_ref().map(|(_, mark)| place("digest", *mark, Form::Digest));
    if let Some((range, mark)) = at("semver") {
        let floating = digest.is_none().then(|| format!("`{range}` is a range of versions"));
        let current = Reference {
            tag: Some(range),
            digest: digest.map(|(text, _)| text),
            ..Reference::default()
        };
        let place = place("semver", mark, Form::Version);
        return vec![version(
            current,
            place,
            digest_place,
            "whose `ref.semver` is a range",
            floating,
        )];
    }
    if let Some((tag, mark)) = at("tag") {
        let parsed = Reference::parse_tag(&tag)
            .unwrap_or(Reference { tag: Some(tag), ..Reference::default() });
        let current = Reference {
            digest: parsed.digest.or(digest.map(|(text, _)| text)),
            ..Reference { tag: parsed.tag, ..Reference::default() }
        };
        let floating =
            if current.digest.is_some() { None } else { super::floats(current.tag.as_deref()) };
        let place = place("tag", mark, Form::Tag);
        return vec![version(
            current,
            place,
            digest_place,
            "whose `ref.tag` is the chart's version",
            floating,
        )];
    }
    if let (Some((digest, _)), Some(place)) = (digest, digest_place) {
        let current = Reference { digest: Some(digest), ..Reference::default() };
        return vec![version(current, place, None, "whose `ref.digest` is the chart", None)];
    }
    let mark = reference.map_or(source.node.mark, |node| node.mark);
    let floating = Some("there is no `ref`: `latest` is what runs".to_owned());
    let place = place("tag", mark, Form::Tag);
    vec![version(Reference::default(), place, None, "which has no `ref`", floating)]
}
