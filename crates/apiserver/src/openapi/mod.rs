//! What the server says about the shape of its objects: `/openapi/v3`.
//!
//! A document per group and version, made when it is first asked for and kept until a kind in it changes.
//! Built-in schemas are those of [`builtin`](crate::builtin); their descriptions come from the Rust types of the same
//! API. Custom schemas are what their definitions say.

mod custom;
mod descriptions;
mod document;
mod paths;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, EXPIRES, HeaderName, LOCATION, VARY};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

pub use descriptions::description;

use crate::resource::Resource;
use crate::server::Kinds;
use crate::server::respond::{Answer, Content};

/// How long a document may be kept by those who know its hash.
const YEAR: SignedDuration = SignedDuration::from_hours(365 * 24);

/// The documents that were asked for.
#[derive(Default)]
pub struct Documents {
    made: Mutex<BTreeMap<String, Arc<Document>>>,
}

/// One document.
struct Document {
    hash: String,
    bytes: Bytes,
    /// Its kinds; a definition that changes brings new ones.
    kinds: Vec<Arc<Resource>>,
}

/// What a caller wants of a document.
pub struct Wish<'a> {
    /// Which one: `apis/apps/v1`; empty for the list of all.
    pub path: &'a str,
    /// The hash that the caller knows from the list.
    pub hash: &'a str,
    /// The tag of the document that the caller has (`If-None-Match`).
    pub known: &'a str,
    /// The server's time.
    pub now: Timestamp,
}

impl Documents {
    /// Answers `/openapi/v3` and everything below it.
    pub fn answer(&self, kinds: &Kinds, wish: &Wish<'_>) -> Answer {
        if wish.path.is_empty() {
            return self.index(kinds);
        }
        let Some((group, version)) = group_version(wish.path) else { return missing() };
        let resources = kinds.resources(group, version);
        if resources.is_empty() {
            return missing();
        }
        let tag = |hash: &str| vec![(ETAG, format!("\"{hash}\"")), (VARY, "Accept".into())];
        let hash = self.hash(kinds, group, version);
        if !wish.hash.is_empty() && wish.hash != hash {
            let mut headers = tag(&hash);
            headers.push((LOCATION, relative(wish.path, &hash)));
            return with(301, headers, Bytes::new());
        }
        if wish.known == format!("\"{hash}\"") {
            return with(304, tag(&hash), Bytes::new());
        }
        let mut headers = tag(&hash);
        if wish.hash == hash {
            headers.push((CACHE_CONTROL, "public, immutable".into()));
            if let Ok(end) = wish.now.checked_add(YEAR) {
                headers.push((EXPIRES, end.strftime("%a, %d %b %Y %H:%M:%S UTC").to_string()));
            }
        }
        with(200, headers, self.document(&resources, group, version).bytes.clone())
    }

    fn index(&self, kinds: &Kinds) -> Answer {
        let mut paths = Map::new();
        for group in kinds.groups() {
            for version in kinds.versions(group) {
                let path = path_of(group, version);
                let url = relative(&path, &self.hash(kinds, group, version));
                paths.insert(path, json!({ "serverRelativeURL": url }));
            }
        }
        let body = json!({ "paths": paths }).to_string();
        Answer::text("text/plain; charset=utf-8", body)
    }

    /// The hash of a document. Built-in ones never change, so theirs is known before they are made.
    fn hash(&self, kinds: &Kinds, group: &str, version: &str) -> String {
        if kinds.is_built_in(group) {
            let name = concat!("holdfast ", env!("CARGO_PKG_VERSION"), " kubernetes 1.36.3 ");
            return digest(format!("{name}{}", path_of(group, version)).as_bytes());
        }
        self.document(&kinds.resources(group, version), group, version).hash.clone()
    }

    fn document(&self, resources: &[&Arc<Resource>], group: &str, version: &str) -> Arc<Document> {
        let path = path_of(group, version);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = made.get(&path).filter(|document| document.is_of(resources)) {
            return document.clone();
        }
        let bytes = Bytes::from(document::document(group, version, resources).to_string());
        let kinds = resources.iter().map(|one| (*one).clone()).collect();
        let document = Arc::new(Document { hash: digest(&bytes), bytes, kinds });
        made.insert(path, document.clone());
        document
    }
}

impl Document {
    fn is_of(&self, resources: &[&Arc<Resource>]) -> bool {
        self.kinds.len() == resources.len()
            && self.kinds.iter().zip(resources).all(|(kept, now)| Arc::ptr_eq(kept, now))
    }
}

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn group_version(path: &str) -> Option<(&str, &str)> {
    if let Some(version) = path.strip_prefix("api/") {
        return Some(("", version));
    }
    path.strip_prefix("apis/")?.split_once('/')
}

fn relative(path: &str, hash: &str) -> String {
    format!("/openapi/v3/{path}?hash={hash}")
}

fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha512::digest(bytes).iter().fold(String::with_capacity(128), |mut text, byte| {
        let _ = write!(text, "{byte:02X}");
        text
    })
}

fn with(code: u16, headers: Vec<(HeaderName, String)>, body: Bytes) -> Answer {
    Answer { code, warnings: Vec::new(), headers, content: Content::Text("application/json", body) }
}

fn missing() -> Answer {
    Answer { code: 404, ..Answer::text("", Bytes::new()) }
}

/// A reference to a schema of the same document.
fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

#[cfg(test)]
mod tests;
