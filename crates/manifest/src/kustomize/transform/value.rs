//! One value for fields of several objects.

use super::super::field::FieldSpec;
use super::super::field::lookup::{self, Part};
use super::super::field::setter::{set_text, wrong_kind};
use super::super::resources::placed;
use super::super::select::Selector;
use super::super::{Loader, Resources};
use super::namespace::{Namespace, Subjects};
use super::settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mark, Node, Text, Value};

/// Adds a value to fields.
#[derive(Clone, Debug)]
pub struct ValueAdd {
    /// The value.
    pub value: Text,
    /// Where it is added.
    pub targets: Vec<Target>,
}

/// Fields that get the value.
#[derive(Clone, Debug)]
pub struct Target {
    /// The objects; all of them if it is not said.
    pub selector: Option<Selector>,
    /// The path, as it is written.
    pub path: Text,
    /// At which place of a file path the value is inserted, from 1; 0 replaces what is there.
    pub position: usize,
}

impl ValueAdd {
    /// From an object of kind `ValueAddTransformer`. Without a value the name of the kustomization's
    /// folder is taken.
    pub fn from_config(node: &Node, loader: &Loader<'_>) -> Result<Self> {
        let value = settings::text(node, "value")?;
        let value: Text = match value.trim() {
            "" => loader.name().into(),
            value => value.into(),
        };
        let mut targets = Target::list(node)?;
        let file = settings::text(node, "targetFilePath")?;
        if !file.is_empty() {
            targets.extend(Target::list(&*loader.read(&file)?.settings()?)?);
        }
        if targets.is_empty() {
            return Err(Diagnostic::new("must specify at least one target").at(node.mark));
        }
        Ok(Self { value, targets })
    }

    /// Adds it.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        for target in &self.targets {
            let places: Vec<usize> = match &target.selector {
                Some(selector) => selector.select(resources)?,
                None => (0..resources.list.len()).collect(),
            };
            for place in places {
                let resource = &mut resources.list[place];
                self.apply_to(target, &mut resource.node)
                    .map_err(|error| placed(error, resource))?;
            }
        }
        Ok(())
    }

    fn apply_to(&self, target: &Target, object: &mut Node) -> Result<()> {
        if target.path == "metadata/namespace" {
            let fields: [FieldSpec; 0] = [];
            return Namespace {
                namespace: self.value.clone(),
                fields: fields.into(),
                unset_only: false,
                subjects: Subjects::default(),
            }
            .apply_to(object);
        }
        target.set(&self.value, object)
    }
}

impl Target {
    fn list(node: &Node) -> Result<Vec<Self>> {
        let target = |node: &Node| {
            let path = settings::text(node, "fieldPath")?;
            if path.is_empty() {
                return Err(Diagnostic::new("fieldPath cannot be empty").at(node.mark));
            }
            let position = settings::number(node, "filePathPosition")?;
            let position = usize::try_from(position).map_err(|_| {
                let message = format!("value of FilePathPosition ({position}) cannot be negative");
                Diagnostic::new(message).at(node.mark)
            })?;
            let selector = settings::field(node, "selector").map(Selector::read).transpose()?;
            Ok(Self { selector, path, position })
        };
        settings::list(node, "targets")?.iter().map(target).collect()
    }

    /// Adds the value to the field of one object.
    pub fn set(&self, value: &str, object: &mut Node) -> Result<()> {
        let parts = parts_of(&self.path)?;
        let Some(found) = lookup::make(object, &parts)? else { return Ok(()) };
        let Value::Scalar(scalar) = &found.value else {
            return Err(wrong_kind("ScalarNode", found));
        };
        let new = if self.position > 0 {
            insert(&scalar.text, self.position - 1, value)
        } else {
            value.to_owned()
        };
        if new.is_empty() { Ok(()) } else { set_text(found, new) }
    }

    /// A target of any object.
    pub fn new(path: &str, position: usize) -> Self {
        Self { selector: None, path: path.into(), position }
    }
}

/// The steps of a path; `\/` is a slash in a key.
fn parts_of(path: &str) -> Result<Vec<Part>> {
    let mut names: Vec<String> = Vec::new();
    for part in path.split('/') {
        match names.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push('/');
                last.push_str(part);
            }
            _ => names.push(part.to_owned()),
        }
    }
    lookup::parts(names.iter().map(String::as_str)).map_err(|error| error.at(Mark::default()))
}

/// A file path with a part inserted; what is too far behind goes to the end. Slashes too many count as
/// parts, but are not written.
fn insert(path: &str, place: usize, part: &str) -> String {
    let mut parts = split(path);
    let absolute = parts.first() == Some(&"");
    let place = place.min(parts.len());
    let place = if absolute && place < parts.len() { place + 1 } else { place };
    parts.insert(place, part);
    let joined = clean(&parts);
    if absolute { format!("/{joined}") } else { joined }
}

/// The parts of a file path; the first is empty if it is absolute.
fn split(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (folder, name) = rest.rsplit_once('/').map_or((None, rest), |(a, b)| (Some(a), b));
        match folder {
            Some("") if name.is_empty() => {
                parts.push("");
                break;
            }
            Some("") => {
                parts.extend([name, ""]);
                break;
            }
            Some(folder) => {
                parts.push(name);
                rest = folder;
            }
            None => {
                parts.push(name);
                break;
            }
        }
    }
    parts.reverse();
    parts
}

/// The parts as a path, without those that mean nothing.
fn clean(parts: &[&str]) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in parts.iter().flat_map(|part| part.split('/')) {
        match (part, kept.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." => {
                kept.pop();
            }
            _ => kept.push(part),
        }
    }
    if kept.is_empty() { ".".to_owned() } else { kept.join("/") }
}

#[cfg(test)]
mod tests {
    use super::super::super::Options;
    use super::super::super::fixture::{node, resources, same};
    use super::*;
    use crate::files::Memory;

    #[test]
    fn parts_of_paths_are_inserted() {
        for (old, place, new) in [
            ("", 0, "P"),
            ("/", 0, "/P"),
            ("pie", 0, "P/pie"),
            ("/pie", 0, "/P/pie"),
            ("raw", 1, "raw/P"),
            ("/raw", 9, "/raw/P"),
            ("a/nice/warm/pie", 3, "a/nice/warm/P/pie"),
            ("/a/nice/warm/pie", 3, "/a/nice/warm/P/pie"),
            ("a//b", 2, "a/P/b"),
            ("a/b/", 2, "a/b/P"),
            ("a/../b", 0, "P/b"),
            ("//a", 1, "/a/P"),
            ("..", 0, "."),
        ] {
            assert_eq!(insert(old, place, "P"), new, "{old} at {place}");
        }
    }

    fn configured(config: &str) -> Result<ValueAdd> {
        let files =
            Memory::new().with("app/targets.yaml", "targets: [{fieldPath: metadata/namespace}]");
        let options = Options::default();
        ValueAdd::from_config(&node(config), &Loader::new(&files, "app", &options)?)
    }

    #[test]
    fn fields_are_set_and_made() {
        let object = "{apiVersion: v1, kind: Foo, metadata: {name: a}, spec: {p: /x/y}}";
        let mut objects = resources(object);
        let config = "{value: ' v ', targetFilePath: targets.yaml,
            targets: [{fieldPath: 'a/b\\/c'}, {fieldPath: spec/p, filePathPosition: 2}, {fieldPath: z, selector: {kind: Bar}}]}";
        configured(config).unwrap().apply(&mut objects).unwrap();
        same(
            &objects,
            "{apiVersion: v1, kind: Foo, metadata: {name: a, namespace: v}, spec: {p: /x/v/y}, a: {b/c: v}}",
        );
    }

    #[test]
    fn the_folder_stands_in_for_a_value() {
        assert_eq!(configured("{targets: [{fieldPath: a}]}").unwrap().value, "app");
    }

    #[test]
    fn targets_are_needed() {
        assert!(configured("{value: v}").is_err());
        assert!(configured("{targets: [{fieldPath: ''}]}").is_err());
    }
}
