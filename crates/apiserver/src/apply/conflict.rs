//! The answer to an apply that would take fields from other managers.

use serde_json::{Value, json};

use super::fieldset::FieldSet;
use super::manager::Id;
use crate::status::Failure;

/// Fields that others own and the apply would change, by owner.
#[derive(Debug, Clone, Default)]
pub struct Conflicts(pub Vec<(Id, FieldSet)>);

impl Conflicts {
    /// All the fields.
    pub fn fields(&self) -> FieldSet {
        self.0.iter().fold(FieldSet::default(), |all, (_, set)| all.union(set))
    }

    /// Without some fields.
    #[must_use]
    pub fn except(&self, fields: &FieldSet) -> Self {
        let left = self.0.iter().map(|(id, set)| (id.clone(), set.difference(fields)));
        Self(left.filter(|(_, set)| !set.is_empty()).collect())
    }

    /// The 409.
    pub fn failure(mut self) -> Failure {
        self.0.sort_by_cached_key(|(id, _)| id.text());
        let mut causes: Vec<Value> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        let mut only = String::new();
        for (id, set) in &self.0 {
            let manager = id.shown();
            lines.push(format!("conflicts with {manager}:"));
            for path in set.paths() {
                lines.push(format!("- {path}"));
                only = format!("conflict with {manager}: {path}");
                causes.push(json!({
                    "reason": "FieldManagerConflict",
                    "message": format!("conflict with {manager}"),
                    "field": path,
                }));
            }
        }
        let message = match causes.len() {
            1 => format!("Apply failed with 1 conflict: {only}"),
            many => format!("Apply failed with {many} conflicts: {}", lines.join("\n")),
        };
        Failure::new(409, "Conflict", message).with_details(json!({ "causes": causes }))
    }
}
