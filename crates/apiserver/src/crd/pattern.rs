//! Regular expressions that schemas and rules bring along, compiled once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex::Regex;

/// Patterns beyond this many are compiled each time; a cluster has fewer.
const MOST: usize = 4096;

static KNOWN: Mutex<BTreeMap<String, Option<Arc<Regex>>>> = Mutex::new(BTreeMap::new());

/// The compiled pattern; none if it is not one.
pub fn compiled(pattern: &str) -> Option<Arc<Regex>> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(pattern) {
        return found.clone();
    }
    let regex = Regex::new(pattern).ok().map(Arc::new);
    if known.len() < MOST {
        known.insert(pattern.to_owned(), regex.clone());
    }
    regex
}
