//! ServiceAccount.

use super::{Strategy, form};

/// The rules of ServiceAccount: none but its form.
pub const SERVICE_ACCOUNT: Strategy = Strategy {
    defaults: |account| form::settle("v1", "ServiceAccount", account),
    ..Strategy::PLAIN
};
