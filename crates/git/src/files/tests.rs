//! The three ways to read the same files agree.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::testing::{Hosted, git};

struct Case {
    hosted: Hosted,
}

impl Case {
    fn new() -> Self {
        let hosted = Hosted::with(&[("apps/a/kustomization.yaml", "resources: []\n")]);
        let work = hosted.work();
        fs::create_dir_all(work.join("shared/deep")).unwrap();
        fs::write(work.join("shared/deep/x.yaml"), "x: 1\n").unwrap();
        fs::write(work.join("apps-b.yaml"), "b: 1\n").unwrap();
        symlink("../shared", work.join("apps/shared")).unwrap();
        symlink("../../shared/deep/x.yaml", work.join("apps/a/x.yaml")).unwrap();
        fs::write(hosted.folder.path().join("outside"), "secret").unwrap();
        symlink("../../../outside", work.join("apps/a/out.yaml")).unwrap();
        symlink("/etc/passwd", work.join("apps/a/absolute.yaml")).unwrap();
        symlink("loop-b", work.join("loop-a")).unwrap();
        symlink("loop-a", work.join("loop-b")).unwrap();
        symlink("nowhere.yaml", work.join("dangling.yaml")).unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "links"]);
        Self { hosted }
    }

    fn all(&self) -> [Box<dyn Files>; 3] {
        let (store, root) = Store::discover(&self.hosted.work().join("apps/a")).unwrap();
        let revision = RevisionFiles::new(store.revision("HEAD").unwrap());
        let index = IndexFiles::open(store).unwrap();
        let worktree = WorktreeFiles::open(&root.unwrap()).unwrap();
        [Box::new(revision), Box::new(index), Box::new(worktree)]
    }
}

#[test]
fn revision_index_and_worktree_agree() {
    let case = Case::new();
    for files in case.all() {
        let text = |path: &str| {
            let blob = files.read(path).unwrap()?;
            assert_eq!(blob.id, BlobId::of(&blob.bytes), "{path}");
            Some(String::from_utf8(blob.bytes.to_vec()).unwrap())
        };
        assert_eq!(text("apps/a/kustomization.yaml").as_deref(), Some("resources: []\n"));
        assert_eq!(text("apps/a/x.yaml").as_deref(), Some("x: 1\n"));
        assert_eq!(text("apps/shared/deep/x.yaml").as_deref(), Some("x: 1\n"));
        assert_eq!(text("apps"), None);
        assert_eq!(text("none.yaml"), None);
        assert_eq!(text("dangling.yaml"), None);
        assert_eq!(files.find("").unwrap(), Found::Folder);
        assert_eq!(files.find("apps/shared").unwrap(), Found::Folder);
        assert_eq!(files.find("apps/a/x.yaml/y").unwrap(), Found::Nothing);
        assert_eq!(files.real_path("apps/shared/deep").unwrap(), "shared/deep");
        let names = |folder: &str| files.list(folder).unwrap();
        let owned = |names: &[(&str, Found)]| {
            Some(names.iter().map(|(n, f)| ((*n).to_owned(), *f)).collect::<Vec<_>>())
        };
        assert_eq!(
            names(""),
            owned(&[
                ("apps", Found::Folder),
                ("apps-b.yaml", Found::File),
                ("dangling.yaml", Found::File),
                ("loop-a", Found::File),
                ("loop-b", Found::File),
                ("shared", Found::Folder),
            ])
        );
        assert_eq!(names("apps/shared/deep"), owned(&[("x.yaml", Found::File)]));
        assert_eq!(names("apps/a/x.yaml"), None);
        for path in ["apps/a/out.yaml", "apps/a/absolute.yaml", "loop-a"] {
            assert!(files.read(path).is_err(), "{path}");
        }
        assert_eq!(files.find(".git").unwrap(), Found::Nothing);
    }
}

#[test]
fn each_reads_its_own_state() {
    let case = Case::new();
    let path = case.hosted.work().join("apps-b.yaml");
    fs::write(&path, "b: staged\n").unwrap();
    git(&case.hosted.work(), &["add", "-A"]);
    fs::write(&path, "b: worktree\n").unwrap();
    let read = |files: &dyn Files| files.read("apps-b.yaml").unwrap().unwrap().bytes.to_vec();
    let [revision, index, worktree] = case.all();
    assert_eq!(read(&*revision), b"b: 1\n");
    assert_eq!(read(&*index), b"b: staged\n");
    assert_eq!(read(&*worktree), b"b: worktree\n");
}

#[test]
fn two_revisions_share_what_is_the_same() {
    let case = Case::new();
    let (store, _) = Store::discover(&case.hosted.work()).unwrap();
    let new = RevisionFiles::new(store.revision("HEAD").unwrap());
    let old = new.beside(store.revision("HEAD~1").unwrap());
    let read = |files: &RevisionFiles| files.read("apps/a/kustomization.yaml").unwrap().unwrap().id;
    assert_eq!(read(&new), read(&old));
    assert_eq!(old.find("shared").unwrap(), Found::Nothing);
    assert!(Arc::ptr_eq(&new.shelf, &old.shelf));
}

#[test]
fn a_conflict_in_the_index_is_named() {
    let case = Case::new();
    let work = case.hosted.work();
    git(&work, &["checkout", "-q", "-b", "other"]);
    fs::write(work.join("apps-b.yaml"), "other\n").unwrap();
    git(&work, &["commit", "-qam", "other"]);
    git(&work, &["checkout", "-q", "main"]);
    fs::write(work.join("apps-b.yaml"), "main\n").unwrap();
    git(&work, &["commit", "-qam", "main"]);
    let merge = crate::testing::try_git(&work, &["merge", "other"]);
    assert!(!merge.status.success());
    let (store, _) = Store::discover(&work).unwrap();
    let error = IndexFiles::open(store).unwrap_err().to_string();
    assert_eq!(error, "apps-b.yaml: is in conflict; resolve the conflict and stage the file");
}
