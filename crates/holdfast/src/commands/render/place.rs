//! Where the files are: a folder on the disk, or a revision of the repository it lies in.

use std::error::Error;
use std::path::{Component, Path, PathBuf};

use holdfast_git::files::{RevisionFiles, WorktreeFiles};
use holdfast_git::store::Store;
use holdfast_manifest::Diagnostic;
use holdfast_manifest::files::{Files as _, Folder, Found};
use holdfast_manifest::flux::Kustomization;
use holdfast_manifest::kustomize::Origin;
use holdfast_manifest::yaml::{self, Node};

use super::AnyFiles;

type Failure = Box<dyn Error + Send + Sync>;

/// Files, and the folder in them that is meant.
pub struct Place {
    /// The files.
    pub files: AnyFiles,
    /// The root of the files on the disk.
    pub root: PathBuf,
    /// The folder, from the root.
    pub path: String,
    /// Addresses the repository is known under.
    pub addresses: Vec<String>,
    /// What stands before paths in messages.
    prefix: String,
}

impl Place {
    /// A folder for `kustomize build`: bases may lie anywhere.
    pub fn of_folder(folder: &Path, revision: Option<&str>) -> Result<Self, Failure> {
        let absolute = absolute(folder)?;
        if let Some(revision) = revision {
            return Self::of_revision(&absolute, revision);
        }
        let real = std::fs::canonicalize(&absolute).map_err(|error| missing(folder, &error))?;
        let root = PathBuf::from("/");
        let path = inside(&root, &real).unwrap_or_default();
        let files = Box::new(Folder::new(&root)?);
        Ok(Self { files, root, path, addresses: Vec::new(), prefix: "/".to_owned() })
    }

    /// The folder Flux was bootstrapped with.
    pub fn of_cluster(
        entry: &Path,
        root: Option<&Path>,
        revision: Option<&str>,
    ) -> Result<Self, Failure> {
        let root = match root {
            Some(root) => Some(std::fs::canonicalize(root).map_err(|error| missing(root, &error))?),
            None => None,
        };
        // With a root, the entry is a path in it, or one on the disk.
        let absolute = match &root {
            Some(root)
                if entry.is_relative() && (root.join(entry).exists() || revision.is_some()) =>
            {
                plain(&root.join(entry))
            }
            _ => absolute(entry)?,
        };
        if let Some(revision) = revision {
            return Self::of_revision(&absolute, revision);
        }
        let real = std::fs::canonicalize(&absolute).map_err(|error| missing(entry, &error))?;
        let root = match root {
            Some(root) => root,
            None => find_root(&real)?,
        };
        let Some(path) = inside(&root, &real) else {
            return Err(format!("{} does not lie in {}", entry.display(), root.display()).into());
        };
        let addresses = addresses(&root);
        let files = Box::new(WorktreeFiles::open(&root)?);
        Ok(Self { files, root, path, addresses, prefix: String::new() })
    }

    fn of_revision(absolute: &Path, revision: &str) -> Result<Self, Failure> {
        let (store, work) = Store::discover(absolute)
            .map_err(|error| format!("{error}; --rev needs a git repository"))?;
        let work = work.ok_or("--rev needs the working tree of a repository, not a bare one")?;
        // Links above the repository are followed, those in it may be others in the revision.
        let path = match inside(&work, absolute) {
            Some(path) => path,
            None => std::fs::canonicalize(absolute)
                .ok()
                .and_then(|real| inside(&work, &real))
                .ok_or_else(|| {
                    format!("{} does not lie in {}", absolute.display(), work.display())
                })?,
        };
        let files = Box::new(RevisionFiles::new(store.revision(revision)?));
        if files.find(&path)? != Found::Folder {
            return Err(format!("{revision} has no folder {path}").into());
        }
        let addresses = addresses(&work);
        Ok(Self { files, root: work, path, addresses, prefix: format!("{revision}:") })
    }

    /// A diagnostic as a person reads it: its file as it is called on the disk or in the revision.
    pub fn shown(&self, error: &Diagnostic) -> String {
        let text = error.to_string();
        match error.file().and_then(|file| text.strip_prefix(file).map(|rest| (file, rest))) {
            Some((file, rest)) => format!("{}{rest}", self.path_of(file)),
            None => text,
        }
    }

    /// A path of the files as a person reads it.
    pub fn path_of(&self, file: &str) -> String {
        let path = format!("{}{file}", self.prefix);
        let here = std::env::current_dir().ok();
        here.and_then(|here| Path::new(&path).strip_prefix(here).map(Path::to_owned).ok())
            .map_or(path, |short| short.display().to_string())
    }
}

fn missing(path: &Path, error: &std::io::Error) -> Failure {
    format!("{} cannot be read: {error}", path.display()).into()
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    Ok(plain(&std::path::absolute(path).map_err(|error| missing(path, &error))?))
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The path from a root, with slashes.
fn inside(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> =
        parts.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// The worktree a folder lies in, or the nearest parent under which its Kustomizations find their paths.
fn find_root(entry: &Path) -> Result<PathBuf, Failure> {
    for parent in entry.ancestors() {
        if parent.join(".git").exists() {
            return Ok(parent.to_owned());
        }
    }
    let mut paths = Vec::new();
    collect_paths(&Folder::new(entry)?, "", 0, &mut paths)?;
    let found = entry.ancestors().find(|parent| {
        let exists = |path: &String| parent.join(path).is_dir();
        !paths.is_empty() && paths.iter().all(exists)
    });
    found.map(Path::to_owned).ok_or_else(|| {
        let why = if paths.is_empty() {
            "no Kustomization lies in it".to_owned()
        } else {
            format!("no folder above it has {}", paths.join(", "))
        };
        format!(
            "the root of the repository of {} is not known: there is no .git above it, and {why}; say it with --root",
            entry.display()
        )
        .into()
    })
}

/// The paths of the Kustomizations that lie in a folder. What cannot be read is judged later.
fn collect_paths(
    folder: &Folder,
    path: &str,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), Diagnostic> {
    if depth > 20 {
        return Ok(());
    }
    for (name, what) in folder.list(path)?.unwrap_or_default() {
        let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        if what == Found::Folder {
            collect_paths(folder, &below, depth + 1, found)?;
            continue;
        }
        let is_yaml = matches!(name.rsplit_once('.'), Some((_, "yaml" | "yml")));
        let Some(blob) = (if is_yaml { folder.read(&below)? } else { None }) else { continue };
        let documents =
            std::str::from_utf8(&blob.bytes).ok().and_then(|text| yaml::documents(text).ok());
        for document in documents.unwrap_or_default() {
            if !Kustomization::is_one(&document.root) {
                continue;
            }
            let origin =
                Origin { file: Some(below.as_str().into()), line: document.root.mark.line };
            let read = Kustomization::read(&document.root, origin, "flux-system");
            let has_path = document.root.at(&["spec", "path"]).and_then(Node::text).is_some();
            if let (Ok(read), true) = (read, has_path)
                && !read.path.contains("${")
                && !found.contains(&read.path)
            {
                found.push(read.path);
            }
        }
    }
    Ok(())
}

/// The addresses of a repository's remotes.
fn addresses(root: &Path) -> Vec<String> {
    let config = std::fs::read_to_string(root.join(".git/config")).unwrap_or_default();
    let urls = config.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "url").then(|| value.trim().to_owned())
    });
    urls.collect()
}
