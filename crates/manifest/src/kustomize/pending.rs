//! Steps that are still to be connected.
#![allow(missing_docs, unused)]
use super::*;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::*;
fn no<T>() -> Result<T> {
    Err(Diagnostic::new("this step is not supported yet"))
}
pub struct Value;
impl Value {
    pub fn from_config(n: &Node) -> Result<Self> {
        no()
    }
    pub fn apply(&self, r: &mut Resources) -> Result<()> {
        no()
    }
}
