//! Steps that are still to be connected.
#![allow(missing_docs, unused)]
use super::*;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::*;
fn no<T>() -> Result<T> {
    Err(Diagnostic::new("this step is not supported yet"))
}
#[derive(Debug, Default)]
pub struct Schema;
impl Schema {
    pub fn new() -> Self {
        Self
    }
    pub fn choose(&self, version: Option<&str>, document: Option<Document>) -> Result<()> {
        Ok(())
    }
    pub fn is_cluster_scoped(&self, gvk: &Gvk) -> bool {
        false
    }
}
pub struct Document;
impl Document {
    pub fn parse(t: &str) -> Result<Self> {
        no()
    }
}
pub struct Patch;
impl Patch {
    pub fn from_config(n: &Node, l: &Loader<'_>) -> Result<Self> {
        no()
    }
    pub fn apply(&self, r: &mut Resources, s: &Schema) -> Result<()> {
        no()
    }
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
pub struct Json6902Patch;
impl Json6902Patch {
    pub fn from_entry(n: &Node, l: &Loader<'_>) -> Result<Self> {
        no()
    }
    pub fn from_config(n: &Node, l: &Loader<'_>) -> Result<Self> {
        no()
    }
    pub fn apply(&self, r: &mut Resources) -> Result<()> {
        no()
    }
}
pub struct StrategicMergePatches;
impl StrategicMergePatches {
    pub fn new(n: &[(Text, Mark)], l: &Loader<'_>) -> Result<Self> {
        no()
    }
    pub fn from_config(n: &Node, l: &Loader<'_>) -> Result<Self> {
        no()
    }
    pub fn apply(&self, r: &mut Resources, s: &Schema) -> Result<()> {
        no()
    }
}
#[derive(Default)]
pub struct Replacements;
impl Replacements {
    pub fn add(&mut self, n: &Node, l: &Loader<'_>) -> Result<()> {
        no()
    }
    pub fn from_config(n: &Node, l: &Loader<'_>) -> Result<Self> {
        no()
    }
    pub fn apply(&self, r: &mut Resources) -> Result<()> {
        no()
    }
}
pub struct IamPolicy;
impl IamPolicy {
    pub fn from_config(n: &Node) -> Result<Self> {
        no()
    }
    pub fn generate(&self) -> Node {
        Node::null()
    }
}
