//! The objects of a build, in order.

use super::{Resource, ResourceId};

/// The objects of a build, in the order they were added.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The objects.
    pub list: Vec<Resource>,
}

impl Resources {
    /// The places of those that are called so now.
    pub fn called(&self, id: &ResourceId) -> Vec<usize> {
        let matches = |resource: &Resource| resource.current_id() == *id;
        self.list
            .iter()
            .enumerate()
            .filter(|(_, resource)| matches(resource))
            .map(|(place, _)| place)
            .collect()
    }
}
