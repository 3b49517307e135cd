//! Pushing as compare-and-swap: the server is told which commit the branch has to be at, and takes the new one
//! only then.

use std::io::Read;

use gix::ObjectId;
use thiserror::Error;

use crate::error::{Cause, RemoteError};
use crate::pack;
use crate::store::Store;
use crate::transport::fetch::Greeting;
use crate::transport::packet::{self, Band, Packet};
use crate::transport::{AGENT, Conversation, Remote, Service, file};
use crate::url::Location;

/// A reference is to move from one commit to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The reference, in full.
    pub reference: String,
    /// Where it has to be; nowhere if it is to be created.
    pub old: Option<ObjectId>,
    /// Where it is to be.
    pub new: ObjectId,
}

/// The reference was not seen to move.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct PushError {
    /// Why.
    pub error: RemoteError,
    /// Whether the server may have moved it all the same, and only its answer was lost.
    pub perhaps: bool,
}

impl Store {
    /// Pushes.
    pub fn push(&self, remote: &Remote, push: &Push) -> Result<(), PushError> {
        let failed = |cause, perhaps| PushError { error: remote.error(cause), perhaps };
        if let Location::File(path) = remote.url.location() {
            return file::push(self, path, &push.reference, push.old, push.new)
                .map_err(|cause| failed(cause, false));
        }
        let mut conversation =
            remote.converse(Service::ReceivePack).map_err(|cause| failed(cause, false))?;
        let request = self.request(conversation.as_mut(), push);
        let Some((request, banded)) = request.map_err(|cause| failed(cause, false))? else {
            return Ok(());
        };
        // From here on the server may have acted whatever is heard of it.
        conversation.ask(request).map_err(|cause| failed(cause.clone(), may_have_acted(&cause)))?;
        report(conversation.answer(), banded, &push.reference)
            .map_err(|cause| failed(cause.clone(), may_have_acted(&cause)))
    }

    /// What to send, and whether the answer comes in bands. Nothing if the reference is there already.
    fn request(
        &self,
        conversation: &mut dyn Conversation,
        push: &Push,
    ) -> Result<Option<(Vec<u8>, bool)>, Cause> {
        let greeting = Greeting::read(conversation.answer())?;
        if !greeting.can("report-status") {
            return Err(Cause::Protocol("it does not report what became of a push".to_owned()));
        }
        let now = greeting.references.get(&push.reference).copied();
        if now == Some(push.new) {
            return Ok(None);
        }
        if now != push.old {
            return Err(Cause::Moved);
        }
        let banded = greeting.can("side-band-64k");
        let mut capabilities = vec!["report-status"];
        if banded {
            capabilities.push("side-band-64k");
        }
        if greeting.can("agent") {
            capabilities.push(AGENT);
        }
        if greeting.can("object-format") {
            capabilities.push("object-format=sha1");
        }
        let nothing = ObjectId::null(gix::hash::Kind::Sha1);
        let old = push.old.unwrap_or(nothing);
        let mut request = Vec::new();
        let command =
            format!("{old} {} {}\0 {}\n", push.new, push.reference, capabilities.join(" "));
        packet::write(&mut request, command);
        packet::flush(&mut request);
        let there: Vec<ObjectId> = greeting.references.values().copied().collect();
        self.with(|repo| {
            let commits = unknown_commits(repo, push.new, &there)?;
            let known = |id: ObjectId| !commits.contains(&id);
            let objects = pack::objects(repo, &commits, &known).map_err(broken)?;
            pack::write(repo, &objects, &mut request).map_err(broken)
        })?;
        Ok(Some((request, banded)))
    }
}

fn broken(error: pack::PackError) -> Cause {
    Cause::Folder(format!("the commit cannot be sent: {error}"))
}

/// Whether a failure leaves open what the server did.
fn may_have_acted(cause: &Cause) -> bool {
    match cause {
        Cause::Hook { .. }
        | Cause::Refused { .. }
        | Cause::Moved
        | Cause::Unauthorized(_)
        | Cause::Forbidden(_)
        | Cause::NotFound
        | Cause::Redirected { .. }
        | Cause::Credentials(_)
        | Cause::Unreachable(_)
        | Cause::Folder(_) => false,
        Cause::Answered { status, .. } => *status >= 500,
        _ => true,
    }
}

/// Commits that lead to the new one and that no reference of the server leads to.
fn unknown_commits(
    repo: &gix::Repository,
    new: ObjectId,
    there: &[ObjectId],
) -> Result<Vec<ObjectId>, Cause> {
    let local = |e: gix::Error| Cause::Folder(crate::error::chain(&e));
    let known: Vec<_> = there
        .iter()
        .copied()
        .filter(|id| repo.find_header(*id).is_ok_and(|h| h.kind() == gix::objs::Kind::Commit))
        .collect();
    let mut commits = Vec::new();
    for info in repo.rev_walk([new]).with_hidden(known).all().map_err(local)? {
        commits.push(info.map_err(local)?.id);
    }
    Ok(commits)
}

/// Reads what became of the push.
fn report(answer: &mut dyn Read, banded: bool, reference: &str) -> Result<(), Cause> {
    let mut said = String::new();
    let lines = if banded {
        let mut band = Band::new(answer, &mut said);
        let lines = status_lines(&mut band)?;
        // What a hook says may come after the verdict.
        let _ = std::io::copy(&mut band, &mut std::io::sink());
        lines
    } else {
        status_lines(answer)?
    };
    verdict(&lines, &said, reference)
}

fn status_lines(from: &mut dyn Read) -> Result<Vec<String>, Cause> {
    let mut lines = Vec::new();
    loop {
        match packet::read(from) {
            Ok(Packet::Data(data)) => lines.extend(Packet::Data(data).line()),
            Ok(_) => return Ok(lines),
            Err(cause) => return Err(cause),
        }
    }
}

fn verdict(lines: &[String], said: &str, reference: &str) -> Result<(), Cause> {
    let said = tidy(said);
    let Some(unpacked) = lines.first().and_then(|line| line.strip_prefix("unpack ")) else {
        return Err(Cause::Protocol("no report of the push".to_owned()));
    };
    let mut verdict = None;
    for line in &lines[1..] {
        if let Some(name) = line.strip_prefix("ok ")
            && name == reference
        {
            verdict = Some(Ok(()));
        } else if let Some(rest) = line.strip_prefix("ng ")
            && let Some(reason) = rest.strip_prefix(reference)
        {
            verdict = Some(Err(reason.trim().to_owned()));
        }
    }
    let refused = |reason: String| Cause::Refused {
        reference: reference.to_owned(),
        reason,
        said: said.clone(),
    };
    match verdict {
        Some(Ok(())) if unpacked == "ok" => Ok(()),
        Some(Err(reason)) if is_hook(&reason) => {
            Err(Cause::Hook { reference: reference.to_owned(), reason, said })
        }
        Some(Err(reason)) if unpacked == "ok" && is_race(&reason) => Err(Cause::Moved),
        Some(Err(reason)) if unpacked == "ok" => Err(refused(reason)),
        None if unpacked == "ok" => Err(Cause::Protocol("no word of the reference".to_owned())),
        _ => Err(refused(format!("it could not unpack the objects: {unpacked}"))),
    }
}

fn is_hook(reason: &str) -> bool {
    reason.contains("hook declined") || reason.contains("hook refused")
}

/// Servers word it differently, but all mean that the old commit was not there any more.
fn is_race(reason: &str) -> bool {
    ["fetch first", "non-fast-forward", "old value", "failed to update ref", "lock", "stale info"]
        .iter()
        .any(|part| reason.contains(part))
}

fn tidy(said: &str) -> String {
    // Forges frame what they say with lines of nothing.
    let lines =
        said.lines().map(str::trim).filter(|line| !["", "error:", "remote:"].contains(line));
    lines.collect::<Vec<_>>().join("; ").replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(lines: &[&str], said: &str) -> Result<(), Cause> {
        let lines: Vec<_> = lines.iter().map(|line| (*line).to_owned()).collect();
        verdict(&lines, said, "refs/heads/main")
    }

    #[test]
    fn reports_are_understood() {
        assert_eq!(judge(&["unpack ok", "ok refs/heads/main"], ""), Ok(()));
        for race in [
            "ng refs/heads/main fetch first",
            "ng refs/heads/main non-fast-forward",
            "ng refs/heads/main incorrect old value provided",
            "ng refs/heads/main failed to update ref",
            "ng refs/heads/main cannot lock ref 'refs/heads/main': is at a but expected b",
        ] {
            assert_eq!(judge(&["unpack ok", race], ""), Err(Cause::Moved), "{race}");
        }
        let hook = judge(
            &["unpack ok", "ng refs/heads/main pre-receive hook declined"],
            "GL-HOOK-ERR: commits\nmust be signed\n",
        );
        assert_eq!(
            hook.unwrap_err().to_string(),
            "a hook refused the push to refs/heads/main: pre-receive hook declined: GL-HOOK-ERR: commits; must be signed"
        );
        let full = judge(
            &["unpack index-pack abnormal exit", "ng refs/heads/main unpacker error"],
            "disk full",
        );
        assert!(full.unwrap_err().to_string().contains("index-pack abnormal exit"));
        assert!(matches!(judge(&[], ""), Err(Cause::Protocol(_))));
        assert!(matches!(judge(&["unpack ok"], ""), Err(Cause::Protocol(_))));
        assert!(
            matches!(judge(&["unpack ok", "ok refs/heads/other"], ""), Err(Cause::Protocol(_))),
            "another branch's verdict is not ours"
        );
    }
}
