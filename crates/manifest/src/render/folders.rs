//! Folders built as `kustomize build` builds them, many at once and again after a change.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Reach, Recorder, spread};
use crate::diagnostic::Result;
use crate::files::Files;
use crate::kustomize::{self, Resources};

/// One folder's objects, or why there are none.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The objects.
    pub result: Result<Arc<Resources>>,
    /// What it was made from.
    pub reach: Arc<Reach>,
}

/// Folders and what was made of them.
#[derive(Default)]
pub struct Folders {
    known: BTreeMap<String, Rendered>,
}

impl Folders {
    /// Nothing rendered yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Renders these folders, all of them.
    pub fn render(
        &mut self,
        files: &dyn Files,
        folders: &[String],
        options: &kustomize::Options<'_>,
        threads: usize,
    ) {
        let rendered = spread(folders, threads, |folder| {
            let recorder = Recorder::new(files);
            let result = kustomize::build(&recorder, folder, options).map(Arc::new);
            Rendered { result, reach: Arc::new(recorder.finish()) }
        });
        self.known.extend(folders.iter().cloned().zip(rendered));
    }

    /// Renders again what the changed paths can reach; the folders that were rendered.
    pub fn update(
        &mut self,
        files: &dyn Files,
        changed: &[String],
        options: &kustomize::Options<'_>,
        threads: usize,
    ) -> Vec<String> {
        let reached: Vec<String> = self
            .known
            .iter()
            .filter(|(_, rendered)| rendered.reach.covers_any(changed))
            .map(|(folder, _)| folder.clone())
            .collect();
        self.render(files, &reached, options, threads);
        reached
    }

    /// What was made of a folder.
    pub fn get(&self, folder: &str) -> Option<&Rendered> {
        self.known.get(folder)
    }

    /// All of them, by their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Rendered)> {
        self.known.iter().map(|(folder, rendered)| (folder.as_str(), rendered))
    }
}
