//! What a URL and a Secret say about reaching a remote.

use std::collections::BTreeSet;

use holdfast_api::git_destination::CredentialKind;

/// How a remote is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Ssh,
    Other,
}

/// A URL that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// How the remote is reached.
    pub(super) scheme: Scheme,
    /// The URL as it was written.
    pub(super) text: String,
}

impl Url {
    /// A URL that git can use and that has no password in it.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (scheme, rest) = match text.split_once("://") {
            Some(("http" | "https", rest)) => (Scheme::Http, rest),
            Some(("ssh", rest)) => (Scheme::Ssh, rest),
            Some(("git" | "file", rest)) => (Scheme::Other, rest),
            Some(_) => return None,
            None => {
                // git@host:path
                let (login, path) = text.split_once(':')?;
                let usable = login.contains('@') && !login.contains('/') && !path.is_empty();
                return usable.then(|| Self { scheme: Scheme::Ssh, text: text.to_owned() });
            }
        };
        let host = rest.split('/').next().unwrap_or_default();
        let secret = match scheme {
            Scheme::Http => host.contains('@'),
            _ => host.split_once('@').is_some_and(|(login, _)| login.contains(':')),
        };
        if rest.is_empty() || secret {
            return None;
        }
        Some(Self { scheme, text: text.to_owned() })
    }
}

/// Flux's key names for a URL of this scheme; what is wanted if they are not there.
pub(super) fn credential_kind(
    scheme: Scheme,
    keys: &BTreeSet<String>,
) -> Result<CredentialKind, &'static str> {
    let has = |key: &str| keys.contains(key);
    if scheme == Scheme::Ssh {
        return if has("identity") && has("known_hosts") {
            Ok(CredentialKind::Ssh)
        } else {
            Err("identity and known_hosts")
        };
    }
    match (has("username"), has("password"), has("bearerToken")) {
        (true, true, false) => return Ok(CredentialKind::Basic),
        (false, false, true) => return Ok(CredentialKind::Bearer),
        (false, false, false) => {}
        (_, _, true) => return Err("either username and password, or bearerToken"),
        _ => return Err("username and password"),
    }
    if has("githubAppID") || has("githubAppPrivateKey") {
        let owned = has("githubAppInstallationID") || has("githubAppInstallationOwner");
        return if has("githubAppID") && has("githubAppPrivateKey") && owned {
            Ok(CredentialKind::GitHubApp)
        } else {
            Err("githubAppID, githubAppInstallationID and githubAppPrivateKey")
        };
    }
    let authority = ["caFile", "ca.crt", "tls.crt", "tls.key"];
    if !keys.is_empty() && keys.iter().all(|key| authority.contains(&key.as_str())) {
        return Ok(CredentialKind::None);
    }
    Err("username and password, or bearerToken")
}
