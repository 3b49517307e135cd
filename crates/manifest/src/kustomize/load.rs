//! What a kustomization may read: files in or below its folder, and the folders of others.

use std::sync::Arc;

use super::object::{objects, objects_of};
use super::remote::{RemoteFile, is_file_url};
use super::{Options, Origin, Repository, Resource, Restriction};
use crate::cache::Cache;
use crate::diagnostic::{Diagnostic, Result};
use crate::files::{self, Blob, Files, Found};
use crate::yaml::{self, Document, Node};

/// The files one kustomization reads, from its folder.
pub struct Loader<'a> {
    tree: Tree<'a>,
    root: String,
    restriction: Restriction,
    repository: Option<Repository>,
    parent: Option<&'a Loader<'a>>,
    options: &'a Options<'a>,
}

/// Files of the caller, or of a repository that was fetched.
#[derive(Clone)]
enum Tree<'a> {
    Given(&'a dyn Files),
    Fetched(Arc<dyn Files>),
}

impl Tree<'_> {
    fn files(&self) -> &dyn Files {
        match self {
            Self::Given(files) => *files,
            Self::Fetched(files) => files.as_ref(),
        }
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// Its path from the root of the files, or its address.
    pub path: Arc<str>,
    /// Its content.
    pub blob: Blob,
    cache: Option<&'a Cache>,
}

impl Source<'_> {
    /// The content as text.
    pub fn text(&self) -> Result<&str> {
        files::text(&self.path, &self.blob)
    }

    /// The documents of the file.
    pub fn documents(&self) -> Result<Arc<[Document]>> {
        match self.cache {
            Some(cache) => cache.documents(&self.path, &self.blob),
            None => {
                let documents = yaml::documents(self.text()?);
                documents.map(Into::into).map_err(|error| error.in_file(self.path.clone()))
            }
        }
    }

    /// The first document of a file of settings, which is read with more leniency than objects are.
    pub fn settings(&self) -> Result<Arc<Node>> {
        match self.cache {
            Some(cache) => cache.settings(&self.path, &self.blob),
            None => {
                let settings = yaml::configuration(self.text()?);
                settings.map(Arc::new).map_err(|error| error.in_file(self.path.clone()))
            }
        }
    }

    /// The strategic merge patches of the file.
    pub fn patches(&self) -> Result<Vec<Resource>> {
        let nodes = super::patches(self.text()?);
        let nodes = nodes.map_err(|error| error.in_file(self.path.clone()))?;
        let resource = |node: Node| {
            let origin = Origin { file: Some(self.path.clone()), line: node.mark.line };
            Resource::new(node, origin)
        };
        Ok(nodes.into_iter().map(resource).collect())
    }

    /// The objects of the file.
    pub fn resources(&self) -> Result<Vec<Resource>> {
        let nodes = match self.cache {
            Some(cache) => {
                let documents = cache.documents(&self.path, &self.blob)?;
                let roots = documents.iter().map(|document| document.root.clone());
                objects_of(roots, self.text()?)
            }
            None => self.text().and_then(objects),
        };
        let nodes = nodes.map_err(|error| error.in_file(self.path.clone()))?;
        let resource = |node: Node| {
            let origin = Origin { file: Some(self.path.clone()), line: node.mark.line };
            let mut resource = Resource::new(node, origin);
            resource.recall();
            resource
        };
        Ok(nodes.into_iter().map(resource).collect())
    }
}

/// What an entry of `resources` leads to.
pub(super) enum Target<'a> {
    /// A file.
    File(Source<'a>),
    /// The folder of another kustomization.
    Folder(Loader<'a>),
}

impl<'a> Loader<'a> {
    /// The loader of the folder that is built.
    pub fn new(files: &'a dyn Files, path: &str, options: &'a Options<'a>) -> Result<Self> {
        let tree = Tree::Given(files);
        let path = files::join("", path).ok_or_else(|| escapes(path))?;
        let root = folder(tree.files(), &path)?;
        let restriction = options.restriction;
        Ok(Self { tree, root, restriction, repository: None, parent: None, options })
    }

    /// The folder, from the root of the files.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// What the folder is called.
    pub fn name(&self) -> String {
        match self.root.rsplit('/').next() {
            Some("") | None => self.tree.files().root_name().unwrap_or_default(),
            Some(name) => name.to_owned(),
        }
    }

    /// How to build.
    pub fn options(&self) -> &'a Options<'a> {
        self.options
    }

    /// The path of a file in the folder, from the root of the files.
    pub fn path_of(&self, name: &str) -> String {
        if self.root.is_empty() { name.to_owned() } else { format!("{}/{name}", self.root) }
    }

    /// The file of this name in the folder, if there is one.
    pub(super) fn beside(&self, name: &str) -> Result<Option<Source<'a>>> {
        let path = self.path_of(name);
        let blob = self.tree.files().read(&path)?;
        Ok(blob.map(|blob| self.source(path.into(), blob)))
    }

    /// The file that a kustomization names.
    pub fn read(&self, path: &str) -> Result<Source<'a>> {
        if is_file_url(path) {
            return match self.fetch(path)? {
                RemoteFile::Content(blob) => Ok(self.source(path.into(), blob)),
                RemoteFile::Status(status) => Err(http_error(path, status)),
            };
        }
        let place = self.place(path)?;
        if let Some(source) = self.local(&place)? {
            return Ok(source);
        }
        match self.tree.files().find(&place)? {
            Found::Folder => {
                Err(Diagnostic::new(format!("'{}' must resolve to a file", shown(&place))))
            }
            Found::Nothing | Found::File => Err(self.missing(&place)),
        }
    }

    /// That nothing is there, and what may have been meant.
    fn missing(&self, place: &str) -> Diagnostic {
        let error = Diagnostic::new(format!("'{}' doesn't exist", shown(place)));
        let (folder, name) = files::split(place);
        let Ok(Some(beside)) = self.tree.files().list(folder) else { return error };
        let names: Vec<&str> = beside.iter().map(|(name, _)| name.as_str()).collect();
        match yaml::nearest(name, &names) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error,
        }
    }

    /// The file at a path from the root of the files, if there is one.
    fn local(&self, place: &str) -> Result<Option<Source<'a>>> {
        let Some((blob, real)) = self.tree.files().read_real(place)? else { return Ok(None) };
        if self.restriction == Restriction::RootOnly && !contains(&self.root, files::split(&real).0)
        {
            let message = format!(
                "security; file '{}' is not in or below '{}'",
                shown(place),
                shown(&self.root)
            );
            return Err(Diagnostic::new(message)
                .hint("put the file there, or make its folder a kustomization and name that one"));
        }
        Ok(Some(self.source(place.into(), blob)))
    }

    fn source(&self, path: Arc<str>, blob: Blob) -> Source<'a> {
        Source { path, blob, cache: self.options.cache }
    }

    /// The path from the root of the files.
    fn place(&self, path: &str) -> Result<String> {
        let folder = if path.starts_with('/') { "" } else { &self.root };
        files::join(folder, path).ok_or_else(|| escapes(path))
    }

    /// What an entry of `resources` leads to.
    pub(super) fn target<'b>(&'b self, path: &str) -> Result<Target<'b>>
    where
        'a: 'b,
    {
        if path.is_empty() {
            return Err(Diagnostic::new("a path must not be empty"));
        }
        if is_file_url(path) {
            let repository = Repository::parse(path);
            return match self.fetch(path)? {
                RemoteFile::Content(blob) => Ok(Target::File(self.source(path.into(), blob))),
                RemoteFile::Status(_) if repository.is_some() => {
                    self.folder(path).map(Target::Folder)
                }
                RemoteFile::Status(status) => Err(http_error(path, status)),
            };
        }
        let local = files::join(if path.starts_with('/') { "" } else { &self.root }, path);
        if let Some(place) = local
            && let Some(source) = self.local(&place)?
        {
            return Ok(Target::File(source));
        }
        self.folder(path).map(Target::Folder)
    }

    /// The folder of another kustomization.
    pub(super) fn folder<'b>(&'b self, path: &str) -> Result<Loader<'b>>
    where
        'a: 'b,
    {
        if path.is_empty() {
            return Err(Diagnostic::new("a path must not be empty"));
        }
        if let Some(repository) = Repository::parse(path) {
            return self.repository(repository);
        }
        if path.starts_with('/') {
            return Err(Diagnostic::new(format!("new root '{path}' cannot be absolute"))
                .hint("write the path from the kustomization's own folder"));
        }
        let place = self.place(path)?;
        if self.tree.files().find(&place)? == Found::Nothing {
            return Err(self.missing(&place));
        }
        let root = folder(self.tree.files(), &place)?;
        let mut visited = Some(self);
        while let Some(loader) = visited {
            if contains(&root, &loader.root) {
                let message = format!(
                    "cycle detected: candidate root '{}' contains visited root '{}'",
                    shown(&root),
                    shown(&loader.root)
                );
                return Err(Diagnostic::new(message)
                    .hint("a kustomization cannot be built from a folder it lies in"));
            }
            if loader.repository.is_some() {
                break;
            }
            visited = loader.parent;
        }
        Ok(Loader {
            tree: self.tree.clone(),
            root,
            restriction: self.restriction,
            repository: None,
            parent: Some(self),
            options: self.options,
        })
    }

    fn repository<'b>(&'b self, repository: Repository) -> Result<Loader<'b>>
    where
        'a: 'b,
    {
        let mut visited = Some(self);
        while let Some(loader) = visited {
            if let Some(known) = &loader.repository
                && known.raw.starts_with(&repository.raw)
            {
                let message = format!(
                    "cycle detected: URI '{}' referenced by previous URI '{}'",
                    repository.raw, known.raw
                );
                return Err(Diagnostic::new(message));
            }
            visited = loader.parent;
        }
        let Some(remote) = self.options.remote else { return Err(refused(&repository.raw)) };
        let fetched = remote.repository(&repository)?;
        let root = folder(fetched.as_ref(), &repository.folder())
            .map_err(|error| error.while_doing(repository.raw.clone()))?;
        Ok(Loader {
            tree: Tree::Fetched(fetched),
            root,
            restriction: Restriction::RootOnly,
            repository: Some(repository),
            parent: Some(self),
            options: self.options,
        })
    }

    fn fetch(&self, url: &str) -> Result<RemoteFile> {
        match self.options.remote {
            Some(remote) => remote.file(url),
            None => Err(refused(url)),
        }
    }
}

fn refused(url: &str) -> Diagnostic {
    let shown = without_password(url);
    Diagnostic::new(format!("'{shown}' lies elsewhere, and fetching is switched off"))
        .hint("allow remote bases, or copy it into the repository")
}

fn http_error(url: &str, status: u16) -> Diagnostic {
    let shown = without_password(url);
    Diagnostic::new(format!("'{shown}' cannot be fetched: HTTP Error: status code {status}"))
}

/// The address without what stands before an `@`.
fn without_password(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let host = rest[..end].rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{}", &rest[end..])
        }
        None => url.to_owned(),
    }
}

fn escapes(path: &str) -> Diagnostic {
    Diagnostic::new(format!("the path '{path}' leads out of the root of the files"))
        .hint("everything a kustomization reads must lie below the root")
}

/// The real path of a folder.
fn folder(files: &dyn Files, path: &str) -> Result<String> {
    match files.find(path)? {
        Found::Folder => files.real_path(path),
        Found::File => {
            let message = format!("must build at directory: '{}' is a file", shown(path));
            Err(Diagnostic::new(message))
        }
        Found::Nothing => {
            let message = format!("must build at directory: '{}' doesn't exist", shown(path));
            Err(Diagnostic::new(message))
        }
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// Whether the path is the folder, or lies in it.
fn contains(folder: &str, path: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Memory;

    #[test]
    fn files_outside_are_refused() {
        let files = Memory::new().with("base/a.yaml", "a").with("overlay/b.yaml", "b");
        let options = Options::default();
        let loader = Loader::new(&files, "overlay", &options).unwrap();
        assert!(loader.read("b.yaml").is_ok());
        let error = loader.read("../base/a.yaml").unwrap_err();
        assert_eq!(error.message(), "security; file 'base/a.yaml' is not in or below 'overlay'");
        assert!(loader.read("../../a.yaml").is_err());
        let options = Options { restriction: Restriction::None, ..Options::default() };
        let loader = Loader::new(&files, "overlay", &options).unwrap();
        assert!(loader.read("../base/a.yaml").is_ok());
    }

    #[test]
    fn a_folder_cannot_contain_one_that_is_being_built() {
        let files = Memory::new().with("a/b/x", "").with("a/c/x", "").with("a/bc/x", "");
        let options = Options::default();
        let loader = Loader::new(&files, "a/b", &options).unwrap();
        assert!(loader.folder(".").is_err());
        assert!(loader.folder("..").is_err());
        assert!(loader.folder("../bc").is_ok());
        let inner = loader.folder("../c").unwrap();
        assert!(inner.folder("../b").err().unwrap().message().starts_with("cycle detected"));
    }

    #[test]
    fn what_lies_elsewhere_is_refused_without_its_password() {
        let files = Memory::new().with("k/x", "");
        let options = Options::default();
        let loader = Loader::new(&files, "k", &options).unwrap();
        let error = loader.folder("https://me:secret@host.example/a/b//c").err().unwrap();
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(error.message().contains("host.example/a/b//c"));
    }
}
