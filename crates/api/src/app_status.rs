//! What Holdfast has found out about an app.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// A version of an app: its chart and its images.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The version of the chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub chart: Option<String>,

    /// The images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub images: Vec<ImageVersion>,
}

/// The version of one image.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.tag) || has(self.digest)").message("an image needs a version: write tag, digest, or both"))]
pub struct ImageVersion {
    /// The image without tag, such as `ghcr.io/example/app`.
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9][a-z0-9._:/-]*$') && !self.matches(':[^/]*$') && !self.contains('@')").message("write the image without tag and digest, such as ghcr.io/example/app; those have fields of their own"))]
    pub name: String,

    /// The tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    #[x_kube(validation = Rule::new("self.matches('^[A-Za-z0-9_][A-Za-z0-9_.-]*$')").message("write the tag alone, such as 1.2.3; a digest belongs into digest"))]
    pub tag: Option<String>,

    /// The digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 80))]
    #[x_kube(validation = Rule::new("self.matches('^sha256:[0-9a-f]{64}$')").message("write the digest as sha256: and 64 hexadecimal digits"))]
    pub digest: Option<String>,
}

/// The version in git and the one that runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CurrentVersion {
    /// Both in one line.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub summary: String,

    /// What git says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Version>,

    /// The commit that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub revision: Option<String>,

    /// What runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Version>,
}

/// A newer version.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AvailableUpdate {
    /// The update in one line.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub summary: String,

    /// The version.
    #[serde(default)]
    pub version: Version,

    /// Patch, Minor, Major or Digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<VersionChange>,

    /// Who says so: a pull request, an ImagePolicy, a registry.
    #[serde(default)]
    #[schemars(length(max = 512))]
    pub source: String,

    /// When it was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_at: Option<Time>,
}

/// How far apart two versions are.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Deserialize,
    Serialize,
    JsonSchema,
    IntoStaticStr,
    Display,
)]
pub enum VersionChange {
    /// Only the digest differs.
    Digest,
    /// The third number differs.
    Patch,
    /// The second number differs.
    Minor,
    /// The first number differs.
    Major,
    /// They cannot be compared.
    Other,
}

/// Whether the app is healthy.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Deserialize,
    Serialize,
    JsonSchema,
    IntoStaticStr,
    Display,
)]
pub enum HealthVerdict {
    /// Everything runs as it should.
    Healthy,
    /// It is on the way.
    Progressing,
    /// It is not healthy.
    Unhealthy,
    /// It cannot be told.
    #[default]
    Unknown,
}

/// The app's health.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppHealth {
    /// Healthy, Progressing, Unhealthy or Unknown.
    #[serde(default)]
    pub verdict: HealthVerdict,

    /// Why.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub message: String,

    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// A volume of the app.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundVolume {
    /// The claim.
    #[schemars(length(max = 253))]
    pub claim: String,

    /// The namespace of the claim.
    #[serde(default)]
    #[schemars(length(max = 63))]
    pub namespace: String,

    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Quantity>,

    /// Its storage class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub storage_class_name: Option<String>,

    /// How it can be mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4), inner(length(max = 32)))]
    pub access_modes: Vec<String>,

    /// The snapshot class that would be used; nothing if it cannot be snapshotted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub snapshot_class_name: Option<String>,

    /// When a restore of its data was last proven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proven_at: Option<Time>,
}

/// Who has the app.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppLock {
    /// The operation, as `Kind/name`.
    #[schemars(length(max = 320))]
    pub holder: String,

    /// The uid of the operation.
    #[schemars(length(max = 64))]
    pub uid: String,

    /// Since when.
    pub since: Time,
}

/// One operation that ended.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperationSummary {
    /// The operation, as `Kind/name`.
    #[schemars(length(max = 320))]
    pub operation: String,

    /// The version before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub from: Option<String>,

    /// The version after.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub to: Option<String>,

    /// How it ended: the phase of the operation.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub outcome: String,

    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,

    /// How long the app was away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub downtime: Option<String>,

    /// The commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub revision: Option<String>,
}

/// A version that failed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarantinedVersion {
    /// The version, or a range of versions.
    #[schemars(length(max = 256))]
    pub version: String,

    /// Why.
    #[schemars(length(max = 1024))]
    pub reason: String,

    /// The operation that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 320))]
    pub operation: Option<String>,

    /// Since when.
    pub since: Time,
}
