//! `GitDestination`: where commits go.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::condition::conditioned;
use crate::reference::LocalReference;
use crate::text::{
    Branch, BranchPattern, Duration, GitUrl, Namespace, NamespacePattern, ObjectName,
    RepositoryPath,
};

/// Where commits go, as whom, and how.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, CustomResource, KubeSchema)]
#[kube(
    group = "holdfast.dev",
    version = "v1alpha1",
    kind = "GitDestination",
    status = "GitDestinationStatus",
    derive = "PartialEq",
    category = "holdfast",
    shortname = "gd",
    namespaced,
    doc = "GitDestination is a branch of a git repository that Holdfast may commit to: for upgrades, rollbacks and recordings. It follows a Flux GitRepository, or names its own URL.",
    printcolumn(name = "URL", type_ = "string", json_path = ".status.url"),
    printcolumn(name = "Branch", type_ = "string", json_path = ".status.branch"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message"
    ),
    printcolumn(name = "Queue", type_ = "integer", json_path = ".status.queueDepth", priority = 1),
    printcolumn(name = "Pushed", type_ = "date", json_path = ".status.lastPush.at", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.url) != has(self.sourceRef)").message("write either spec.url or spec.sourceRef: one of them says where the repository is"),
    validation = Rule::new("!has(self.url) || has(self.branch)").message("spec.url says nothing about the branch: write spec.branch too, such as main"),
    validation = Rule::new("self.push.mode != 'PullRequest' || self.provider.kind != 'Generic'").message("pull requests need a forge: write spec.provider.kind: GitHub, GitLab, Gitea or Forgejo, or spec.push.mode: Direct")
)]
pub struct GitDestinationSpec {
    /// Pause: Holdfast looks at the object no more until this is false again. What is queued for it stays queued.
    #[serde(default)]
    pub suspend: bool,

    /// The URL of the repository, without user and password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<GitUrl>,

    /// A Flux GitRepository: its URL, branch and credentials are used, and followed when they
    /// change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<SourceReference>,

    /// The branch to commit to; with `sourceRef`, the source's own branch if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,

    /// The folder of the repository that commits stay in.
    #[serde(default = "root")]
    pub path: RepositoryPath,

    /// A Secret of this namespace with the credentials, under Flux's key names: `username` and
    /// `password`, `bearerToken`, or `identity` and `known_hosts`; `caFile` for a private
    /// authority. With `sourceRef`, the source's own Secret if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,

    /// Whom commits name as author when nobody else is known.
    #[serde(default)]
    pub author: Author,

    /// How commits are signed; unsigned if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing: Option<Signing>,

    /// How commits reach the branch.
    #[serde(default)]
    pub push: Push,

    /// The forge behind the repository, for pull requests and commit statuses.
    #[serde(default)]
    pub provider: Provider,

    /// Other namespaces whose objects may commit here; none if empty. `*` stands for any
    /// characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_namespaces: Vec<NamespacePattern>,

    /// Branches that may be committed to; only the destination's own if empty. `*` stands for any
    /// characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub allowed_branches: Vec<BranchPattern>,

    /// The commit message, as a template over the change: `{{ subject }}`, `{{ objects }}`,
    /// `{{ author }}`, `{{ cluster }}`. Trailers are added below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub message_template: Option<String>,

    /// How long it has to be quiet before collected changes are committed.
    #[serde(default = "window")]
    pub window: Duration,

    /// How many bytes of changes are collected at most before they are committed.
    #[serde(default = "max_bytes")]
    #[schemars(range(min = 1024, max = 104_857_600))]
    pub max_bytes: i64,

    /// How long one conversation with the remote may take.
    #[serde(default = "timeout")]
    pub timeout: Duration,
}

/// A Flux GitRepository.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceReference {
    /// The kind of the source.
    #[serde(default)]
    pub kind: SourceKind,

    /// The name of the source.
    pub name: ObjectName,

    /// The namespace of the source; the destination's own if left out. A source of another
    /// namespace has to consent with the annotation `holdfast.dev/allow-from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
}

/// Kinds of source that can be committed to.
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
pub enum SourceKind {
    /// A Flux GitRepository.
    #[default]
    GitRepository,
}

/// A name and an address.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    /// The name.
    #[serde(default = "author_name")]
    #[schemars(length(min = 1, max = 256))]
    pub name: String,

    /// The e-mail address.
    #[serde(default = "author_email")]
    #[schemars(length(min = 3, max = 320))]
    #[x_kube(validation = Rule::new("self.matches('^[^ <>]+@[^ <>]+$')").message("write an e-mail address such as holdfast@example.org"))]
    pub email: String,
}

impl Default for Author {
    fn default() -> Self {
        Self { name: author_name(), email: author_email() }
    }
}

/// How commits are signed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Signing {
    /// A Secret of this namespace: `identity` (and `password`) for an SSH key, `git.asc` (and
    /// `passphrase`) for an OpenPGP key.
    pub secret_ref: LocalReference,

    /// The form of the key.
    #[serde(default)]
    pub format: SigningFormat,
}

/// Forms of a signing key.
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
pub enum SigningFormat {
    /// An SSH key.
    #[default]
    #[serde(rename = "SSH")]
    #[strum(serialize = "SSH")]
    Ssh,
    /// An OpenPGP key.
    #[serde(rename = "OpenPGP")]
    #[strum(serialize = "OpenPGP")]
    OpenPgp,
}

/// How commits reach the branch.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Push {
    /// Direct: pushed to the branch. PullRequest: pushed to a branch of their own, from which a
    /// pull request is opened.
    #[serde(default)]
    pub mode: PushMode,

    /// What the branches of pull requests begin with.
    #[serde(default = "branch_prefix")]
    pub branch_prefix: Branch,

    /// Labels of pull requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(min = 1, max = 64)))]
    pub labels: Vec<String>,

    /// Let the forge merge a pull request by itself once its checks and approvals are there.
    #[serde(default)]
    pub auto_merge: bool,
}

impl Default for Push {
    fn default() -> Self {
        Self {
            mode: PushMode::default(),
            branch_prefix: branch_prefix(),
            labels: Vec::new(),
            auto_merge: false,
        }
    }
}

/// Ways in which commits reach the branch.
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
pub enum PushMode {
    /// Pushed to the branch.
    #[default]
    Direct,
    /// Through a pull request.
    PullRequest,
}

/// The forge behind the repository.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// Generic is any git server, without pull requests.
    #[serde(default)]
    pub kind: ProviderKind,

    /// The address of the API; found from the repository's URL if left out.
    #[serde(rename = "apiURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    #[x_kube(validation = Rule::new("self.matches('^https?://[^ @]+$')").message("write the http or https address of the forge's API such as https://git.example.org/api/v1, without user and password"))]
    pub api_url: Option<String>,

    /// A Secret of this namespace with the API's `token`, or a GitHub App's `appID`,
    /// `installationID` and `privateKey`; the Secret of the repository if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalReference>,
}

/// Forges.
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
pub enum ProviderKind {
    /// Any git server.
    #[default]
    Generic,
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea.
    Gitea,
    /// Forgejo.
    Forgejo,
}

/// What is known about the destination.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitDestinationStatus {
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,

    /// The last value of the annotation `holdfast.dev/requestedAt` that led to a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub last_handled_requested_at: Option<String>,

    /// The URL that commits go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,

    /// The branch that commits go to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub branch: Option<String>,

    /// The kind of credentials that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialKind>,

    /// The last commit that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_commit: Option<CommitRecord>,

    /// The last push that the remote took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_push: Option<CommitRecord>,

    /// How many changes wait to be pushed.
    #[serde(default)]
    pub queue_depth: i64,

    /// The last error, without any credential in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<ErrorRecord>,
}

/// One commit.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommitRecord {
    /// When.
    pub at: Time,

    /// The id of the commit.
    #[schemars(length(max = 64))]
    pub revision: String,

    /// The first line of its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub subject: Option<String>,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorRecord {
    /// When.
    pub at: Time,

    /// What went wrong.
    #[schemars(length(max = 2048))]
    pub message: String,
}

/// Kinds of credentials, told by the keys of the Secret.
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
pub enum CredentialKind {
    /// No Secret: the repository is asked anonymously.
    None,
    /// `username` and `password`.
    Basic,
    /// `bearerToken`.
    Bearer,
    /// `identity` and `known_hosts`.
    #[serde(rename = "SSH")]
    #[strum(serialize = "SSH")]
    Ssh,
    /// `githubAppID`, `githubAppInstallationID` and `githubAppPrivateKey`.
    GitHubApp,
}

/// Why a destination is ready, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, Display)]
pub enum GitDestinationReason {
    /// The source, the branch and the Secrets are there. Says nothing about the remote.
    Resolved,
    /// `spec.suspend` is set.
    Suspended,
    /// The GitRepository does not exist.
    SourceNotFound,
    /// The GitRepository lies in another namespace that has not consented.
    SourceNotAllowed,
    /// The GitRepository follows a tag, a commit or a range, which nobody can push to.
    SourceHasNoBranch,
    /// The GitRepository's URL cannot be used.
    SourceURLInvalid,
    /// Flux's kinds are not installed.
    FluxNotInstalled,
    /// The branch is not one of `allowedBranches`.
    BranchNotAllowed,
    /// A Secret does not exist.
    SecretNotFound,
    /// A Secret lacks the keys that its use needs.
    SecretKeysInvalid,
    /// The API server could not be asked.
    NotObserved,
}

conditioned!(GitDestination);

fn root() -> RepositoryPath {
    ".".into()
}

fn author_name() -> String {
    "Holdfast".into()
}

fn author_email() -> String {
    "holdfast@holdfast.dev".into()
}

fn branch_prefix() -> Branch {
    "holdfast-".into()
}

fn window() -> Duration {
    "2s".into()
}

fn max_bytes() -> i64 {
    1_048_576
}

fn timeout() -> Duration {
    "1m".into()
}
