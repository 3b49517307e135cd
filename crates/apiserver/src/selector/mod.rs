//! Which objects a list, a watch or a delete is about: selectors by labels and by fields.

mod fields;
mod labels;

pub use fields::Fields;
pub use labels::{Labels, Operator, Requirement};
