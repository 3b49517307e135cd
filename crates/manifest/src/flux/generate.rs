//! The kustomization file that Flux builds: its own if there is none, else the one that is there with
//! the Kustomization's fields added.

use std::sync::Arc;

use super::kustomization::Kustomization;
use super::lenient;
use crate::diagnostic::{Diagnostic, Result};
use crate::files::{Blob, BlobId, Files, Found, join, split, text};
use crate::yaml::{self, Fields, Mapping, Node, Value};

const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How deep folders may lie below each other.
const DEEPEST: usize = 200;

/// What Flux lets kustomize build.
pub(super) struct Generated {
    /// The kustomization file.
    pub path: String,
    /// Its content, if it is not the one in the repository.
    pub content: Option<Blob>,
    /// How many lines of it are the repository's own.
    pub own_lines: u32,
    /// Whether Flux made it from nothing.
    pub created: bool,
}

/// Makes the kustomization file of a Kustomization.
pub(super) fn generate(files: &dyn Files, kustomization: &Kustomization) -> Result<Generated> {
    let folder = kustomization.path.as_str();
    let Some((path, blob)) = existing(files, folder)? else {
        let path = join(folder, FILE_NAMES[0]).unwrap_or_default();
        let mut content = Mapping::new();
        let mut found = Vec::new();
        walk(files, folder, "", 0, &mut found)?;
        if found.is_empty() {
            content.set("namespace", Node::string("_placeholder"));
        } else {
            let items = found.into_iter().map(|path| Node::string(format!("./{path}"))).collect();
            content.set("resources", Node::sequence(items));
        }
        add_fields(files, kustomization, &mut content)?;
        let content = Some(blob_of(&content.into())?);
        return Ok(Generated { path, content, own_lines: 0, created: true });
    };
    let own = text(&path, &blob)?;
    let read = yaml::configuration(own)
        .and_then(|root| lenient::read(&root))
        .map_err(|error| error.in_file(path.as_str()))?;
    let before = read.content;
    let mut after = before.clone();
    let resources = after.get("resources").and_then(Node::as_sequence).map_or(0, <[_]>::len);
    if resources == 0 {
        after.set("buildMetadata", Node::sequence(vec![Node::string("originAnnotations")]));
    }
    add_fields(files, kustomization, &mut after)?;
    let changed = |name: &str| before.get(name) != after.get(name);
    let names: Vec<&str> = after.iter().map(|entry| entry.key.text.as_str()).collect();
    let changes: Vec<&str> = names.into_iter().filter(|name| changed(name)).collect();
    let simple = read.unchanged && is_block(own);
    if simple && changes.is_empty() {
        return Ok(Generated { path, content: None, own_lines: u32::MAX, created: false });
    }
    if simple && changes.iter().all(|name| !before.contains(name)) {
        let added: Mapping = after
            .iter()
            .filter(|entry| changes.contains(&entry.key.text.as_str()))
            .cloned()
            .collect();
        let mut whole = own.to_owned();
        if !whole.ends_with('\n') {
            whole.push('\n');
        }
        let own_lines = whole.matches('\n').count() as u32;
        yaml::emit::object(&added.into(), &mut whole)?;
        return Ok(Generated { path, content: Some(stored(whole)), own_lines, created: false });
    }
    let content = Some(blob_of(&after.into())?);
    Ok(Generated { path, content, own_lines: 0, created: false })
}

/// The kustomization file of a folder.
fn existing(files: &dyn Files, folder: &str) -> Result<Option<(String, Blob)>> {
    for name in FILE_NAMES {
        let path = join(folder, name).unwrap_or_default();
        if let Some(blob) = files.read(&path)? {
            return Ok(Some((path, blob)));
        }
    }
    Ok(None)
}

/// Every file and every kustomization below a folder, in the order of their names.
fn walk(
    files: &dyn Files,
    folder: &str,
    inside: &str,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<()> {
    if depth > DEEPEST {
        return Err(Diagnostic::new("folders are nested too deeply").in_file(folder));
    }
    for (name, what) in files.list(folder)?.unwrap_or_default() {
        let path = join(folder, &name).unwrap_or_default();
        let shown = if inside.is_empty() { name.clone() } else { format!("{inside}/{name}") };
        match what {
            Found::Folder => {
                let mut has_own = false;
                for file in FILE_NAMES {
                    has_own |= files.find(&join(&path, file).unwrap_or_default())? == Found::File;
                }
                if has_own {
                    found.push(shown);
                } else {
                    walk(files, &path, &shown, depth + 1, found)?;
                }
            }
            Found::File if matches!(name.rsplit_once('.'), Some((_, "yaml" | "yml"))) => {
                found.push(shown);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether keys can be added at the end of the text: it is one mapping, written in lines.
fn is_block(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let mut first = lines.next();
    if first.is_some_and(|line| line.trim_end() == "---") {
        first = lines.next();
    }
    first.is_some_and(|line| line.starts_with(|letter: char| letter.is_ascii_alphabetic()))
        && !lines.any(|line| line.starts_with("---") || line.starts_with("..."))
}

fn stored(text: String) -> Blob {
    let bytes: Arc<[u8]> = text.into_bytes().into();
    Blob { id: BlobId::of(&bytes), bytes }
}

fn blob_of(node: &Node) -> Result<Blob> {
    let mut text = String::new();
    yaml::emit::object(node, &mut text)?;
    Ok(stored(text))
}

/// Adds what the Kustomization says to the kustomization.
fn add_fields(files: &dyn Files, kustomization: &Kustomization, into: &mut Mapping) -> Result<()> {
    let Some(spec) = kustomization.spec() else { return Ok(()) };
    let placed = |error: Diagnostic| match &kustomization.origin.file {
        Some(file) => error.in_file(file.clone()),
        None => error,
    };
    let mut spec = Fields::of(spec, "the Kustomization's spec").map_err(placed)?;
    add(files, kustomization, &mut spec, into).map_err(placed)
}

fn add(
    files: &dyn Files,
    kustomization: &Kustomization,
    spec: &mut Fields<'_>,
    into: &mut Mapping,
) -> Result<()> {
    for (field, target) in [
        ("targetNamespace", "namespace"),
        ("namePrefix", "namePrefix"),
        ("nameSuffix", "nameSuffix"),
    ] {
        if let Some(text) = spec.text(field)?.filter(|text| !text.is_empty()) {
            into.set(target, Node::string(text));
        }
    }
    let patches = spec.list("patches")?.iter().map(patch).collect::<Result<Vec<_>>>()?;
    append(into, "patches", patches);

    let ignore_missing = spec.flag("ignoreMissingComponents")?;
    let mut components = Vec::new();
    for (path, mark) in spec.texts("components")? {
        if !is_local(&path) {
            let message = format!("component path '{path}' must be local and relative");
            return Err(Diagnostic::new(message).at(mark));
        }
        let exists = match join(&kustomization.path, &path) {
            Some(path) => files.find(&path)? != Found::Nothing,
            None => false,
        };
        if exists || !ignore_missing {
            components.push(Node { mark, ..Node::string(path) });
        }
    }
    append(into, "components", components);

    let merges = spec.list("patchesStrategicMerge")?.iter().map(written).collect::<Result<_>>()?;
    append(into, "patchesStrategicMerge", merges);
    let mut operations = Vec::new();
    for node in spec.list("patchesJson6902")? {
        let mut fields = Fields::of(node, "an entry of `patchesJson6902`")?;
        let mut patch = Mapping::new();
        if let Some(list) = fields.node("patch") {
            patch.set("patch", written(list)?);
        }
        if let Some(target) = fields.node("target") {
            patch.set("target", selector(target)?);
        }
        operations.push(patch.into());
    }
    append(into, "patchesJson6902", operations);

    for node in spec.list("images")? {
        merge_image(into, node)?;
    }
    let metadata: Vec<Node> =
        spec.texts("buildMetadata")?.into_iter().map(|(text, _)| Node::string(text)).collect();
    if !metadata.is_empty() {
        into.set("buildMetadata", Node::sequence(metadata));
    }
    Ok(())
}

fn append(into: &mut Mapping, field: &str, items: Vec<Node>) {
    if items.is_empty() {
        return;
    }
    let list = into.get_or_insert_with(field, || Node::sequence(Vec::new()));
    match &mut list.value {
        Value::Sequence(list) => list.extend(items),
        other => *other = Value::Sequence(items),
    }
}

fn written(node: &Node) -> Result<Node> {
    let mut text = String::new();
    yaml::emit::object(node, &mut text)?;
    Ok(Node { mark: node.mark, ..Node::string(text) })
}

fn patch(node: &Node) -> Result<Node> {
    let mut fields = Fields::of(node, "a patch")?;
    let mut patch = Mapping::new();
    if let Some(text) = fields.text("patch")?.filter(|text| !text.is_empty()) {
        patch.set("patch", Node { mark: node.mark, ..Node::string(text) });
    }
    if let Some(target) = fields.node("target") {
        patch.set("target", selector(target)?);
    }
    Ok(Node { mark: node.mark, ..patch.into() })
}

fn selector(node: &Node) -> Result<Node> {
    let mut fields = Fields::of(node, "a patch's `target`")?;
    let mut selector = Mapping::new();
    for name in
        ["group", "version", "kind", "namespace", "name", "annotationSelector", "labelSelector"]
    {
        if let Some(text) = fields.text(name)?.filter(|text| !text.is_empty()) {
            selector.set(name, Node::string(text));
        }
    }
    Ok(selector.into())
}

/// An image of the Kustomization replaces field by field what the file says of the same name; tag and
/// digest are one thing.
fn merge_image(into: &mut Mapping, node: &Node) -> Result<()> {
    let mut fields = Fields::of(node, "an image")?;
    let name = fields.text_or_empty("name")?;
    let new_name = fields.text_or_empty("newName")?;
    let new_tag = fields.text_or_empty("newTag")?;
    let digest = fields.text_or_empty("digest")?;
    let list = into.get_or_insert_with("images", || Node::sequence(Vec::new()));
    let Some(list) = list.as_sequence_mut() else { return Ok(()) };
    let named = |image: &Node| image.get("name").and_then(Node::text).unwrap_or_default() == name;
    let known = match list.iter().position(named) {
        Some(place) => place,
        None => {
            let mut image = Mapping::new();
            if !name.is_empty() {
                image.set("name", Node::string(name.clone()));
            }
            list.push(image.into());
            list.len() - 1
        }
    };
    let Some(image) = list[known].as_mapping_mut() else { return Ok(()) };
    if !new_name.is_empty() {
        image.set("newName", Node::string(new_name));
    }
    if !new_tag.is_empty() || !digest.is_empty() {
        for (field, text) in [("newTag", new_tag), ("digest", digest)] {
            if text.is_empty() {
                image.remove(field);
            } else {
                image.set(field, Node::string(text));
            }
        }
    }
    Ok(())
}

/// Whether a component lies in the repository.
fn is_local(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let remote =
        ["git::", "gh:", "ssh://", "https://", "http://", "git@", "github.com:", "github.com/"];
    let elsewhere =
        remote.iter().any(|prefix| lower.len() > prefix.len() && lower.starts_with(prefix));
    !elsewhere && !path.starts_with('/') && !lower.trim_start_matches("file://").starts_with('/')
}

/// Files with one more, or one replaced.
pub(super) struct Overlay<'a> {
    /// The rest.
    pub files: &'a dyn Files,
    /// Where the other one lies.
    pub path: &'a str,
    /// Its content.
    pub blob: &'a Blob,
}

impl Files for Overlay<'_> {
    fn find(&self, path: &str) -> Result<Found> {
        if path == self.path { Ok(Found::File) } else { self.files.find(path) }
    }

    fn read(&self, path: &str) -> Result<Option<Blob>> {
        if path == self.path { Ok(Some(self.blob.clone())) } else { self.files.read(path) }
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<(String, Found)>>> {
        let (own, name) = split(self.path);
        let listed = self.files.list(folder)?;
        if folder != own {
            return Ok(listed);
        }
        let mut names = listed.unwrap_or_default();
        if let Err(place) = names.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
            names.insert(place, (name.to_owned(), Found::File));
        }
        Ok(Some(names))
    }

    fn real_path(&self, path: &str) -> Result<String> {
        if path == self.path { Ok(path.to_owned()) } else { self.files.real_path(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Memory;
    use crate::kustomize::Origin;

    fn kustomization(spec: &str) -> Kustomization {
        let text = format!(
            "metadata: {{name: a}}\nspec:\n  path: ./apps\n  sourceRef: {{kind: GitRepository, name: x}}\n{spec}"
        );
        let node = yaml::documents(&text).unwrap().remove(0).root;
        Kustomization::read(&node, Origin::default(), "flux-system").unwrap()
    }

    fn made(files: &Memory, spec: &str) -> String {
        let made = generate(files, &kustomization(spec)).unwrap();
        made.content.map_or_else(
            || "unchanged".to_owned(),
            |blob| String::from_utf8(blob.bytes.to_vec()).unwrap(),
        )
    }

    #[test]
    fn without_a_kustomization_every_file_is_taken() {
        let files = Memory::new()
            .with("apps/b.yaml", "")
            .with("apps/a/x.yml", "")
            .with("apps/a/readme.md", "")
            .with("apps/c/Kustomization", "")
            .with("apps/c/y.yaml", "")
            .with("other/z.yaml", "");
        assert_eq!(
            made(&files, "  targetNamespace: media\n"),
            "namespace: media\nresources:\n- ./a/x.yml\n- ./b.yaml\n- ./c\n"
        );
        let empty = Memory::new().with("apps/readme.md", "");
        assert_eq!(made(&empty, ""), "namespace: _placeholder\n");
    }

    #[test]
    fn what_is_there_keeps_its_lines() {
        let files = Memory::new().with("apps/kustomization.yaml", "# mine\nresources: [a.yaml]");
        assert_eq!(made(&files, ""), "unchanged");
        assert_eq!(
            made(&files, "  targetNamespace: media\n  components: [../c]\n"),
            "# mine\nresources: [a.yaml]\ncomponents:\n- ../c\nnamespace: media\n"
        );
        assert_eq!(
            made(&files, "  components: [../c]\n  ignoreMissingComponents: true\n"),
            "unchanged"
        );
    }

    #[test]
    fn fields_are_merged() {
        let text = "resources: [a.yaml]\nimages:\n- name: a\n  newTag: '1'\n  digest: sha256:x\n- name: b\n";
        let files = Memory::new().with("apps/kustomization.yaml", text);
        assert_eq!(
            made(&files, "  images: [{name: a, newTag: '2'}, {name: c, newName: d}]\n"),
            "images:\n- name: a\n  newTag: \"2\"\n- name: b\n- name: c\n  newName: d\nresources:\n- a.yaml\n"
        );
    }

    #[test]
    fn without_resources_there_is_build_metadata() {
        let files = Memory::new().with("apps/kustomization.yaml", "bases: [../x]\n");
        assert_eq!(made(&files, ""), "bases: [../x]\nbuildMetadata:\n- originAnnotations\n");
    }

    #[test]
    fn components_are_local() {
        let files = Memory::new().with("apps/kustomization.yaml", "resources: [a]\n");
        let error =
            generate(&files, &kustomization("  components: ['https://x/y']\n")).err().unwrap();
        assert_eq!(error.message(), "component path 'https://x/y' must be local and relative");
    }
}
