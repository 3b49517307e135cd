//! Strictness for parts of a kustomization that are read by the steps themselves, which are as lenient
//! as their configurations are in files of their own.

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Fields, Node, Tag};

/// What a field may hold.
enum Shape {
    Text,
    Flag,
    Number,
    Texts,
    Mapping(&'static Known),
    List(&'static Known),
}

/// The fields of a mapping.
struct Known {
    what: &'static str,
    fields: &'static [(&'static str, Shape)],
}

const SELECTOR: Known = Known {
    what: "a selector",
    fields: &[
        ("group", Shape::Text),
        ("version", Shape::Text),
        ("kind", Shape::Text),
        ("name", Shape::Text),
        ("namespace", Shape::Text),
        ("labelSelector", Shape::Text),
        ("annotationSelector", Shape::Text),
    ],
};

const PATCH: Known = Known {
    what: "a patch",
    fields: &[
        ("path", Shape::Text),
        ("patch", Shape::Text),
        ("target", Shape::Mapping(&SELECTOR)),
        (
            "options",
            Shape::Mapping(&Known {
                what: "a patch's options",
                fields: &[("allowNameChange", Shape::Flag), ("allowKindChange", Shape::Flag)],
            }),
        ),
    ],
};

const FIELD_OPTIONS: Known = Known {
    what: "a replacement's options",
    fields: &[
        ("delimiter", Shape::Text),
        ("index", Shape::Number),
        ("encoding", Shape::Text),
        ("create", Shape::Flag),
    ],
};

const REPLACEMENT: Known = Known {
    what: "a replacement",
    fields: &[
        ("path", Shape::Text),
        ("sourceValue", Shape::Text),
        (
            "source",
            Shape::Mapping(&Known {
                what: "a replacement's source",
                fields: &[
                    ("group", Shape::Text),
                    ("version", Shape::Text),
                    ("kind", Shape::Text),
                    ("name", Shape::Text),
                    ("namespace", Shape::Text),
                    ("fieldPath", Shape::Text),
                    ("options", Shape::Mapping(&FIELD_OPTIONS)),
                ],
            }),
        ),
        (
            "targets",
            Shape::List(&Known {
                what: "a replacement's target",
                fields: &[
                    ("select", Shape::Mapping(&SELECTOR)),
                    ("reject", Shape::List(&SELECTOR)),
                    ("fieldPaths", Shape::Texts),
                    ("options", Shape::Mapping(&FIELD_OPTIONS)),
                ],
            }),
        ),
    ],
};

/// Whether the entries of `patches` and `patchesJson6902` have no other fields than patches have.
pub(super) fn patches(entries: &[Node]) -> Result<()> {
    entries.iter().try_for_each(|entry| check(entry, &PATCH))
}

/// Whether the entries of `replacements` have no other fields than replacements have.
pub(super) fn replacements(entries: &[Node]) -> Result<()> {
    entries.iter().try_for_each(|entry| check(entry, &REPLACEMENT))
}

fn check(node: &Node, known: &'static Known) -> Result<()> {
    if node.is_null() {
        return Ok(());
    }
    let mut fields = Fields::of(node, known.what)?;
    for (name, shape) in known.fields {
        match shape {
            Shape::Text => {
                fields.text(name)?;
            }
            Shape::Flag => {
                fields.boolean(name)?;
            }
            Shape::Number => {
                if let Some(found) = fields.node(name)
                    && !found
                        .as_scalar()
                        .is_some_and(|scalar| matches!(scalar.tag, Tag::Int | Tag::Float))
                {
                    let message = format!("`{name}` of {} must be a number", known.what);
                    return Err(Diagnostic::new(message).at(found.mark));
                }
            }
            Shape::Texts => {
                fields.texts(name)?;
            }
            Shape::Mapping(inner) => {
                if let Some(found) = fields.node(name) {
                    check(found, inner)?;
                }
            }
            Shape::List(inner) => {
                fields.list(name)?.iter().try_for_each(|item| check(item, inner))?;
            }
        }
    }
    fields.finish()
}
