//! Images: another name, another tag or digest.

use std::sync::Arc;

use regex::Regex;

use super::super::config::Config;
use super::super::field::setter::{set_text, wrong_kind};
use super::super::field::{FieldSpec, Leaf};
use super::super::resources::placed;
use super::super::{Resource, Resources};
use super::settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Fields, Mark, Node, Text, Value};

/// What to make of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The image, without tag and digest: a regular expression.
    pub name: Text,
    /// The new name; empty keeps the old one.
    pub new_name: Text,
    /// What is added to the tag.
    pub tag_suffix: Text,
    /// The new tag.
    pub new_tag: Text,
    /// The new digest.
    pub digest: Text,
}

/// Changes one image wherever it is used.
#[derive(Clone, Debug)]
pub struct Images {
    /// What to make of which image.
    pub image: Image,
    /// Where images are named, beside in containers.
    pub fields: Arc<[FieldSpec]>,
    name: Name,
}

/// How a name is compared. Most are plain but for dots, which stand for any character.
#[derive(Clone, Debug)]
enum Name {
    Plain(Text),
    Pattern(Regex),
}

impl Image {
    /// An entry of `images` of a kustomization.
    pub fn parse(node: &Node) -> Result<Self> {
        let mut fields = Fields::of(node, "an entry of `images`")?;
        let image = Self {
            name: fields.text_or_empty("name")?,
            new_name: fields.text_or_empty("newName")?,
            tag_suffix: fields.text_or_empty("tagSuffix")?,
            new_tag: fields.text_or_empty("newTag")?,
            digest: fields.text_or_empty("digest")?,
        };
        fields.finish()?;
        Ok(image)
    }
}

impl Images {
    /// For an entry of `images` of a kustomization, written at a place.
    pub fn new(image: Image, mark: Mark, config: &Config) -> Result<Self> {
        Self::with_fields(image, mark, config.images.clone())
    }

    /// From an object of kind `ImageTagTransformer`.
    pub fn from_config(node: &Node) -> Result<Self> {
        let empty = Node::mapping();
        let given = settings::mapping(node, "imageTag")?.unwrap_or(&empty);
        let image = Image {
            name: settings::text(given, "name")?,
            new_name: settings::text(given, "newName")?,
            tag_suffix: settings::text(given, "tagSuffix")?,
            new_tag: settings::text(given, "newTag")?,
            digest: settings::text(given, "digest")?,
        };
        Self::with_fields(image, node.mark, settings::field_specs(node)?.into())
    }

    fn with_fields(image: Image, mark: Mark, fields: Arc<[FieldSpec]>) -> Result<Self> {
        let name = Name::new(&image.name).map_err(|error| error.at(mark))?;
        Ok(Self { image, fields, name })
    }

    /// Changes it.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        resources.list.iter_mut().try_for_each(|resource| {
            self.apply_to_containers(resource)
                .and_then(|()| self.apply_to_fields(resource))
                .map_err(|error| placed(error, resource))
        })
    }

    /// Changes it in every list of containers, however deep.
    pub fn apply_to_containers(&self, resource: &mut Resource) -> Result<()> {
        if is_definition(&resource.node) { Ok(()) } else { self.search(&mut resource.node) }
    }

    /// Changes it in the fields.
    pub fn apply_to_fields(&self, resource: &mut Resource) -> Result<()> {
        if is_definition(&resource.node) {
            return Ok(());
        }
        self.fields.iter().try_for_each(|field| {
            field.apply_if_matching(&mut resource.node, Leaf::Nothing, &mut |node| self.set(node))
        })
    }

    fn search(&self, node: &mut Node) -> Result<()> {
        match &mut node.value {
            Value::Scalar(_) => Ok(()),
            Value::Sequence(items) => items.iter_mut().try_for_each(|item| self.search(item)),
            Value::Mapping(mapping) => mapping.iter_mut().try_for_each(|entry| {
                self.search(&mut entry.value)?;
                if !matches!(entry.key.text.as_str(), "containers" | "initContainers") {
                    return Ok(());
                }
                let Value::Sequence(containers) = &mut entry.value.value else { return Ok(()) };
                containers.iter_mut().try_for_each(|container| self.set_in(container))
            }),
        }
    }

    fn set_in(&self, container: &mut Node) -> Result<()> {
        if container.is_null() {
            return Ok(());
        }
        if container.as_mapping().is_none() {
            return Err(wrong_kind("MappingNode", container));
        }
        match container.get_mut("image") {
            Some(image) => self.set(image),
            None => Ok(()),
        }
    }

    fn set(&self, node: &mut Node) -> Result<()> {
        let Some(scalar) = node.as_scalar() else { return Err(wrong_kind("ScalarNode", node)) };
        if !self.name.matches(&scalar.text) {
            return Ok(());
        }
        let changed = self.image.changed(&scalar.text);
        set_text(node, changed)
    }
}

impl Image {
    fn changed(&self, old: &str) -> String {
        let (name, tag, digest) = split(old);
        let name = if self.new_name.is_empty() { name } else { &self.new_name };
        let (tag, suffix, digest) = match (self.new_tag.as_str(), self.digest.as_str()) {
            ("", "") if self.tag_suffix.is_empty() => (tag, "", digest),
            ("", "") => (tag, self.tag_suffix.as_str(), ""),
            ("", digest) => ("", "", digest),
            (tag, digest) => (tag, "", digest),
        };
        let mut changed = name.to_owned();
        if !tag.is_empty() || !suffix.is_empty() {
            changed.extend([":", tag, suffix]);
        }
        if !digest.is_empty() {
            changed.extend(["@", digest]);
        }
        changed
    }
}

impl Name {
    fn new(name: &Text) -> Result<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._:@-".contains(&byte);
        if name.bytes().all(plain) {
            return Ok(Self::Plain(name.clone()));
        }
        let pattern = format!("^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$");
        match Regex::new(&pattern) {
            Ok(pattern) => Ok(Self::Pattern(pattern)),
            Err(_) => Err(Diagnostic::new(format!(
                "the name of the image `{name}` is no regular expression"
            ))
            .hint("write the image as it stands in the manifests, without tag and digest")),
        }
    }

    fn matches(&self, image: &str) -> bool {
        let name = match self {
            Self::Plain(name) => name,
            Self::Pattern(pattern) => return pattern.is_match(image),
        };
        let mut rest = image.chars();
        for wanted in name.chars() {
            match rest.next() {
                Some(found) if found == wanted || (wanted == '.' && found != '\n') => {}
                _ => return false,
            }
        }
        let mut rest = rest.as_str();
        let of_tag = |c: char| c.is_ascii_alphanumeric() || "_.{}-".contains(c);
        for start in [":", "@sha256:"] {
            if let Some(after) = rest.strip_prefix(start) {
                rest = after.trim_start_matches(of_tag);
            }
        }
        rest.is_empty()
    }
}

fn is_definition(object: &Node) -> bool {
    object.get("kind").and_then(Node::text) == Some("CustomResourceDefinition")
}

/// Name, tag and digest of an image; a port in front of the first slash is no tag.
fn split(image: &str) -> (&str, &str, &str) {
    let from = image.find('/').unwrap_or(0);
    let searched = &image[from..];
    let digest = searched.find('@').map(|at| at + from);
    let tag = searched.find(':').map(|at| at + from);
    match (tag, digest) {
        (None, None) => (image, "", ""),
        (Some(tag), None) => (&image[..tag], &image[tag + 1..], ""),
        (Some(tag), Some(digest)) if tag < digest => {
            (&image[..tag], &image[tag + 1..digest], &image[digest + 1..])
        }
        (_, Some(digest)) => (&image[..digest], "", &image[digest + 1..]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{node, resources, same};
    use super::*;

    fn changed(entry: &str, image: &str) -> String {
        let entry = Image::parse(&node(entry)).unwrap();
        let images = Images::new(entry, Mark::default(), &Config::default()).unwrap();
        let mut found = Node::string(image);
        images.set(&mut found).unwrap();
        found.text().unwrap().to_owned()
    }

    #[test]
    fn names_tags_and_digests() {
        for (entry, old, new) in [
            ("{name: nginx, newTag: v2}", "nginx", "nginx:v2"),
            ("{name: nginx, newTag: v2}", "nginx:v1@sha256:ab", "nginx:v2"),
            ("{name: nginx, newTag: v2}", "nginx-extra:v1", "nginx-extra:v1"),
            ("{name: nginx, newTag: v2}", "my/nginx:v1", "my/nginx:v1"),
            ("{name: nginx, digest: 'sha256:cd'}", "nginx:v1", "nginx@sha256:cd"),
            ("{name: nginx, digest: 'sha256:cd', newTag: v2}", "nginx", "nginx:v2@sha256:cd"),
            ("{name: nginx, newName: 'r:5000/x'}", "nginx:v1", "r:5000/x:v1"),
            ("{name: 'r:5000/x', newTag: v2}", "r:5000/x:v1", "r:5000/x:v2"),
            ("{name: 'r.io/x', newTag: v2}", "r-io/x:{TAG}", "r-io/x:v2"),
            ("{name: nginx, tagSuffix: -a}", "nginx:v1@sha256:ab", "nginx:v1-a"),
            ("{name: nginx, newTag: v2}", "nginx@md5:ab", "nginx@md5:ab"),
            ("{name: '.*/x', newTag: v2}", "a/b/x:1", "a/b/x:v2"),
            ("{name: nginx, newName: apache}", "nginx@sha256:ab", "apache@sha256:ab"),
        ] {
            assert_eq!(changed(entry, old), new, "{entry} on {old}");
        }
    }

    #[test]
    fn containers_however_deep_and_fields() {
        let mut objects = resources(
            "{apiVersion: x/v1, kind: Foo, spec: {deep: [{initContainers: [{image: nginx}]}],
              volumes: [{image: {reference: nginx}}], image: nginx}}
---
{apiVersion: x/v1, kind: CustomResourceDefinition, spec: {containers: [{image: nginx}]}}",
        );
        let images = Images::from_config(&node(
            "{imageTag: {name: nginx, newTag: 2}, fieldSpecs: [{path: 'spec/volumes[]/image/reference'}]}",
        ));
        images.unwrap().apply(&mut objects).unwrap();
        same(
            &objects,
            "{apiVersion: x/v1, kind: Foo, spec: {deep: [{initContainers: [{image: 'nginx:2'}]}],
              volumes: [{image: {reference: 'nginx:2'}}], image: nginx}}
---
{apiVersion: x/v1, kind: CustomResourceDefinition, spec: {containers: [{image: nginx}]}}",
        );
    }

    #[test]
    fn a_name_that_is_no_expression_is_refused() {
        let image = Image { name: "a(".into(), ..Image::default() };
        assert!(Images::new(image, Mark::default(), &Config::default()).is_err());
    }
}
