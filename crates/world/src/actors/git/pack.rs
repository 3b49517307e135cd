//! Packs: whole objects on the way out, deltas too on the way in.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use sha1::{Digest, Sha1};

use super::objects::{Id, Kind, Objects, name};

/// The most that one object may unpack to.
const LARGEST: u64 = 64 << 20;

/// A pack of these objects, none as a delta.
pub fn write(objects: &Objects, ids: &[Id]) -> std::io::Result<Vec<u8>> {
    let found: Vec<(Kind, &Arc<[u8]>)> = ids.iter().filter_map(|id| objects.get(*id)).collect();
    let mut pack = Vec::from(*b"PACK\0\0\0\x02");
    pack.extend_from_slice(&u32::try_from(found.len()).unwrap_or(u32::MAX).to_be_bytes());
    for (kind, body) in found {
        let code: u8 = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        let mut size = body.len();
        let mut byte = (code << 4) | low(size, 0x0f);
        size >>= 4;
        while size > 0 {
            pack.push(byte | 0x80);
            byte = low(size, 0x7f);
            size >>= 7;
        }
        pack.push(byte);
        let mut encoder = ZlibEncoder::new(&mut pack, Compression::default());
        encoder.write_all(body)?;
        encoder.finish()?;
    }
    let sum = Sha1::digest(&pack);
    pack.extend_from_slice(&sum);
    Ok(pack)
}

/// The low bits of a size.
fn low(size: usize, mask: u8) -> u8 {
    size.to_le_bytes()[0] & mask
}

enum Base {
    At(usize),
    Named(Id),
}

enum Packed {
    Whole(Kind, Vec<u8>),
    Delta(Base, Vec<u8>),
}

/// Unpacks what a client pushed; deltas may build on what `known` has.
pub fn read(pack: &[u8], known: &Objects) -> Result<Vec<(Kind, Vec<u8>)>, String> {
    let head = pack.get(..12).ok_or("the pack is too short")?;
    if &head[..4] != b"PACK" || head[4..8] != [0, 0, 0, 2] {
        return Err("not a pack of version 2".into());
    }
    let end = pack.len().checked_sub(20).filter(|end| *end >= 12).ok_or("the pack is too short")?;
    if Sha1::digest(&pack[..end]).as_slice() != &pack[end..] {
        return Err("the pack's checksum does not match".into());
    }
    let count = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    let mut at = 12;
    let mut packed: Vec<(usize, Packed)> = Vec::new();
    for _ in 0..count {
        let start = at;
        packed.push((start, read_one(&pack[..end], &mut at, start)?));
    }
    resolve(packed, known)
}

fn read_one(pack: &[u8], at: &mut usize, start: usize) -> Result<Packed, String> {
    let mut next = || -> Result<u8, String> {
        let byte = pack.get(*at).copied().ok_or("the pack ends too early")?;
        *at += 1;
        Ok(byte)
    };
    let first = next()?;
    let code = (first >> 4) & 7;
    let mut size = u64::from(first & 0x0f);
    let (mut shift, mut byte) = (4_u32, first);
    while byte & 0x80 != 0 {
        byte = next()?;
        size |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(u64::MAX);
        shift += 7;
    }
    if size > LARGEST {
        return Err(format!("an object of {size} bytes is too large"));
    }
    let base = match code {
        6 => {
            let mut byte = next()?;
            let mut back = u64::from(byte & 0x7f);
            while byte & 0x80 != 0 {
                byte = next()?;
                back = ((back + 1) << 7) | u64::from(byte & 0x7f);
                if back > u64::from(u32::MAX) {
                    return Err("a delta reaches back too far".into());
                }
            }
            let back = usize::try_from(back).unwrap_or(usize::MAX);
            Some(Base::At(start.checked_sub(back).ok_or("a delta reaches before the pack")?))
        }
        7 => {
            let mut id = [0; 20];
            for byte in &mut id {
                *byte = next()?;
            }
            Some(Base::Named(Id(id)))
        }
        _ => None,
    };
    let mut decoder = ZlibDecoder::new(&pack[*at..]);
    let mut body = Vec::new();
    (&mut decoder).take(LARGEST).read_to_end(&mut body).map_err(|error| error.to_string())?;
    *at += usize::try_from(decoder.total_in()).unwrap_or(usize::MAX);
    if body.len() as u64 != size {
        return Err("an object is not as long as it says".into());
    }
    Ok(match (code, base) {
        (_, Some(base)) => Packed::Delta(base, body),
        (1, _) => Packed::Whole(Kind::Commit, body),
        (2, _) => Packed::Whole(Kind::Tree, body),
        (3, _) => Packed::Whole(Kind::Blob, body),
        (4, _) => Packed::Whole(Kind::Tag, body),
        _ => return Err(format!("there is no object type {code}")),
    })
}

fn resolve(packed: Vec<(usize, Packed)>, known: &Objects) -> Result<Vec<(Kind, Vec<u8>)>, String> {
    let mut done: Vec<(Kind, Vec<u8>)> = Vec::new();
    let mut by_offset: BTreeMap<usize, usize> = BTreeMap::new();
    let mut by_name: BTreeMap<Id, usize> = BTreeMap::new();
    let mut open = packed;
    // Bases may come after what builds on them, so this goes round until nothing moves.
    while !open.is_empty() {
        let before = open.len();
        let mut waiting = Vec::new();
        for (offset, packed) in open {
            let (kind, body) = match packed {
                Packed::Whole(kind, body) => (kind, body),
                Packed::Delta(base, delta) => {
                    let found = match &base {
                        Base::At(at) => by_offset.get(at).and_then(|at| done.get(*at)).cloned(),
                        Base::Named(id) => {
                            by_name.get(id).and_then(|at| done.get(*at)).cloned().or_else(|| {
                                known.get(*id).map(|(kind, body)| (kind, body.to_vec()))
                            })
                        }
                    };
                    let Some((kind, source)) = found else {
                        waiting.push((offset, Packed::Delta(base, delta)));
                        continue;
                    };
                    (kind, apply(&source, &delta)?)
                }
            };
            by_offset.insert(offset, done.len());
            by_name.insert(name(kind, &body), done.len());
            done.push((kind, body));
        }
        if waiting.len() == before {
            return Err("a delta's base is missing".into());
        }
        open = waiting;
    }
    Ok(done)
}

fn apply(source: &[u8], delta: &[u8]) -> Result<Vec<u8>, String> {
    let short = || "a delta ends too early".to_owned();
    let mut rest = delta;
    let take = |rest: &mut &[u8]| -> Result<u8, String> {
        let (first, tail) = rest.split_first().ok_or_else(short)?;
        *rest = tail;
        Ok(*first)
    };
    let size = |rest: &mut &[u8]| -> Result<u64, String> {
        let (mut value, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = take(rest)?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(u64::MAX);
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
    };
    if size(&mut rest)? != source.len() as u64 {
        return Err("a delta was made for another base".into());
    }
    let wanted = size(&mut rest)?;
    if wanted > LARGEST {
        return Err("a delta makes an object that is too large".into());
    }
    let mut target = Vec::new();
    while !rest.is_empty() {
        let (command, tail) = rest.split_first().ok_or_else(short)?;
        rest = tail;
        if command & 0x80 == 0 {
            let count = usize::from(*command);
            if count == 0 {
                return Err("a delta has a reserved command".into());
            }
            target.extend_from_slice(rest.get(..count).ok_or_else(short)?);
            rest = &rest[count..];
            continue;
        }
        let mut field = |bits: std::ops::Range<u32>| -> Result<usize, String> {
            let mut value = 0_usize;
            for (place, bit) in bits.enumerate() {
                if command & (1 << bit) != 0 {
                    let (first, tail) = rest.split_first().ok_or_else(short)?;
                    value |= usize::from(*first) << (8 * place);
                    rest = tail;
                }
            }
            Ok(value)
        };
        let from = field(0..4)?;
        let count = match field(4..7)? {
            0 => 0x1_0000,
            count => count,
        };
        let end = from.checked_add(count).ok_or_else(short)?;
        target.extend_from_slice(source.get(from..end).ok_or_else(short)?);
        if target.len() as u64 > wanted {
            return Err("a delta makes more than it says".into());
        }
    }
    if target.len() as u64 == wanted { Ok(target) } else { Err(short()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_reads_back() {
        let mut objects = Objects::default();
        let big = vec![b'x'; 100_000];
        let ids = [objects.put(Kind::Blob, big.clone()), objects.put(Kind::Blob, b"y".to_vec())];
        let pack = write(&objects, &ids).unwrap();
        let back = read(&pack, &Objects::default()).unwrap();
        assert_eq!(back, [(Kind::Blob, big), (Kind::Blob, b"y".to_vec())]);
    }

    #[test]
    fn deltas_copy_and_insert() {
        // Copy 5 bytes from 0, insert "!".
        let delta = [5, 6, 0x90, 5, 1, b'!'];
        assert_eq!(apply(b"hello", &delta).unwrap(), b"hello!");
        assert_eq!(apply(b"hell", &delta).unwrap_err(), "a delta was made for another base");
    }

    #[test]
    fn broken_packs_are_refused() {
        assert!(read(b"PACK", &Objects::default()).is_err());
        let mut pack = write(&Objects::default(), &[]).unwrap();
        assert_eq!(read(&pack, &Objects::default()).unwrap(), []);
        *pack.last_mut().unwrap() ^= 1;
        assert!(read(&pack, &Objects::default()).unwrap_err().contains("checksum"));
    }
}
