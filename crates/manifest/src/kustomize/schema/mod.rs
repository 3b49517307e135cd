//! Which lists are merged, and by which keys: from the kinds Kubernetes comes with, and from a schema
//! of the user's own.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Node, Text};

mod builtin;
mod custom;

use builtin::BUILTIN;
pub use custom::Document;

use super::Gvk;

/// The version of Kubernetes that the built-in kinds are of.
pub const VERSION: &str = "v1.21.2";

/// What is known of a field, as far as merging needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Type {
    reference: Option<Reference>,
    /// Sorted by name.
    fields: Vec<(Text, Type)>,
    /// Of a mapping with any keys.
    values: Option<Box<Type>>,
    /// Of a list's elements.
    items: Option<Box<Type>>,
    /// The keys a list is merged by; none of them if by value. `None` if it is replaced.
    merge: Option<Vec<Text>>,
}

/// A definition elsewhere.
#[derive(Clone, Debug)]
enum Reference {
    Builtin(u32),
    Named(Text),
}

/// What a build knows about kinds. Whoever sets it first wins, as a build's root does before anything
/// else; it is shared by all folders of a build.
#[derive(Debug, Default)]
pub struct Schema {
    chosen: OnceLock<Option<Arc<Document>>>,
    /// Whether the built-in kinds were asked for before a schema was chosen, and stay known beside it.
    builtin: AtomicU8,
}

const ASKED: u8 = 1;
const LOADED: u8 = 2;

/// Which definitions count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    custom: Option<&'a Document>,
    builtin: bool,
    custom_first: bool,
}

impl Schema {
    /// The built-in kinds.
    pub fn new() -> Self {
        Self::default()
    }

    /// The built-in kinds, which stay known beside a schema that is chosen if `kept`: Flux loads them
    /// before it builds.
    pub fn keeping(kept: bool) -> Self {
        Self { builtin: AtomicU8::new(if kept { LOADED } else { 0 }), ..Self::default() }
    }

    /// Chooses as the field `openapi` of a kustomization says: a version of the built-in kinds, or a
    /// document. What was chosen before stays.
    pub fn choose(&self, version: Option<&str>, document: Option<Document>) -> Result<()> {
        if self.chosen.get().is_some() {
            return Ok(());
        }
        let chosen = match (version, document) {
            (Some(_), Some(_)) => {
                return Err(Diagnostic::new(
                    "builtin version and custom schema provided, cannot use both",
                )
                .hint("keep either `version` or `path` of `openapi`"));
            }
            (None, Some(document)) => Some(Arc::new(document)),
            (Some(VERSION), None) => None,
            (None | Some(""), None) => return Ok(()),
            (Some(_), None) => {
                return Err(Diagnostic::new("the specified OpenAPI version is not built in")
                    .hint(format!("the built-in version is {VERSION}")));
            }
        };
        let _ = self.chosen.set(chosen);
        Ok(())
    }

    fn custom(&self) -> Option<&Document> {
        self.chosen.get()?.as_deref()
    }

    /// Whether objects of a kind that Kubernetes does not come with are known to live outside of
    /// namespaces.
    pub fn is_cluster_scoped(&self, gvk: &Gvk) -> bool {
        let Some(document) = self.custom() else {
            let _ = self.builtin.compare_exchange(0, ASKED, Ordering::Relaxed, Ordering::Relaxed);
            return false;
        };
        document.is_namespaced(&gvk.api_version(), &gvk.kind) == Some(false)
    }

    /// The definitions that count from now on.
    pub(crate) fn view(&self) -> Result<View<'_>> {
        match self.custom() {
            None => {
                self.builtin.store(LOADED, Ordering::Relaxed);
                Ok(View { custom: None, builtin: true, custom_first: false })
            }
            Some(document) => {
                document.check()?;
                let builtin = self.builtin.load(Ordering::Relaxed);
                Ok(View {
                    custom: Some(document),
                    builtin: builtin != 0,
                    custom_first: builtin == LOADED,
                })
            }
        }
    }
}

impl<'a> View<'a> {
    fn pick<T>(
        self,
        custom: impl FnOnce(&'a Document) -> Option<T>,
        builtin: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let from_custom = || self.custom.and_then(custom);
        let from_builtin = || if self.builtin { builtin() } else { None };
        if self.custom_first {
            from_custom().or_else(from_builtin)
        } else {
            from_builtin().or_else(from_custom)
        }
    }

    /// What is known of an object: by its `apiVersion` and `kind`.
    pub(crate) fn object(self, node: &Node) -> Option<&'a Type> {
        let text = |name| node.get(name).and_then(Node::text).filter(|text| !text.is_empty());
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let found = self
            .pick(|document| document.kind(api_version, kind), || BUILTIN.kind(api_version, kind));
        self.resolved(found?)
    }

    /// What is known of a field.
    pub(crate) fn field(self, of: &'a Type, name: &str) -> Option<&'a Type> {
        let field = match of.fields.binary_search_by(|(known, _)| known.as_str().cmp(name)) {
            Ok(place) => of.fields.get(place).map(|(_, field)| field),
            Err(_) => of.values.as_deref(),
        };
        self.resolved(field?)
    }

    /// What is known of a list's elements.
    pub(crate) fn items(self, of: &'a Type) -> Option<&'a Type> {
        self.resolved(of.items.as_deref()?)
    }

    fn resolved(self, mut found: &'a Type) -> Option<&'a Type> {
        // A definition that refers to itself would never end.
        for _ in 0..32 {
            let Some(reference) = &found.reference else { return Some(found) };
            found = match reference {
                Reference::Builtin(place) if self.custom.is_none() => BUILTIN.at(*place)?,
                Reference::Builtin(place) => {
                    let name = BUILTIN.name(*place)?;
                    self.pick(|document| document.named(name), || BUILTIN.at(*place))?
                }
                Reference::Named(name) => {
                    self.pick(|document| document.named(name), || BUILTIN.named(name))?
                }
            };
        }
        None
    }
}

impl Type {
    /// The keys its elements are merged by; `None` if the list is replaced.
    pub(crate) fn merge_keys(&self) -> Option<&[Text]> {
        self.merge.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(view: View<'_>, api_version: &str, kind: &str, path: &[&str]) -> Option<String> {
        let mut object = Node::mapping();
        object.as_mapping_mut()?.set("apiVersion", Node::string(api_version));
        object.as_mapping_mut()?.set("kind", Node::string(kind));
        let mut found = view.object(&object)?;
        for part in path {
            found = if *part == "[]" { view.items(found)? } else { view.field(found, part)? };
        }
        Some(found.merge_keys()?.join(","))
    }

    #[test]
    fn the_built_in_kinds_know_their_keys() {
        let schema = Schema::new();
        let view = schema.view().unwrap();
        let ports = ["spec", "template", "spec", "containers", "[]", "ports"];
        assert_eq!(
            keys(view, "apps/v1", "Deployment", &ports).as_deref(),
            Some("containerPort,protocol")
        );
        let finalizers = ["metadata", "finalizers"];
        assert_eq!(keys(view, "v1", "ConfigMap", &finalizers).as_deref(), Some(""));
        let arguments = ["spec", "template", "spec", "containers", "[]", "args"];
        assert_eq!(keys(view, "apps/v1", "Deployment", &arguments), None);
        assert_eq!(keys(view, "apps/v2", "Deployment", &ports), None);
    }

    #[test]
    fn a_schema_of_ones_own_takes_the_place_of_the_built_in_kinds() -> Result<()> {
        let schema = Schema::new();
        let document = Document::parse(
            r##"{"definitions": {
                "v1.Thing": {"type": "object",
                  "properties": {"parts": {"type": "array", "items": {"$ref": "#/definitions/v1.Part"},
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "id"}},
                  "x-kubernetes-group-version-kind": [{"group": "example.org", "version": "v1", "kind": "Thing"}]},
                "v1.Part": {"type": "object", "additionalProperties": {"type": "array",
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-list-map-keys": ["a", "b"]}}}}"##,
        );
        schema.choose(None, Some(document))?;
        let view = schema.view().unwrap();
        assert_eq!(keys(view, "example.org/v1", "Thing", &["parts"]).as_deref(), Some("id"));
        let inner = ["parts", "[]", "whatever"];
        assert_eq!(keys(view, "example.org/v1", "Thing", &inner).as_deref(), Some("a,b"));
        let containers = ["spec", "template", "spec", "containers"];
        assert_eq!(keys(view, "apps/v1", "Deployment", &containers), None);
        Ok(())
    }

    #[test]
    fn built_in_kinds_that_were_used_stay_known() -> Result<()> {
        let schema = Schema::new();
        let _ = schema.view().unwrap();
        schema.choose(None, Some(Document::default()))?;
        let containers = ["spec", "template", "spec", "containers"];
        assert_eq!(
            keys(schema.view().unwrap(), "apps/v1", "Deployment", &containers).as_deref(),
            Some("name")
        );
        assert!(schema.choose(Some("v1.2"), None).is_ok(), "the first choice stays");
        assert!(Schema::new().choose(Some("v1.2"), None).is_err());
        Ok(())
    }
}
