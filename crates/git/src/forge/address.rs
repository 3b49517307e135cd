//! Which repository on which forge.

use thiserror::Error;

use super::call::{ForgeError, Reason};

/// A family of forges that speak alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Gitea and Forgejo.
    Gitea,
    /// GitHub, also on one's own host.
    GitHub,
    /// GitLab, also on one's own host.
    GitLab,
}

/// A repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// How the forge speaks.
    pub provider: Provider,
    /// Where its API is, without a slash at the end.
    pub api: String,
    /// Who the repository belongs to; on GitLab perhaps a path of groups.
    pub owner: String,
    /// The repository.
    pub name: String,
}

/// Why a repository's URL names no repository on a forge.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// It has no owner and name.
    #[error("{0} does not name a repository: the path must be OWNER/NAME")]
    NoRepository(String),
    /// The API cannot be found from a file path.
    #[error("{0} is not on a forge: pull requests need an http, https or ssh URL")]
    NoForge(String),
    /// The API's own address is wrong.
    #[error("{0} is not the http or https address of an API")]
    BadApi(String),
}

impl Address {
    /// From the repository's URL; `api` if it is not where the URL's host has it.
    pub fn new(provider: Provider, url: &str, api: Option<&str>) -> Result<Self, AddressError> {
        let (host, path) =
            host_and_path(url).ok_or_else(|| AddressError::NoForge(redacted(url)))?;
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let parts =
            path.rsplit_once('/').filter(|(owner, name)| !owner.is_empty() && !name.is_empty());
        let Some((owner, name)) = parts else {
            return Err(AddressError::NoRepository(redacted(url)));
        };
        // Only GitLab has groups within groups; elsewhere the rest is where the forge is mounted.
        let (mount, owner) = match (provider, owner.rsplit_once('/')) {
            (Provider::Gitea | Provider::GitHub, Some((mount, owner))) => {
                (format!("/{mount}"), owner)
            }
            _ => (String::new(), owner),
        };
        let api = match api {
            Some(api) if api.starts_with("https://") || api.starts_with("http://") => {
                api.trim_end_matches('/').to_owned()
            }
            Some(api) => return Err(AddressError::BadApi(redacted(api))),
            None => {
                let scheme = if url.starts_with("http://") { "http" } else { "https" };
                // An ssh URL's port is not the API's.
                let host = if url.starts_with("http") {
                    host
                } else {
                    host.split(':').next().unwrap_or(host)
                };
                match provider {
                    Provider::Gitea => format!("{scheme}://{host}{mount}/api/v1"),
                    Provider::GitHub if host == "github.com" => "https://api.github.com".to_owned(),
                    Provider::GitHub => format!("{scheme}://{host}{mount}/api/v3"),
                    Provider::GitLab => format!("{scheme}://{host}/api/v4"),
                }
            }
        };
        Ok(Self { provider, api, owner: owner.to_owned(), name: name.to_owned() })
    }

    pub(super) fn failed(&self, reason: Reason) -> ForgeError {
        ForgeError { forge: format!("{} ({}/{})", self.api, self.owner, self.name), reason }
    }
}

/// Host (with port) and path of a URL or of `git@host:path`.
fn host_and_path(url: &str) -> Option<(&str, &str)> {
    if let Some((scheme, rest)) = url.split_once("://") {
        if !matches!(scheme, "http" | "https" | "ssh" | "git+ssh") {
            return None;
        }
        let (authority, path) = rest.split_once('/')?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        return (!host.is_empty()).then_some((host, path));
    }
    let (authority, path) = url.split_once(':')?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!host.is_empty() && !host.contains('/')).then_some((host, path))
}

/// The URL without user and password.
fn redacted(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(provider: Provider, url: &str) -> String {
        match Address::new(provider, url, None) {
            Ok(address) => format!("{} {} {}", address.api, address.owner, address.name),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_api_is_found_from_the_url() {
        use Provider::{GitHub, GitLab, Gitea};
        for (provider, url, wanted) in [
            (GitHub, "https://github.com/me/home.git", "https://api.github.com me home"),
            (GitHub, "git@github.com:me/home", "https://api.github.com me home"),
            (GitHub, "https://ghe.example.org/me/home", "https://ghe.example.org/api/v3 me home"),
            (Gitea, "http://git.lan:3000/me/home", "http://git.lan:3000/api/v1 me home"),
            (Gitea, "https://x.org/git/me/home", "https://x.org/git/api/v1 me home"),
            (Gitea, "ssh://git@git.lan:2222/me/home.git", "https://git.lan/api/v1 me home"),
            (GitLab, "https://gitlab.com/a/b/c.git", "https://gitlab.com/api/v4 a/b c"),
        ] {
            assert_eq!(parts(provider, url), wanted, "{url}");
        }
    }

    #[test]
    fn what_names_no_repository_is_said_without_the_password() {
        let error = parts(Provider::Gitea, "https://me:secret@git.lan/home");
        assert_eq!(
            error,
            "https://git.lan/home does not name a repository: the path must be OWNER/NAME"
        );
        assert!(parts(Provider::Gitea, "/srv/git/home.git").contains("is not on a forge"));
        let api = Address::new(Provider::Gitea, "https://git.lan/a/b", Some("git.lan/api"));
        assert_eq!(api, Err(AddressError::BadApi("git.lan/api".into())));
    }
}
