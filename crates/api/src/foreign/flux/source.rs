//! Flux's source kinds.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use serde::{Deserialize, Serialize};

use super::{LocalName, Reference};
use crate::foreign::Extra;

/// What a source has stored.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Where it can be fetched.
    #[serde(default)]
    pub url: String,

    /// Where it lies in the controller's storage.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,

    /// The revision, such as `main@sha1:…`.
    #[serde(default)]
    pub revision: String,

    /// The digest of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// When it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,

    /// Its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Artifact {
    /// The commit of the revision, if it is one of git.
    pub fn commit(&self) -> Option<&str> {
        let (_, id) = self.revision.rsplit_once(':')?;
        self.revision.contains("@sha").then_some(id)
    }
}

/// The status that every source has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// The generation that it speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// What it has stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,

    /// The last reconcile request that led to a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A git repository.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "GitRepository",
    plural = "gitrepositories",
    namespaced,
    status = "SourceStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct GitRepositorySpec {
    /// Its URL.
    #[serde(default)]
    pub url: String,

    /// How often it is asked.
    #[serde(default)]
    pub interval: String,

    /// What is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<GitReference>,

    /// The credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalName>,

    /// How it authenticates otherwise: `generic`, `github`, `azure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// How long one fetch may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,

    /// What is left out of the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What of a git repository is followed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GitReference {
    /// A branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,

    /// A tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,

    /// A range of versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,

    /// A reference by its full name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,

    /// A commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An OCI artifact.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "OCIRepository",
    plural = "ocirepositories",
    namespaced,
    status = "SourceStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct OCIRepositorySpec {
    /// Its URL.
    #[serde(default)]
    pub url: String,

    /// How often it is asked.
    #[serde(default)]
    pub interval: String,

    /// What is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<OciReference>,

    /// The credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalName>,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What of an OCI artifact is followed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OciReference {
    /// A tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,

    /// A digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// A range of versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A repository of Helm charts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "HelmRepository",
    plural = "helmrepositories",
    namespaced,
    status = "SourceStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct HelmRepositorySpec {
    /// Its URL.
    #[serde(default)]
    pub url: String,

    /// How often its index is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,

    /// `default` or `oci`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,

    /// The credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalName>,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Helm chart from a source.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "source.toolkit.fluxcd.io",
    version = "v1",
    kind = "HelmChart",
    plural = "helmcharts",
    namespaced,
    status = "SourceStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartSpec {
    /// The name of the chart, or its path.
    #[serde(default)]
    pub chart: String,

    /// The version, or a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// Where it comes from.
    #[serde(default)]
    pub source_ref: Reference,

    /// How often it is asked.
    #[serde(default)]
    pub interval: String,

    /// `ChartVersion` or `Revision`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconcile_strategy: Option<String>,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod tests {
    use super::Artifact;

    #[test]
    fn a_git_revision_ends_in_its_commit() {
        let artifact =
            |revision: &str| Artifact { revision: revision.into(), ..Default::default() };
        assert_eq!(artifact("main@sha1:abc").commit(), Some("abc"));
        assert_eq!(artifact("sha1:abc").commit(), None);
        assert_eq!(artifact("1.2.3").commit(), None);
    }
}
