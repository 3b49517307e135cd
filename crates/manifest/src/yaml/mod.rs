//! YAML as Kubernetes' tools read and write it: parsed into nodes that know their place in the text,
//! resolved as Go's YAML library resolves them, written as it writes them.

pub mod emit;
mod fields;
mod node;
mod order;
mod parse;
pub(crate) mod rewrite;
pub mod scalar;
pub(crate) mod source;
mod timestamp;

pub use fields::Fields;
pub(crate) use fields::nearest;
pub use node::{Entry, Key, Mapping, Mark, Node, Scalar, Style, Tag, Value};
pub use parse::{Document, configuration, documents, patches, strict_configuration};
pub(crate) use parse::{check_name, explicit_tag, style_of};
pub use smol_str::SmolStr as Text;
