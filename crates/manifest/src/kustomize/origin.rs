//! What `buildMetadata` adds to the result: where an object came from, and what changed it.

use super::{ORIGIN_ANNOTATION, Repository, Resource, Resources};
use crate::yaml::{Style, scalar};

/// Where upstream keeps what changed an object.
pub(super) const TRANSFORMATIONS_ANNOTATION: &str = "alpha.config.kubernetes.io/transformations";

/// Where the build is, from the folder that is built.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    path: String,
    repository: String,
    reference: String,
}

/// What made or changed an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Maker {
    place: Place,
    api_version: String,
    kind: String,
    name: String,
    namespace: String,
}

impl Place {
    /// The place an entry leads to.
    pub fn append(&self, path: &str) -> Self {
        if let Some(repository) = Repository::parse(path) {
            let path = clean(&repository.path);
            return Self { path, repository: repository.url, reference: repository.reference };
        }
        Self { path: clean(&format!("{}/{path}", self.path)), ..self.clone() }
    }

    /// As upstream writes it.
    fn text(&self) -> String {
        let mut text = String::new();
        line(&mut text, "path", &self.path);
        self.rest(&mut text);
        text
    }

    fn rest(&self, text: &mut String) {
        line(text, "repo", &self.repository);
        line(text, "ref", &self.reference);
    }
}

impl Maker {
    /// A step of the kustomization at this place.
    pub fn builtin(place: &Place, file: &str, kind: &str) -> Self {
        Self {
            place: Place { path: clean(&format!("{}/{file}", place.path)), ..place.clone() },
            api_version: "builtin".to_owned(),
            kind: kind.to_owned(),
            ..Self::default()
        }
    }

    /// A configuration, which has an annotation that tells where it came from.
    pub fn config(config: &Resource) -> Option<Self> {
        let place = read(config.annotation(ORIGIN_ANNOTATION)?);
        Some(Self {
            place,
            api_version: config.api_version().to_owned(),
            kind: config.kind().to_owned(),
            name: config.name().to_owned(),
            namespace: config.namespace().to_owned(),
        })
    }

    /// As upstream writes it.
    fn text(&self) -> String {
        let mut text = String::new();
        self.place.rest(&mut text);
        line(&mut text, "configuredIn", &self.place.path);
        text.push_str("configuredBy:\n");
        for (name, value) in [
            ("  apiVersion", &self.api_version),
            ("  kind", &self.kind),
            ("  name", &self.name),
            ("  namespace", &self.namespace),
        ] {
            line(&mut text, name, value);
        }
        text
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    if value.is_empty() {
        return;
    }
    text.push_str(name);
    text.push_str(": ");
    let plain = scalar::tag_in(value, Style::Plain) == crate::yaml::Tag::Str
        && !scalar::is_old_boolean(value)
        && !value.starts_with(|c: char| "!&*-?:,[]{}#|>@`\"'% ".contains(c))
        && !value.contains(": ")
        && !value.contains(" #")
        && !value.ends_with([':', ' ']);
    if plain {
        text.push_str(value);
    } else if value.contains('\'') {
        text.push_str(&format!("{value:?}"));
    } else if scalar::tag_in(value, Style::Plain) == crate::yaml::Tag::Str
        && !scalar::is_old_boolean(value)
    {
        text.push_str(&format!("'{value}'"));
    } else {
        text.push_str(&format!("\"{value}\""));
    }
    text.push('\n');
}

/// Reads what [`Place::text`] wrote.
fn read(text: &str) -> Place {
    let mut place = Place::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        let value = value.trim_matches(['"', '\'']).to_owned();
        match name {
            "path" => place.path = value,
            "repo" => place.repository = value,
            "ref" => place.reference = value,
            _ => {}
        }
    }
    place
}

/// The path without `.`, empty parts and folders that are left again.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// Says of each object that it was read here.
pub(super) fn annotate_read(resources: &mut [Resource], place: &Place) {
    let text = place.text();
    for resource in resources {
        resource.add_annotation(ORIGIN_ANNOTATION, text.as_str());
    }
}

/// Says of each object that it was made by this, unless something else is said.
pub(super) fn annotate_made(resource: &mut Resource, maker: &Maker) {
    if resource.annotation(ORIGIN_ANNOTATION).is_none() {
        resource.set_annotation(ORIGIN_ANNOTATION, maker.text());
    }
}

/// Says of each object that it was changed by this.
pub(super) fn annotate_changed(resources: &mut Resources, maker: &Maker) {
    let text = maker.text();
    let mut item = String::from("- ");
    for (place, line) in text.lines().enumerate() {
        if place > 0 {
            item.push_str("  ");
        }
        item.push_str(line);
        item.push('\n');
    }
    for resource in resources.iter_mut() {
        if resource.annotation(ORIGIN_ANNOTATION).is_none() {
            resource.set_annotation(ORIGIN_ANNOTATION, text.as_str());
            continue;
        }
        let known = resource.annotation(TRANSFORMATIONS_ANNOTATION).unwrap_or_default();
        let all = format!("{known}{item}");
        resource.set_annotation(TRANSFORMATIONS_ANNOTATION, all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_paths() {
        let place = Place::default().append("../base").append("a.yaml");
        assert_eq!(place.text(), "path: ../base/a.yaml\n");
        let place = place.append("github.com/org/repo//deploy?ref=v1").append("b.yaml");
        assert_eq!(
            place.text(),
            "path: deploy/b.yaml\nrepo: https://github.com/org/repo\nref: v1\n"
        );
        assert_eq!(read(&place.text()).path, "deploy/b.yaml");
    }

    #[test]
    fn makers_are_named() {
        let maker = Maker::builtin(&Place::default(), "kustomization.yaml", "PrefixTransformer");
        assert_eq!(
            maker.text(),
            "configuredIn: kustomization.yaml\nconfiguredBy:\n  apiVersion: builtin\n  kind: PrefixTransformer\n"
        );
    }
}
