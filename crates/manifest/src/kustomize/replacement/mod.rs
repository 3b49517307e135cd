//! `replacements`: values copied from a field of one object, or given, to fields of others.

use std::fmt;

use super::select::{Selector, selects_nothing};
use super::shared::settle;
use super::transform::settings;
use super::{Gvk, Loader, Resource, ResourceId, Resources, is_nothing, memory};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{self, Mark, Node, Tag, Text, Value};

mod document;
mod path;
mod structured;

use path::{Created, FieldPath};

/// The field that is meant if none is named.
const DEFAULT_PATH: &str = "metadata.name";

/// The replacements of a kustomization, in order.
#[derive(Clone, Debug, Default)]
pub struct Replacements {
    list: Vec<Replacement>,
}

#[derive(Clone, Debug)]
struct Replacement {
    source: Option<Source>,
    value: Option<Text>,
    targets: Option<Vec<Target>>,
    mark: Mark,
}

#[derive(Clone, Debug)]
struct Source {
    id: ResourceId,
    /// As it is written.
    path: Text,
    options: Options,
    mark: Mark,
}

#[derive(Clone, Debug)]
struct Target {
    select: Option<Selector>,
    reject: Vec<Selector>,
    paths: Vec<(Text, Mark)>,
    options: Options,
    mark: Mark,
}

#[derive(Clone, Debug, Default)]
struct Options {
    delimiter: Text,
    index: i64,
    create: bool,
}

impl Replacements {
    /// From the field `replacements` of a kustomization, or from a configuration of its own.
    pub fn from_config(config: &Node, loader: &Loader<'_>) -> Result<Self> {
        let mut result = Self::default();
        for entry in settings::list(config, "replacements")? {
            result.add(entry, loader).map_err(|error| error.at(entry.mark))?;
        }
        Ok(result)
    }

    /// Adds one entry: written out, or `path` of a file with one or several.
    pub fn add(&mut self, entry: &Node, loader: &Loader<'_>) -> Result<()> {
        let path = settings::text(entry, "path")?;
        if path.is_empty() {
            self.list.push(Replacement::read(entry)?);
            return Ok(());
        }
        let has_targets = !settings::list(entry, "targets")?.is_empty();
        if settings::field(entry, "source").is_some() || has_targets {
            return Err(Diagnostic::new("cannot specify both path and inline replacement"));
        }
        let source = loader.read(&path)?;
        let in_file = |error: Diagnostic| error.in_file(source.path.clone());
        let root = source.settings()?;
        match &root.value {
            Value::Sequence(items) => {
                for item in items {
                    self.list.push(Replacement::read(item).map_err(in_file)?);
                }
            }
            Value::Mapping(_) => self.list.push(Replacement::read(&root).map_err(in_file)?),
            Value::Scalar(_) => {
                return Err(in_file(Diagnostic::new(format!(
                    "unsupported replacement type encountered within replacement path: {}",
                    root.shape()
                ))));
            }
        }
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Makes the replacements.
    pub fn apply(&self, resources: &mut Resources) -> Result<()> {
        for replacement in &self.list {
            replacement.apply(resources).map_err(|error| error.at(replacement.mark))?;
            resources.iter_mut().for_each(settle);
        }
        resources.drop_empty();
        Ok(())
    }
}

impl Replacement {
    fn read(node: &Node) -> Result<Self> {
        let source = settings::field(node, "source").map(Source::read).transpose()?;
        let value = match settings::field(node, "sourceValue") {
            Some(_) => Some(settings::text(node, "sourceValue")?),
            None => None,
        };
        let targets = match settings::field(node, "targets") {
            Some(_) => Some(
                settings::list(node, "targets")?.iter().map(Target::read).collect::<Result<_>>()?,
            ),
            None => None,
        };
        Ok(Self { source, value, targets, mark: node.mark })
    }

    fn apply(&self, resources: &mut Resources) -> Result<()> {
        let wanted = "replacements must specify a source and at least one target";
        let Some(targets) = &self.targets else { return Err(Diagnostic::new(wanted)) };
        let value = match (&self.source, &self.value) {
            (None, None) => return Err(Diagnostic::new(wanted)),
            (Some(_), Some(_)) => {
                return Err(Diagnostic::new("value and resource selectors are mutually exclusive"));
            }
            (None, Some(value)) => Given::Fixed(plain(value)),
            (Some(source), None) => {
                source.value(resources).map_err(|error| error.at(source.mark))?
            }
        };
        for target in targets {
            target.apply(resources, &value).map_err(|error| error.at(target.mark))?;
        }
        Ok(())
    }
}

/// What is copied. A field is read when it is copied: a target may be the source itself, and change it
/// for those that follow.
#[derive(Clone, Debug)]
enum Given {
    Fixed(Node),
    /// Of the object at a place, what these steps lead to.
    Field(usize, Vec<usize>),
}

impl Given {
    fn in_objects(&self, resources: &Resources) -> Node {
        match self {
            Self::Fixed(node) => node.clone(),
            Self::Field(place, steps) => match resources.list.get(*place) {
                Some(resource) => field(resource, steps),
                None => Node::null(),
            },
        }
    }
}

/// A copy of a field, with what upstream would copy along.
fn field(resource: &Resource, steps: &[usize]) -> Node {
    let Some(node) = path::follow(&resource.node, steps) else { return Node::null() };
    let mut copy = node.clone();
    if steps.len() > 2 || !resource.has_memory() {
        return copy;
    }
    let is = |wanted: Option<&Node>| wanted.is_some_and(|wanted| std::ptr::eq(wanted, node));
    if is(resource.node.at(&["metadata", "annotations"])) {
        memory::add_to(&mut copy, memory::annotations(resource));
    } else if is(resource.node.get("metadata"))
        && let Some(metadata) = copy.as_mapping_mut()
    {
        let annotations = metadata.get_or_insert_with("annotations", Node::mapping);
        memory::add_to(annotations, memory::annotations(resource));
    }
    copy
}

/// A value without a type: what it is, is seen when it is written.
fn plain(text: &str) -> Node {
    let tag = if text.contains('\n') { Tag::Str } else { yaml::scalar::tag_of(text) };
    Node::scalar(text, tag)
}

impl Options {
    fn read(node: Option<&Node>) -> Result<Self> {
        let Some(node) = node else { return Ok(Self::default()) };
        Ok(Self {
            delimiter: settings::text(node, "delimiter")?,
            index: settings::number(node, "index")?,
            create: settings::flag(node, "create")?,
        })
    }
}

impl Source {
    fn read(node: &Node) -> Result<Self> {
        let text = |name| settings::text(node, name);
        let gvk = Gvk { group: text("group")?, version: text("version")?, kind: text("kind")? };
        // Nothing is known of what selects: its kind may be anything.
        let id = ResourceId {
            gvk,
            name: text("name")?,
            namespace: text("namespace")?,
            cluster_scoped: false,
        };
        let options = Options::read(settings::field(node, "options"))?;
        Ok(Self { id, path: text("fieldPath")?, options, mark: node.mark })
    }

    fn value(&self, resources: &Resources) -> Result<Given> {
        let mut found: Option<(usize, &Resource)> = None;
        for (place, resource) in resources.list.iter().enumerate() {
            if ids(resource).iter().any(|id| id.is_selected_by(&self.id)) {
                if found.is_some() {
                    return Err(Diagnostic::new(format!("multiple matches for selector {self}"))
                        .hint("name the object more precisely"));
                }
                found = Some((place, resource));
            }
        }
        let Some((place, resource)) = found else { return Err(selects_nothing(self)) };
        let path = if self.path.is_empty() { DEFAULT_PATH } else { self.path.as_str() };
        let node = FieldPath::new(path)
            .get(&resource.node)
            .map_err(|error| error.while_doing("error looking up replacement source"))?;
        let Some(node) = node.filter(|node| !is_nothing(node)) else {
            return Err(Diagnostic::new(format!(
                "fieldPath `{path}` is missing for replacement source {}",
                self.id
            )));
        };
        let delimiter = self.options.delimiter.as_str();
        if delimiter.is_empty() {
            let steps = path::steps(&resource.node, node).unwrap_or_default();
            return Ok(Given::Field(place, steps));
        }
        let Some(scalar) = node.as_scalar() else {
            return Err(Diagnostic::new("delimiter option can only be used with scalar nodes"));
        };
        let part = usize::try_from(self.options.index)
            .ok()
            .and_then(|index| scalar.text.split(delimiter).nth(index));
        let Some(part) = part else {
            return Err(Diagnostic::new(format!(
                "options.index {} is out of bounds for value {}",
                self.options.index, scalar.text
            )));
        };
        let mut part = Node::scalar(part, scalar.tag);
        if let Value::Scalar(new) = &mut part.value {
            new.style = scalar.style;
        }
        Ok(Given::Fixed(part))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.id)?;
        if !self.path.is_empty() {
            write!(out, ":{}", self.path)?;
        }
        let options = &self.options;
        if !options.delimiter.is_empty() || options.create {
            let (delimiter, index) = (&options.delimiter, options.index);
            write!(out, ":{delimiter}({index}), create={}", options.create)?;
        }
        Ok(())
    }
}

/// What an object is and was called. Whether its kind lives outside of namespaces does not count here.
fn ids(resource: &Resource) -> Vec<ResourceId> {
    let current = ResourceId {
        gvk: resource.gvk(),
        name: resource.name().into(),
        namespace: resource.namespace().into(),
        cluster_scoped: false,
    };
    std::iter::once(current).chain(resource.previous_ids()).collect()
}

impl Target {
    fn read(node: &Node) -> Result<Self> {
        let reject = settings::list(node, "reject")?.iter().map(Selector::read);
        let paths = settings::list(node, "fieldPaths")?
            .iter()
            .map(|path| (path.text().unwrap_or_default().into(), path.mark))
            .collect();
        Ok(Self {
            select: settings::field(node, "select").map(Selector::read).transpose()?,
            reject: reject.collect::<Result<_>>()?,
            paths,
            options: Options::read(settings::field(node, "options"))?,
            mark: node.mark,
        })
    }

    fn apply(&self, resources: &mut Resources, value: &Given) -> Result<()> {
        let Some(select) = &self.select else {
            return Err(Diagnostic::new("target must specify resources to select"));
        };
        for place in 0..resources.list.len() {
            let resource = &resources.list[place];
            if !select.matches_labels(&resource.node)? || self.rejects_labels(resource)? {
                continue;
            }
            let ids = ids(resource);
            let rejected = |selector: &Selector| {
                !selector.has_no_id() && ids.iter().any(|id| selector.matches_id(id))
            };
            if self.reject.iter().any(rejected) || !ids.iter().any(|id| select.matches_id(id)) {
                continue;
            }
            self.copy_to(resources, place, value).map_err(|error| {
                error.while_doing(format!("{}", resources.list[place].current_id()))
            })?;
        }
        Ok(())
    }

    fn rejects_labels(&self, resource: &Resource) -> Result<bool> {
        for reject in &self.reject {
            if reject.annotations.is_empty() && reject.labels.is_empty() {
                continue;
            }
            if reject.matches_labels(&resource.node)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn copy_to(&self, resources: &mut Resources, place: usize, given: &Given) -> Result<()> {
        let default = [(Text::new_static(DEFAULT_PATH), self.mark)];
        let paths = if self.paths.is_empty() { default.as_slice() } else { &self.paths };
        // Only what is copied within an object can change while it is copied.
        let within = match given {
            Given::Field(source, steps) if *source == place => Some(steps.as_slice()),
            Given::Field(..) | Given::Fixed(_) => None,
        };
        for (written, mark) in paths {
            let value = given.in_objects(resources);
            let Some(resource) = resources.list.get_mut(place) else { return Ok(()) };
            let create = self.options.create.then(|| Created::like(&value));
            let path = FieldPath::new(written);
            let mut set = |target: &mut Node, made: bool| self.set(target, &value, made);
            if structured::set(&mut resource.node, &path, create, &mut set) {
                continue;
            }
            let missing = || {
                let what = if create.is_some() { "find or create" } else { "find" };
                format!("unable to {what} field {written:?} in replacement target")
            };
            let failed = |error: Diagnostic| {
                Diagnostic::new(format!("{}: {}", missing(), error.message())).at(*mark)
            };
            let count = match within {
                None => path.visit(&mut resource.node, create, &mut set).map_err(failed)?,
                Some(steps) => self.copy_within(resource, &path, create, steps).map_err(failed)?,
            };
            if count == 0 {
                return Err(Diagnostic::new(missing())
                    .at(*mark)
                    .hint("set `options.create: true` to have it made"));
            }
        }
        Ok(())
    }

    /// Copies a field to others of the same object: all of them are made first, then the value is read
    /// anew for each.
    fn copy_within(
        &self,
        resource: &mut Resource,
        path: &FieldPath,
        create: Option<Created>,
        steps: &[usize],
    ) -> Result<usize> {
        let mut targets: Vec<(*const Node, bool)> = Vec::new();
        let count = path.visit(&mut resource.node, create, &mut |target, made| {
            targets.push((target, made));
            Ok(())
        })?;
        let mut value = field(resource, steps);
        for (target, made) in targets {
            // What has been replaced with all around it is still what it was.
            if path::follow(&resource.node, steps).is_some() {
                value = field(resource, steps);
            }
            if let Some(target) = path::find_mut(&mut resource.node, target) {
                self.set(target, &value, made)?;
            }
        }
        Ok(count)
    }

    fn set(&self, target: &mut Node, value: &Node, made: bool) -> Result<()> {
        let options = &self.options;
        let mut text: Option<Text> = None;
        if !options.delimiter.is_empty() {
            let Some(scalar) = target.as_scalar() else {
                return Err(Diagnostic::new("delimiter option can only be used with scalar nodes"));
            };
            let mut parts: Vec<&str> = scalar.text.split(options.delimiter.as_str()).collect();
            let new = value.text().unwrap_or_default();
            match usize::try_from(options.index) {
                Err(_) => parts.insert(0, new),
                Ok(index) if index >= parts.len() => parts.push(new),
                Ok(index) => parts[index] = new,
            }
            text = Some(parts.join(&options.delimiter).into());
        }
        match &mut target.value {
            // A scalar keeps its type and style and gets the text alone.
            Value::Scalar(scalar) => {
                let copied = || value.as_scalar().map(|value| value.text.clone());
                scalar.text = text.or_else(copied).unwrap_or_default();
                if made {
                    path::settle(target);
                }
            }
            Value::Mapping(_) | Value::Sequence(_) => target.value = value.value.clone(),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
