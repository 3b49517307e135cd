//! Inputs made from a seed: the same seed makes the same files.

mod damage;
mod flux;
mod kustomization;
mod object;
mod patch;
mod plugin;
mod scalar;
mod yaml;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fastrand::Rng;
use serde_json::Value;

pub use flux::Template;

/// Files, and the folder to build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The content of each path.
    pub files: BTreeMap<String, String>,
    /// Files that are no text.
    pub binary: BTreeMap<String, Vec<u8>>,
    /// The folder to build; empty for the root.
    pub target: String,
    /// Whether the result is sorted.
    pub legacy_order: bool,
    /// Whether files must lie below the folder that names them.
    pub stay_in_folder: bool,
    /// The Flux Kustomization that builds it; else it is built as the command does.
    pub kustomization: Option<Value>,
    /// ConfigMaps and Secrets of the cluster.
    pub objects: Vec<Value>,
    /// Whether Flux refuses variables that are not set.
    pub strict: bool,
}

impl Tree {
    /// Writes the files below a folder.
    pub fn write(&self, root: &Path) -> std::io::Result<()> {
        fs::create_dir_all(root)?;
        let texts = self.files.iter().map(|(path, text)| (path, text.as_bytes()));
        let binary = self.binary.iter().map(|(path, bytes)| (path, bytes.as_slice()));
        for (path, text) in texts.chain(binary) {
            let path = root.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        Ok(())
    }
}

/// Some kustomizations that build upon each other.
pub fn tree(seed: u64) -> Tree {
    let mut rng = Rng::with_seed(seed);
    let mut tree = kustomization::tree(&mut rng);
    if rng.u32(..100) < 12 {
        damage::some(&mut rng, &mut tree);
    }
    tree
}

/// A tree as [`tree`] makes them, with the Flux Kustomization that builds it.
pub fn flux_tree(seed: u64) -> Tree {
    let mut tree = self::tree(seed);
    flux::apply(&mut Rng::with_seed(seed ^ 0x00f1_0c5d), &mut tree);
    tree
}

/// A tree from a folder of cases, changed here and there.
pub fn mutation(cases: &[Tree], seed: u64) -> Tree {
    let mut rng = Rng::with_seed(seed);
    let mut tree = pick(&mut rng, cases).clone();
    for _ in 0..rng.usize(1..4) {
        if !tree.files.is_empty() {
            damage::some(&mut rng, &mut tree);
        }
    }
    tree
}

/// A text with variables.
pub fn template(seed: u64) -> Template {
    flux::template(&mut Rng::with_seed(seed))
}

/// One of the choices.
fn pick<'a, T>(rng: &mut Rng, choices: &'a [T]) -> &'a T {
    &choices[rng.usize(..choices.len())]
}

/// True so many times in a hundred.
fn chance(rng: &mut Rng, percent: u32) -> bool {
    rng.u32(..100) < percent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_tree() {
        assert_eq!(tree(7), tree(7));
        assert_ne!(tree(7), tree(8));
        assert!(tree(7).files.keys().any(|path| path.ends_with("kustomization.yaml")));
    }
}
