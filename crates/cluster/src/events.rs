//! Kubernetes events with the time that was passed in. The name of an event follows from what it
//! says, so that the same thing said again is counted, not listed twice.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde_json::json;

use crate::call::{CallError, bounded};
use crate::clock::{Clock, micro_time};

/// The longest note that the API server takes.
const NOTE: usize = 1024;

/// Whether something went as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum Kind {
    /// It did.
    Normal,
    /// It did not.
    Warning,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Whether it went as it should.
    pub kind: Kind,
    /// For programs: why, in one word.
    pub reason: &'static str,
    /// For programs: what was being done, in one word.
    pub action: &'static str,
    /// For people.
    pub note: String,
}

/// Publishes events.
#[derive(Clone)]
pub struct Publisher {
    client: Client,
    clock: Arc<dyn Clock>,
    instance: Arc<str>,
}

impl Publisher {
    /// A publisher in the name of this process.
    pub fn new(client: Client, clock: Arc<dyn Clock>, instance: Arc<str>) -> Self {
        Self { client, clock, instance }
    }

    /// Says it about each of the objects: ours, and the Flux object that people look at. An event
    /// that cannot be written is logged: nothing waits for it.
    pub async fn publish(&self, about: &[ObjectReference], notice: &Notice) {
        for object in about {
            if let Err(error) = self.write(object, notice).await {
                tracing::warn!(
                    %error,
                    reason = notice.reason,
                    object = object.name.as_deref(),
                    "an event could not be written"
                );
            }
        }
    }

    async fn write(&self, about: &ObjectReference, notice: &Notice) -> Result<(), CallError> {
        // Events about objects of the cluster lie in the namespace default.
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let name = name(about, notice);
        let now = micro_time(self.clock.now());
        let event = Event {
            metadata: kube::api::ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace.to_owned()),
                ..Default::default()
            },
            event_time: Some(now.clone()),
            type_: Some(<&str>::from(notice.kind).to_owned()),
            reason: Some(notice.reason.to_owned()),
            action: Some(notice.action.to_owned()),
            note: Some(shortened(&notice.note)),
            regarding: Some(about.clone()),
            reporting_controller: Some(holdfast_api::GROUP.to_owned()),
            reporting_instance: Some(self.instance.chars().take(128).collect()),
            ..Default::default()
        };
        match bounded(events.create(&PostParams::default(), &event)).await {
            Err(error) if error.is_conflict() => {}
            written => return written.map(drop),
        }
        let before = bounded(events.get_opt(&name)).await?;
        let Some(before) = before else { return Ok(()) };
        let count = before.series.map_or(1, |series| series.count) + 1;
        let series = EventSeries { count, last_observed_time: now };
        let patch = Patch::Merge(json!({ "series": series }));
        bounded(events.patch(&name, &PatchParams::default(), &patch)).await.map(drop)
    }
}

/// A reference to an object, as events carry it.
pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    object.object_ref(&())
}

fn name(about: &ObjectReference, notice: &Notice) -> String {
    let mut hash = Fnv::default();
    for part in [
        about.kind.as_deref().unwrap_or_default(),
        about.uid.as_deref().unwrap_or_default(),
        notice.reason,
        notice.action,
        &notice.note,
    ] {
        hash.write(part.as_bytes());
        hash.write(&[0]);
    }
    let object = about.name.as_deref().unwrap_or("object");
    let object: String = object.chars().take(230).collect();
    format!("{object}.{:016x}", hash.0)
}

/// FNV-1a: stable between versions and processes, which the standard hasher does not promise.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn shortened(note: &str) -> String {
    if note.len() <= NOTE {
        return note.to_owned();
    }
    let mut end = NOTE - '…'.len_utf8();
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &note[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_is_cut_between_letters() {
        let note = "ä".repeat(600);
        let cut = shortened(&note);
        assert!(cut.len() <= NOTE && cut.ends_with("ä…"), "{}", cut.len());
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn names_follow_from_what_is_said() {
        let about = ObjectReference { name: Some("a".into()), ..Default::default() };
        let notice = |note: &str| Notice {
            kind: Kind::Normal,
            reason: "Resolved",
            action: "Resolve",
            note: note.to_owned(),
        };
        assert_eq!(name(&about, &notice("x")), name(&about, &notice("x")));
        assert_ne!(name(&about, &notice("x")), name(&about, &notice("y")));
    }
}
