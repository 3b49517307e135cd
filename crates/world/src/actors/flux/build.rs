//! From an artifact to objects: plain manifests, and kustomizations that only list resources.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Files;

const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether a path leads to anything.
pub fn exists(files: &Files, path: &str) -> bool {
    let inside = |root: String| {
        files.keys().any(|file| root.is_empty() || file.starts_with(&format!("{root}/")))
    };
    normal("", path).is_ok_and(inside)
}

/// The objects below a path of an artifact, in the order of their files.
pub fn manifests(files: &Files, path: &str) -> Result<Vec<Value>, String> {
    let root = normal("", path)?;
    let mut objects = Vec::new();
    folder(files, &root, &mut BTreeSet::new(), &mut objects)?;
    let mut seen = BTreeSet::new();
    for object in &objects {
        let id = identity(object)?;
        if !seen.insert(id.clone()) {
            return Err(format!("may not add resource with an already registered id: {id}"));
        }
    }
    Ok(objects)
}

/// A path inside the artifact, without dots.
fn normal(base: &str, path: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or_else(|| format!("{path} leads out of the artifact"))?;
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn kustomization<'a>(files: &'a Files, at: &str) -> Result<Option<&'a [u8]>, String> {
    let found: Vec<&Vec<u8>> = NAMES.iter().filter_map(|name| files.get(&join(at, name))).collect();
    match found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(format!("Found multiple kustomization files under: {at}")),
    }
}

fn folder(
    files: &Files,
    at: &str,
    open: &mut BTreeSet<String>,
    objects: &mut Vec<Value>,
) -> Result<(), String> {
    if !open.insert(at.to_owned()) {
        return Err(format!("cycle detected: {at} lists itself"));
    }
    if let Some(bytes) = kustomization(files, at)? {
        for resource in resources(bytes, at)? {
            let path = normal(at, &resource)?;
            if let Some(bytes) = files.get(&path) {
                documents(bytes, &path, objects)?;
            } else if files.keys().any(|file| file.starts_with(&format!("{path}/"))) {
                if kustomization(files, &path)?.is_none() {
                    return Err(format!(
                        "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{path}'"
                    ));
                }
                folder(files, &path, open, objects)?;
            } else {
                return Err(format!(
                    "accumulating resources from '{resource}': {path} doesn't exist in the artifact"
                ));
            }
        }
    } else {
        walk(files, at, open, objects)?;
    }
    open.remove(at);
    Ok(())
}

/// Without a kustomization every manifest counts, and folders that have one are taken as they are.
fn walk(
    files: &Files,
    at: &str,
    open: &mut BTreeSet<String>,
    objects: &mut Vec<Value>,
) -> Result<(), String> {
    let prefix = if at.is_empty() { String::new() } else { format!("{at}/") };
    let mut folders = BTreeSet::new();
    for (path, bytes) in files {
        let Some(rest) = path.strip_prefix(&prefix) else { continue };
        match rest.split_once('/') {
            Some((name, _)) => {
                folders.insert(name.to_owned());
            }
            None if is_manifest(rest) => {
                documents(bytes, path, objects)?;
            }
            None => {}
        }
    }
    for name in folders {
        folder(files, &join(at, &name), open, objects)?;
    }
    Ok(())
}

fn resources(bytes: &[u8], at: &str) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let parsed: Value = serde_saphyr::from_str(text)
        .map_err(|error| format!("kustomization in '{at}' cannot be read: {error}"))?;
    for (field, _) in parsed.as_object().into_iter().flatten() {
        if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "resources") {
            return Err(format!(
                "the kustomization in '{at}' uses {field}, which is not played here: only resources is"
            ));
        }
    }
    let listed = parsed["resources"].as_array().cloned().unwrap_or_default();
    listed
        .iter()
        .map(|entry| match entry.as_str() {
            Some(path) if path.contains("://") => {
                Err(format!("the remote resource {path} is not played here"))
            }
            Some(path) => Ok(path.to_owned()),
            None => Err(format!("resources in '{at}' must be a list of paths")),
        })
        .collect()
}

fn documents(bytes: &[u8], path: &str, objects: &mut Vec<Value>) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("{path}: {error}"))?;
    for document in parse(text).map_err(|error| format!("failed to decode {path}: {error}"))? {
        match document["items"].as_array() {
            Some(items) if document["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => {
                objects.extend(items.iter().cloned());
            }
            _ => objects.push(document),
        }
    }
    Ok(())
}

/// Whether a file counts as YAML by its name.
pub fn is_manifest(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    matches!(ending, Some("yaml" | "yml"))
}

/// All documents of a YAML text that are not empty.
pub fn parse(text: &str) -> Result<Vec<Value>, String> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
    Ok(all.into_iter().filter(|document| !document.is_null()).collect())
}

/// Kind, namespace and name, or what is missing.
pub fn identity(object: &Value) -> Result<String, String> {
    let word = |value: &Value| value.as_str().filter(|word| !word.is_empty()).map(str::to_owned);
    let kind = word(&object["kind"]).ok_or("an object without kind")?;
    word(&object["apiVersion"]).ok_or_else(|| format!("a {kind} without apiVersion"))?;
    let name = word(&object["metadata"]["name"])
        .ok_or_else(|| format!("a {kind} without metadata.name"))?;
    Ok(match word(&object["metadata"]["namespace"]) {
        Some(namespace) => format!("{kind}/{namespace}/{name}"),
        None => format!("{kind}/{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Files {
        all.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn map(name: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
    }

    fn names(files: &Files, path: &str) -> Result<Vec<String>, String> {
        manifests(files, path)?.iter().map(identity).collect()
    }

    #[test]
    fn plain_folders_are_walked() {
        let two = format!("{}---\n{}---\n", map("a"), map("b"));
        let files = files(&[
            ("apps/x.yaml", &two),
            ("apps/sub/y.yml", &map("c")),
            ("apps/README.md", "no"),
            ("apps/k/kustomization.yaml", "resources: [../other.yaml]"),
            ("apps/k/ignored.yaml", &map("d")),
            ("apps/other.yaml", &map("e")),
            ("else/z.yaml", &map("f")),
        ]);
        let listed = names(&files, "./apps");
        assert_eq!(
            listed.unwrap_err(),
            "may not add resource with an already registered id: ConfigMap/e"
        );
        let mut files = files;
        files.insert("apps/k/kustomization.yaml".into(), b"resources: [ignored.yaml]".to_vec());
        let listed = names(&files, "./apps").unwrap();
        assert_eq!(
            listed,
            ["ConfigMap/e", "ConfigMap/a", "ConfigMap/b", "ConfigMap/d", "ConfigMap/c"]
        );
    }

    #[test]
    fn what_is_not_played_is_named() {
        let patched = files(&[("kustomization.yaml", "patches: []\n")]);
        assert!(names(&patched, "./").unwrap_err().contains("uses patches"));
        let out = files(&[("a/kustomization.yaml", "resources: [../../x]")]);
        assert!(names(&out, "a").unwrap_err().contains("leads out"));
        let cycle = files(&[("a/kustomization.yaml", "resources: [../a]")]);
        assert!(names(&cycle, "a").unwrap_err().contains("cycle"));
        assert!(exists(&cycle, "./a") && exists(&cycle, "./") && !exists(&cycle, "b"));
        let broken = files(&[("a/x.yaml", "kind: [")]);
        assert!(names(&broken, "a").unwrap_err().contains("failed to decode a/x.yaml"));
    }
}
