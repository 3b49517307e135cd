//! Asking a server for its references and for what we lack. One round: everything that we have is said
//! at once, and the server answers with a pack.

use std::collections::BTreeMap;
use std::io::Read;

use gix::ObjectId;

use super::packet::{self, Band, Packet};
use super::{AGENT, Conversation};
use crate::error::Cause;

/// What a server greets with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Greeting {
    /// Whether it speaks the second version of the protocol.
    pub(crate) second: bool,
    /// What it can do.
    pub(crate) capabilities: Vec<String>,
    /// Its references, unless they have to be asked for.
    pub(crate) references: BTreeMap<String, ObjectId>,
}

impl Greeting {
    /// Whether it can do this.
    pub(crate) fn can(&self, what: &str) -> bool {
        self.capabilities.iter().any(|capability| {
            capability.split_once('=').map_or(capability.as_str(), |(name, _)| name) == what
        })
    }

    /// Reads it.
    pub(crate) fn read(from: &mut dyn Read) -> Result<Self, Cause> {
        let mut greeting = Self::default();
        let mut first = packet::read(from)?;
        if first.line().is_some_and(|line| line.starts_with("# service=")) {
            if packet::read(from)? != Packet::Flush {
                return Err(Cause::Protocol("no flush after the service's name".to_owned()));
            }
            first = packet::read(from)?;
        }
        if first.line().as_deref() == Some("version 2") {
            greeting.second = true;
            greeting.capabilities = super::lines(from)?;
            greeting.check_format()?;
            return Ok(greeting);
        }
        if first.line().as_deref() == Some("version 1") {
            first = packet::read(from)?;
        }
        let Some(line) = first.line() else {
            // An empty repository of an old server.
            return Ok(greeting);
        };
        let (line, capabilities) = line.split_once('\0').unwrap_or((&line, ""));
        greeting.capabilities = capabilities.split_whitespace().map(str::to_owned).collect();
        greeting.check_format()?;
        greeting.take(line)?;
        for line in super::lines(from)? {
            greeting.take(&line)?;
        }
        Ok(greeting)
    }

    fn take(&mut self, line: &str) -> Result<(), Cause> {
        if line.starts_with("shallow ") {
            return Ok(());
        }
        let (id, name) = line
            .split_once(' ')
            .ok_or_else(|| Cause::Protocol("a reference without a name".to_owned()))?;
        if name != "capabilities^{}" && !name.ends_with("^{}") {
            self.references.insert(name.to_owned(), object_id(id)?);
        }
        Ok(())
    }

    fn check_format(&self) -> Result<(), Cause> {
        match self.capabilities.iter().find_map(|c| c.strip_prefix("object-format=")) {
            None | Some("sha1") => Ok(()),
            Some(other) => Err(Cause::Protocol(format!(
                "its objects are named by {other}, and only sha1 is supported"
            ))),
        }
    }
}

fn object_id(text: &str) -> Result<ObjectId, Cause> {
    ObjectId::from_hex(text.as_bytes())
        .map_err(|_| Cause::Protocol("an object id that is none".to_owned()))
}

/// The references that begin with one of these.
pub(crate) fn references(
    conversation: &mut dyn Conversation,
    greeting: &Greeting,
    prefixes: &[String],
) -> Result<BTreeMap<String, ObjectId>, Cause> {
    let wanted = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()));
    if !greeting.second {
        let all = greeting.references.iter();
        return Ok(all.filter(|(n, _)| wanted(n)).map(|(n, i)| (n.clone(), *i)).collect());
    }
    let mut request = Vec::new();
    packet::write(&mut request, "command=ls-refs\n");
    packet::write(&mut request, format!("{AGENT}\n"));
    packet::delimit(&mut request);
    for prefix in prefixes {
        packet::write(&mut request, format!("ref-prefix {prefix}\n"));
    }
    packet::flush(&mut request);
    conversation.ask(request)?;
    let mut found = BTreeMap::new();
    for line in super::lines(conversation.answer())? {
        let mut words = line.split(' ');
        let (Some(id), Some(name)) = (words.next(), words.next()) else {
            return Err(Cause::Protocol("a reference without a name".to_owned()));
        };
        if wanted(name) && id != "unborn" {
            found.insert(name.to_owned(), object_id(id)?);
        }
    }
    Ok(found)
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    /// What we want, with all that it refers to.
    pub(crate) wants: Vec<ObjectId>,
    /// What we have, with all that it refers to.
    pub(crate) haves: Vec<ObjectId>,
    /// Commits whose parents we lack.
    pub(crate) shallow: Vec<ObjectId>,
    /// How many commits of each want; all if not said.
    pub(crate) depth: Option<u32>,
}

/// Where history ends now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// Commits whose parents were not sent.
    pub(crate) shallow: Vec<ObjectId>,
    /// Commits whose parents were sent now.
    pub(crate) unshallow: Vec<ObjectId>,
}

impl Boundary {
    fn take(&mut self, line: &str) -> Result<bool, Cause> {
        if let Some(id) = line.strip_prefix("shallow ") {
            self.shallow.push(object_id(id)?);
        } else if let Some(id) = line.strip_prefix("unshallow ") {
            self.unshallow.push(object_id(id)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// Asks, and hands the pack to `receive`. `said` gets what the server says for people to read.
pub(crate) fn pack<T>(
    conversation: &mut dyn Conversation,
    greeting: &Greeting,
    wish: &Wish,
    said: &mut String,
    receive: impl FnOnce(&mut dyn Read, &Boundary) -> Result<T, Cause>,
) -> Result<T, Cause> {
    let can_limit = if greeting.second {
        greeting
            .capabilities
            .iter()
            .any(|c| c.strip_prefix("fetch=").is_some_and(|f| f.split(' ').any(|f| f == "shallow")))
    } else {
        greeting.can("shallow")
    };
    let depth = wish.depth.filter(|_| can_limit);
    let request = if greeting.second {
        second_request(wish, depth)
    } else {
        if !greeting.can("side-band-64k") {
            return Err(Cause::Protocol("it does not know side-band-64k".to_owned()));
        }
        first_request(greeting, wish, depth)
    };
    conversation.ask(request)?;
    let answer = conversation.answer();
    let mut boundary = Boundary::default();
    if greeting.second {
        second_sections(answer, &mut boundary)?;
        let mut band = Band::new(answer, said);
        return receive(&mut band, &boundary);
    }
    if depth.is_some() {
        for line in super::lines(answer)? {
            if !boundary.take(&line)? {
                return Err(Cause::Protocol("no list of where history ends".to_owned()));
            }
        }
    }
    loop {
        match packet::read(answer)? {
            Packet::Data(data) if data.starts_with(b"ACK ") || data.starts_with(b"NAK") => {}
            Packet::Data(data) => {
                let mut band = Band::new(answer, said)
                    .starting_with(data)
                    .map_err(|error| Cause::from_io(&error))?;
                return receive(&mut band, &boundary);
            }
            _ => return Err(Cause::Protocol("no pack".to_owned())),
        }
    }
}

fn second_request(wish: &Wish, depth: Option<u32>) -> Vec<u8> {
    let mut request = Vec::new();
    packet::write(&mut request, "command=fetch\n");
    packet::write(&mut request, format!("{AGENT}\n"));
    packet::delimit(&mut request);
    packet::write(&mut request, "thin-pack\n");
    packet::write(&mut request, "ofs-delta\n");
    packet::write(&mut request, "no-progress\n");
    limits(&mut request, wish, depth);
    for id in &wish.wants {
        packet::write(&mut request, format!("want {id}\n"));
    }
    for id in &wish.haves {
        packet::write(&mut request, format!("have {id}\n"));
    }
    packet::write(&mut request, "done\n");
    packet::flush(&mut request);
    request
}

fn first_request(greeting: &Greeting, wish: &Wish, depth: Option<u32>) -> Vec<u8> {
    let mut request = Vec::new();
    // Some servers answer only those who understand detailed acknowledgements.
    let known =
        ["multi_ack_detailed", "side-band-64k", "thin-pack", "ofs-delta", "no-progress", "shallow"];
    let mut capabilities: Vec<_> = known.into_iter().filter(|name| greeting.can(name)).collect();
    if greeting.can("agent") {
        capabilities.push(AGENT);
    }
    for (at, id) in wish.wants.iter().enumerate() {
        let tail = if at == 0 { format!(" {}", capabilities.join(" ")) } else { String::new() };
        packet::write(&mut request, format!("want {id}{tail}\n"));
    }
    limits(&mut request, wish, depth);
    packet::flush(&mut request);
    for id in &wish.haves {
        packet::write(&mut request, format!("have {id}\n"));
    }
    packet::write(&mut request, "done\n");
    request
}

fn limits(request: &mut Vec<u8>, wish: &Wish, depth: Option<u32>) {
    for id in &wish.shallow {
        packet::write(request, format!("shallow {id}\n"));
    }
    if let Some(depth) = depth {
        packet::write(request, format!("deepen {depth}\n"));
    }
}

fn second_sections(answer: &mut dyn Read, boundary: &mut Boundary) -> Result<(), Cause> {
    loop {
        let packet = packet::read(answer)?;
        let Some(line) = packet.line() else {
            return Err(Cause::Protocol("no pack".to_owned()));
        };
        match line.as_str() {
            "packfile" => return Ok(()),
            "shallow-info" | "acknowledgments" | "wanted-refs" | "packfile-uris" => loop {
                match packet::read(answer)? {
                    Packet::Delimiter => break,
                    data @ Packet::Data(_) => {
                        boundary.take(&data.line().unwrap_or_default())?;
                    }
                    _ => return Err(Cause::Protocol("no pack".to_owned())),
                }
            },
            other => {
                let other = other.chars().take(40).collect::<String>();
                return Err(Cause::Protocol(format!("a section {other:?}")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1111111111111111111111111111111111111111";

    fn wire(lines: &[&str]) -> Vec<u8> {
        let mut wire = Vec::new();
        for line in lines {
            packet::write(&mut wire, line);
        }
        packet::flush(&mut wire);
        wire
    }

    #[test]
    fn greetings_of_every_age_are_read() {
        let second = wire(&["version 2\n", "ls-refs=unborn\n", "fetch=shallow\n"]);
        let greeting = Greeting::read(&mut second.as_slice()).unwrap();
        assert!(greeting.second && greeting.can("ls-refs") && greeting.can("fetch"));

        let mut http = wire(&["# service=git-upload-pack\n"]);
        let first = format!("{ID} refs/heads/main\0side-band-64k agent=git/1\n");
        http.extend(wire(&[
            &first,
            &format!("{ID} refs/tags/v1\n"),
            &format!("{ID} refs/tags/v1^{{}}\n"),
        ]));
        let greeting = Greeting::read(&mut http.as_slice()).unwrap();
        assert!(!greeting.second && greeting.can("agent") && greeting.can("side-band-64k"));
        assert_eq!(greeting.references.len(), 2);

        let none = format!("{} capabilities^{{}}\0report-status\n", "0".repeat(40));
        let greeting = Greeting::read(&mut wire(&[&none]).as_slice()).unwrap();
        assert!(greeting.references.is_empty() && greeting.can("report-status"));
    }

    #[test]
    fn what_cannot_be_served_is_named() {
        let other = wire(&["version 2\n", "object-format=sha256\n"]);
        let error = Greeting::read(&mut other.as_slice()).unwrap_err();
        assert!(error.to_string().contains("sha256"), "{error}");
        let broken = wire(&["not a reference"]);
        assert!(Greeting::read(&mut broken.as_slice()).is_err());
    }
}
