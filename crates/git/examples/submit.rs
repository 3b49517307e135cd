//! Commits one file to a real server, twice, and undoes it: how the engine is tried against servers of today.
//!
//! `cargo run -p holdfast-git --example submit -- URL BRANCH FOLDER`, where the folder has files by the key names
//! of a Secret (`username` and `password`, `bearerToken`, or `identity` and `known_hosts`; `signing` for an SSH key
//! that signs).
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdfast_git::auth::{Access, Secret};
use holdfast_git::commit::{Message, Moment, Person, Trailer};
use holdfast_git::engine::{ChangeError, Destination, Engine, Pace, Settings, Submission};
use holdfast_git::sign::Signer;
use holdfast_git::tree::{FileEdit, Revision};
use holdfast_git::url::RemoteUrl;

struct Steady;

impl Pace for Steady {
    fn pause(&self, duration: Duration) {
        std::thread::sleep(duration);
    }

    fn random(&self) -> u64 {
        u64::from(std::process::id())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, branch, folder] = arguments.as_slice() else {
        return Err("URL BRANCH FOLDER".into());
    };
    let folder = Path::new(folder);
    let mut secret = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            secret.insert(name, std::fs::read(entry.path())?);
        }
    }
    let signer = match secret.remove("signing") {
        Some(key) => Some(Arc::new(Signer::ssh(&Secret::new(String::from_utf8(key)?), None)?)),
        None => None,
    };
    let engine = Engine::start(Settings::new(folder.join("repositories"), Arc::new(Steady)))?;
    let destination =
        Destination::new(RemoteUrl::parse(url)?, Access::from_secret(&secret)?, branch.as_str());
    let writer = engine.writer(destination)?;
    let before = writer.tip()?;
    println!("tip:      {:?}", before.commit());

    #[expect(clippy::disallowed_methods, reason = "a program asks for the time once, here")]
    let now = Moment::utc(jiff::Timestamp::now().as_second());
    let id = Trailer::new("Holdfast-Id", format!("example-{}", now.seconds));
    let submission = |text: &str, id: Option<Trailer>| Submission {
        author: Person::new("Example", "example@example.org"),
        authored: now,
        committer: Person::new("Holdfast", "holdfast@example.org"),
        committed: now,
        message: Message::new(text),
        id,
        since: Some(now.seconds),
        signer: signer.clone(),
    };
    let change = |_: &Revision| -> Result<Vec<FileEdit>, ChangeError> {
        Ok(vec![FileEdit::write("holdfast/example.yaml", format!("at: {}\n", now.seconds))])
    };
    let landed = writer.submit(&submission("An example", Some(id.clone())), &change)?;
    println!("landed:   {landed:?}");
    println!("again:    {:?}", writer.submit(&submission("An example", Some(id)), &change)?);
    if let Some(commit) = landed.commit() {
        println!("reverted: {:?}", writer.revert(&submission("Revert an example", None), commit)?);
    }
    println!("as found: {}", writer.tip()?.tree() == before.tree());
    Ok(())
}
