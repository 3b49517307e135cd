//! Where clusters begin: folders with Flux Kustomizations that no other one applies.

use std::collections::BTreeSet;

use holdfast_manifest::files::{Files, Found, join, split, text};
use holdfast_manifest::{Result, yaml};

/// Flux's own group; a file without it holds no Kustomization of Flux.
const GROUP: &str = "kustomize.toolkit.fluxcd.io";

struct Written {
    folder: String,
    path: String,
}

/// The entry folders of a repository, sorted.
pub fn entries(files: &dyn Files) -> Result<Vec<String>> {
    let mut written = Vec::new();
    scan(files, "", &mut written)?;
    let applied_by_another = |one: &Written| {
        written.iter().any(|other| other.path != one.path && contains(&other.path, &one.folder))
    };
    let mut found = BTreeSet::new();
    for one in written.iter().filter(|one| !applied_by_another(one)) {
        // One that applies its own file is the root: what it applies is the cluster.
        let entry = if contains(&one.path, &one.folder) { &one.path } else { &one.folder };
        found.insert(entry.clone());
    }
    // A folder inside of another entry is reached from there.
    let inside =
        |entry: &String| found.iter().any(|other| other != entry && contains(other, entry));
    Ok(found.iter().filter(|entry| !inside(entry)).cloned().collect())
}

fn contains(folder: &str, path: &str) -> bool {
    folder.is_empty()
        || path == folder
        || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn scan(files: &dyn Files, folder: &str, written: &mut Vec<Written>) -> Result<()> {
    for (name, found) in files.list(folder)?.unwrap_or_default() {
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        match found {
            Found::Folder if !name.starts_with('.') => scan(files, &path, written)?,
            Found::File if matches!(name.rsplit_once('.'), Some((_, "yaml" | "yml"))) => {
                let Some(blob) = files.read(&path)? else { continue };
                // What cannot be read is the build's to report.
                let Ok(content) = text(&path, &blob) else { continue };
                if !content.contains(GROUP) {
                    continue;
                }
                let Ok(documents) = yaml::documents(content) else { continue };
                for document in documents {
                    take(&document.root, &path, written);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn take(node: &yaml::Node, file: &str, written: &mut Vec<Written>) {
    let text = |path: &[&str]| node.at(path).and_then(yaml::Node::text).unwrap_or_default();
    if text(&["kind"]) == "Kustomization" && text(&["apiVersion"]).starts_with(GROUP) {
        let path = join("", text(&["spec", "path"])).unwrap_or_default();
        written.push(Written { folder: split(file).0.to_owned(), path });
    }
}

#[cfg(test)]
mod tests {
    use holdfast_manifest::files::Memory;

    use super::*;

    fn kustomization(path: &str) -> String {
        format!(
            "apiVersion: {GROUP}/v1\nkind: Kustomization\nmetadata: {{name: a}}\nspec: {{path: {path}}}\n"
        )
    }

    #[test]
    fn clusters_begin_where_nobody_applies_the_kustomization() {
        let files = Memory::new()
            .with("clusters/prod/flux-system/gotk-sync.yaml", kustomization("./clusters/prod"))
            .with("clusters/prod/apps.yaml", kustomization("./apps"))
            .with("clusters/dev/apps.yaml", kustomization("./apps"))
            .with("apps/shop/ks.yaml", kustomization("./apps/shop/app"))
            .with("apps/shop/app/a.yaml", "kind: ConfigMap\n")
            .with(".github/ks.yaml", kustomization("./x"));
        assert_eq!(entries(&files).unwrap(), ["clusters/dev", "clusters/prod"]);
        assert!(entries(&Memory::new().with("a.yaml", "a: 1\n")).unwrap().is_empty());
    }
}
