//! Charts of HelmReleases, rendered by the `helm` on the PATH until Holdfast renders them itself.

use std::io::Write as _;
use std::process::{Command, Stdio};

use holdfast_manifest::flux::{Applied, Charts, Cluster, Release, chart_source, is_release};
use holdfast_manifest::render::{spread, threads};
use holdfast_manifest::yaml::{self, Node, emit};
use holdfast_manifest::{Diagnostic, Result};

use super::place::Place;
use super::title;

/// What became of one release's chart.
pub struct Rendered {
    /// Namespace and name of the release.
    pub name: String,
    /// The objects, or why there are none.
    pub objects: std::result::Result<Vec<Node>, String>,
    title: String,
}

impl Rendered {
    /// Whether it belongs to this HelmRelease.
    pub fn is_of(&self, object: &Node) -> bool {
        is_release(object) && title(object) == self.title
    }
}

/// `helm template`, once per release.
pub struct HelmCommand<'p> {
    place: &'p Place,
}

impl<'p> HelmCommand<'p> {
    /// With charts of the repository itself read from this place.
    pub fn new(place: &'p Place) -> Self {
        Self { place }
    }

    /// Every HelmRelease of a cluster.
    pub fn render_all(&self, cluster: &Cluster) -> Vec<Rendered> {
        let objects: Vec<&Node> = cluster
            .applied
            .iter()
            .flat_map(Applied::objects)
            .map(|object| &object.resource.node)
            .collect();
        let releases: Vec<&Node> =
            objects.iter().copied().filter(|object| is_release(object)).collect();
        spread(&releases, threads(), |release| {
            let source = chart_source(release).and_then(|(kind, namespace, name)| {
                objects.iter().copied().find(|object| {
                    let text = |field| object.at(&["metadata", field]).and_then(Node::text);
                    object.get("kind").and_then(Node::text) == Some(kind)
                        && text("name") == Some(name)
                        && text("namespace").is_none_or(|own| own == namespace)
                })
            });
            let found = self.render(&Release { object: release, source });
            let full = title(release);
            let name = full.split_once(' ').map_or(full.as_str(), |(_, name)| name).to_owned();
            Rendered { name, objects: found.map_err(|error| error.to_string()), title: full }
        })
    }

    fn chart(&self, release: &Release<'_>) -> Result<Vec<String>> {
        let refused = |message: String| Diagnostic::new(message).at(release.object.mark);
        let Some(source) = release.source else {
            let wanted = chart_source(release.object).map_or_else(
                || "a chart".to_owned(),
                |(kind, namespace, name)| format!("{kind} {namespace}/{name}"),
            );
            return Err(refused(format!(
                "its chart comes from {wanted}, which is not rendered here"
            )));
        };
        let text =
            |path: &[&str]| source.at(path).and_then(Node::text).unwrap_or_default().to_owned();
        let spec = |path: &[&str]| release.object.at(path).and_then(Node::text).map(str::to_owned);
        let chart = spec(&["spec", "chart", "spec", "chart"]).unwrap_or_default();
        let version = spec(&["spec", "chart", "spec", "version"]);
        let mut arguments = Vec::new();
        match text(&["kind"]).as_str() {
            "OCIRepository" => {
                arguments.push(text(&["spec", "url"]));
                let version = [text(&["spec", "ref", "semver"]), text(&["spec", "ref", "tag"])];
                if let Some(version) = version.into_iter().find(|version| !version.is_empty()) {
                    arguments.extend(["--version".to_owned(), version]);
                }
            }
            "HelmRepository" if text(&["spec", "type"]) == "oci" => {
                arguments.push(format!("{}/{chart}", text(&["spec", "url"]).trim_end_matches('/')));
                arguments.extend(
                    version.into_iter().flat_map(|version| ["--version".to_owned(), version]),
                );
            }
            "HelmRepository" => {
                arguments.extend([chart, "--repo".to_owned(), text(&["spec", "url"])]);
                arguments.extend(
                    version.into_iter().flat_map(|version| ["--version".to_owned(), version]),
                );
            }
            "GitRepository" => {
                let folder = self.place.root.join(chart.trim_start_matches("./"));
                arguments.push(folder.display().to_string());
            }
            other => return Err(refused(format!("charts from a {other} are not rendered"))),
        }
        Ok(arguments)
    }
}

impl Charts for HelmCommand<'_> {
    fn render(&self, release: &Release<'_>) -> Result<Vec<Node>> {
        let object = release.object;
        let text = |path: &[&str]| object.at(path).and_then(Node::text).unwrap_or_default();
        if object
            .at(&["spec", "valuesFrom"])
            .and_then(Node::as_sequence)
            .is_some_and(|from| !from.is_empty())
        {
            return Err(Diagnostic::new(
                "`valuesFrom` is not read yet: the chart would have other values",
            ));
        }
        let namespace = match text(&["spec", "targetNamespace"]) {
            "" => text(&["metadata", "namespace"]),
            target => target,
        };
        let name = match text(&["spec", "releaseName"]) {
            "" => text(&["metadata", "name"]),
            name => name,
        };
        let mut values = String::new();
        match object.at(&["spec", "values"]).filter(|values| !values.is_null()) {
            Some(node) => emit::object(node, &mut values)?,
            None => values.push_str("{}\n"),
        }
        let mut arguments = vec!["template".to_owned(), name.to_owned()];
        arguments.extend(self.chart(release)?);
        arguments.extend(["--namespace".to_owned(), namespace.to_owned()]);
        arguments.extend(["--include-crds", "--values", "-"].map(str::to_owned));
        let output = run(&arguments, &values)?;
        let documents = yaml::documents(&output)?;
        let nodes = documents.into_iter().map(|document| document.root);
        Ok(nodes.filter(|node| node.as_mapping().is_some()).collect())
    }
}

fn run(arguments: &[String], input: &str) -> Result<String> {
    let failed = |error: std::io::Error| {
        Diagnostic::new(format!("helm cannot be run: {error}"))
            .hint("install helm and put it on the PATH, or leave --charts out")
    };
    let mut child = Command::new("helm")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helm that ends early says why itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(Diagnostic::new(format!("helm: {}", error.trim())));
    }
    String::from_utf8(output.stdout).map_err(|_| Diagnostic::new("helm printed what is not UTF-8"))
}
