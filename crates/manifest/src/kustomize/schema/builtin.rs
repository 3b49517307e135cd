//! What Kubernetes' own kinds say about merging: a table distilled from the OpenAPI document (v1.21.2)
//! that upstream embeds.
//!
//! A line without indentation names a definition; those below it with one space belong to it:
//!
//! - ` @apps/v1 Deployment`: objects of this kind are of the definition;
//! - ` field definition`: the field's value is of the other definition;
//! - ` field [key,key] definition`: the field is a list merged by these keys (by value if there is
//!   none); the definition of its elements may be missing.
//!
//! Fields through which no merged list can be reached are left out: what is not known and what does
//! not matter are treated alike. `testbed/oracle/schema` writes the table.

use std::sync::LazyLock;

use super::{Reference, Type};
use crate::yaml::Text;

static TABLE: &str = include_str!("kubernetes.txt");

/// The kinds Kubernetes comes with.
pub(super) static BUILTIN: LazyLock<Builtin> = LazyLock::new(Builtin::load);

/// The kinds Kubernetes comes with.
#[derive(Debug)]
pub(super) struct Builtin {
    /// Sorted by name.
    names: Vec<&'static str>,
    types: Vec<Type>,
    /// Kind, version, place of the definition; sorted.
    kinds: Vec<(&'static str, &'static str, u32)>,
}

impl Builtin {
    fn load() -> Self {
        let mut names: Vec<&'static str> =
            TABLE.lines().filter(|line| !line.starts_with(' ')).collect();
        names.sort_unstable();
        let place = |name: &str| {
            names.binary_search(&name).ok().map(|place| Reference::Builtin(place as u32))
        };
        let mut types = vec![Type::default(); names.len()];
        let mut kinds = Vec::new();
        let mut current = 0;
        for line in TABLE.lines() {
            let Some(line) = line.strip_prefix(' ') else {
                current = names.binary_search(&line).unwrap_or_default();
                continue;
            };
            let mut words = line.split(' ');
            let first = words.next().unwrap_or_default();
            if let Some(api_version) = first.strip_prefix('@') {
                kinds.push((words.next().unwrap_or_default(), api_version, current as u32));
                continue;
            }
            let mut field = Type::default();
            let mut definition = words.next();
            if let Some(keys) = definition.and_then(|word| word.strip_prefix('[')) {
                let keys = keys.trim_end_matches(']').split(',').filter(|key| !key.is_empty());
                field.merge = Some(keys.map(Text::new_static).collect());
                definition = words.next();
                field.items = definition.and_then(place).map(|reference| {
                    Box::new(Type { reference: Some(reference), ..Type::default() })
                });
            } else {
                field.reference = definition.and_then(place);
            }
            types[current].fields.push((Text::new_static(first), field));
        }
        kinds.sort_unstable();
        Self { names, types, kinds }
    }

    /// The definition of a kind.
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<&Type> {
        let found = self
            .kinds
            .binary_search_by(|(known, version, _)| (*known, *version).cmp(&(kind, api_version)));
        self.types.get(self.kinds.get(found.ok()?)?.2 as usize)
    }

    /// The definition at a place.
    pub(super) fn at(&self, place: u32) -> Option<&Type> {
        self.types.get(place as usize)
    }

    /// What the definition at a place is called.
    pub(super) fn name(&self, place: u32) -> Option<&'static str> {
        self.names.get(place as usize).copied()
    }

    /// The definition of a name.
    pub(super) fn named(&self, name: &str) -> Option<&Type> {
        self.types.get(self.names.binary_search(&name).ok()?)
    }
}
