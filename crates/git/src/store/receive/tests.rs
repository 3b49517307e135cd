//! Packs that are not what they should be.

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::pack;
use crate::testing::{Hosted, git};

/// A pack of a small repository.
fn sample() -> (Hosted, Vec<u8>) {
    let hosted = Hosted::with(&[("a.yaml", "a: 1\nb: 2\n"), ("b/c.yaml", "c\n")]);
    hosted.commit(&[("a.yaml", "a: 1\nb: 3\n")], "second");
    let store = Store::open(&hosted.bare()).unwrap();
    let tip = store.resolve("main").unwrap();
    let mut bytes = Vec::new();
    store
        .with(|repo| {
            let commits =
                [tip, repo.find_commit(tip).unwrap().parent_ids().next().unwrap().detach()];
            let objects = pack::objects(repo, &commits, &|_| false).unwrap();
            pack::write(repo, &objects, &mut bytes)
        })
        .unwrap();
    (hosted, bytes)
}

#[test]
fn a_sound_pack_is_kept_and_a_broken_one_leaves_nothing() {
    let (_hosted, bytes) = sample();
    let folder = TempDir::new().unwrap();
    let store = Store::open_or_create(&folder.path().join("s.git")).unwrap();
    for at in 0..bytes.len() {
        let cut = store.receive(&mut &bytes[..at]);
        assert!(matches!(cut, Err(ReceiveError::Pack(_))), "cut at {at}");
    }
    let packs = store.path().join("objects/pack");
    assert_eq!(fs::read_dir(&packs).unwrap().count(), 0, "no rest of what failed");
    store.receive(&mut bytes.as_slice()).unwrap();
    assert_eq!(fs::read_dir(&packs).unwrap().count(), 2);
    git(store.path(), &["fsck", "--strict", "--no-dangling"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A pack with any bytes changed is refused: none of it is taken for what it is not.
    #[test]
    fn a_changed_pack_is_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4)) {
        thread_local!(static SAMPLE: (Hosted, Vec<u8>) = sample());
        let original = SAMPLE.with(|(_, bytes)| bytes.clone());
        let mut bytes = original.clone();
        for (at, change) in changes {
            let at = at.index(bytes.len());
            bytes[at] ^= change;
        }
        prop_assume!(bytes != original);
        let folder = TempDir::new().unwrap();
        let store = Store::open_or_create(&folder.path().join("s.git")).unwrap();
        prop_assert!(store.receive(&mut bytes.as_slice()).is_err());
    }

    /// What a server greets with may be anything.
    #[test]
    fn greetings_never_break_us(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Greeting::read(&mut bytes.as_slice());
        let mut framed = Vec::new();
        for part in bytes.chunks(20) {
            crate::transport::packet::write(&mut framed, part);
        }
        let _ = Greeting::read(&mut framed.as_slice());
    }
}
