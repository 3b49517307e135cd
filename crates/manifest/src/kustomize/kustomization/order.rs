//! `sortOptions`.

use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Fields, Mark, Node, Text};

/// How the objects are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were added.
    Added,
    /// By kind.
    Legacy,
}

/// `sortOptions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortOptions {
    order: Text,
    mark: Mark,
    kinds: Option<(Vec<Text>, Vec<Text>)>,
}

impl SortOptions {
    /// Reads it. Only that of the kustomization that is built counts, so it is checked when it is used.
    pub fn read(node: &Node) -> Result<Self> {
        let mut fields = Fields::of(node, "`sortOptions`")?;
        let mark = fields.node("order").map_or(node.mark, |node| node.mark);
        let order = fields.text_or_empty("order")?;
        let kinds = match fields.node("legacySortOptions") {
            Some(node) => {
                let mut fields = Fields::of(node, "`legacySortOptions`")?;
                let mut kinds = |name| -> Result<Vec<Text>> {
                    Ok(fields.texts(name)?.into_iter().map(|(text, _)| text).collect())
                };
                let both = (kinds("orderFirst")?, kinds("orderLast")?);
                fields.finish()?;
                Some(both)
            }
            None => None,
        };
        fields.finish()?;
        Ok(Self { order, mark, kinds })
    }

    /// How the objects are sorted.
    pub fn order(&self) -> Result<Order> {
        match self.order.as_str() {
            "legacy" => Ok(Order::Legacy),
            "fifo" if self.kinds.is_none() => Ok(Order::Added),
            "fifo" => Err(Diagnostic::new(
                "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'",
            )
            .at(self.mark)
            .hint("set `order: legacy`, or remove it")),
            _ => Err(Diagnostic::new(
                "the field 'sortOptions.order' must be one of [fifo, legacy]",
            )
            .at(self.mark)),
        }
    }

    /// Kinds that come first and last, if they are not the usual ones.
    pub fn kinds(&self) -> Option<(&[Text], &[Text])> {
        self.kinds.as_ref().map(|(first, last)| (first.as_slice(), last.as_slice()))
    }
}
