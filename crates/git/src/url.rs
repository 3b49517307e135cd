//! Where a repository is. A URL here never carries a password, so it may be shown anywhere.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// Why a text is no URL of a repository. The text itself is not repeated: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// It is empty.
    #[error("the URL is empty")]
    Empty,
    /// It has a control character or a space in it.
    #[error("the URL has a space or a control character in it")]
    Unprintable,
    /// It has a password in it.
    #[error("the URL has a password in it: put the credentials into the Secret instead")]
    Password,
    /// Its scheme is not known.
    #[error("the URL's scheme is not known: use https, http, ssh, file or user@host:path")]
    Scheme,
    /// It has no host.
    #[error("the URL names no host")]
    Host,
    /// Its port is no number.
    #[error("the URL's port is not a number between 1 and 65535")]
    Port,
    /// It has no path.
    #[error("the URL names no repository on its host")]
    Path,
}

/// How a repository is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// A folder of this machine.
    File(PathBuf),
    /// A server that speaks git's smart protocol over http.
    Http {
        /// Whether by TLS.
        secure: bool,
        /// The host, in lower case.
        host: String,
        /// The port, if it is not the scheme's own.
        port: Option<u16>,
        /// The path, with its leading slash.
        path: String,
    },
    /// A server that is reached by ssh.
    Ssh {
        /// Whom to log in as, if it is said.
        user: Option<String>,
        /// The host, in lower case.
        host: String,
        /// The port, if it is not 22.
        port: Option<u16>,
        /// The path as the server is told it; relative to the login's home in `user@host:path`.
        path: String,
    },
}

/// The URL of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RemoteUrl {
    location: Location,
}

impl RemoteUrl {
    /// Reads `https://…`, `http://…`, `ssh://…`, `file://…`, an absolute path, or `user@host:path`.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(UrlError::Empty);
        }
        if text.chars().any(|c| c.is_control() || c == ' ') && !text.starts_with(['/', 'f']) {
            return Err(UrlError::Unprintable);
        }
        if text.chars().any(char::is_control) {
            return Err(UrlError::Unprintable);
        }
        let location = match text.split_once("://") {
            Some((scheme, rest)) => match scheme.to_ascii_lowercase().as_str() {
                "https" => http(true, rest)?,
                "http" => http(false, rest)?,
                "ssh" | "git+ssh" | "ssh+git" => ssh(rest)?,
                "file" => file(rest)?,
                _ => return Err(UrlError::Scheme),
            },
            None if text.starts_with('/') => Location::File(PathBuf::from(text)),
            None => scp(text)?,
        };
        Ok(Self { location })
    }

    /// A folder of this machine.
    pub fn of_folder(path: impl Into<PathBuf>) -> Self {
        Self { location: Location::File(path.into()) }
    }

    /// How the repository is reached.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The host, if there is one.
    pub fn host(&self) -> Option<&str> {
        match &self.location {
            Location::File(_) => None,
            Location::Http { host, .. } | Location::Ssh { host, .. } => Some(host),
        }
    }

    /// The same for every way to write the same repository with the same scheme: the key of its
    /// store and of its writer.
    pub fn key(&self) -> String {
        let tidy = |path: &str| {
            let path = path.trim_end_matches('/');
            path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/').to_owned()
        };
        match &self.location {
            Location::File(path) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                format!("file://{}", path.display())
            }
            // The scheme makes no difference to which repository it is.
            Location::Http { host, port, path, .. } => {
                let port = port.map(|p| format!(":{p}")).unwrap_or_default();
                format!("http://{host}{port}{}", tidy(path))
            }
            Location::Ssh { host, port, path, .. } => {
                let port = port.map(|p| format!(":{p}")).unwrap_or_default();
                format!("ssh://{host}{port}/{}", tidy(path.trim_start_matches('/')))
            }
        }
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::File(path) => write!(f, "file://{}", path.display()),
            Location::Http { secure, host, port, path } => {
                let scheme = if *secure { "https" } else { "http" };
                write!(f, "{scheme}://{}", authority(host, *port))?;
                f.write_str(path)
            }
            Location::Ssh { user, host, port, path } => {
                f.write_str("ssh://")?;
                if let Some(user) = user {
                    write!(f, "{user}@")?;
                }
                f.write_str(&authority(host, *port))?;
                match path.strip_prefix('/') {
                    Some(path) => write!(f, "/{path}"),
                    None => write!(f, "/~/{path}"),
                }
            }
        }
    }
}

/// A host and port as URLs write them.
pub(crate) fn authority(host: &str, port: Option<u16>) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

/// The user, the host, the port, and the rest with its slash.
type Parts<'a> = (Option<&'a str>, String, Option<u16>, &'a str);

fn split(rest: &str) -> Result<Parts<'_>, UrlError> {
    let (authority, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if user.is_some_and(|user| user.contains(':')) {
        return Err(UrlError::Password);
    }
    let (host, port) = if let Some(inner) = host.strip_prefix('[') {
        let (inner, after) = inner.split_once(']').ok_or(UrlError::Host)?;
        (inner, after.strip_prefix(':'))
    } else {
        match host.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (host, None),
        }
    };
    let port = match port {
        None | Some("") => None,
        Some(port) => match port.parse::<u16>() {
            Ok(0) | Err(_) => return Err(UrlError::Port),
            Ok(port) => Some(port),
        },
    };
    // A host that begins with a dash would be read as an option by anything that runs a program.
    if host.is_empty() || host.starts_with('-') {
        return Err(UrlError::Host);
    }
    Ok((user.filter(|user| !user.is_empty()), host.to_ascii_lowercase(), port, path))
}

fn http(secure: bool, rest: &str) -> Result<Location, UrlError> {
    let (_, host, port, path) = split(rest)?;
    let path = path.trim_end_matches('/');
    if path.is_empty() {
        return Err(UrlError::Path);
    }
    let own = if secure { 443 } else { 80 };
    Ok(Location::Http { secure, host, port: port.filter(|p| *p != own), path: path.to_owned() })
}

fn ssh(rest: &str) -> Result<Location, UrlError> {
    let (user, host, port, path) = split(rest)?;
    if path.trim_end_matches('/').is_empty() {
        return Err(UrlError::Path);
    }
    let path = match path.strip_prefix("/~/") {
        Some(home) => home.to_owned(),
        None => path.to_owned(),
    };
    let user = user.map(str::to_owned);
    Ok(Location::Ssh { user, host, port: port.filter(|p| *p != 22), path })
}

fn scp(text: &str) -> Result<Location, UrlError> {
    let (login, path) = text.split_once(':').ok_or(UrlError::Scheme)?;
    if login.contains('/') {
        return Err(UrlError::Scheme);
    }
    if path.is_empty() {
        return Err(UrlError::Path);
    }
    let (user, host) = match login.rsplit_once('@') {
        Some((user, host)) => (Some(user.to_owned()), host),
        None => (None, login),
    };
    if host.is_empty() || host.starts_with('-') {
        return Err(UrlError::Host);
    }
    let host = host.to_ascii_lowercase();
    Ok(Location::Ssh { user, host, port: None, path: path.to_owned() })
}

fn file(rest: &str) -> Result<Location, UrlError> {
    let path = rest.strip_prefix("localhost").filter(|p| p.starts_with('/')).unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(UrlError::Path);
    }
    Ok(Location::File(PathBuf::from(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_and_shown() {
        for (text, shown) in [
            ("https://github.com/org/repo.git", "https://github.com/org/repo.git"),
            ("https://git@GitHub.com:443/org/repo/", "https://github.com/org/repo"),
            ("http://gitea:3000/org/repo", "http://gitea:3000/org/repo"),
            ("ssh://git@host:2222/org/repo.git", "ssh://git@host:2222/org/repo.git"),
            ("ssh://git@[::1]:2222/repo", "ssh://git@[::1]:2222/repo"),
            ("git@github.com:org/repo.git", "ssh://git@github.com/~/org/repo.git"),
            ("/srv/git/repo.git", "file:///srv/git/repo.git"),
            ("file:///srv/git/my repo.git", "file:///srv/git/my repo.git"),
        ] {
            let url = RemoteUrl::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(url.to_string(), shown, "{text}");
            assert_eq!(RemoteUrl::parse(&url.to_string()), Ok(url), "{text}: shown and read again");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_not_repeated() {
        for (text, error) in [
            ("", UrlError::Empty),
            ("https://me:hunter2@host/repo", UrlError::Password),
            ("ssh://me:hunter2@host/repo", UrlError::Password),
            ("ftp://host/repo", UrlError::Scheme),
            ("repo", UrlError::Scheme),
            ("https:///repo", UrlError::Host),
            ("ssh://-oProxyCommand=x/repo", UrlError::Host),
            ("-x:repo", UrlError::Host),
            ("https://host:0/repo", UrlError::Port),
            ("https://host:99999/repo", UrlError::Port),
            ("https://host/", UrlError::Path),
            ("git@host:", UrlError::Path),
            ("https://host/a b", UrlError::Unprintable),
        ] {
            assert_eq!(RemoteUrl::parse(text), Err(error), "{text}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn one_repository_has_one_key() {
        let key = |text: &str| RemoteUrl::parse(text).unwrap().key();
        assert_eq!(key("https://github.com/org/repo.git"), key("https://GitHub.com:443/org/repo/"));
        assert_eq!(key("git@github.com:org/repo"), key("ssh://git@github.com/org/repo.git"));
        assert_ne!(key("https://github.com/org/repo"), key("https://github.com/org/repo2"));
        assert_ne!(key("https://github.com/org/repo"), key("https://github.com:444/org/repo"));
    }
}
