//! One kustomization after the other, innermost first: what each of them adds and changes, in
//! upstream's order.

use super::config::Config;
use super::kustomization::{Kustomization, KustomizationFile, Placed};
use super::load::{Source, Target};
use super::origin::{self, Maker, Place};
use super::resources::placed;
use super::schema::{self, Schema};
use super::variable::{Variable, Variables};
use super::{Loader, Options, Origin, Resource, Resources, Step, generator, plugin, shared};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{self, Mark, Node, Text};

/// What a validator may leave behind.
const VALIDATED_LABEL: &str = "validated-by";

/// How deep kustomizations may be nested.
const DEEPEST: usize = 100;

/// What has been added so far, and what is known about changing it.
#[derive(Debug)]
pub(super) struct Accumulated {
    pub resources: Resources,
    pub config: Config,
    pub variables: Variables,
}

impl Default for Accumulated {
    fn default() -> Self {
        Self {
            resources: Resources::new(),
            config: Config::empty(),
            variables: Variables::default(),
        }
    }
}

/// What all kustomizations of a build share.
pub(super) struct Build<'a> {
    pub options: &'a Options<'a>,
    pub schema: Schema,
}

/// One kustomization that is being built.
pub(super) struct Layer<'l> {
    pub build: &'l Build<'l>,
    pub loader: &'l Loader<'l>,
    pub file: &'l KustomizationFile,
    pub says: &'l Kustomization<'l>,
    /// Where it lies, if the result is to say so.
    pub place: Option<Place>,
    pub depth: usize,
}

impl Layer<'_> {
    /// Everything this kustomization adds and does; `into` is empty unless it is a component.
    pub fn accumulate(&self, into: Accumulated) -> Result<Accumulated> {
        let mut all = self.add_resources(into, &self.says.resources)?;
        self.merge_config(&mut all)?;
        self.generate(&mut all)?;
        all = self.add_components(all)?;
        self.transform(&mut all)?;
        self.validate(&mut all.resources)?;
        if let Some(first) = self.says.variables.first() {
            let read = |node| Ok(Variable::parse(node)?.in_file(self.file.path.clone()));
            let variables: Result<Vec<_>> = self.says.variables.iter().map(read).collect();
            variables
                .and_then(|variables| all.variables.claim(&variables, &mut all.resources))
                .map_err(|error| self.here(error, first.mark))?;
        }
        Ok(all)
    }

    /// An error without a file is one of this file.
    pub fn here(&self, error: Diagnostic, mark: Mark) -> Diagnostic {
        if error.file().is_some() { error } else { error.at(mark).in_file(self.file.path.clone()) }
    }

    /// Adds what the entries lead to.
    pub fn add_resources(&self, mut all: Accumulated, entries: &[Placed]) -> Result<Accumulated> {
        for (path, mark) in entries {
            let target = self.loader.target(path).map_err(|error| self.here(error, *mark))?;
            match target {
                Target::File(source) => {
                    let mut list = source.resources()?;
                    if let Some(place) = &self.place {
                        origin::annotate_read(&mut list, &place.append(path));
                    }
                    for resource in &mut list {
                        self.find_scope(resource);
                    }
                    all.resources
                        .append_all(Resources { list })
                        .map_err(|error| self.here(error, *mark))?;
                }
                Target::Folder(loader) => {
                    let place = self.place.as_ref().map(|place| place.append(path));
                    all = self.add_folder(all, &loader, place, false, *mark)?;
                }
            }
        }
        Ok(all)
    }

    fn find_scope(&self, resource: &mut Resource) {
        let gvk = resource.gvk();
        if !gvk.has_known_scope() {
            resource.cluster_scoped = self.build.schema.is_cluster_scoped(&gvk);
        }
    }

    fn add_components(&self, mut all: Accumulated) -> Result<Accumulated> {
        for (path, mark) in &self.says.components {
            let loader = self.loader.folder(path).map_err(|error| self.here(error, *mark))?;
            let place = self.place.as_ref().map(|place| place.append(path));
            all = self.add_folder(all, &loader, place, true, *mark)?;
        }
        Ok(all)
    }

    fn add_folder(
        &self,
        mut all: Accumulated,
        loader: &Loader<'_>,
        place: Option<Place>,
        is_component: bool,
        mark: Mark,
    ) -> Result<Accumulated> {
        let here = |error| self.here(error, mark);
        if self.depth >= DEEPEST {
            let message = format!("kustomizations are nested more than {DEEPEST} deep");
            return Err(here(Diagnostic::new(message)));
        }
        let file = KustomizationFile::find(loader).map_err(here)?;
        let says = file.read()?;
        choose_schema(&self.build.schema, loader, &file, &says)?;
        if says.is_component != is_component {
            let folder = loader.root();
            let message = if is_component {
                format!("expected kind 'Component' for path '{folder}' but got 'Kustomization'")
            } else {
                format!("expected kind != 'Component' for path '{folder}'")
            };
            let hint = if is_component { "resources" } else { "components" };
            return Err(here(Diagnostic::new(message).hint(format!("list it under `{hint}`"))));
        }
        let layer = Layer {
            build: self.build,
            loader,
            file: &file,
            says: &says,
            place,
            depth: self.depth + 1,
        };
        if is_component {
            let mut all = layer.accumulate(all)?;
            // Upstream adds the whole to an empty one, which lets fields of single kinds replace those
            // of every kind.
            all.config = Config::empty().merge(&all.config).map_err(here)?;
            return Ok(all);
        }
        let inner = layer.accumulate(Accumulated::default())?;
        all.resources.append_all(inner.resources).map_err(here)?;
        all.config = all.config.merge(&inner.config).map_err(here)?;
        all.variables.merge(inner.variables).map_err(here)?;
        Ok(all)
    }

    /// Which fields the steps change, from here on.
    fn merge_config(&self, all: &mut Accumulated) -> Result<()> {
        let read = |paths: &[(Text, Mark)],
                    read: &dyn Fn(&Source<'_>) -> Result<Config>|
         -> Result<Config> {
            let mut config = Config::empty();
            for (path, mark) in paths {
                let source = self.loader.read(path).map_err(|error| self.here(error, *mark))?;
                config = read(&source)
                    .and_then(|own| config.merge(&own))
                    .map_err(|error| error.in_file(source.path.clone()))?;
            }
            Ok(config)
        };
        let here = |error| self.here(error, Mark::default());
        let own = read(&self.says.configurations, &|source| {
            Config::parse(&yaml::strict_configuration(source.text()?)?)
        })?;
        let config = Config::default().merge(&own).map_err(here)?;
        all.config = all.config.merge(&config).map_err(here)?;
        let crds = read(&self.says.crds, &|source| {
            // Upstream reads what begins with a brace as JSON, which forgives less than YAML.
            let text = source.text()?;
            if text.starts_with('{')
                && let Err(error) = serde_json::from_str::<serde_json::Value>(text)
            {
                let message = format!("unable to parse open API definition: {error}");
                return Err(Diagnostic::new(message).in_file(source.path.clone()));
            }
            Config::from_crds(&*source.settings()?)
        })?;
        all.config = all.config.merge(&crds).map_err(here)?;
        Ok(())
    }

    fn generate(&self, all: &mut Accumulated) -> Result<()> {
        let kinds = [
            (&self.says.config_maps, "configMapGenerator", "ConfigMapGenerator"),
            (&self.says.secrets, "secretGenerator", "SecretGenerator"),
        ];
        for (entries, field, kind) in kinds {
            for (index, arguments) in entries.iter().enumerate() {
                let here = |error| self.here(error, arguments.mark);
                let origin =
                    Origin { file: Some(self.file.path.clone()), line: arguments.mark.line };
                let mut made = generator::generate(arguments, self.loader, origin).map_err(here)?;
                if let Some(place) = &self.place {
                    let maker = Maker::builtin(place, self.file.name, kind);
                    origin::annotate_made(&mut made, &maker);
                }
                if self.build.options.explain {
                    made.history.push(self.step_at(format!("{field}[{index}]"), arguments.mark));
                }
                all.resources.absorb(made).map_err(here)?;
            }
        }
        for config in self.plugins(&self.says.generators)? {
            let mut made =
                plugin::generate(&config, self).map_err(|error| placed(error, &config))?;
            let maker = self.place.is_some().then(|| Maker::config(&config)).flatten();
            for resource in &mut made {
                if let Some(maker) = &maker {
                    origin::annotate_made(resource, maker);
                }
                if self.build.options.explain {
                    let name = format!("generators: {} {}", config.kind(), config.name());
                    resource.history.push(self.step_at(name, Mark::default()));
                }
            }
            all.resources.absorb_all(made).map_err(|error| placed(error, &config))?;
        }
        Ok(())
    }

    /// The configurations that the entries lead to, inline or elsewhere.
    pub fn plugins(&self, entries: &[Placed]) -> Result<Resources> {
        let mut all = Accumulated::default();
        let mut elsewhere = Vec::new();
        for (entry, mark) in entries {
            let inline = super::objects(entry).and_then(|nodes| {
                let resource = |node: Node| {
                    let below = u32::from(!entry.contains('\n'));
                    let line = mark.line + node.mark.line.saturating_sub(below);
                    let origin = Origin { file: Some(self.file.path.clone()), line };
                    Resource::new(node, origin)
                };
                Resources::from_list(nodes.into_iter().map(resource).collect())
            });
            let Ok(mut inline) = inline else {
                elsewhere.push((entry.clone(), *mark));
                continue;
            };
            if let Some(place) = &self.place {
                origin::annotate_read(&mut inline.list, &place.append(self.file.name));
            }
            all.resources.append_all(inline).map_err(|error| self.here(error, *mark))?;
        }
        let mut configs = self.add_resources(all, &elsewhere)?.resources;
        for config in &mut configs {
            plugin::write_again(&mut config.node).map_err(|error| placed(error, config))?;
        }
        Ok(configs)
    }

    /// Validators may look, and leave a label behind.
    fn validate(&self, resources: &mut Resources) -> Result<()> {
        for config in self.plugins(&self.says.validators)? {
            let before = resources.clone();
            plugin::transform(&config, resources, self).map_err(|error| placed(error, &config))?;
            let same = |(new, old): (&Resource, &Resource)| {
                if new.label(VALIDATED_LABEL).is_none() {
                    return new.node == old.node;
                }
                let mut new = new.clone();
                let labels = new.metadata_mut().get_mut("labels").and_then(Node::as_mapping_mut);
                labels.and_then(|labels| labels.remove(VALIDATED_LABEL));
                new.normalize_metadata("labels");
                new.node == old.node
            };
            if before.len() != resources.len() || !resources.iter().zip(before.iter()).all(same) {
                let message = "validator shouldn't modify the resource map";
                return Err(placed(Diagnostic::new(message), &config));
            }
        }
        Ok(())
    }

    fn step_at(&self, name: impl Into<Text>, mark: Mark) -> Step {
        Step { name: name.into(), file: self.file.path.clone(), line: mark.line }
    }

    /// Runs one step, and records what it did if that is asked for.
    pub fn step(
        &self,
        resources: &mut Resources,
        name: impl FnOnce() -> String,
        mark: Mark,
        maker: Option<&Maker>,
        run: impl FnOnce(&mut Resources) -> Result<()>,
    ) -> Result<()> {
        if self.build.options.explain {
            for resource in resources.iter_mut() {
                resource.before = Some(Box::new(resource.node.clone()));
            }
        }
        run(resources).map_err(|error| self.here(error, mark))?;
        resources.iter_mut().for_each(shared::settle);
        if self.build.options.explain {
            let step = self.step_at(name(), mark);
            record(resources, &step);
        }
        if let Some(maker) = maker {
            origin::annotate_changed(resources, maker);
        }
        resources.drop_empty();
        Ok(())
    }
}

/// Notes the step at the objects it changed.
pub(super) fn record(resources: &mut Resources, step: &Step) {
    for resource in resources.iter_mut() {
        let before = resource.before.take();
        if before.is_none_or(|before| *before != resource.node) {
            resource.history.push(step.clone());
        }
    }
}

/// Chooses the schema as the kustomization says, unless another has been chosen.
pub(super) fn choose_schema(
    schema: &Schema,
    loader: &Loader<'_>,
    file: &KustomizationFile,
    says: &Kustomization<'_>,
) -> Result<()> {
    let here = |error: Diagnostic| {
        if error.file().is_some() {
            error
        } else {
            error.at(says.openapi_mark).in_file(file.path.clone())
        }
    };
    let find = |name: &str| says.openapi.iter().find(|(known, _)| known == name);
    let document = match find("path") {
        Some((_, path)) => {
            let source = loader.read(path).map_err(here)?;
            Some(schema::Document::parse(source.text()?).in_file(source.path.clone()))
        }
        None => None,
    };
    schema.choose(find("version").map(|(_, version)| version.as_str()), document).map_err(here)
}
