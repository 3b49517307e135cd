//! Git's conversation over HTTP: packet lines, fetch in both dialects, push.

use std::fmt::Write as _;

use super::host::{GitError, GitHost, PushFault, Update};
use super::objects::Id;

/// The branch that `HEAD` names, if it is there.
const HEAD: &str = "refs/heads/main";
const AGENT: &str = "agent=holdfast-world";

/// One packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A line of data.
    Line(&'a [u8]),
    /// `0000`
    Flush,
    /// `0001`
    Delimiter,
}

/// Adds a line.
pub fn line(out: &mut Vec<u8>, data: impl AsRef<[u8]>) {
    let data = data.as_ref();
    out.extend_from_slice(format!("{:04x}", data.len() + 4).as_bytes());
    out.extend_from_slice(data);
}

/// Adds a flush.
pub fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0000");
}

/// Takes the next packet off the front.
pub fn next<'a>(rest: &mut &'a [u8]) -> Option<Packet<'a>> {
    let size = std::str::from_utf8(rest.get(..4)?).ok()?;
    let size = usize::from_str_radix(size, 16).ok()?;
    let packet = match size {
        0 => Packet::Flush,
        1 => Packet::Delimiter,
        2..=3 => return None,
        _ => Packet::Line(rest.get(4..size)?),
    };
    *rest = &rest[size.max(4)..];
    Some(packet)
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim_end_matches('\n').to_owned()
}

/// What a client hears first.
pub fn advertise(
    host: &GitHost,
    name: &str,
    service: &str,
    version_2: bool,
) -> Result<Vec<u8>, GitError> {
    let refs = host.refs(name)?;
    let mut out = Vec::new();
    line(&mut out, format!("# service={service}\n"));
    flush(&mut out);
    if version_2 && service == "git-upload-pack" {
        line(&mut out, "version 2\n");
        line(&mut out, format!("{AGENT}\n"));
        line(&mut out, "ls-refs=unborn\n");
        line(&mut out, "fetch=shallow\n");
        line(&mut out, "object-format=sha1\n");
        flush(&mut out);
        return Ok(out);
    }
    let mut capabilities = if service == "git-upload-pack" {
        format!("side-band-64k ofs-delta shallow no-progress {AGENT}")
    } else {
        format!("report-status delete-refs ofs-delta {AGENT}")
    };
    if service == "git-upload-pack" && refs.contains_key(HEAD) {
        let _ = write!(capabilities, " symref=HEAD:{HEAD}");
    }
    let mut all: Vec<(String, Id)> = Vec::new();
    if service == "git-upload-pack" {
        all.extend(refs.get(HEAD).map(|id| ("HEAD".to_owned(), *id)));
    }
    all.extend(refs);
    if all.is_empty() {
        line(&mut out, format!("{} capabilities^{{}}\0{capabilities}\n", Id::ZERO));
    }
    for (at, (reference, id)) in all.iter().enumerate() {
        let tail = if at == 0 { format!("\0{capabilities}") } else { String::new() };
        line(&mut out, format!("{id} {reference}{tail}\n"));
    }
    flush(&mut out);
    Ok(out)
}

/// Answers one `git-upload-pack` request in either dialect.
pub fn upload(
    host: &GitHost,
    name: &str,
    body: &[u8],
    version_2: bool,
) -> Result<Vec<u8>, GitError> {
    if !version_2 {
        return fetch(host, name, body, false);
    }
    let mut rest = body;
    match next(&mut rest) {
        Some(Packet::Line(command)) if text(command) == "command=ls-refs" => {
            list_refs(host, name, rest)
        }
        Some(Packet::Line(command)) if text(command) == "command=fetch" => {
            fetch(host, name, rest, true)
        }
        Some(Packet::Line(command)) => {
            Err(GitError::Unreadable(format!("unknown request {:?}", text(command))))
        }
        _ => Ok(Vec::new()),
    }
}

fn list_refs(host: &GitHost, name: &str, mut rest: &[u8]) -> Result<Vec<u8>, GitError> {
    let mut prefixes = Vec::new();
    let (mut symrefs, mut unborn) = (false, false);
    while let Some(packet) = next(&mut rest) {
        let Packet::Line(argument) = packet else { continue };
        let argument = text(argument);
        if let Some(prefix) = argument.strip_prefix("ref-prefix ") {
            prefixes.push(prefix.to_owned());
        }
        symrefs |= argument == "symrefs";
        unborn |= argument == "unborn";
    }
    let asked = |reference: &str| {
        prefixes.is_empty() || prefixes.iter().any(|prefix| reference.starts_with(prefix))
    };
    let refs = host.refs(name)?;
    let mut out = Vec::new();
    let target = if symrefs { format!(" symref-target:{HEAD}") } else { String::new() };
    match refs.get(HEAD) {
        Some(id) if asked("HEAD") => line(&mut out, format!("{id} HEAD{target}\n")),
        None if unborn && asked("HEAD") => line(&mut out, format!("unborn HEAD{target}\n")),
        _ => {}
    }
    for (reference, id) in refs.iter().filter(|(reference, _)| asked(reference)) {
        line(&mut out, format!("{id} {reference}\n"));
    }
    flush(&mut out);
    Ok(out)
}

#[derive(Default)]
struct Asked {
    wants: Vec<Id>,
    haves: Vec<Id>,
    depth: Option<u64>,
    done: bool,
    band: bool,
    /// Something came after the list of wants.
    negotiates: bool,
}

fn asked(mut rest: &[u8]) -> Asked {
    let mut asked = Asked::default();
    let mut listed = false;
    while let Some(packet) = next(&mut rest) {
        asked.negotiates |= listed;
        let Packet::Line(words) = packet else {
            listed = true;
            continue;
        };
        let words = text(words);
        let mut parts = words.split(' ');
        let id = |word: Option<&str>| word.and_then(|word| word.parse().ok());
        match parts.next() {
            Some("want") => {
                asked.wants.extend::<Option<Id>>(id(parts.next()));
                asked.band |= parts.any(|capability| capability == "side-band-64k");
            }
            Some("have") => asked.haves.extend::<Option<Id>>(id(parts.next())),
            Some("deepen") => {
                let depth = parts.next().and_then(|depth| depth.parse().ok());
                asked.depth = depth.filter(|depth| *depth > 0 && *depth < i32::MAX as u64);
            }
            Some("done") => asked.done = true,
            _ => {}
        }
    }
    asked
}

fn fetch(host: &GitHost, name: &str, body: &[u8], version_2: bool) -> Result<Vec<u8>, GitError> {
    let asked = asked(body);
    let mut out = Vec::new();
    if asked.wants.is_empty() {
        return Ok(out);
    }
    if let Some(missing) = asked.wants.iter().find(|want| !host.has(name, **want)) {
        line(&mut out, format!("ERR upload-pack: not our ref {missing}"));
        return Ok(out);
    }
    let common: Vec<Id> =
        asked.haves.iter().copied().filter(|have| host.has(name, *have)).collect();
    let (pack, shallow) = host.pack(name, &asked.wants, &common, asked.depth)?;
    if version_2 {
        if !asked.done {
            line(&mut out, "acknowledgments\n");
            if common.is_empty() {
                line(&mut out, "NAK\n");
                flush(&mut out);
                return Ok(out);
            }
            for id in &common {
                line(&mut out, format!("ACK {id}\n"));
            }
            line(&mut out, "ready\n");
            out.extend_from_slice(b"0001");
        }
        if asked.depth.is_some() {
            line(&mut out, "shallow-info\n");
            for id in &shallow {
                line(&mut out, format!("shallow {id}\n"));
            }
            out.extend_from_slice(b"0001");
        }
        line(&mut out, "packfile\n");
        band(&mut out, &pack);
        return Ok(out);
    }
    if asked.depth.is_some() {
        for id in &shallow {
            line(&mut out, format!("shallow {id}"));
        }
        flush(&mut out);
    }
    // A client without memory of its own first asks where history will be cut, and nothing else.
    if !asked.negotiates {
        return Ok(out);
    }
    match common.first() {
        Some(id) => line(&mut out, format!("ACK {id}\n")),
        None => line(&mut out, "NAK\n"),
    }
    if asked.done {
        if asked.band {
            band(&mut out, &pack);
        } else {
            out.extend_from_slice(&pack);
        }
    }
    Ok(out)
}

fn band(out: &mut Vec<u8>, pack: &[u8]) {
    for chunk in pack.chunks(65_000) {
        let mut data = vec![1];
        data.extend_from_slice(chunk);
        line(out, data);
    }
    flush(out);
}

/// Answers one `git-receive-pack` request.
pub fn receive(host: &GitHost, name: &str, body: &[u8]) -> Result<Vec<u8>, GitError> {
    let mut rest = body;
    let mut updates = Vec::new();
    while let Some(Packet::Line(words)) = next(&mut rest) {
        let words = text(words);
        let words = words.split('\0').next().unwrap_or_default();
        let parts: Vec<&str> = words.splitn(3, ' ').collect();
        if let [old, new, reference] = parts[..]
            && let (Ok(old), Ok(new)) = (old.parse(), new.parse())
        {
            updates.push(Update { reference: reference.to_owned(), old, new });
        }
    }
    let mut out = Vec::new();
    if updates.is_empty() {
        flush(&mut out);
        return Ok(out);
    }
    let fault = host.next_fault();
    let unpacked = if rest.is_empty() { Ok(()) } else { host.unpack(name, rest) };
    match &unpacked {
        Ok(()) => line(&mut out, "unpack ok\n"),
        Err(error) => line(&mut out, format!("unpack {error}\n")),
    }
    for update in &updates {
        let refused = match &unpacked {
            Err(_) => Some("unpacker error".to_owned()),
            Ok(()) if fault == Some(PushFault::Rejected) => Some("fetch first".to_owned()),
            Ok(()) => host.update(name, update).err().map(|error| match error {
                GitError::Rejected { .. } => "fetch first".to_owned(),
                other => other.to_string(),
            }),
        };
        match refused {
            None => line(&mut out, format!("ok {}\n", update.reference)),
            Some(why) => line(&mut out, format!("ng {} {why}\n", update.reference)),
        }
    }
    flush(&mut out);
    if fault == Some(PushFault::Lost) { Err(GitError::Lost) } else { Ok(out) }
}
