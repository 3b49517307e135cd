//! Edits and packs against stock git.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::commit::{Draft, Message, Moment, Person};
use crate::pack;
use crate::testing::{command, git};

fn store() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open_or_create(&folder.path().join("store.git")).unwrap();
    (folder, store)
}

fn commit(store: &Store, tree: ObjectId, parents: Vec<ObjectId>) -> ObjectId {
    let person = Person::new("A", "a@b");
    let at = Moment::utc(1_700_000_000);
    let draft = Draft {
        tree,
        parents,
        author: person.clone(),
        authored: at,
        committer: person,
        committed: at,
        message: Message::new("test"),
    };
    store.commit(&draft, None).unwrap()
}

#[test]
fn what_cannot_be_written_is_refused_by_name() {
    let (_folder, store) = store();
    let tree =
        store.empty().edit(&[FileEdit::write("a/b.yaml", "x"), FileEdit::write("c", "y")]).unwrap();
    let tip = Revision::new(store, None, tree);
    let refusal = |edit: FileEdit| tip.edit(&[edit]).unwrap_err().to_string();
    for bad in ["", "/a", "a/", "a//b", "../a", "a/./b", ".git/config", "a/.GIT/x", "a\\b", "a\0"] {
        assert!(refusal(FileEdit::write(bad, "x")).contains("no path of a file"), "{bad:?}");
    }
    assert_eq!(refusal(FileEdit::write("a", "x")), "a cannot be written: a is a folder");
    assert_eq!(refusal(FileEdit::write("c/d/e", "x")), "c/d/e cannot be written: c is a file");
    assert_eq!(refusal(FileEdit::remove("a")), "a cannot be written: a is a folder");
    assert_eq!(refusal(FileEdit::remove("none")), "none cannot be removed: it is not there");
    let twice = [FileEdit::remove("c"), FileEdit::remove("c")];
    assert!(matches!(tip.edit(&twice), Err(TreeError::NotThere(_))));
    let moved = tip.edit(&[FileEdit::remove("c"), FileEdit::write("c/d", "z")]).unwrap();
    let moved = Revision::new(tip.store().clone(), None, moved);
    assert_eq!(moved.read("c/d").unwrap().unwrap(), b"z");
}

#[test]
fn a_program_stays_one_and_a_link_is_not_written_through() {
    let folder = TempDir::new().unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    fs::write(folder.path().join("run.sh"), "old").unwrap();
    std::os::unix::fs::symlink("run.sh", folder.path().join("link")).unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["update-index", "--chmod=+x", "run.sh"]);
    git(folder.path(), &["commit", "-q", "-m", "x"]);
    let store = Store::open(folder.path()).unwrap();
    let tip = store.revision("main").unwrap();
    let tree = tip.edit(&[FileEdit::write("run.sh", "new")]).unwrap();
    let mode = git(folder.path(), &["ls-tree", &tree.to_string(), "run.sh"]);
    assert!(mode.starts_with("100755 blob"), "{mode}");
    let error = tip.edit(&[FileEdit::write("link", "new")]).unwrap_err().to_string();
    assert_eq!(error, "link cannot be written: link is a symbolic link");
}

/// Paths that collide now and then: files become folders, and the other way round.
fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof!["[ab]", "[a-c]\\.yaml", "a-b", "a\\.b"];
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn edits() -> impl Strategy<Value = Vec<(String, Option<String>)>> {
    prop::collection::vec((path(), prop::option::weighted(0.7, "[xyz]{0,6}")), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is edited, git finds the result sound and reads from it what was written.
    #[test]
    fn edits_are_what_git_reads(rounds in prop::collection::vec(edits(), 1..4)) {
        let (folder, store) = store();
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        let mut tree = store.empty().tree();
        let mut commits: Vec<ObjectId> = Vec::new();
        for round in rounds {
            for (path, content) in round {
                let edit = match &content {
                    Some(content) => FileEdit::write(&path, content.as_str()),
                    None => FileEdit::remove(&path),
                };
                let below = format!("{path}/");
                let is_folder = model.keys().any(|key| key.starts_with(&below));
                let under_file = path.match_indices('/').any(|(at, _)| model.contains_key(&path[..at]));
                let outcome = Revision::new(store.clone(), None, tree).edit(&[edit]);
                match content {
                    Some(content) if !is_folder && !under_file => {
                        tree = outcome.unwrap();
                        model.insert(path, content);
                    }
                    None if model.contains_key(&path) => {
                        tree = outcome.unwrap();
                        model.remove(&path);
                    }
                    _ => prop_assert!(outcome.is_err()),
                }
            }
            commits.push(commit(&store, tree, commits.last().copied().into_iter().collect()));
        }
        let tip = *commits.last().unwrap();
        store.point("refs/heads/main", tip).unwrap();
        let bare = store.path().to_owned();
        let listed = git(&bare, &["ls-tree", "-r", "--name-only", "-z", "main"]);
        let listed: Vec<_> = listed.split('\0').filter(|name| !name.is_empty()).collect();
        prop_assert_eq!(&listed, &model.keys().map(String::as_str).collect::<Vec<_>>());
        for (path, content) in &model {
            prop_assert_eq!(git(&bare, &["cat-file", "blob", &format!("main:{path}")]), content.as_str());
        }
        git(&bare, &["fsck", "--strict", "--no-dangling"]);

        // A pack of each commit's own objects makes a whole of what lay before it.
        let other = folder.path().join("other.git");
        git(folder.path(), &["init", "-q", "--bare", "-b", "main", "other.git"]);
        let mut before: Vec<ObjectId> = Vec::new();
        for id in &commits {
            let mut bytes = Vec::new();
            store.with(|repo| {
                let objects = pack::objects(repo, &[*id], &|id| before.contains(&id)).unwrap();
                pack::write(repo, &objects, &mut bytes)
            }).unwrap();
            let mut run = command(&other).args(["unpack-objects", "-q", "--strict"])
                .stdin(Stdio::piped()).spawn().unwrap();
            run.stdin.take().unwrap().write_all(&bytes).unwrap();
            prop_assert!(run.wait().unwrap().success());
            git(&other, &["update-ref", "refs/heads/main", &id.to_string()]);
            before.push(*id);
        }
        git(&other, &["fsck", "--strict", "--no-dangling"]);
    }
}
