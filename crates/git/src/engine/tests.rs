//! The engine against stock git: by folder, http and ssh.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::testing::http::Server as HttpServer;
use crate::testing::{Hosted, engine, git, http, main_of, ssh, submission};

const FILES: &[(&str, &str)] = &[
    ("apps/plex/release.yaml", "version: 1\n"),
    ("apps/plex/README.md", "plex\n"),
    ("infra/flux.yaml", "flux: true\n"),
];

fn set(path: &'static str, content: &'static str) -> impl Change {
    move |_: &Revision| Ok(vec![FileEdit::write(path, content)])
}

/// Each way to reach a repository, with the same expectations.
fn everywhere(check: impl Fn(&Hosted, Destination)) {
    let hosted = Hosted::with(FILES);
    check(&hosted, main_of(hosted.url()));
    let hosted = Hosted::with(FILES);
    let server = HttpServer::start(hosted.folder.path().to_owned(), |_, _| http::Fault::None);
    check(&hosted, main_of(server.url()));
    for takes_version in [true, false] {
        let hosted = Hosted::with(FILES);
        let root = hosted.folder.path().to_owned();
        let server = ssh::Server::start(root, ssh::Fault::None, takes_version);
        check(&hosted, Destination::new(server.url(), server.access(), "main"));
    }
}

#[test]
fn a_change_becomes_a_commit_on_the_branch() {
    everywhere(|hosted, destination| {
        let bench = engine();
        let writer = bench.engine.writer(destination).unwrap();
        let tip = writer.tip().unwrap();
        assert_eq!(tip.commit().unwrap().to_string(), hosted.tip());
        assert_eq!(tip.read("apps/plex/release.yaml").unwrap().unwrap(), b"version: 1\n");
        assert_eq!(tip.read("apps/plex").unwrap(), None);
        assert_eq!(tip.read("nothing/here").unwrap(), None);

        let submission = submission("Upgrade plex", Some("upgrade/plex-1"));
        let landed = writer.submit(&submission, &set("apps/plex/release.yaml", "version: 2\n"));
        let commit = landed.unwrap().commit().unwrap();
        assert_eq!(hosted.tip(), commit.to_string());
        assert_eq!(hosted.show("apps/plex/release.yaml"), "version: 2");
        assert_eq!(hosted.show("infra/flux.yaml"), "flux: true");
        let shown = git(
            &hosted.bare(),
            &["log", "-1", "--format=%an %ae %ad|%cn %ce %cd|%B", "--date=raw", "main"],
        );
        assert_eq!(
            shown.trim(),
            "Ben ben@example.org 1700000100 +0200|Holdfast holdfast@example.org 1700000200 +0000|Upgrade plex\n\nHoldfast-Id: upgrade/plex-1"
        );
        hosted.is_sound();
        assert!(writer.kept().unwrap().is_empty());

        let again = writer.submit(&submission, &set("apps/plex/release.yaml", "version: 3\n"));
        assert_eq!(again.unwrap(), Landed::Already(commit), "known again by its trailer");
        let same = writer.submit(
            &crate::testing::submission("Again", None),
            &set("apps/plex/release.yaml", "version: 2\n"),
        );
        assert_eq!(same.unwrap(), Landed::Unchanged(Some(commit)));
        assert_eq!(hosted.count(), 2);
    });
}

#[test]
fn whoever_was_faster_is_kept() {
    everywhere(|hosted, destination| {
        let bench = engine();
        let writer = bench.engine.writer(destination).unwrap();
        let calls = AtomicUsize::new(0);
        let change = |tip: &Revision| -> Result<Vec<FileEdit>, ChangeError> {
            // Somebody pushes between our look and our push, twice.
            if calls.fetch_add(1, Ordering::Relaxed) < 2 {
                let n = calls.load(Ordering::Relaxed).to_string();
                hosted.commit(&[("apps/other.yaml", &n)], "faster");
            }
            let mut text = tip.read("apps/plex/release.yaml")?.unwrap_or_default();
            text.extend_from_slice(b"# ours\n");
            Ok(vec![FileEdit::write("apps/plex/release.yaml", text)])
        };
        let landed = writer.submit(&submission("Ours", Some("1")), &change).unwrap();
        assert!(matches!(landed, Landed::Committed(_)));
        assert_eq!(calls.load(Ordering::Relaxed), 3);
        assert_eq!(hosted.show("apps/plex/release.yaml"), "version: 1\n# ours");
        assert_eq!(hosted.show("apps/other.yaml"), "2");
        assert_eq!(hosted.count(), 4);
        assert_eq!(bench.pace.waits.lock().unwrap().len(), 2, "waited before each new try");
        hosted.is_sound();
    });
}

#[test]
fn an_empty_repository_gets_its_first_commit_and_a_branch_its_start() {
    let hosted = Hosted::empty();
    let server = HttpServer::start(hosted.folder.path().to_owned(), |_, _| http::Fault::None);
    let bench = engine();
    let writer = bench.engine.writer(main_of(server.url())).unwrap();
    let landed = writer.submit(&submission("First", None), &set("a/b.yaml", "x\n")).unwrap();
    assert_eq!(hosted.tip(), landed.commit().unwrap().to_string());
    hosted.is_sound();

    let mut branch = main_of(server.url());
    branch.branch = "holdfast/upgrade".to_owned();
    let refused = bench.engine.writer(branch.clone()).unwrap().tip();
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("there is no branch") && text.contains("127.0.0.1"), "{text}");
    branch.base = Some("main".to_owned());
    let writer = bench.engine.writer(branch).unwrap();
    writer.submit(&submission("On a branch", None), &set("a/b.yaml", "y\n")).unwrap();
    assert_eq!(git(&hosted.bare(), &["show", "holdfast/upgrade:a/b.yaml"]), "y");
    assert_eq!(hosted.show("a/b.yaml"), "x");
}
