//! Every Kustomization and ResourceSet of a repository, from the folder Flux was bootstrapped with:
//! each is built from what its parent renders, so what a parent patches reaches its children.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::artifact::Artifact;
use super::build::{BuildOptions, Built, build};
use super::known::{Known, Whose};
use super::kustomization::{Kustomization, Name};
use super::resource_set::{self, ResourceSet};
use super::substitute::Variables;
use crate::cache::Cache;
use crate::diagnostic::{Diagnostic, Result};
use crate::files::Files;
use crate::kustomize::{Origin, Remote};
use crate::render::{Reach, Recorder, spread};
use crate::yaml::Node;

/// How often what depends on itself is rendered again before it counts as settled.
const MOST_ROUNDS: usize = 4;

/// What applies objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A Kustomization of Flux.
    Kustomization,
    /// A ResourceSet of flux-operator.
    ResourceSet,
}

/// Which Kustomization or ResourceSet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Applier {
    /// Which of the two.
    pub kind: Kind,
    /// Namespace and name.
    pub name: Name,
}

impl std::fmt::Display for Applier {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Kustomization => "Kustomization",
            Kind::ResourceSet => "ResourceSet",
        };
        write!(out, "{kind} {}", self.name)
    }
}

/// What became of it.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Its objects.
    Built(Arc<Built>),
    /// Flux would refuse it too, or it cannot be rendered here.
    Failed(Diagnostic),
    /// Its files are not here; why.
    NotFollowed(String),
}

/// One Kustomization or ResourceSet.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Which one.
    pub applier: Applier,
    /// Where it is written.
    pub origin: Origin,
    /// Who renders it.
    pub parent: Option<Applier>,
    /// The folder it builds.
    pub path: Option<String>,
    /// What has to be ready before.
    pub depends_on: Vec<Name>,
    /// Whether it is suspended.
    pub suspended: bool,
    /// Whether it applies to another cluster.
    pub elsewhere: bool,
    /// What became of it.
    pub outcome: Outcome,
    /// What is not as Flux would have it, in sentences.
    pub notes: Vec<String>,
}

impl Applied {
    /// Its objects.
    pub fn objects(&self) -> &[super::build::Object] {
        match &self.outcome {
            Outcome::Built(built) => &built.objects,
            _ => &[],
        }
    }
}

/// Everything Flux would apply from a repository.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Who applies what: the entry first, children after their parents.
    pub applied: Vec<Applied>,
    /// How many of them were built, and not taken from the time before.
    pub built: usize,
}

impl Cluster {
    /// The failures.
    pub fn failures(&self) -> impl Iterator<Item = (&Applied, &Diagnostic)> {
        self.applied.iter().filter_map(|applied| match &applied.outcome {
            Outcome::Failed(error) => Some((applied, error)),
            _ => None,
        })
    }
}

/// How to render a repository.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// What fetches bases and files from elsewhere; without it they are refused.
    pub remote: Option<&'a dyn Remote>,
    /// Whether variables that are not set are errors, as a switch of kustomize-controller makes them.
    pub strict: bool,
    /// Whether each object records what changed it.
    pub explain: bool,
    /// How many threads to use; 0 for all.
    pub threads: usize,
    /// Addresses under which this repository is known: sources that name one are followed.
    pub addresses: Vec<String>,
}

/// Renders a repository, and renders again what a change reaches.
#[derive(Default)]
pub struct Renderer {
    memory: BTreeMap<Key, Memory>,
    cache: Cache,
}

/// Which build: the entry is built once without knowing its own Kustomization.
type Key = (Applier, bool);

/// One build, and what it was made from.
struct Memory {
    object: Node,
    path: String,
    variables: Variables,
    explain: bool,
    ignore: Option<String>,
    reach: Reach,
    result: Result<Arc<Built>>,
}

#[derive(Clone)]
struct Task {
    what: What,
    parent: Option<Applier>,
}

#[derive(Clone)]
enum What {
    Kustomization(Box<Kustomization>),
    ResourceSet(Box<ResourceSet>),
    /// An object that cannot even be read.
    Unreadable(Applier, Origin, Diagnostic),
}

impl Task {
    fn applier(&self) -> Applier {
        match &self.what {
            What::Kustomization(one) => {
                Applier { kind: Kind::Kustomization, name: one.name.clone() }
            }
            What::ResourceSet(one) => Applier { kind: Kind::ResourceSet, name: one.name.clone() },
            What::Unreadable(applier, ..) => applier.clone(),
        }
    }

    fn key(&self) -> Key {
        let unknown = matches!(&self.what, What::Kustomization(one) if one.source.is_none());
        (self.applier(), unknown)
    }

    fn object(&self) -> Option<&Node> {
        match &self.what {
            What::Kustomization(one) => Some(&one.object),
            What::ResourceSet(one) => Some(&one.object),
            What::Unreadable(..) => None,
        }
    }
}

impl Renderer {
    /// Nothing rendered yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Renders everything from the entry on.
    pub fn render(
        &mut self,
        files: &dyn Files,
        entry: &str,
        options: &Options<'_>,
    ) -> Result<Cluster> {
        self.memory.clear();
        self.run(files, entry, &[], options)
    }

    /// Renders again what the changed paths can reach, from files that have those changes.
    pub fn update(
        &mut self,
        files: &dyn Files,
        entry: &str,
        changed: &[String],
        options: &Options<'_>,
    ) -> Result<Cluster> {
        if changed.iter().any(|path| path == ".sourceignore" || path.ends_with("/.sourceignore")) {
            self.memory.clear();
        }
        self.run(files, entry, changed, options)
    }

    fn run(
        &mut self,
        files: &dyn Files,
        entry: &str,
        changed: &[String],
        options: &Options<'_>,
    ) -> Result<Cluster> {
        let entry = super::kustomization::clamp(entry);
        self.memory.retain(|_, memory| !memory.reach.covers_any(changed));
        let mut run = Run {
            files,
            entry: &entry,
            options,
            artifact: Artifact::new(files, None),
            ignore: None,
            known: Known::new(&options.addresses),
            memory: &mut self.memory,
            cache: &self.cache,
            tasks: BTreeMap::new(),
            order: Vec::new(),
            done: BTreeMap::new(),
            settled_without: BTreeSet::new(),
            built: 0,
        };
        run.start()?;
        run.follow();
        Ok(run.finish())
    }
}

struct Run<'a, 'm> {
    files: &'a dyn Files,
    entry: &'a str,
    options: &'a Options<'a>,
    artifact: Artifact<'a>,
    ignore: Option<String>,
    known: Known,
    memory: &'m mut BTreeMap<Key, Memory>,
    cache: &'m Cache,
    tasks: BTreeMap<Applier, Task>,
    order: Vec<Applier>,
    done: BTreeMap<Applier, (Outcome, Vec<String>)>,
    /// Those that were built although something they refer to was not rendered yet.
    settled_without: BTreeSet<Applier>,
    built: usize,
}

impl Run<'_, '_> {
    /// Finds the entry: the folder itself says which Kustomization builds it.
    fn start(&mut self) -> Result<()> {
        let mut root = Kustomization::entry(self.entry);
        for _ in 0..MOST_ROUNDS {
            let task = Task { what: What::Kustomization(Box::new(root.clone())), parent: None };
            let outcome = self.build_all(std::slice::from_ref(&task)).remove(0).1;
            let built = match outcome.0 {
                Outcome::Built(built) => built,
                Outcome::Failed(error) => return Err(error),
                Outcome::NotFollowed(why) => return Err(Diagnostic::new(why)),
            };
            for object in &built.objects {
                self.known.learn(&object.resource, &root.name.namespace, self.entry);
            }
            let own =
                built.objects.iter().filter(|object| Kustomization::is_one(&object.resource.node));
            let itself = own
                .filter_map(|object| {
                    let resource = &object.resource;
                    Kustomization::read(
                        &resource.node,
                        resource.origin.clone(),
                        &root.name.namespace,
                    )
                    .ok()
                })
                .find(|found| found.path == self.entry);
            let next = itself.unwrap_or_else(|| root.clone());
            if let Some(source) = &next.source {
                self.known.set_own(source);
            }
            let ignore = self.known.own_ignore();
            let settled = next.object == root.object && ignore == self.ignore;
            if ignore != self.ignore {
                self.artifact = Artifact::new(self.files, ignore.as_deref());
                self.ignore = ignore;
            }
            root = next;
            if settled {
                break;
            }
        }
        let task = Task { what: What::Kustomization(Box::new(root)), parent: None };
        self.add(task);
        Ok(())
    }

    fn add(&mut self, task: Task) {
        let applier = task.applier();
        if let Some(known) = self.tasks.get(&applier) {
            let same_object = match (known.object(), task.object()) {
                (Some(one), Some(two)) => one == two,
                _ => false,
            };
            let is_entry = known.parent.is_none();
            if same_object || is_entry {
                return;
            }
            if known.parent != task.parent {
                let both = |task: &Task| {
                    task.parent.as_ref().map_or_else(String::new, ToString::to_string)
                };
                let note =
                    format!("{applier} is rendered by {} and by {}", both(known), both(&task));
                if let Some((_, notes)) = self.done.get_mut(&applier)
                    && !notes.contains(&note)
                {
                    notes.push(note);
                }
                return;
            }
            self.done.remove(&applier);
        } else {
            self.order.push(applier.clone());
        }
        self.tasks.insert(applier, task);
    }

    fn pending(&self) -> Vec<Task> {
        let open = self.order.iter().filter(|applier| !self.done.contains_key(applier));
        open.filter_map(|applier| self.tasks.get(applier)).cloned().collect()
    }

    fn follow(&mut self) {
        let mut rounds = 0;
        loop {
            let pending = self.pending();
            if pending.is_empty() {
                rounds += 1;
                if rounds > MOST_ROUNDS || !self.reopen() {
                    return;
                }
                continue;
            }
            let (whose, missing): (Vec<_>, Vec<_>) =
                pending.iter().map(|task| (self.whose(task), self.is_missing(task))).unzip();
            // First what is sure, then what has a source nobody renders, then what lacks variables.
            let sure = |place: &usize| whose[*place] != Whose::Unknown && !missing[*place];
            let mut ready: Vec<usize> = (0..pending.len()).filter(sure).collect();
            let mut guess = false;
            if ready.is_empty() {
                guess = true;
                ready = (0..pending.len()).filter(|place| !missing[*place]).collect();
            }
            if ready.is_empty() {
                ready = (0..pending.len()).collect();
                for task in &pending {
                    self.settled_without.insert(task.applier());
                }
            }
            let mut build = Vec::new();
            for place in ready {
                let task = &pending[place];
                let mut whose = whose[place].clone();
                if guess
                    && whose == Whose::Unknown
                    && let What::Kustomization(one) = &task.what
                {
                    whose = self.known.guess(one, &self.artifact);
                }
                match (&task.what, whose) {
                    (What::Unreadable(applier, _, error), _) => {
                        let outcome = Outcome::Failed(error.clone());
                        self.done.insert(applier.clone(), (outcome, Vec::new()));
                    }
                    (_, Whose::Other(why)) => {
                        let outcome = Outcome::NotFollowed(why);
                        self.done.insert(task.applier(), (outcome, Vec::new()));
                    }
                    _ => build.push(task.clone()),
                }
            }
            for (applier, outcome) in self.build_all(&build) {
                if let Outcome::Built(built) = &outcome.0 {
                    let built = built.clone();
                    self.done.insert(applier.clone(), outcome);
                    self.learn(&applier, &built);
                } else {
                    self.done.insert(applier, outcome);
                }
            }
        }
    }

    /// Opens again what was built without something that was rendered since.
    fn reopen(&mut self) -> bool {
        let mut opened = false;
        for applier in std::mem::take(&mut self.settled_without) {
            let Some(task) = self.tasks.get(&applier) else { continue };
            let changed = match &task.what {
                What::Kustomization(one) => {
                    let (variables, _) = self.known.variables(one, self.options.strict);
                    self.memory.get(&task.key()).is_some_and(|memory| memory.variables != variables)
                }
                What::ResourceSet(one) => !one.is_missing(&self.known),
                What::Unreadable(..) => false,
            };
            if changed {
                self.done.remove(&applier);
                opened = true;
            }
        }
        opened
    }

    fn whose(&self, task: &Task) -> Whose {
        match &task.what {
            // The entry is here whatever its source is called.
            What::Kustomization(_) if task.parent.is_none() => Whose::Own,
            What::Kustomization(one) => self.known.whose(one),
            _ => Whose::Own,
        }
    }

    fn is_missing(&self, task: &Task) -> bool {
        match &task.what {
            What::Kustomization(one) => !self.known.has_variables_of(one),
            What::ResourceSet(one) => one.is_missing(&self.known),
            What::Unreadable(..) => false,
        }
    }

    fn learn(&mut self, applier: &Applier, built: &Built) {
        let namespace = applier.name.namespace.clone();
        let mut found = Vec::new();
        for object in &built.objects {
            let resource = &object.resource;
            self.known.learn(resource, &namespace, self.entry);
            let origin = resource.origin.clone();
            let node = &resource.node;
            let unreadable = |kind, error| {
                let own = resource.namespace();
                let name = Name {
                    namespace: if own.is_empty() { namespace.clone() } else { own.into() },
                    name: resource.name().into(),
                };
                What::Unreadable(Applier { kind, name }, origin.clone(), error)
            };
            if Kustomization::is_one(node) {
                found.push(match Kustomization::read(node, origin.clone(), &namespace) {
                    Ok(one) => What::Kustomization(Box::new(one)),
                    Err(error) => unreadable(Kind::Kustomization, error),
                });
            } else if ResourceSet::is_one(node) {
                found.push(match ResourceSet::read(node, origin.clone(), &namespace) {
                    Ok(one) => What::ResourceSet(Box::new(one)),
                    Err(error) => unreadable(Kind::ResourceSet, error),
                });
            }
        }
        for what in found {
            self.add(Task { what, parent: Some(applier.clone()) });
        }
    }

    /// Builds these, each from memory if nothing it was made from has changed.
    fn build_all(&mut self, tasks: &[Task]) -> Vec<(Applier, (Outcome, Vec<String>))> {
        let prepared: Vec<(Variables, Vec<String>)> = tasks
            .iter()
            .map(|task| match &task.what {
                What::Kustomization(one) => self.known.variables(one, self.options.strict),
                _ => (Variables::new(), Vec::new()),
            })
            .collect();
        let is_fresh = |place: usize| {
            let What::Kustomization(one) = &tasks[place].what else { return false };
            self.memory.get(&tasks[place].key()).is_some_and(|memory| {
                memory.object == one.object
                    && memory.path == one.path
                    && memory.variables == prepared[place].0
                    && memory.explain == self.options.explain
                    && memory.ignore == self.ignore
            })
        };
        let stale: Vec<usize> = (0..tasks.len()).filter(|place| !is_fresh(*place)).collect();
        self.built += stale.len();
        let options = BuildOptions {
            cache: Some(self.cache),
            remote: self.options.remote,
            explain: self.options.explain,
        };
        let threads =
            if self.options.threads == 0 { crate::render::threads() } else { self.options.threads };
        let (artifact, known) = (&self.artifact, &self.known);
        let built = spread(&stale, threads, |place| match &tasks[*place].what {
            What::Kustomization(one) => {
                let recorder = Recorder::new(artifact);
                let result = build(&recorder, one, &prepared[*place].0, &options);
                (result, recorder.finish())
            }
            What::ResourceSet(one) => (resource_set::build(one, known), Reach::default()),
            What::Unreadable(_, _, error) => (Err(error.clone()), Reach::default()),
        });
        for (place, (result, reach)) in stale.into_iter().zip(built) {
            let (object, path) = match &tasks[place].what {
                What::Kustomization(one) => (one.object.clone(), one.path.clone()),
                _ => (Node::null(), String::new()),
            };
            let memory = Memory {
                object,
                path,
                variables: prepared[place].0.clone(),
                explain: self.options.explain,
                ignore: self.ignore.clone(),
                reach,
                result: result.map(Arc::new),
            };
            self.memory.insert(tasks[place].key(), memory);
        }
        let mut outcomes = Vec::with_capacity(tasks.len());
        for (task, (_, mut notes)) in tasks.iter().zip(prepared) {
            let applier = task.applier();
            let outcome = match self.memory.get(&task.key()).map(|memory| &memory.result) {
                Some(Ok(built)) => {
                    notes.extend(built.notes.iter().cloned());
                    Outcome::Built(built.clone())
                }
                Some(Err(error)) => Outcome::Failed(error.clone()),
                None => Outcome::NotFollowed("it was not built".to_owned()),
            };
            outcomes.push((applier, (outcome, notes)));
        }
        outcomes
    }

    fn finish(mut self) -> Cluster {
        let mut cluster = Cluster { applied: Vec::new(), built: self.built };
        for applier in &self.order {
            let (Some(task), Some((outcome, notes))) =
                (self.tasks.get(applier), self.done.remove(applier))
            else {
                continue;
            };
            let mut applied = Applied {
                applier: applier.clone(),
                origin: Origin::default(),
                parent: task.parent.clone(),
                path: None,
                depends_on: Vec::new(),
                suspended: false,
                elsewhere: false,
                outcome,
                notes,
            };
            match &task.what {
                What::Kustomization(one) => {
                    applied.origin = one.origin.clone();
                    applied.path = Some(one.path.clone());
                    applied.depends_on = one.depends_on.clone();
                    applied.suspended = one.suspended;
                    applied.elsewhere = one.elsewhere;
                }
                What::ResourceSet(one) => {
                    applied.origin = one.origin.clone();
                    applied.suspended = one.disabled;
                }
                What::Unreadable(_, origin, _) => applied.origin = origin.clone(),
            }
            cluster.applied.push(applied);
        }
        let kept: BTreeSet<&Applier> = self.order.iter().collect();
        self.memory.retain(|(applier, unknown), _| *unknown || kept.contains(applier));
        cluster
    }
}

#[cfg(test)]
mod tests;
