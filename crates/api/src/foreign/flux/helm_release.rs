//! Flux's HelmRelease.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Inventory, Reference};
use crate::foreign::Extra;

/// What a HelmRelease installs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "helm.toolkit.fluxcd.io",
    version = "v2",
    kind = "HelmRelease",
    plural = "helmreleases",
    namespaced,
    status = "HelmReleaseStatus",
    schema = "disabled",
    derive = "PartialEq",
    derive = "Default"
)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseSpec {
    /// How often it is looked at.
    #[serde(default)]
    pub interval: String,

    /// The chart, as a template of a HelmChart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<HelmChartTemplate>,

    /// The chart, as an object that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_ref: Option<Reference>,

    /// Whether it is suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,

    /// The name of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_name: Option<String>,

    /// The namespace that is installed into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_namespace: Option<String>,

    /// The namespace that Helm keeps its records in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_namespace: Option<String>,

    /// What has to be ready first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Reference>,

    /// How long one action may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,

    /// How many revisions Helm keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_history: Option<i64>,

    /// The account that it acts as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// How it installs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<HelmAction>,

    /// How it upgrades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<HelmAction>,

    /// How it rolls back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Value>,

    /// How it uninstalls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uninstall: Option<Value>,

    /// Values from ConfigMaps and Secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<Value>,

    /// Values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Value>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A template of a HelmChart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartTemplate {
    /// Its spec.
    #[serde(default)]
    pub spec: HelmChartTemplateSpec,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The spec of the HelmChart that is made.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartTemplateSpec {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How an action is taken.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmAction {
    /// What follows a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<HelmRemediation>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What follows a failure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmRemediation {
    /// How often it is tried again; below zero without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<i64>,

    /// `rollback` or `uninstall`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,

    /// Whether the last failure is remediated too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediate_last_failure: Option<bool>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a HelmRelease has done.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseStatus {
    /// The generation that it speaks of. While suspended it moves without a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The generation that was last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_generation: Option<i64>,

    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,

    /// The releases, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HelmSnapshot>,

    /// The revision that was last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_revision: Option<String>,

    /// The digest of the values that were last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_config_digest: Option<String>,

    /// The action that was last tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_attempted_release_action: Option<String>,

    /// The last reconcile request that led to a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,

    /// The last request to act although nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_force_at: Option<String>,

    /// The last request to forget failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reset_at: Option<String>,

    /// The HelmChart, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helm_chart: Option<String>,

    /// Where Helm keeps its records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_namespace: Option<String>,

    /// How often it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<i64>,

    /// How often an upgrade has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade_failures: Option<i64>,

    /// How often an installation has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_failures: Option<i64>,

    /// What it has installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One release.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmSnapshot {
    /// Its name.
    #[serde(default)]
    pub name: String,

    /// Its namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,

    /// Its number.
    #[serde(default)]
    pub version: i64,

    /// What Helm says of it: `deployed`, `failed`, `superseded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,

    /// The name of the chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_name: Option<String>,

    /// The version of the chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_version: Option<String>,

    /// The version of the app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_version: Option<String>,

    /// The digest of its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,

    /// The digest of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,

    /// When the name was first deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_deployed: Option<Time>,

    /// When this release was deployed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_deployed: Option<Time>,

    /// When it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Time>,

    /// The fields that this view does not name.
    #[serde(flatten)]
    pub extra: Extra,
}
