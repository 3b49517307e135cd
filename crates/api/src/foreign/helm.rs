//! Helm's own record of a release, as it lies in a Secret of type `helm.sh/release.v1`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Extra;

/// The type of the Secrets.
pub const RELEASE_SECRET_TYPE: &str = "helm.sh/release.v1";

/// The name of the Secret of one revision.
pub fn release_secret_name(release: &str, revision: i64) -> String {
    format!("sh.helm.release.v1.{release}.v{revision}")
}

/// One revision of a release.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Release {
    /// The name of the release.
    pub name: String,

    /// The namespace that it is installed into.
    #[serde(default)]
    pub namespace: String,

    /// The number of the revision.
    #[serde(default)]
    pub version: i64,

    /// How it stands.
    #[serde(default)]
    pub info: ReleaseInfo,

    /// The chart.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub chart: Value,

    /// The values that were given.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub config: Value,

    /// What was rendered, as YAML documents.
    #[serde(default)]
    pub manifest: String,

    /// Its hooks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a revision stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ReleaseInfo {
    /// `deployed`, `superseded`, `failed`, `pending-upgrade` and so on.
    #[serde(default)]
    pub status: String,

    /// A remark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}
