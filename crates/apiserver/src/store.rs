//! What is kept: objects by table, the changes that made them, and who watches.
//!
//! One revision counts all writes, as in etcd. Each table remembers its latest changes, so that a watch
//! can start in the past and a paged list can go on reading the moment it began.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

/// Where an object lies in its table; the namespace is empty for cluster-scoped kinds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Namespace, or empty.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Key {
    /// A key from its parts.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// An object as it was stored at one revision.
#[derive(Debug)]
pub struct Stored {
    /// The revision that wrote it.
    pub revision: u64,
    /// The object in its storage version, resourceVersion included.
    pub value: Value,
    bytes: OnceLock<Bytes>,
}

impl Stored {
    fn new(revision: u64, value: Value) -> Arc<Self> {
        Arc::new(Self { revision, value, bytes: OnceLock::new() })
    }

    /// The object as JSON, made once.
    pub fn bytes(&self) -> Bytes {
        self.bytes
            .get_or_init(|| serde_json::to_vec(&self.value).map(Bytes::from).unwrap_or_default())
            .clone()
    }

    /// `metadata.uid`
    pub fn uid(&self) -> &str {
        self.value["metadata"]["uid"].as_str().unwrap_or_default()
    }
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    /// Created.
    Added,
    /// Updated.
    Modified,
    /// Removed.
    Deleted,
}

impl Did {
    /// The watch event's type.
    pub fn event(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One write, as watchers see it.
#[derive(Debug)]
pub struct Change {
    /// What happened.
    pub did: Did,
    /// Where.
    pub key: Key,
    /// The object afterwards; of a delete, the last state with the deletion's revision.
    pub object: Arc<Stored>,
    /// The object before.
    pub previous: Option<Arc<Stored>>,
    line: OnceLock<Bytes>,
}

impl Change {
    /// The event line for a watcher without selector that asked for the storage version, made once.
    pub fn line(&self) -> Bytes {
        self.line.get_or_init(|| event_line(self.did.event(), &self.object.bytes())).clone()
    }
}

/// `{"type":…,"object":…}` and a newline.
pub fn event_line(event: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + 32);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(event.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}

/// How many changes a table remembers before old watches expire.
const HISTORY: usize = 20_000;

#[derive(Debug, Default)]
struct Table {
    objects: BTreeMap<Key, Arc<Stored>>,
    history: VecDeque<Arc<Change>>,
    /// Everything at or before this revision is forgotten.
    compacted: u64,
    /// Watchers of all namespaces, and of one.
    everywhere: Vec<mpsc::UnboundedSender<Arc<Change>>>,
    by_namespace: BTreeMap<String, Vec<mpsc::UnboundedSender<Arc<Change>>>>,
}

/// A watch or a snapshot of a revision that the table no longer remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// The oldest revision that can still be asked for.
    pub oldest: u64,
}

/// The whole state of the cluster.
#[derive(Debug, Default)]
pub struct Store {
    revision: u64,
    tables: BTreeMap<Arc<str>, Table>,
    /// Keys of objects by the uid of an owner, for the garbage collector.
    dependents: BTreeMap<String, BTreeSet<(Arc<str>, Key)>>,
    /// Table and key of every live uid.
    by_uid: BTreeMap<String, (Arc<str>, Key)>,
}

impl Store {
    /// The revision of the latest write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Makes a revision pass without a write, as the real server's own bookkeeping does.
    pub fn tick(&mut self) -> u64 {
        self.revision += 1;
        self.revision
    }

    /// Starts a table whose past is unknown (a new CRD's cache).
    pub fn open_table(&mut self, table: &Arc<str>) {
        let revision = self.revision;
        self.tables
            .entry(table.clone())
            .or_insert_with(|| Table { compacted: revision, ..Table::default() });
    }

    /// Forgets a table and ends its watches.
    pub fn drop_table(&mut self, table: &str) {
        self.tables.remove(table);
    }

    /// One object.
    pub fn get(&self, table: &str, key: &Key) -> Option<&Arc<Stored>> {
        self.tables.get(table)?.objects.get(key)
    }

    /// The object that carries this uid.
    pub fn by_uid(&self, uid: &str) -> Option<(&Arc<str>, &Key, &Arc<Stored>)> {
        let (table, key) = self.by_uid.get(uid)?;
        Some((table, key, self.get(table, key)?))
    }

    /// Objects that name this uid as an owner, in order.
    pub fn dependents(&self, uid: &str) -> Vec<(Arc<str>, Key)> {
        self.dependents.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// Objects of a table in key order, of one namespace or all.
    pub fn range<'a>(
        &'a self,
        table: &str,
        namespace: Option<&'a str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (&'a Key, &'a Arc<Stored>)> + 'a> {
        let Some(table) = self.tables.get(table) else { return Box::new(std::iter::empty()) };
        let start = match (after, namespace) {
            (Some(key), _) => Bound::Excluded(key.clone()),
            (None, Some(namespace)) => Bound::Included(Key::new(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        Box::new(
            table
                .objects
                .range((start, Bound::Unbounded))
                .take_while(move |(key, _)| namespace.is_none_or(|ns| key.namespace == ns)),
        )
    }

    /// Names of all tables that hold objects.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<str>> {
        self.tables.iter().filter(|(_, t)| !t.objects.is_empty()).map(|(name, _)| name)
    }

    /// The objects of a table as they were at a revision.
    pub fn snapshot(
        &self,
        table: &str,
        revision: u64,
    ) -> Result<BTreeMap<Key, Arc<Stored>>, Expired> {
        let Some(table) = self.tables.get(table) else { return Ok(BTreeMap::new()) };
        if revision < table.compacted {
            return Err(Expired { oldest: table.compacted });
        }
        let mut objects = table.objects.clone();
        for change in table.history.iter().rev().take_while(|c| c.object.revision > revision) {
            match &change.previous {
                Some(previous) => objects.insert(change.key.clone(), previous.clone()),
                None => objects.remove(&change.key),
            };
        }
        Ok(objects)
    }

    /// Creates or replaces an object; `value` gets its resourceVersion here.
    pub fn put(&mut self, table: &Arc<str>, key: Key, mut value: Value) -> Arc<Stored> {
        let revision = self.tick();
        set_revision(&mut value, revision);
        let stored = Stored::new(revision, value);
        let previous = self
            .tables
            .entry(table.clone())
            .or_default()
            .objects
            .insert(key.clone(), stored.clone());
        self.index(table, &key, previous.as_deref(), Some(&stored));
        let did = if previous.is_some() { Did::Modified } else { Did::Added };
        self.publish(table, did, key, stored.clone(), previous);
        stored
    }

    /// Removes an object. Watchers see `last` (its final state) with the revision of the deletion.
    pub fn remove(
        &mut self,
        table: &Arc<str>,
        key: &Key,
        last: Option<Value>,
    ) -> Option<Arc<Stored>> {
        let previous = self.tables.get_mut(table)?.objects.remove(key)?;
        let revision = self.tick();
        let mut value = last.unwrap_or_else(|| previous.value.clone());
        set_revision(&mut value, revision);
        let gone = Stored::new(revision, value);
        self.index(table, key, Some(&previous), None);
        self.publish(table, Did::Deleted, key.clone(), gone.clone(), Some(previous));
        Some(gone)
    }

    fn index(&mut self, table: &Arc<str>, key: &Key, old: Option<&Stored>, new: Option<&Stored>) {
        let place = (table.clone(), key.clone());
        if let Some(old) = old {
            for owner in owner_uids(&old.value) {
                if let Some(set) = self.dependents.get_mut(owner) {
                    set.remove(&place);
                    if set.is_empty() {
                        self.dependents.remove(owner);
                    }
                }
            }
            if new.is_none_or(|new| new.uid() != old.uid()) {
                self.by_uid.remove(old.uid());
            }
        }
        if let Some(new) = new {
            for owner in owner_uids(&new.value) {
                self.dependents.entry(owner.to_owned()).or_default().insert(place.clone());
            }
            if old.is_none_or(|old| new.uid() != old.uid()) {
                self.by_uid.insert(new.uid().to_owned(), place);
            }
        }
    }

    fn publish(
        &mut self,
        table: &Arc<str>,
        did: Did,
        key: Key,
        object: Arc<Stored>,
        previous: Option<Arc<Stored>>,
    ) {
        let Some(table) = self.tables.get_mut(table) else { return };
        let change = Arc::new(Change { did, key, object, previous, line: OnceLock::new() });
        table.everywhere.retain(|watcher| watcher.send(change.clone()).is_ok());
        if let Some(watchers) = table.by_namespace.get_mut(&change.key.namespace) {
            watchers.retain(|watcher| watcher.send(change.clone()).is_ok());
        }
        table.history.push_back(change);
        if table.history.len() > HISTORY
            && let Some(oldest) = table.history.pop_front()
        {
            table.compacted = oldest.object.revision;
        }
    }

    /// Follows a table from after `since` on; `None` starts now.
    pub fn watch(
        &mut self,
        table: &Arc<str>,
        namespace: Option<&str>,
        since: Option<u64>,
    ) -> Result<mpsc::UnboundedReceiver<Arc<Change>>, Expired> {
        let revision = self.revision;
        let table = self
            .tables
            .entry(table.clone())
            .or_insert_with(|| Table { compacted: revision, ..Table::default() });
        let (sender, receiver) = mpsc::unbounded_channel();
        if let Some(since) = since {
            if since < table.compacted {
                return Err(Expired { oldest: table.compacted });
            }
            let first = table.history.partition_point(|c| c.object.revision <= since);
            for change in table.history.range(first..) {
                if namespace.is_none_or(|ns| ns == change.key.namespace) {
                    // The receiver is still in our hands.
                    drop(sender.send(change.clone()));
                }
            }
        }
        match namespace {
            None => table.everywhere.push(sender),
            Some(ns) => table.by_namespace.entry(ns.to_owned()).or_default().push(sender),
        }
        Ok(receiver)
    }

    /// Forgets the past up to and including a revision: older watches and snapshots expire.
    pub fn compact(&mut self, revision: u64) {
        for table in self.tables.values_mut() {
            while table.history.front().is_some_and(|c| c.object.revision <= revision) {
                table.history.pop_front();
            }
            table.compacted = table.compacted.max(revision);
        }
    }

    /// Ends every watch, as a restart of the server or a broken network does.
    pub fn drop_watches(&mut self) {
        for table in self.tables.values_mut() {
            table.everywhere.clear();
            table.by_namespace.clear();
        }
    }
}

fn owner_uids(value: &Value) -> impl Iterator<Item = &str> {
    value["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|owner| owner["uid"].as_str())
}

fn set_revision(value: &mut Value, revision: u64) {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".into(), Value::from(revision.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(name: &str, data: u32) -> Value {
        json!({"metadata": {"name": name, "namespace": "t", "uid": format!("u-{name}")}, "data": data})
    }

    #[test]
    fn a_snapshot_shows_the_table_as_it_was() {
        let mut store = Store::default();
        let table: Arc<str> = "/configmaps".into();
        store.put(&table, Key::new("t", "a"), object("a", 1));
        store.put(&table, Key::new("t", "b"), object("b", 1));
        let then = store.revision();
        store.put(&table, Key::new("t", "a"), object("a", 2));
        store.remove(&table, &Key::new("t", "b"), None);
        store.put(&table, Key::new("t", "c"), object("c", 1));

        let names: Vec<_> = store
            .snapshot(&table, then)
            .unwrap()
            .into_values()
            .map(|o| o.value["data"].clone())
            .collect();
        assert_eq!(names, [json!(1), json!(1)]);
        assert_eq!(store.range(&table, Some("t"), None).count(), 2);
    }

    #[test]
    fn a_watch_from_the_past_replays_and_then_follows() {
        let mut store = Store::default();
        let table: Arc<str> = "/configmaps".into();
        store.put(&table, Key::new("t", "a"), object("a", 1));
        let since = store.revision();
        store.put(&table, Key::new("t", "a"), object("a", 2));
        let mut watch = store.watch(&table, Some("t"), Some(since)).unwrap();
        store.remove(&table, &Key::new("t", "a"), None);
        store.put(&table, Key::new("other", "x"), object("x", 1));

        assert_eq!(watch.try_recv().unwrap().did, Did::Modified);
        let deleted = watch.try_recv().unwrap();
        assert_eq!(deleted.did, Did::Deleted);
        assert_eq!(deleted.object.value["metadata"]["resourceVersion"], json!("3"));
        assert!(watch.try_recv().is_err(), "other namespaces are not told");
    }

    #[test]
    fn what_was_compacted_is_expired() {
        let mut store = Store::default();
        let table: Arc<str> = "/configmaps".into();
        for n in 0..5 {
            store.put(&table, Key::new("t", "a"), object("a", n));
        }
        store.compact(3);
        assert_eq!(store.watch(&table, None, Some(2)).err(), Some(Expired { oldest: 3 }));
        assert!(store.watch(&table, None, Some(3)).is_ok());
        assert!(store.snapshot(&table, 2).is_err());
    }

    #[test]
    fn owners_find_their_dependents() {
        let mut store = Store::default();
        let table: Arc<str> = "/configmaps".into();
        let mut child = object("child", 1);
        child["metadata"]["ownerReferences"] = json!([{"uid": "u-owner"}]);
        store.put(&table, Key::new("t", "child"), child.clone());
        assert_eq!(store.dependents("u-owner").len(), 1);
        child["metadata"]["ownerReferences"] = json!([]);
        store.put(&table, Key::new("t", "child"), child);
        assert!(store.dependents("u-owner").is_empty());
    }
}
