//! Questions put to an app: over HTTP, by a Job, to Prometheus.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::text::{Duration, ObjectName};

/// A Job that Holdfast runs in the app's namespace.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookJob {
    /// The image of its one container.
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new("self.matches('[^ ]')").message("write the image that the Job runs, such as busybox:1.37"))]
    pub image: String,

    /// What the container runs; the image's entry point if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 4096)))]
    pub command: Vec<String>,

    /// Arguments of the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 4096)))]
    pub args: Vec<String>,

    /// Environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub env: Vec<Variable>,

    /// Secrets whose keys become environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub env_from_secrets: Vec<ObjectName>,

    /// Mount the app's claims, each under `/data/<claim>`.
    #[serde(default)]
    pub mount_claims: bool,

    /// The service account of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<ObjectName>,

    /// How long it may take.
    #[serde(default = "five_minutes")]
    pub timeout: Duration,
}

/// One environment variable.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,

    /// Its value.
    #[serde(default)]
    #[schemars(length(max = 32768))]
    pub value: String,
}

/// One question about the app. It is asked until it is answered with yes or the time is over.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.http), has(self.job), has(self.prometheus)].filter(x, x).size() == 1").message("a probe asks in one way: write exactly one of http, job and prometheus"))]
pub struct Probe {
    /// What reports call it.
    pub name: ObjectName,

    /// Ask over HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpProbe>,

    /// Run a Job; its success is the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<HookJob>,

    /// Ask Prometheus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusProbe>,
}

/// A GET request and the answer that is expected.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpProbe {
    /// The URL, as reachable from Holdfast's pod.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = Rule::new("self.matches('^https?://[^ ]+$')").message("write an http or https URL such as http://app.namespace.svc/health"))]
    pub url: String,

    /// The status code that means yes.
    #[serde(default = "ok")]
    #[schemars(range(min = 100, max = 599))]
    pub status: i32,

    /// Text that the body has to contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub contains: Option<String>,

    /// How long one request may take.
    #[serde(default = "ten_seconds")]
    pub timeout: Duration,
}

/// A query whose result has to be true: not empty, and no sample zero.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrometheusProbe {
    /// The address of the server, such as `http://prometheus.monitoring.svc:9090`.
    #[schemars(length(max = 2048))]
    #[x_kube(validation = Rule::new("self.matches('^https?://[^ ]+$')").message("write the http or https address of Prometheus such as http://prometheus.monitoring.svc:9090"))]
    pub address: String,

    /// The query, such as `up{namespace="web"} == 1`.
    #[schemars(length(min = 1, max = 4096))]
    pub query: String,
}

fn five_minutes() -> Duration {
    "5m".into()
}

fn ten_seconds() -> Duration {
    "10s".into()
}

fn ok() -> i32 {
    200
}
