//! The object store: buckets, keys, bytes, and the ways in which it fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What an object store answers instead of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Nobody answers.
    #[error("dial tcp: connect: connection refused")]
    Unreachable,
    /// 403.
    #[error("Access Denied.")]
    AccessDenied,
    /// 404 for the bucket.
    #[error("The specified bucket does not exist")]
    NoSuchBucket,
    /// 404 for the key.
    #[error("The specified key does not exist.")]
    NoSuchKey,
}

/// How a store misbehaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectFault {
    /// No connection.
    Unreachable,
    /// Every request is refused.
    AccessDenied,
    /// Everything takes this much longer.
    Slow(Duration),
}

/// A name and password for the store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// Access key.
    pub key: String,
    /// Secret key.
    pub secret: String,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The whole key.
    pub key: String,
    /// Bytes.
    pub size: u64,
    /// When it was written.
    pub modified: jiff::Timestamp,
}

#[derive(Debug, Clone)]
struct Object {
    bytes: Vec<u8>,
    modified: jiff::Timestamp,
}

#[derive(Debug, Default)]
struct Bucket {
    /// Who may enter; anyone if none.
    owner: Option<Credentials>,
    objects: BTreeMap<String, Object>,
    fault: Option<ObjectFault>,
}

#[derive(Debug, Default)]
struct Shelf {
    buckets: BTreeMap<String, Bucket>,
    fault: Option<ObjectFault>,
}

/// An object store. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    inner: Arc<Mutex<Shelf>>,
}

impl Objects {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a bucket, open to `owner` alone, or to everyone. One that exists stays as it is.
    pub fn make_bucket(&self, name: &str, owner: Option<Credentials>) {
        let bucket = Bucket { owner, ..Bucket::default() };
        self.shelf().buckets.entry(name.to_owned()).or_insert(bucket);
    }

    /// Removes a bucket with everything in it.
    pub fn destroy_bucket(&self, name: &str) {
        self.shelf().buckets.remove(name);
    }

    /// Breaks one bucket or, without a name, the whole store; None mends it.
    pub fn set_fault(&self, bucket: Option<&str>, fault: Option<ObjectFault>) {
        let mut shelf = self.shelf();
        match bucket {
            None => shelf.fault = fault,
            Some(name) => {
                if let Some(bucket) = shelf.buckets.get_mut(name) {
                    bucket.fault = fault;
                }
            }
        }
    }

    /// How much longer everything takes for a bucket now.
    pub fn delay(&self, bucket: &str) -> Duration {
        let shelf = self.shelf();
        let own = shelf.buckets.get(bucket).and_then(|bucket| bucket.fault.as_ref());
        [own, shelf.fault.as_ref()]
            .into_iter()
            .flatten()
            .map(|fault| match fault {
                ObjectFault::Slow(by) => *by,
                _ => Duration::ZERO,
            })
            .sum()
    }

    fn enter<T>(
        &self,
        who: &Credentials,
        bucket: &str,
        act: impl FnOnce(&mut Bucket) -> Result<T, ObjectError>,
    ) -> Result<T, ObjectError> {
        let mut shelf = self.shelf();
        let refuse = |fault: Option<&ObjectFault>| match fault {
            Some(ObjectFault::Unreachable) => Err(ObjectError::Unreachable),
            Some(ObjectFault::AccessDenied) => Err(ObjectError::AccessDenied),
            _ => Ok(()),
        };
        refuse(shelf.fault.as_ref())?;
        let bucket = shelf.buckets.get_mut(bucket).ok_or(ObjectError::NoSuchBucket)?;
        refuse(bucket.fault.as_ref())?;
        if bucket.owner.as_ref().is_some_and(|owner| owner != who) {
            return Err(ObjectError::AccessDenied);
        }
        act(bucket)
    }

    /// Keys that begin with `prefix`, in order.
    pub fn list(
        &self,
        who: &Credentials,
        bucket: &str,
        prefix: &str,
    ) -> Result<Vec<Entry>, ObjectError> {
        self.enter(who, bucket, |bucket| {
            Ok(bucket
                .objects
                .range(prefix.to_owned()..)
                .take_while(|(key, _)| key.starts_with(prefix))
                .map(|(key, object)| Entry {
                    key: key.clone(),
                    size: object.bytes.len() as u64,
                    modified: object.modified,
                })
                .collect())
        })
    }

    /// The bytes under a key.
    pub fn get(&self, who: &Credentials, bucket: &str, key: &str) -> Result<Vec<u8>, ObjectError> {
        self.enter(who, bucket, |bucket| {
            bucket.objects.get(key).map(|object| object.bytes.clone()).ok_or(ObjectError::NoSuchKey)
        })
    }

    /// Writes bytes under a key.
    pub fn put(
        &self,
        who: &Credentials,
        bucket: &str,
        key: &str,
        bytes: Vec<u8>,
        now: jiff::Timestamp,
    ) -> Result<(), ObjectError> {
        self.enter(who, bucket, |bucket| {
            bucket.objects.insert(key.to_owned(), Object { bytes, modified: now });
            Ok(())
        })
    }

    /// Removes a key; one that is not there is fine.
    pub fn delete(&self, who: &Credentials, bucket: &str, key: &str) -> Result<(), ObjectError> {
        self.enter(who, bucket, |bucket| {
            bucket.objects.remove(key);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> Credentials {
        Credentials { key: "me".into(), secret: "s".into() }
    }

    #[test]
    fn only_the_owner_enters_and_lists_by_prefix() {
        let objects = Objects::default();
        objects.make_bucket("b", Some(me()));
        let now = jiff::Timestamp::UNIX_EPOCH;
        for key in ["a/1", "a/2", "b/1"] {
            objects.put(&me(), "b", key, key.into(), now).unwrap();
        }
        let keys: Vec<String> =
            objects.list(&me(), "b", "a/").unwrap().into_iter().map(|entry| entry.key).collect();
        assert_eq!(keys, ["a/1", "a/2"]);
        let stranger = Credentials::default();
        assert_eq!(objects.get(&stranger, "b", "a/1"), Err(ObjectError::AccessDenied));
        assert_eq!(objects.get(&me(), "c", "a/1"), Err(ObjectError::NoSuchBucket));
        assert_eq!(objects.get(&me(), "b", "a/3"), Err(ObjectError::NoSuchKey));
        objects.delete(&me(), "b", "a/1").unwrap();
        assert_eq!(objects.list(&me(), "b", "").unwrap().len(), 2);
    }

    #[test]
    fn faults_strike_one_bucket_or_all_until_mended() {
        let objects = Objects::default();
        objects.make_bucket("a", None);
        objects.make_bucket("b", None);
        objects.set_fault(Some("a"), Some(ObjectFault::Unreachable));
        assert_eq!(objects.list(&me(), "a", ""), Err(ObjectError::Unreachable));
        assert_eq!(objects.list(&me(), "b", ""), Ok(Vec::new()));
        objects.set_fault(Some("a"), None);
        objects.set_fault(None, Some(ObjectFault::Slow(Duration::from_secs(9))));
        assert_eq!(objects.list(&me(), "a", ""), Ok(Vec::new()));
        assert_eq!(objects.delay("a"), Duration::from_secs(9));
    }
}
