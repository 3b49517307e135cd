//! Reverting against what stock git reverts.

use super::*;
use crate::engine::{Landed, WriteError};
use crate::testing::{Hosted, engine, git, main_of, submission, try_git};

const LIST: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn id(text: &str) -> ObjectId {
    text.parse().unwrap()
}

#[test]
fn one_commit_is_undone_and_nothing_else() {
    let hosted =
        Hosted::with(&[("list.txt", LIST), ("gone.yaml", "a\n"), ("apps/x.yaml", "x: 1\n")]);
    std::fs::remove_file(hosted.work().join("gone.yaml")).unwrap();
    let bad = hosted.commit(
        &[
            ("list.txt", &LIST.replace("two", "TWO")),
            ("apps/new/y.yaml", "y\n"),
            ("apps/x.yaml", "x: 2\n"),
        ],
        "bad",
    );
    hosted.commit(&[("list.txt", &LIST.replace("two", "TWO").replace("six", "SIX"))], "later");
    hosted.commit(&[("apps/z.yaml", "z\n")], "more");
    // What git itself makes of it.
    git(&hosted.work(), &["revert", "--no-edit", &bad]);
    let expected = git(&hosted.work(), &["rev-parse", "HEAD^{tree}"]);
    git(&hosted.work(), &["reset", "-q", "--hard", "HEAD~1"]);

    let bench = engine();
    let writer = bench.engine.writer(main_of(hosted.url())).unwrap();
    let landed = writer.revert(&submission("Revert bad", Some("r")), id(&bad)).unwrap();
    assert!(matches!(landed, Landed::Committed(_)));
    assert_eq!(git(&hosted.bare(), &["rev-parse", "main^{tree}"]), expected);
    assert_eq!(hosted.show("gone.yaml"), "a");
    assert!(!try_git(&hosted.bare(), &["show", "main:apps/new/y.yaml"]).status.success());
    hosted.is_sound();
    let again = writer.revert(&submission("Revert bad", None), id(&bad)).unwrap();
    assert!(matches!(again, Landed::Unchanged(_)), "what is undone is not undone again");
}

#[test]
fn what_was_changed_again_is_named() {
    let hosted = Hosted::with(&[("a.yaml", "v: 1\n"), ("b.yaml", "1\n"), ("c.yaml", "1\n")]);
    let bad = hosted.commit(&[("a.yaml", "v: 2\n"), ("b.yaml", "2\n"), ("c.yaml", "2\n")], "bad");
    std::fs::remove_file(hosted.work().join("b.yaml")).unwrap();
    hosted.commit(&[("a.yaml", "v: 3\n")], "later");
    let before = hosted.tip();
    let bench = engine();
    let writer = bench.engine.writer(main_of(hosted.url())).unwrap();
    let error = writer.revert(&submission("Revert", None), id(&bad)).unwrap_err();
    assert!(matches!(
        &error,
        WriteError::Revert { error: RevertError::Conflict(paths), .. } if paths == &["a.yaml", "b.yaml"]
    ));
    assert!(error.to_string().ends_with("changed again since: a.yaml, b.yaml"), "{error}");
    assert_eq!(hosted.tip(), before);
}

#[test]
fn a_merge_is_not_undone_and_an_old_commit_is_fetched_first() {
    let hosted = Hosted::with(&[("a.yaml", "1\n")]);
    let old = hosted.commit(&[("old.yaml", "old\n")], "old");
    let work = hosted.work();
    git(&work, &["checkout", "-q", "-b", "side"]);
    git(&work, &["commit", "-q", "--allow-empty", "-m", "side"]);
    git(&work, &["checkout", "-q", "main"]);
    git(&work, &["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    git(&work, &["push", "-q", "origin", "HEAD:main"]);
    let merge = hosted.tip();
    for n in 0..80 {
        git(&work, &["commit", "-q", "--allow-empty", "-m", &n.to_string()]);
    }
    git(&work, &["push", "-q", "origin", "HEAD:main"]);
    let server = crate::testing::http::Server::start(hosted.folder.path().to_owned(), |_, _| {
        crate::testing::http::Fault::None
    });
    let bench = engine();
    let writer = bench.engine.writer(main_of(server.url())).unwrap();
    writer.tip().unwrap();
    assert!(
        !bench.engine.store(&server.url()).unwrap().has(id(&old)),
        "only the newest were fetched"
    );
    let error = writer.revert(&submission("Revert", None), id(&merge)).unwrap_err();
    assert!(error.to_string().contains("a merge of 2 histories"), "{error}");
    writer.revert(&submission("Revert", None), id(&old)).unwrap();
    assert!(!try_git(&hosted.bare(), &["show", "main:old.yaml"]).status.success());
    hosted.is_sound();
}
