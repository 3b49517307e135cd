//! Conditions as kstatus reads them: `Ready` says whether the object is as its spec asks,
//! `Reconciling` that it is on the way, `Stalled` that only a person can help.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use strum::{Display, IntoStaticStr};

/// The condition types that every kind carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum ConditionType {
    /// The object is as its spec asks.
    Ready,
    /// Work towards the spec is under way.
    Reconciling,
    /// Nothing more happens until somebody changes something.
    Stalled,
}

impl ConditionType {
    /// The name as it stands in `status.conditions[].type`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The value of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, Display)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It could not be found out.
    Unknown,
}

impl ConditionStatus {
    /// The value as it stands in `status.conditions[].status`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// A kind whose status has conditions and the generation they speak of.
pub trait Conditioned: kube::Resource {
    /// The conditions of the status; empty while there is none.
    fn conditions(&self) -> &[Condition];

    /// The generation that the status speaks of.
    fn observed_generation(&self) -> Option<i64>;

    /// One condition by type.
    fn condition(&self, kind: ConditionType) -> Option<&Condition> {
        self.conditions().iter().find(|condition| condition.type_ == kind.name())
    }

    /// Whether `Ready` is `True` for the present generation: a stale `Ready` is not readiness.
    fn is_ready(&self) -> bool {
        self.observed_generation() == self.meta().generation
            && self.condition(ConditionType::Ready).is_some_and(|ready| ready.status == "True")
    }
}

/// Implements [`Conditioned`] for a kind whose optional status has the two fields.
macro_rules! conditioned {
    ($kind:ty) => {
        impl $crate::condition::Conditioned for $kind {
            fn conditions(&self) -> &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition] {
                self.status.as_ref().map_or(&[], |status| &status.conditions)
            }

            fn observed_generation(&self) -> Option<i64> {
                self.status.as_ref().and_then(|status| status.observed_generation)
            }
        }
    };
}
pub(crate) use conditioned;
