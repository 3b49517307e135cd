//! Labels, annotations, finalizers and field managers: every name that Holdfast writes on an
//! object, or reads from one, outside its own kinds.

/// On one of our objects: asks for a run now. Any new value counts, usually the present time.
pub const REQUESTED_AT: &str = "holdfast.dev/requestedAt";
/// On a request: who made it. Stamped by admission, never written by a person.
pub const REQUESTED_BY: &str = "holdfast.dev/requested-by";
/// On a Flux object: who holds it suspended, why, and what was found.
pub const HOLDS: &str = "holdfast.dev/holds";
/// Finalizer that keeps a held object until its hold is released.
pub const HOLD_FINALIZER: &str = "holdfast.dev/hold";
/// On a Flux object or a namespace: makes a ManagedApp of it when `"true"`.
pub const MANAGED: &str = "holdfast.dev/managed";
/// On a Flux object: namespaces whose objects may refer to it, separated by commas.
pub const ALLOW_FROM: &str = "holdfast.dev/allow-from";
/// On a claim that a swap made: the lineage of its data.
pub const ORIGIN: &str = "holdfast.dev/origin";
/// On a claim: start empty although a backup exists; the value is the reason.
pub const SKIP_RESTORE: &str = "holdfast.dev/skip-restore";
/// On a claim: no backup wanted; the value is the reason.
pub const EXEMPT: &str = "holdfast.dev/exempt";
/// On a claim: restore what was there at this time, or this snapshot.
pub const RESTORE_AS_OF: &str = "holdfast.dev/restore-as-of";
/// On a Flux object: `auto`, `manual` or `never`.
pub const RECOVERY: &str = "holdfast.dev/recovery";
/// On an applied object: `rolling`, `recreate` or `blue-green`.
pub const UPDATE_STRATEGY: &str = "holdfast.dev/update-strategy";
/// On an applied object: its place in the order of resolution, lower first.
pub const DEPENDENCY_WEIGHT: &str = "holdfast.dev/dependency-weight";
/// On an object: fields that may not change, which only a webhook knows.
pub const IMMUTABLE_FIELDS: &str = "holdfast.dev/immutable-fields";

/// The namespace that Holdfast lives in.
pub const NAMESPACE: &str = "holdfast-system";
