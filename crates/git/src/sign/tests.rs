//! Signatures as stock git judges them.
#![allow(clippy::disallowed_methods, reason = "the oracle is gpg")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::*;
use crate::engine::{ChangeError, WriteError};
use crate::testing::{Hosted, command, engine, has_program, key, key_text, main_of, submission};
use crate::tree::{FileEdit, Revision};

fn signed_by(signer: Signer) -> (Hosted, String) {
    let hosted = Hosted::with(&[("a.yaml", "1\n")]);
    let bench = engine();
    let writer = bench.engine.writer(main_of(hosted.url())).unwrap();
    let mut submission = submission("Signed", Some("7"));
    submission.signer = Some(Arc::new(signer));
    let change = |_: &Revision| -> Result<Vec<FileEdit>, ChangeError> {
        Ok(vec![FileEdit::write("a.yaml", "2\n")])
    };
    let landed: Result<_, WriteError> = writer.submit(&submission, &change);
    let commit = landed.unwrap().commit().unwrap().to_string();
    hosted.is_sound();
    (hosted, commit)
}

/// Whether git finds the signature good, and what it says.
fn verify(hosted: &Hosted, commit: &str, settings: &[(&str, &str)], home: &Path) -> (bool, String) {
    let mut run = command(&hosted.bare());
    for (name, value) in settings {
        run.args(["-c", &format!("{name}={value}")]);
    }
    let output = run
        .args(["verify-commit", commit])
        .env("GNUPGHOME", home)
        .env("HOME", home)
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn check_ssh(private: &PrivateKey, signer: Signer) {
    let (hosted, commit) = signed_by(signer);
    let allowed = hosted.folder.path().join("allowed");
    let public = private.public_key().to_openssh().unwrap();
    fs::write(&allowed, format!("holdfast@example.org {public}\n")).unwrap();
    let settings = [("gpg.ssh.allowedSignersFile", allowed.to_str().unwrap())];
    let (good, said) = verify(&hosted, &commit, &settings, hosted.folder.path());
    assert!(good && said.contains("Good \"git\" signature"), "{said}");
    let other = key(9).public_key().to_openssh().unwrap();
    fs::write(&allowed, format!("holdfast@example.org {other}\n")).unwrap();
    assert!(!verify(&hosted, &commit, &settings, hosted.folder.path()).0, "another's key");
}

#[test]
fn git_accepts_ssh_signatures() {
    if !has_program("ssh-keygen") {
        return;
    }
    check_ssh(&key(5), Signer::ssh(&Secret::new(key_text(&key(5))), None).unwrap());
    let folder = tempfile::TempDir::new().unwrap();
    for (kind, bits, password) in
        [("ecdsa", "384", ""), ("rsa", "2048", ""), ("ed25519", "256", "open sesame")]
    {
        let path = folder.path().join(format!("{kind}{bits}"));
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", kind, "-b", bits, "-N", password, "-f"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(made.success());
        let identity = Secret::new(fs::read_to_string(&path).unwrap());
        let password = Some(Secret::new(password)).filter(|p| !p.reveal().is_empty());
        let signer = Signer::ssh(&identity, password.as_ref()).unwrap();
        check_ssh(&ssh_key(&identity, password.as_ref()).unwrap(), signer);
        if password.is_some() {
            let wrong = Signer::ssh(&identity, Some(&Secret::new("wrong"))).unwrap_err();
            assert_eq!(wrong, SignError::Key { form: "SSH", locked: true });
            let none = Signer::ssh(&identity, None).unwrap_err();
            assert_eq!(none, SignError::Key { form: "SSH", locked: true });
        }
    }
}

#[test]
fn git_accepts_openpgp_signatures() {
    if !has_program("gpg") {
        return;
    }
    // gpg's own sockets need a short path.
    let home = tempfile::Builder::new().prefix("g").tempdir_in("/tmp").unwrap();
    let gpg = |arguments: &[&str]| {
        let output = Command::new("gpg")
            .args(["--batch", "--quiet", "--pinentry-mode", "loopback", "--homedir"])
            .arg(home.path())
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
    // Made before the commit's own time, or gpg finds the signature older than its key.
    let cases = [("rsa2048", "one@example.org", ""), ("ed25519", "two@example.org", "open sesame")];
    for (kind, user, password) in cases {
        gpg(&[
            "--faked-system-time",
            "1600000000!",
            "--passphrase",
            password,
            "--quick-generate-key",
            user,
            kind,
            "default",
            "0",
        ]);
        let armoured = gpg(&["--passphrase", password, "--armor", "--export-secret-keys", user]);
        let armoured = Secret::new(String::from_utf8(armoured).unwrap());
        let password = Some(Secret::new(password)).filter(|p| !p.reveal().is_empty());
        let signer = Signer::openpgp(&armoured, password.as_ref()).unwrap();
        assert_eq!(format!("{signer:?}"), "Signer(openpgp)");
        let (hosted, commit) = signed_by(signer);
        let (good, said) = verify(&hosted, &commit, &[], home.path());
        assert!(good && said.contains("Good signature"), "{said}");
        if password.is_some() {
            let wrong = Signer::openpgp(&armoured, Some(&Secret::new("wrong"))).unwrap_err();
            assert_eq!(wrong, SignError::Key { form: "OpenPGP", locked: true });
        }
    }
    let _ =
        Command::new("gpgconf").arg("--homedir").arg(home.path()).args(["--kill", "all"]).status();
}

#[test]
fn what_is_no_key_is_refused_without_being_shown() {
    let text = Secret::new("-----BEGIN hunter2-----");
    for error in [
        Signer::ssh(&text, None).unwrap_err(),
        Signer::ssh(&text, Some(&Secret::new("hunter2"))).unwrap_err(),
        Signer::openpgp(&text, None).unwrap_err(),
    ] {
        assert!(matches!(error, SignError::Key { locked: false, .. }));
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}
