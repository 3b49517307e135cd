//! What follows from what was found. Pure.

use std::collections::BTreeSet;

use holdfast_api::foreign::flux::GitRepository;
pub(super) use holdfast_api::git_destination::GitDestinationReason as Reason;
use holdfast_api::git_destination::{
    CredentialKind, GitDestination, GitDestinationStatus, ProviderKind, SigningFormat,
};
use holdfast_api::names::ALLOW_FROM;
use holdfast_api::text::{BranchPattern, matches_pattern};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Resource as _, ResourceExt as _};

use super::observe::{Observed, SecretFact, SourceFact};
use super::remote::{Scheme, Url, credential_kind};
use crate::call::CallError;
use crate::status::Standing;

/// The branch that Flux follows when a GitRepository names none.
const FLUX_DEFAULT_BRANCH: &str = "master";

/// Where commits go, or why it is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// How the destination stands.
    pub standing: Standing,
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people. Carries no credential.
    pub message: String,
    /// The URL, without a password; what was known before if nothing.
    pub url: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The kind of credentials.
    pub credentials: Option<CredentialKind>,
    source: Option<ObjectReference>,
    keeps_facts: bool,
}

/// Why it is not known.
struct Refusal {
    standing: Standing,
    reason: Reason,
    message: String,
}

impl Refusal {
    fn new(standing: Standing, reason: Reason, message: impl Into<String>) -> Self {
        Self { standing, reason, message: message.into() }
    }
}

impl From<Refusal> for Resolution {
    fn from(refusal: Refusal) -> Self {
        Self {
            standing: refusal.standing,
            reason: refusal.reason,
            message: refusal.message,
            url: None,
            branch: None,
            credentials: None,
            source: None,
            keeps_facts: false,
        }
    }
}

impl Resolution {
    /// The API server could not be asked: what was known stays, readiness is unknown.
    pub fn not_observed(error: &CallError) -> Self {
        let message = format!("the API server could not be asked: {error}");
        let unknown = Refusal::new(Standing::Unknown, Reason::NotObserved, message);
        Self { keeps_facts: true, ..Self::from(unknown) }
    }

    /// The Flux object that people look at.
    pub(super) fn source(&self) -> Option<ObjectReference> {
        self.source.clone()
    }

    /// Puts the facts into a status.
    pub(super) fn write_to(&self, status: &mut GitDestinationStatus) {
        if self.keeps_facts {
            return;
        }
        status.url.clone_from(&self.url);
        status.branch.clone_from(&self.branch);
        status.credentials = self.credentials;
    }
}

/// Where a destination's commits go.
pub fn decide(destination: &GitDestination, observed: &Observed) -> Resolution {
    if destination.spec.suspend {
        let message = "spec.suspend is true";
        let suspended = Refusal::new(Standing::NotReady, Reason::Suspended, message);
        return Resolution { keeps_facts: true, ..suspended.into() };
    }
    let source = match &observed.source {
        Some(SourceFact::Found(source)) => Some(source.as_ref()),
        _ => None,
    };
    let mut resolution = resolve(destination, observed, source).unwrap_or_else(Resolution::from);
    resolution.source = source.map(|source| source.object_ref(&()));
    resolution
}

fn resolve(
    destination: &GitDestination,
    observed: &Observed,
    source: Option<&GitRepository>,
) -> Result<Resolution, Refusal> {
    let (url, branch) = place(destination, observed, source)?;
    let checked = check(destination, observed, source, &url, &branch);
    let (mut resolution, credentials) = match checked {
        Ok((credentials, told)) => {
            let message = format!(
                "commits go to branch {branch} of {}; {told}; the remote has not been contacted",
                url.text
            );
            (Refusal::new(Standing::Ready, Reason::Resolved, message).into(), Some(credentials))
        }
        Err(refusal) => (Resolution::from(refusal), None),
    };
    resolution.url = Some(url.text);
    resolution.branch = Some(branch);
    resolution.credentials = credentials;
    Ok(resolution)
}

fn check(
    destination: &GitDestination,
    observed: &Observed,
    source: Option<&GitRepository>,
    url: &Url,
    branch: &str,
) -> Result<(CredentialKind, String), Refusal> {
    allow_branch(destination, branch)?;
    let found = credentials(destination, observed, source, url)?;
    signing(destination, observed)?;
    provider(destination, observed)?;
    Ok(found)
}

/// The URL and the branch, from the spec or from the source.
fn place(
    destination: &GitDestination,
    observed: &Observed,
    source: Option<&GitRepository>,
) -> Result<(Url, String), Refusal> {
    let spec = &destination.spec;
    let Some(reference) = &spec.source_ref else {
        let text = spec.url.as_deref().unwrap_or_default();
        let url = Url::read(text).ok_or_else(|| {
            let message = "spec.url cannot be used: write https://host/path.git, ssh://git@host/path.git or git@host:path.git";
            Refusal::new(Standing::Stalled, Reason::SourceURLInvalid, message)
        })?;
        let branch = spec.branch.as_deref().unwrap_or(FLUX_DEFAULT_BRANCH).to_owned();
        return Ok((url, branch));
    };
    let own = destination.namespace().unwrap_or_default();
    let namespace = reference.namespace.as_deref().unwrap_or(&own);
    let name = format!("GitRepository {namespace}/{}", reference.name);
    let Some(source) = source else {
        return Err(if observed.source == Some(SourceFact::NoKind) {
            let message = format!("{name} cannot exist: Flux is not installed");
            Refusal::new(Standing::NotReady, Reason::FluxNotInstalled, message)
        } else {
            let message = format!("{name} does not exist");
            Refusal::new(Standing::NotReady, Reason::SourceNotFound, message)
        });
    };
    if namespace != own && !consents(source, &own) {
        let message = format!(
            "{name} has not consented: annotate it with {ALLOW_FROM}: {own}, or use a source of this namespace"
        );
        return Err(Refusal::new(Standing::Stalled, Reason::SourceNotAllowed, message));
    }
    let url = Url::read(&source.spec.url).ok_or_else(|| {
        let message = format!(
            "the URL of {name} cannot be used: write an http, https or ssh URL without user and password"
        );
        Refusal::new(Standing::Stalled, Reason::SourceURLInvalid, message)
    })?;
    let branch = match &spec.branch {
        Some(branch) => branch.to_string(),
        None => source_branch(source).ok_or_else(|| {
            let message = format!(
                "{name} follows a tag, a commit or a range, which cannot be pushed to: write spec.branch"
            );
            Refusal::new(Standing::Stalled, Reason::SourceHasNoBranch, message)
        })?,
    };
    Ok((url, branch))
}

fn consents(source: &GitRepository, namespace: &str) -> bool {
    source
        .annotations()
        .get(ALLOW_FROM)
        .is_some_and(|list| list.split(',').any(|one| matches_pattern(one.trim(), namespace)))
}

/// The branch that Flux follows. Of several references Flux takes, in this order, commit, name,
/// semver, tag and branch; only what ends in a branch can be pushed to.
fn source_branch(source: &GitRepository) -> Option<String> {
    let Some(reference) = &source.spec.r#ref else {
        return Some(FLUX_DEFAULT_BRANCH.to_owned());
    };
    if reference.commit.is_some() {
        return reference.branch.clone();
    }
    if let Some(name) = &reference.name {
        return name.strip_prefix("refs/heads/").map(str::to_owned);
    }
    if reference.semver.is_some() || reference.tag.is_some() {
        return None;
    }
    Some(reference.branch.clone().unwrap_or_else(|| FLUX_DEFAULT_BRANCH.to_owned()))
}

fn allow_branch(destination: &GitDestination, branch: &str) -> Result<(), Refusal> {
    let allowed = &destination.spec.allowed_branches;
    if allowed.is_empty() || allowed.iter().any(|pattern| matches_pattern(pattern, branch)) {
        return Ok(());
    }
    let allowed: Vec<&str> = allowed.iter().map(BranchPattern::as_str).collect();
    let message = format!(
        "branch {branch} is none of spec.allowedBranches ({}): add it there, or write another spec.branch",
        allowed.join(", ")
    );
    Err(Refusal::new(Standing::Stalled, Reason::BranchNotAllowed, message))
}

/// The kind of credentials, and a sentence about them.
fn credentials(
    destination: &GitDestination,
    observed: &Observed,
    source: Option<&GitRepository>,
    url: &Url,
) -> Result<(CredentialKind, String), Refusal> {
    let own = destination.namespace().unwrap_or_default();
    let from_spec =
        destination.spec.secret_ref.as_ref().map(|secret| (own, secret.name.to_string()));
    let named = from_spec.or_else(|| {
        let source = source?;
        let secret = source.spec.secret_ref.as_ref()?;
        Some((source.namespace().unwrap_or_default(), secret.name.clone()))
    });
    let Some((namespace, name)) = named else {
        if url.scheme == Scheme::Ssh {
            let message = "ssh needs a key: write spec.secretRef with a Secret that has identity and known_hosts";
            return Err(Refusal::new(Standing::Stalled, Reason::SecretNotFound, message));
        }
        return Ok((CredentialKind::None, "there are no credentials".to_owned()));
    };
    let keys = keys(observed, &namespace, &name)?;
    let kind = credential_kind(url.scheme, keys)
        .map_err(|wanted| invalid_keys(&format!("{namespace}/{name}"), keys, wanted))?;
    let told = match kind {
        CredentialKind::None => {
            format!("Secret {namespace}/{name} has no credentials, only an authority")
        }
        CredentialKind::Basic => format!("Secret {namespace}/{name} has username and password"),
        CredentialKind::Bearer => format!("Secret {namespace}/{name} has bearerToken"),
        CredentialKind::Ssh => format!("Secret {namespace}/{name} has identity and known_hosts"),
        CredentialKind::GitHubApp => format!("Secret {namespace}/{name} has a GitHub App"),
    };
    Ok((kind, told))
}

fn signing(destination: &GitDestination, observed: &Observed) -> Result<(), Refusal> {
    let Some(signing) = &destination.spec.signing else { return Ok(()) };
    let namespace = destination.namespace().unwrap_or_default();
    let found = keys(observed, &namespace, &signing.secret_ref.name)?;
    let wanted = match signing.format {
        SigningFormat::Ssh => "identity",
        SigningFormat::OpenPgp => "git.asc",
    };
    if found.contains(wanted) {
        return Ok(());
    }
    Err(invalid_keys(&format!("{namespace}/{}", signing.secret_ref.name), found, wanted))
}

fn provider(destination: &GitDestination, observed: &Observed) -> Result<(), Refusal> {
    let provider = &destination.spec.provider;
    let Some(secret) = &provider.secret_ref else { return Ok(()) };
    let namespace = destination.namespace().unwrap_or_default();
    let found = keys(observed, &namespace, &secret.name)?;
    let app = ["appID", "installationID", "privateKey"];
    let is_app =
        provider.kind == ProviderKind::GitHub && app.iter().all(|key| found.contains(*key));
    if found.contains("token") || is_app {
        return Ok(());
    }
    let wanted = if provider.kind == ProviderKind::GitHub {
        "token, or appID, installationID and privateKey"
    } else {
        "token"
    };
    Err(invalid_keys(&format!("{namespace}/{}", secret.name), found, wanted))
}

fn keys<'a>(
    observed: &'a Observed,
    namespace: &str,
    name: &str,
) -> Result<&'a BTreeSet<String>, Refusal> {
    match observed.secrets.get(&(namespace.to_owned(), name.to_owned())) {
        Some(SecretFact::Keys(keys)) => Ok(keys),
        Some(SecretFact::NotFound) | None => {
            let message = format!("Secret {namespace}/{name} does not exist");
            Err(Refusal::new(Standing::NotReady, Reason::SecretNotFound, message))
        }
    }
}

fn invalid_keys(secret: &str, found: &BTreeSet<String>, wanted: &str) -> Refusal {
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
    let message = format!("Secret {secret} has {found}: it needs {wanted}");
    Refusal::new(Standing::Stalled, Reason::SecretKeysInvalid, message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn destination(spec: &Value) -> GitDestination {
        serde_json::from_value(json!({
            "apiVersion": "holdfast.dev/v1alpha1",
            "kind": "GitDestination",
            "metadata": { "name": "home", "namespace": "apps", "generation": 1 },
            "spec": spec,
        }))
        .unwrap()
    }

    fn source(spec: &Value, annotations: &Value) -> SourceFact {
        SourceFact::Found(Box::new(
            serde_json::from_value(json!({
                "apiVersion": "source.toolkit.fluxcd.io/v1",
                "kind": "GitRepository",
                "metadata": { "name": "flux", "namespace": "flux-system", "annotations": annotations },
                "spec": spec,
            }))
            .unwrap(),
        ))
    }

    fn secret(namespace: &str, name: &str, keys: &[&str]) -> ((String, String), SecretFact) {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        ((namespace.to_owned(), name.to_owned()), SecretFact::Keys(keys))
    }

    #[test]
    fn a_url_of_its_own() {
        let decided = decide(
            &destination(&json!({ "url": "https://host/a.git", "branch": "main" })),
            &Observed::default(),
        );
        assert_eq!(decided.standing, Standing::Ready);
        assert_eq!(decided.reason, Reason::Resolved);
        assert_eq!(
            decided.message,
            "commits go to branch main of https://host/a.git; there are no credentials; the remote has not been contacted"
        );
    }

    #[test]
    fn references_of_a_source_in_flux_order() {
        let cases = [
            (json!(null), Some("master")),
            (json!({}), Some("master")),
            (json!({ "branch": "main" }), Some("main")),
            (json!({ "branch": "main", "commit": "abc" }), Some("main")),
            (json!({ "commit": "abc" }), None),
            (json!({ "tag": "v1", "branch": "main" }), None),
            (json!({ "semver": ">1" }), None),
            (json!({ "name": "refs/heads/x/y" }), Some("x/y")),
            (json!({ "name": "refs/tags/v1" }), None),
        ];
        for (reference, branch) in cases {
            let observed = Observed {
                source: Some(source(
                    &json!({ "url": "https://host/a.git", "ref": reference }),
                    &json!({ "holdfast.dev/allow-from": "web, apps" }),
                )),
                ..Default::default()
            };
            let spec = json!({ "sourceRef": { "name": "flux", "namespace": "flux-system" } });
            let decided = decide(&destination(&spec), &observed);
            assert_eq!(decided.branch.as_deref(), branch, "{reference}");
            let expected =
                if branch.is_some() { Reason::Resolved } else { Reason::SourceHasNoBranch };
            assert_eq!(decided.reason, expected, "{reference}");
        }
    }

    #[test]
    fn another_namespace_has_to_consent() {
        let spec = json!({ "sourceRef": { "name": "flux", "namespace": "flux-system" } });
        for (annotations, reason) in [
            (json!({}), Reason::SourceNotAllowed),
            (json!({ "holdfast.dev/allow-from": "web" }), Reason::SourceNotAllowed),
            (json!({ "holdfast.dev/allow-from": "*" }), Reason::Resolved),
        ] {
            let observed = Observed {
                source: Some(source(&json!({ "url": "https://host/a.git" }), &annotations)),
                ..Default::default()
            };
            assert_eq!(decide(&destination(&spec), &observed).reason, reason);
        }
    }

    #[test]
    fn secrets_are_told_by_their_keys() {
        use CredentialKind::{Basic, Bearer, GitHubApp, None as Anonymous, Ssh};
        let https = "https://host/a.git";
        let ssh = "ssh://git@host/a.git";
        let cases: &[(&str, &[&str], Option<CredentialKind>)] = &[
            (https, &["username", "password"], Some(Basic)),
            (https, &["username", "password", "caFile"], Some(Basic)),
            (https, &["username"], None),
            (https, &["password"], None),
            (https, &["bearerToken"], Some(Bearer)),
            (https, &["bearerToken", "username", "password"], None),
            (https, &["ca.crt"], Some(Anonymous)),
            (
                https,
                &["githubAppID", "githubAppInstallationID", "githubAppPrivateKey"],
                Some(GitHubApp),
            ),
            (https, &["githubAppID", "githubAppPrivateKey"], None),
            (https, &["token"], None),
            (https, &[], None),
            (https, &["identity", "known_hosts"], None),
            (ssh, &["identity", "known_hosts"], Some(Ssh)),
            (ssh, &["identity"], None),
            ("git@host:a.git", &["identity", "identity.pub", "known_hosts"], Some(Ssh)),
            ("git@host:a.git", &["username", "password"], None),
        ];
        for (url, keys, expected) in cases {
            let observed =
                Observed { secrets: [secret("apps", "key", keys)].into(), ..Default::default() };
            let spec = json!({ "url": url, "branch": "main", "secretRef": { "name": "key" } });
            let decided = decide(&destination(&spec), &observed);
            assert_eq!(decided.credentials, *expected, "{url} {keys:?}: {}", decided.message);
            let reason =
                if expected.is_some() { Reason::Resolved } else { Reason::SecretKeysInvalid };
            assert_eq!(decided.reason, reason, "{url} {keys:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let spec = json!({ "url": "https://host/a.git", "branch": "main", "secretRef": { "name": "key" } });
        let observed = Observed {
            secrets: [(("apps".to_owned(), "key".to_owned()), SecretFact::NotFound)].into(),
            ..Default::default()
        };
        let decided = decide(&destination(&spec), &observed);
        assert_eq!(
            (decided.standing, decided.reason),
            (Standing::NotReady, Reason::SecretNotFound)
        );
        assert_eq!(decided.message, "Secret apps/key does not exist");
        assert_eq!(decided.url.as_deref(), Some("https://host/a.git"), "what is known stays known");

        let spec = json!({ "sourceRef": { "name": "flux" } });
        for (fact, reason) in [
            (SourceFact::NotFound, Reason::SourceNotFound),
            (SourceFact::NoKind, Reason::FluxNotInstalled),
        ] {
            let observed = Observed { source: Some(fact), ..Default::default() };
            let decided = decide(&destination(&spec), &observed);
            assert_eq!((decided.standing, decided.reason), (Standing::NotReady, reason));
        }

        let spec = json!({ "url": "git@host:a.git", "branch": "main" });
        let decided = decide(&destination(&spec), &Observed::default());
        assert_eq!(decided.reason, Reason::SecretNotFound);
    }

    #[test]
    fn branches_have_to_be_allowed() {
        for (allowed, reason) in [
            (json!([]), Reason::Resolved),
            (json!(["release/*", "main"]), Reason::Resolved),
            (json!(["release/*"]), Reason::BranchNotAllowed),
        ] {
            let spec = json!({ "url": "https://host/a.git", "branch": "main", "allowedBranches": allowed });
            assert_eq!(decide(&destination(&spec), &Observed::default()).reason, reason);
        }
    }

    #[test]
    fn signing_and_forge_secrets_are_checked_too() {
        let spec = json!({
            "url": "https://host/a.git", "branch": "main",
            "signing": { "secretRef": { "name": "sign" }, "format": "OpenPGP" },
            "provider": { "kind": "GitHub", "secretRef": { "name": "forge" } },
        });
        let decided = |sign: &[&str], forge: &[&str]| {
            let secrets = [secret("apps", "sign", sign), secret("apps", "forge", forge)].into();
            decide(&destination(&spec), &Observed { secrets, ..Default::default() }).message
        };
        let app = ["appID", "installationID", "privateKey"];
        assert!(decided(&["git.asc"], &["token"]).starts_with("commits go to"));
        assert!(decided(&["git.asc"], &app).starts_with("commits go to"));
        assert_eq!(
            decided(&["identity"], &["token"]),
            "Secret apps/sign has identity: it needs git.asc"
        );
        assert_eq!(
            decided(&["git.asc"], &["appID"]),
            "Secret apps/forge has appID: it needs token, or appID, installationID and privateKey"
        );
    }

    #[test]
    fn a_password_in_a_url_is_never_shown() {
        for url in
            ["https://me:secret@host/a.git", "https://secret@host/a.git", "ssh://me:secret@host/a"]
        {
            let observed = Observed {
                source: Some(source(
                    &json!({ "url": url }),
                    &json!({ "holdfast.dev/allow-from": "apps" }),
                )),
                ..Default::default()
            };
            let spec = json!({ "sourceRef": { "name": "flux", "namespace": "flux-system" } });
            let decided = decide(&destination(&spec), &observed);
            assert_eq!(decided.reason, Reason::SourceURLInvalid, "{url}");
            assert!(!format!("{:?}{:?}", decided.message, decided.url).contains("secret"), "{url}");
        }
    }

    #[test]
    fn a_suspended_destination_claims_nothing() {
        let spec = json!({ "suspend": true, "url": "https://host/a.git", "branch": "main" });
        let decided = decide(&destination(&spec), &Observed::default());
        assert_eq!((decided.standing, decided.reason), (Standing::NotReady, Reason::Suspended));
    }
}
