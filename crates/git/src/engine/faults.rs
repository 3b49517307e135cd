//! Remotes that hang, lie, refuse or forget: each is named, nothing is lost here, and the next try is safe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::auth::{Login, Secret};
use crate::commit::Trailer;
use crate::find::Reach;
use crate::testing::http::{Fault, Request, Server};
use crate::testing::{Bench, Hosted, engine, git, key, key_text, main_of, ssh, submission};
use crate::tree::FileEdit;

const SECRET: &str = "hunter2-very-secret";

fn change(_: &Revision) -> Result<Vec<FileEdit>, ChangeError> {
    Ok(vec![FileEdit::write("a.yaml", "ours\n")])
}

fn hosted() -> Hosted {
    Hosted::with(&[("a.yaml", "first\n")])
}

fn serve(
    hosted: &Hosted,
    script: impl Fn(&Request, usize) -> Fault + Send + Sync + 'static,
) -> Server {
    Server::start(hosted.folder.path().to_owned(), script)
}

fn secretive(url: RemoteUrl) -> Destination {
    let login = Login::Password { username: "me".into(), password: Secret::new(SECRET) };
    Destination::new(url, Access { login, ..Access::default() }, "main")
}

/// The error of a submission, which names the destination and no secret.
fn failure(bench: &Bench, destination: &Destination) -> WriteError {
    let writer = bench.engine.writer(destination.clone()).unwrap();
    let error = writer.submit(&submission("Ours", Some("1")), &change).unwrap_err();
    for text in [error.to_string(), format!("{error:?}"), format!("{error:#?}")] {
        assert!(!text.contains(SECRET) && !text.contains("aHVudGVyMi"), "{text}");
    }
    assert!(error.to_string().contains(&destination.url.to_string()), "{error}");
    error
}

/// After the fault is over, the same submission lands, once.
fn lands_later(bench: &Bench, hosted: &Hosted, destination: &Destination, commits: usize) {
    let writer = bench.engine.writer(destination.clone()).unwrap();
    writer.submit(&submission("Ours", Some("1")), &change).unwrap();
    assert_eq!(hosted.show("a.yaml"), "ours");
    assert_eq!(hosted.count(), commits);
    assert!(writer.kept().unwrap().is_empty(), "what has landed is kept no longer");
    hosted.is_sound();
}

/// Runs with a fault that can be switched off.
fn until_cured(
    fault: Fault,
    when: impl Fn(&Request) -> bool + Send + Sync + 'static,
    expect: impl Fn(&WriteError),
) {
    let hosted = hosted();
    let ill = Arc::new(AtomicBool::new(true));
    let switch = ill.clone();
    let server = serve(&hosted, move |request, _| {
        if switch.load(Ordering::Relaxed) && when(request) { fault.clone() } else { Fault::None }
    });
    let (bench, destination) = (engine(), secretive(server.url()));
    let error = failure(&bench, &destination);
    expect(&error);
    ill.store(false, Ordering::Relaxed);
    lands_later(&bench, &hosted, &destination, 2);
}

fn says(parts: &'static [&'static str]) -> impl Fn(&WriteError) {
    move |error| {
        let text = error.to_string();
        for part in parts {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
    }
}

#[test]
fn a_server_that_hangs_is_given_up() {
    until_cured(Fault::Hang, |_| true, says(&["an answer took longer than 700ms"]));
    until_cured(Fault::HangHalfway, Request::is_fetch, says(&["the next bytes took longer"]));
    until_cured(Fault::HangHalfway, |r| r.method == "GET", says(&["the next bytes took longer"]));
}

#[test]
fn a_server_that_drips_is_given_up_too() {
    let hosted = hosted();
    let server =
        serve(&hosted, |request, _| if request.is_fetch() { Fault::Drip } else { Fault::None });
    let mut destination = secretive(server.url());
    destination.timeout = Some(std::time::Duration::from_secs(1));
    says(&["the whole answer took longer than 1s"])(&failure(&engine(), &destination));
}

/// Remembers whether a secret was ever logged, by anybody in this process.
#[derive(Clone, Default)]
struct Listener(Arc<(AtomicBool, AtomicUsize)>);

impl std::io::Write for Listener {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let key = key_text(&key(2));
        let inside = key.lines().nth(2).unwrap_or_default();
        if text.contains(SECRET) || text.contains("aHVudGVyMi") || text.contains(inside) {
            self.0.0.store(true, Ordering::Relaxed);
        }
        self.0.1.fetch_add(1, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_secret_is_logged_at_any_level() {
    let listener = Listener::default();
    let writer = listener.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let hosted = hosted();
    let server = serve(&hosted, |_, number| match number {
        0 => Fault::Status(503, format!("busy, {SECRET}")),
        _ => Fault::None,
    });
    let bench = engine();
    lands_later(&bench, &hosted, &secretive(server.url()), 2);
    let hosted = self::hosted();
    let server = ssh::Server::start(hosted.folder.path().to_owned(), ssh::Fault::None, true);
    let destination = Destination::new(server.url(), server.access(), "main");
    lands_later(&bench, &hosted, &destination, 2);
    assert!(listener.0.1.load(Ordering::Relaxed) > 0, "something was logged");
    assert!(!listener.0.0.load(Ordering::Relaxed), "a secret was logged");
}

#[test]
fn a_pack_that_is_cut_or_changed_is_not_kept() {
    until_cured(Fault::CutHalfway, Request::is_fetch, says(&["ended early"]));
    until_cured(Fault::Corrupt, Request::is_fetch, says(&["not sound"]));
}

#[test]
fn refusals_are_named() {
    let status = |code, text: &str| Fault::Status(code, text.to_owned());
    until_cured(
        status(401, "bad token hunter2-very-secret"),
        |_| true,
        |error| {
            says(&["credentials were not accepted", "bad token ***"])(error);
        },
    );
    until_cured(status(403, "no"), |_| true, says(&["not allowed: no"]));
    until_cured(status(404, ""), |_| true, says(&["no such repository"]));
    until_cured(status(503, "later"), |_| true, says(&["answered 503: later"]));
    until_cured(status(403, "read-only"), Request::is_push, |error| {
        says(&["not allowed: read-only", "is kept as refs/holdfast/unpushed/main/"])(error);
    });
}

#[test]
fn credentials_do_not_follow_to_another_host() {
    let other = hosted();
    let elsewhere = serve(&other, |_, _| Fault::None);
    let hosted = hosted();
    let to =
        format!("http://localhost:{}/repo.git/info/refs?service=git-upload-pack", elsewhere.port);
    let server = serve(&hosted, move |_, _| Fault::Redirect(to.clone()));
    let bench = engine();
    let error = failure(&bench, &secretive(server.url()));
    let text = error.to_string();
    assert!(text.contains(&format!("http://127.0.0.1:{}", server.port)), "{text}");
    assert!(text.contains(&format!("http://localhost:{}", elsewhere.port)), "{text}");
    assert!(elsewhere.seen().is_empty(), "nothing was told to the other host");
    // Anonymous reading may go where it is sent; writing may not.
    let read = bench.engine.read(&server.url(), &Access::default(), "main").unwrap().unwrap();
    assert_eq!(read.read("a.yaml").unwrap().unwrap(), b"first\n");
}

#[test]
fn a_redirect_on_the_same_host_is_followed() {
    let hosted = hosted();
    let server = serve(&hosted, |request, _| {
        if request.path.starts_with("/old") {
            let path = request.path.replace("/old", "");
            return Fault::Redirect(format!("{path}?{}", request.query));
        }
        Fault::None
    });
    let old = server.url().to_string().replace("/repo.git", "/old/repo.git");
    let bench = engine();
    let destination = secretive(RemoteUrl::parse(&old).unwrap());
    lands_later(&bench, &hosted, &destination, 2);
    let seen = server.seen();
    assert!(seen.iter().all(|request| request.headers.contains_key("authorization")));
}

#[test]
fn a_hook_that_refuses_is_named_and_the_commit_is_kept() {
    let hosted = hosted();
    hosted.hook("pre-receive", "echo 'commits need a ticket' >&2; exit 1");
    let server = serve(&hosted, |_, _| Fault::None);
    let (bench, destination) = (engine(), secretive(server.url()));
    let error = failure(&bench, &destination);
    says(&[
        "a hook refused the push to refs/heads/main",
        "pre-receive hook declined",
        "commits need a ticket",
        "is kept as refs/holdfast/unpushed/main/",
    ])(&error);
    let mut later = submission("Ours", Some("1"));
    later.committed.seconds += 60;
    let writer = bench.engine.writer(destination.clone()).unwrap();
    writer.submit(&later, &change).unwrap_err();
    let kept = writer.kept().unwrap();
    assert_eq!(kept.len(), 1, "tries do not pile up");
    let store = bench.engine.store(&destination.url).unwrap();
    assert_eq!(store.at(kept[0].1).unwrap().read("a.yaml").unwrap().unwrap(), b"ours\n");
    std::fs::remove_file(hosted.bare().join("hooks/pre-receive")).unwrap();
    lands_later(&bench, &hosted, &destination, 2);
}

#[test]
fn a_lost_answer_does_not_commit_twice() {
    let hosted = hosted();
    let lost = AtomicUsize::new(0);
    let server = serve(&hosted, move |request, _| {
        if request.is_push() && lost.fetch_add(1, Ordering::Relaxed) == 0 {
            Fault::LoseAnswer
        } else {
            Fault::None
        }
    });
    let (bench, destination) = (engine(), secretive(server.url()));
    let writer = bench.engine.writer(destination.clone()).unwrap();
    let landed = writer.submit(&submission("Ours", None), &change).unwrap();
    assert_eq!(landed, Landed::Committed(hosted.tip().parse().unwrap()));
    assert_eq!(hosted.count(), 2);

    // Somebody else's commit on top changes nothing.
    let hosted = self::hosted();
    let root = hosted.folder.path().to_owned();
    let server = ssh::Server::start(root, ssh::Fault::LoseFirstReport, true);
    let destination = Destination::new(server.url(), server.access(), "main");
    let writer = bench.engine.writer(destination).unwrap();
    let landed = writer.submit(&submission("Ours", Some("x")), &change).unwrap();
    assert_eq!(landed.commit().unwrap().to_string(), hosted.tip());
    assert_eq!(hosted.count(), 2);
}

#[test]
fn a_crash_after_the_push_does_not_commit_twice() {
    let hosted = hosted();
    let server = serve(&hosted, |_, _| Fault::None);
    let first = engine();
    let writer = first.engine.writer(main_of(hosted.url())).unwrap();
    let landed = writer.submit(&submission("Ours", Some("op-1")), &change).unwrap();
    let work = hosted.work();
    git(&work, &["pull", "-q", "--rebase", "origin", "main"]);
    for n in 0..100 {
        git(&work, &["commit", "-q", "--allow-empty", "-m", &n.to_string()]);
    }
    hosted.publish();
    // Another process, with nothing but the remote, and less history than lies in between.
    for url in [hosted.url(), server.url()] {
        let second = engine();
        let writer = second.engine.writer(main_of(url)).unwrap();
        let anew = |_: &Revision| -> Result<Vec<FileEdit>, ChangeError> {
            Ok(vec![FileEdit::write("a.yaml", "again\n")])
        };
        let again = writer.submit(&submission("Ours", Some("op-1")), &anew).unwrap();
        assert_eq!(again, Landed::Already(landed.commit().unwrap()));
        assert_eq!(hosted.show("a.yaml"), "ours");
        assert_eq!(
            writer.find(&Trailer::new("holdfast-id", "op-3"), Reach::default()).unwrap(),
            None
        );
    }
}

#[test]
fn a_branch_that_was_pushed_by_force_is_followed() {
    let hosted = hosted();
    hosted.commit(&[("b.yaml", "gone\n")], "second");
    let server = serve(&hosted, |_, _| Fault::None);
    let (bench, destination) = (engine(), secretive(server.url()));
    let writer = bench.engine.writer(destination.clone()).unwrap();
    writer.tip().unwrap();
    let work = hosted.work();
    git(&work, &["reset", "-q", "--hard", "HEAD~1"]);
    git(&work, &["commit", "-q", "--amend", "-m", "rewritten"]);
    git(&work, &["push", "-q", "--force", "origin", "HEAD:main"]);
    let store = bench.engine.store(&destination.url).unwrap();
    let remote = bench.engine.remote(&destination.url, &destination.access);
    let fetched = store.fetch(&remote, &Want::new("main", Depth::All)).unwrap().unwrap();
    assert!(fetched.rewritten);
    assert!(store.has(fetched.before.unwrap()), "what was there is still here");
    lands_later(&bench, &hosted, &destination, 2);
}

#[test]
fn crowded_branches_end_in_an_error_and_no_loss() {
    let hosted = hosted();
    let bench = engine();
    let writer = bench.engine.writer(main_of(hosted.url())).unwrap();
    let busy = |_: &Revision| -> Result<Vec<FileEdit>, ChangeError> {
        hosted.commit(&[], "busy");
        Ok(vec![FileEdit::write("a.yaml", "ours\n")])
    };
    let error = writer.submit(&submission("Ours", None), &busy).unwrap_err();
    assert!(matches!(error, WriteError::Crowded { tries: 4, .. }), "{error}");
    assert!(writer.kept().unwrap().is_empty());
    assert_eq!(hosted.count(), 5);
    let waits = bench.pace.waits.lock().unwrap().clone();
    assert_eq!(waits.len(), 3);
    assert!(waits[2] > waits[0], "{waits:?}");
}

#[test]
fn ssh_servers_are_only_trusted_with_their_known_key() {
    let hosted = hosted();
    let server = ssh::Server::start(hosted.folder.path().to_owned(), ssh::Fault::None, true);
    let bench = engine();
    let with = |identity: u8, known_hosts: String| {
        let identity = Secret::new(key_text(&key(identity)));
        let login = Login::Key { identity, passphrase: None, known_hosts };
        Destination::new(server.url(), Access { login, ..Access::default() }, "main")
    };
    let good = server.known_hosts(&server.host_key);
    let error = failure(&bench, &with(2, server.known_hosts(&key(9))));
    says(&["the host key of 127.0.0.1 is SHA256:", "not the one in known_hosts"])(&error);
    let error = failure(&bench, &with(2, "example.org ssh-ed25519 AAAA\n".to_owned()));
    says(&["is not in known_hosts"])(&error);
    let error = failure(&bench, &with(3, good.clone()));
    says(&["the credentials were not accepted: as git"])(&error);
    assert!(server.commands.lock().unwrap().is_empty());
    lands_later(&bench, &hosted, &with(2, good.clone()), 2);

    let login = Login::Key {
        identity: Secret::new(format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n")),
        passphrase: None,
        known_hosts: good,
    };
    let destination = Destination::new(server.url(), Access { login, ..Access::default() }, "main");
    says(&["the SSH key cannot be read"])(&failure(&bench, &destination));
    says(&["identity and known_hosts"])(&failure(&bench, &secretive(server.url())));
}

#[test]
fn an_ssh_server_that_hangs_or_refuses_is_given_up() {
    for (fault, text) in [
        (ssh::Fault::Hang, "the next bytes took longer"),
        (ssh::Fault::HangHalfway, "the next bytes took longer"),
    ] {
        let hosted = hosted();
        let server = ssh::Server::start(hosted.folder.path().to_owned(), fault, true);
        let bench = engine();
        let destination = Destination::new(server.url(), server.access(), "main");
        let error = failure(&bench, &destination).to_string();
        assert!(error.contains(text), "{error}");
    }
    let hosted = hosted();
    let server = ssh::Server::start(hosted.folder.path().to_owned(), ssh::Fault::None, true);
    let missing = server.url().to_string().replace("repo.git", "missing.git");
    let destination =
        Destination::new(RemoteUrl::parse(&missing).unwrap(), server.access(), "main");
    let error = failure(&engine(), &destination).to_string();
    assert!(error.contains("the server says: fatal:"), "{error}");
}

#[test]
fn a_server_of_something_else_is_named() {
    let hosted = hosted();
    let server = serve(&hosted, |_, _| Fault::Status(200, "<html>Sign in</html>".to_owned()));
    says(&["does not speak git", "text/plain"])(&failure(&engine(), &secretive(server.url())));
}

#[test]
fn a_server_nobody_listens_for_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = RemoteUrl::parse(&format!("http://127.0.0.1:{port}/repo.git")).unwrap();
    let error = failure(&engine(), &secretive(url));
    says(&["not reachable", "refused"])(&error);
    // A port that takes connections and never says a word of ssh.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = RemoteUrl::parse(&format!("ssh://git@127.0.0.1:{port}/repo.git")).unwrap();
    let login = Login::Key {
        identity: Secret::new(key_text(&key(2))),
        passphrase: None,
        known_hosts: String::new(),
    };
    let destination = Destination::new(url, Access { login, ..Access::default() }, "main");
    says(&["connecting took longer than 2s"])(&failure(&engine(), &destination));
}

#[test]
fn a_folder_is_not_written_past_its_hooks_or_under_its_owner() {
    let guarded = hosted();
    guarded.hook("pre-receive", "exit 0");
    let error = failure(&engine(), &main_of(guarded.url()));
    says(&["has a hook pre-receive", "push by ssh or http"])(&error);
    let hosted = hosted();
    let error = failure(&engine(), &main_of(RemoteUrl::of_folder(hosted.work())));
    says(&["checked out"])(&error);
    let nowhere = RemoteUrl::of_folder(hosted.folder.path().join("repo.git.gone"));
    says(&["no such repository"])(&failure(&engine(), &main_of(nowhere)));
}
