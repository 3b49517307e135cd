//! Git's objects: blobs, trees, commits, named by the hash of what they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sha1::{Digest, Sha1};

/// The name of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(pub [u8; 20]);

impl Id {
    /// What stands for "nothing" in ref updates.
    pub const ZERO: Self = Self([0; 20]);
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Id {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let bytes = text.as_bytes();
        if bytes.len() != 40 || !bytes.iter().all(u8::is_ascii_hexdigit) {
            return Err(());
        }
        let mut id = [0; 20];
        for (at, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).map_err(|_| ())?;
        }
        Ok(Self(id))
    }
}

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// History.
    Commit,
    /// A directory.
    Tree,
    /// A file.
    Blob,
    /// An annotated tag.
    Tag,
}

impl Kind {
    /// As it stands before an object's bytes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }
}

/// The name that an object must have.
pub fn name(kind: Kind, body: &[u8]) -> Id {
    let mut hash = Sha1::new();
    hash.update(format!("{} {}\0", kind.name(), body.len()));
    hash.update(body);
    Id(hash.finalize().into())
}

/// A store of objects.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    all: BTreeMap<Id, (Kind, Arc<[u8]>)>,
}

/// Files by path; the values are their bytes.
pub type Files = BTreeMap<String, Vec<u8>>;

struct Entry<'a> {
    directory: bool,
    name: &'a str,
    id: Id,
}

impl Objects {
    /// Keeps an object and says its name.
    pub fn put(&mut self, kind: Kind, body: Vec<u8>) -> Id {
        let id = name(kind, &body);
        self.all.entry(id).or_insert_with(|| (kind, body.into()));
        id
    }

    /// An object by name.
    pub fn get(&self, id: Id) -> Option<(Kind, &Arc<[u8]>)> {
        self.all.get(&id).map(|(kind, body)| (*kind, body))
    }

    /// Whether it is there.
    pub fn has(&self, id: Id) -> bool {
        self.all.contains_key(&id)
    }

    /// Writes a tree of files.
    pub fn put_tree(&mut self, files: &Files) -> Id {
        let mut blobs: Vec<(&str, Id)> = Vec::new();
        let mut directories: BTreeMap<&str, Files> = BTreeMap::new();
        for (path, bytes) in files {
            match path.split_once('/') {
                None => blobs.push((path, self.put(Kind::Blob, bytes.clone()))),
                Some((directory, rest)) => {
                    directories
                        .entry(directory)
                        .or_default()
                        .insert(rest.to_owned(), bytes.clone());
                }
            }
        }
        let mut entries: Vec<Entry<'_>> = Vec::new();
        entries.extend(blobs.into_iter().map(|(name, id)| Entry { directory: false, name, id }));
        for (name, files) in &directories {
            entries.push(Entry { directory: true, name, id: self.put_tree(files) });
        }
        // Git orders directories as if their names ended in a slash.
        entries.sort_by_key(|entry| {
            format!("{}{}", entry.name, if entry.directory { "/" } else { "" })
        });
        let mut body = Vec::new();
        for entry in entries {
            let mode = if entry.directory { "40000" } else { "100644" };
            body.extend_from_slice(format!("{mode} {}\0", entry.name).as_bytes());
            body.extend_from_slice(&entry.id.0);
        }
        self.put(Kind::Tree, body)
    }

    /// Mode, name and object of each entry of a tree.
    fn entries(&self, tree: Id) -> Vec<(String, String, Id)> {
        let Some((Kind::Tree, body)) = self.get(tree) else { return Vec::new() };
        let mut rest: &[u8] = body;
        let mut entries = Vec::new();
        while let Some(end) = rest.iter().position(|byte| *byte == 0) {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let Some(bytes) = rest.get(end + 1..end + 21) else { break };
            let mut id = [0; 20];
            id.copy_from_slice(bytes);
            if let Some((mode, name)) = head.split_once(' ') {
                entries.push((mode.to_owned(), name.to_owned(), Id(id)));
            }
            rest = &rest[end + 21..];
        }
        entries
    }

    /// All files below a tree.
    pub fn files(&self, tree: Id) -> Files {
        let mut files = Files::new();
        let mut open = vec![(String::new(), tree)];
        while let Some((prefix, tree)) = open.pop() {
            for (mode, name, id) in self.entries(tree) {
                let path = format!("{prefix}{name}");
                if mode == "40000" {
                    open.push((format!("{path}/"), id));
                } else if let Some((Kind::Blob, body)) = self.get(id) {
                    files.insert(path, body.to_vec());
                }
            }
        }
        files
    }

    /// The header lines of a commit or tag.
    fn headers(&self, id: Id) -> Vec<(String, String)> {
        let Some((Kind::Commit | Kind::Tag, body)) = self.get(id) else { return Vec::new() };
        String::from_utf8_lossy(body)
            .lines()
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once(' '))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// The commit itself, or the one that a tag points to.
    pub fn peel(&self, id: Id) -> Option<Id> {
        match self.get(id)?.0 {
            Kind::Commit => Some(id),
            Kind::Tag => {
                let (_, to) = self.headers(id).into_iter().find(|(key, _)| key == "object")?;
                self.peel(to.parse().ok()?)
            }
            _ => None,
        }
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: Id) -> Option<Id> {
        let headers = self.headers(commit);
        headers.into_iter().find(|(key, _)| key == "tree")?.1.parse().ok()
    }

    /// What a commit grew from.
    pub fn parents(&self, commit: Id) -> Vec<Id> {
        self.headers(commit)
            .into_iter()
            .filter(|(key, _)| key == "parent")
            .filter_map(|(_, id)| id.parse().ok())
            .collect()
    }

    /// Whether `old` is part of `new`'s history.
    pub fn descends(&self, new: Id, old: Id) -> bool {
        let mut open = vec![new];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if id == old {
                return true;
            }
            if seen.insert(id) {
                open.extend(self.parents(id));
            }
        }
        false
    }

    /// Everything that `wants` need beyond `haves`, at most `depth` commits deep, and where history was
    /// cut. Commits come first.
    pub fn closure(&self, wants: &[Id], haves: &[Id], depth: Option<u64>) -> (Vec<Id>, Vec<Id>) {
        let mut known = BTreeSet::new();
        let mut open: Vec<Id> = haves.to_vec();
        while let Some(id) = open.pop() {
            if self.has(id) && known.insert(id) {
                open.extend(self.parents(id));
                self.collect(self.tree_of(id), &mut known, &mut Vec::new());
            }
        }
        let mut order = Vec::new();
        let mut shallow = Vec::new();
        let mut trees = Vec::new();
        let mut level: Vec<Id> = Vec::new();
        for want in wants {
            let tag = self.get(*want).is_some_and(|(kind, _)| kind == Kind::Tag);
            if tag && known.insert(*want) {
                order.push(*want);
            }
            level.extend(self.peel(*want));
        }
        let mut at = 1;
        while !level.is_empty() {
            let mut next = Vec::new();
            for commit in level {
                // A cut history may lack what lies behind commits that the other side has.
                if !known.insert(commit) && depth.is_none() {
                    continue;
                }
                order.push(commit);
                trees.extend(self.tree_of(commit));
                let parents = self.parents(commit);
                if depth == Some(at) {
                    if !parents.is_empty() {
                        shallow.push(commit);
                    }
                } else {
                    next.extend(parents);
                }
            }
            level = next;
            at += 1;
        }
        for tree in trees {
            self.collect(Some(tree), &mut known, &mut order);
        }
        let mut unique = BTreeSet::new();
        order.retain(|id| unique.insert(*id));
        (order, shallow)
    }

    fn collect(&self, tree: Option<Id>, known: &mut BTreeSet<Id>, order: &mut Vec<Id>) {
        let Some(tree) = tree.filter(|tree| known.insert(*tree)) else { return };
        order.push(tree);
        for (mode, _, id) in self.entries(tree) {
            if mode == "40000" {
                self.collect(Some(id), known, order);
            } else if known.insert(id) {
                order.push(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_git_s_own() {
        assert_eq!(
            name(Kind::Blob, b"hello\n").to_string(),
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
        let mut objects = Objects::default();
        assert_eq!(
            objects.put_tree(&Files::new()).to_string(),
            "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        );
    }

    #[test]
    fn a_tree_gives_its_files_back() {
        let mut objects = Objects::default();
        let files: Files = [("a/b/c.yaml", "1"), ("a.yaml", "2"), ("a/d", "3")]
            .into_iter()
            .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
            .collect();
        let tree = objects.put_tree(&files);
        assert_eq!(objects.files(tree), files);
    }
}
