//! Git's packet lines, and the bands that a server's answer is split into.

use std::io::{self, Read};

use crate::error::Cause;

/// The longest payload of a packet.
const LONGEST: usize = 65516;

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// Some bytes.
    Data(Vec<u8>),
    /// The end of a list.
    Flush,
    /// Between two parts of a message.
    Delimiter,
    /// The end of an answer.
    End,
}

impl Packet {
    /// The text without its line break, or nothing for a marker.
    pub(crate) fn line(&self) -> Option<String> {
        match self {
            Self::Data(bytes) => {
                let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => None,
        }
    }
}

/// Reads one packet.
pub(crate) fn read(from: &mut dyn Read) -> Result<Packet, Cause> {
    let mut head = [0; 4];
    from.read_exact(&mut head).map_err(|error| Cause::from_io(&error))?;
    let length =
        std::str::from_utf8(&head).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
    let Some(length) = length else {
        let shown = String::from_utf8_lossy(&head).escape_debug().to_string();
        return Err(Cause::Protocol(format!("a packet begins with {shown:?}")));
    };
    match length {
        0 => Ok(Packet::Flush),
        1 => Ok(Packet::Delimiter),
        2 => Ok(Packet::End),
        3 => Err(Cause::Protocol("a packet of length 3".to_owned())),
        length if length - 4 > LONGEST => {
            Err(Cause::Protocol(format!("a packet of length {length}")))
        }
        length => {
            let mut data = vec![0; length - 4];
            from.read_exact(&mut data).map_err(|error| Cause::from_io(&error))?;
            if let Some(message) = data.strip_prefix(b"ERR ") {
                let message = String::from_utf8_lossy(message).trim().to_owned();
                return Err(Cause::Said(message));
            }
            Ok(Packet::Data(data))
        }
    }
}

/// Appends one packet with this text.
pub(crate) fn write(to: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    let text = text.as_ref();
    to.extend_from_slice(format!("{:04x}", text.len() + 4).as_bytes());
    to.extend_from_slice(text);
}

/// Appends the end of a list.
pub(crate) fn flush(to: &mut Vec<u8>) {
    to.extend_from_slice(b"0000");
}

/// Appends the mark between two parts of a message.
pub(crate) fn delimit(to: &mut Vec<u8>) {
    to.extend_from_slice(b"0001");
}

/// The first band of an answer as bytes; the second, what the server says meanwhile, is kept.
pub(crate) struct Band<'a> {
    from: &'a mut dyn Read,
    current: Vec<u8>,
    at: usize,
    ended: bool,
    said: &'a mut String,
}

/// How much of what a server says is kept.
const KEPT: usize = 8 << 10;

impl<'a> Band<'a> {
    /// `said` receives what the server says for people to read.
    pub(crate) fn new(from: &'a mut dyn Read, said: &'a mut String) -> Self {
        Self { from, current: Vec::new(), at: 0, ended: false, said }
    }

    /// Begins with a packet that was read already.
    pub(crate) fn starting_with(mut self, data: Vec<u8>) -> io::Result<Self> {
        self.sort(data)?;
        Ok(self)
    }

    fn sort(&mut self, data: Vec<u8>) -> io::Result<()> {
        match data.first() {
            Some(1) => {
                self.current = data;
                self.at = 1;
            }
            Some(2) => keep(self.said, &data[1..]),
            Some(3) => {
                let message = String::from_utf8_lossy(&data[1..]).trim().to_owned();
                return Err(Cause::Said(message).into());
            }
            _ => return Err(Cause::Protocol("a packet of no known band".to_owned()).into()),
        }
        Ok(())
    }
}

/// Keeps the beginning of what a server says.
pub(crate) fn keep(said: &mut String, bytes: &[u8]) {
    if said.len() < KEPT {
        said.push_str(&String::from_utf8_lossy(&bytes[..bytes.len().min(KEPT)]));
    }
}

impl Read for Band<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.current.len() {
            if self.ended {
                return Ok(0);
            }
            match read(self.from)? {
                Packet::Data(data) => self.sort(data)?,
                Packet::Flush | Packet::Delimiter | Packet::End => self.ended = true,
            }
        }
        let rest = &self.current[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_are_written() {
        let mut wire = Vec::new();
        write(&mut wire, "hello\n");
        delimit(&mut wire);
        flush(&mut wire);
        assert_eq!(wire, b"000ahello\n00010000");
        let mut from = wire.as_slice();
        assert_eq!(read(&mut from).unwrap().line().as_deref(), Some("hello"));
        assert_eq!(read(&mut from), Ok(Packet::Delimiter));
        assert_eq!(read(&mut from), Ok(Packet::Flush));
        assert_eq!(read(&mut from), Err(Cause::Cut(String::new())));
    }

    #[test]
    fn what_is_no_packet_is_said_so() {
        for bad in ["<htm", "0003", "ffff"] {
            assert!(matches!(read(&mut bad.as_bytes()), Err(Cause::Protocol(_))), "{bad}");
        }
        let mut wire = Vec::new();
        write(&mut wire, "ERR access denied\n");
        assert_eq!(read(&mut wire.as_slice()), Err(Cause::Said("access denied".into())));
    }

    #[test]
    fn bands_are_told_apart() {
        let mut wire = Vec::new();
        write(&mut wire, b"\x02counting\n");
        write(&mut wire, b"\x01PA");
        write(&mut wire, b"\x01CK");
        flush(&mut wire);
        let (mut said, mut text) = (String::new(), String::new());
        let mut from = wire.as_slice();
        Band::new(&mut from, &mut said).read_to_string(&mut text).unwrap();
        assert_eq!((said.as_str(), text.as_str()), ("counting\n", "PACK"));
        let mut wire = Vec::new();
        write(&mut wire, b"\x03out of memory");
        let mut from = wire.as_slice();
        let error = Band::new(&mut from, &mut said).read_to_string(&mut text).unwrap_err();
        assert_eq!(Cause::from_io(&error), Cause::Said("out of memory".into()));
    }
}
