//! The engine against stock git: by folder, http and ssh.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::auth::{Login, Secret};
use crate::testing::http::Server as HttpServer;
use crate::testing::{Hosted, engine, git, http, main_of, ssh, submission};
use crate::tree::FileEdit;

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
    for fault in [http::Fault::None, http::Fault::Old] {
        let hosted = Hosted::with(FILES);
        let root = hosted.folder.path().to_owned();
        let server = HttpServer::start(root, move |_, _| fault.clone());
        check(&hosted, main_of(server.url()));
    }
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

#[test]
fn writers_to_one_branch_take_turns() {
    let hosted = Hosted::with(FILES);
    let bench = engine();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let (bench, url) = (&bench, hosted.url());
            scope.spawn(move || {
                let writer = bench.engine.writer(main_of(url)).unwrap();
                let change = move |_: &Revision| -> Result<Vec<FileEdit>, ChangeError> {
                    Ok(vec![FileEdit::write(format!("apps/{n}.yaml"), "x\n")])
                };
                writer.submit(&submission(&n.to_string(), None), &change).unwrap();
            });
        }
    });
    assert_eq!(hosted.count(), 7);
    assert!(bench.pace.waits.lock().unwrap().is_empty(), "nobody met anybody");
    hosted.is_sound();
}

#[test]
fn planned_edits_are_joined_with_what_others_did_or_the_files_are_named() {
    let text = "a: 1\nb: 1\nc: 1\nd: 1\ne: 1\n";
    let hosted = Hosted::with(&[("x.yaml", text), ("gone.yaml", "1\n"), ("y.yaml", "1\n")]);
    let bench = engine();
    let writer = bench.engine.writer(main_of(hosted.url())).unwrap();
    let base = writer.tip().unwrap();
    let plan = |edits| Planned { base: base.clone(), edits };
    std::fs::remove_file(hosted.work().join("gone.yaml")).unwrap();
    hosted.commit(&[("x.yaml", &text.replace("e: 1", "e: 2")), ("y.yaml", "2\n")], "others");
    let ours = text.replace("a: 1", "a: 3");
    let edits = vec![FileEdit::write("x.yaml", ours), FileEdit::remove("gone.yaml")];
    writer.submit(&submission("Ours", None), &plan(edits)).unwrap();
    assert_eq!(hosted.show("x.yaml"), "a: 3\nb: 1\nc: 1\nd: 1\ne: 2");

    let before = hosted.tip();
    let edits = vec![
        FileEdit::write("new.yaml", "n\n"),
        FileEdit::write("x.yaml", text.replace("e: 1", "e: 9")),
        FileEdit::write("gone.yaml", "2\n"),
        FileEdit::remove("y.yaml"),
    ];
    let error = writer.submit(&submission("Ours", None), &plan(edits)).unwrap_err().to_string();
    assert!(error.ends_with("changed by others meanwhile: x.yaml, gone.yaml, y.yaml"), "{error}");
    assert_eq!(hosted.tip(), before);
}

#[test]
fn tags_commits_and_the_default_branch_can_be_read() {
    everywhere(|hosted, destination| {
        let old = hosted.tip();
        git(&hosted.work(), &["tag", "-a", "v1", "-m", "one"]);
        git(&hosted.work(), &["push", "-q", "origin", "v1"]);
        hosted.commit(&[("apps/plex/release.yaml", "version: 2\n")], "second");
        git(&hosted.bare(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let bench = engine();
        let read = |name: &str| {
            let revision = bench.engine.read(&destination.url, &destination.access, name);
            let revision = revision.unwrap_or_else(|e| panic!("{name}: {e}")).unwrap();
            String::from_utf8(revision.read("apps/plex/release.yaml").unwrap().unwrap()).unwrap()
        };
        assert_eq!(read("v1"), "version: 1\n");
        assert_eq!(read("HEAD"), "version: 2\n");
        assert_eq!(read("refs/heads/main"), "version: 2\n");
        assert_eq!(read(&old), "version: 1\n");
        let error = bench.engine.read(&destination.url, &destination.access, "v2").unwrap_err();
        assert!(error.to_string().ends_with("there is no branch v2"), "{error}");
    });
}

#[test]
fn a_branch_may_take_the_place_of_another() {
    let hosted = Hosted::with(FILES);
    let work = hosted.work();
    git(&work, &["push", "-q", "origin", "HEAD:refs/heads/next"]);
    let server = HttpServer::start(hosted.folder.path().to_owned(), |_, _| http::Fault::None);
    let bench = engine();
    let read = |name: &str| bench.engine.read(&server.url(), &Access::default(), name);
    assert!(read("next").unwrap().is_some());
    git(&work, &["push", "-q", "origin", ":refs/heads/next"]);
    git(&work, &["push", "-q", "origin", "HEAD:refs/heads/next/one"]);
    assert!(read("next/one").unwrap().is_some());
    assert!(read("next").is_err());
}

#[test]
fn many_fetches_do_not_wear_a_repository_out() {
    let hosted = Hosted::with(FILES);
    let server = HttpServer::start(hosted.folder.path().to_owned(), |_, _| http::Fault::None);
    let bench = engine();
    let writer = bench.engine.writer(main_of(server.url())).unwrap();
    for n in 0..45 {
        let text = n.to_string();
        hosted.commit(&[("infra/flux.yaml", &text)], "again");
        let read = writer.tip().unwrap().read("infra/flux.yaml").unwrap().unwrap();
        assert_eq!(read, text.as_bytes());
    }
}

#[test]
fn a_damaged_repository_is_set_aside_and_fetched_anew() {
    let hosted = Hosted::with(FILES);
    let destination = main_of(hosted.url());
    let folder = tempfile::TempDir::new().unwrap();
    let start = || {
        let pace = Arc::new(crate::testing::Hurry::default());
        Engine::start(Settings::new(folder.path(), pace)).unwrap()
    };
    let path = {
        let engine = start();
        engine.writer(destination.clone()).unwrap().tip().unwrap();
        engine.store(&destination.url).unwrap().path().to_owned()
    };
    std::fs::write(path.join("config"), "[core\n nonsense").unwrap();
    let engine = start();
    let tip = engine.writer(destination).unwrap().tip().unwrap();
    assert_eq!(tip.read("infra/flux.yaml").unwrap().unwrap(), b"flux: true\n");
    assert!(path.with_extension("damaged-1").exists());
}

#[test]
fn a_private_authority_is_trusted_when_it_is_given() {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let authority_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key).unwrap();
    let key = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()])
        .unwrap()
        .signed_by(&key, &Issuer::new(params, authority_key))
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![leaf.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let hosted = Hosted::with(FILES);
    let server = HttpServer::start_wrapped(
        hosted.folder.path().to_owned(),
        |_, _| http::Fault::None,
        Arc::new(move |stream| {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            Box::new(rustls::StreamOwned::new(session, stream))
        }),
    );
    let url = server.url().to_string().replace("http:", "https:");
    let url = RemoteUrl::parse(&url).unwrap();
    let login = Login::Bearer(Secret::new("tok-en-tok-en"));
    let bench = engine();
    let access = Access { login, authority: Some(authority.pem()), certificate: None };
    let destination = Destination::new(url.clone(), access.clone(), "main");
    let writer = bench.engine.writer(destination).unwrap();
    writer.submit(&submission("Over TLS", None), &set("a.yaml", "x\n")).unwrap();
    assert_eq!(hosted.show("a.yaml"), "x");
    assert_eq!(server.seen()[0].headers["authorization"], "Bearer tok-en-tok-en");
    let stranger = Access { authority: None, ..access };
    let error = bench.engine.read(&url, &stranger, "main").unwrap_err().to_string();
    assert!(error.contains("certificate") && !error.contains("tok-en"), "{error}");
}
