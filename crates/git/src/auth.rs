//! Credentials. Nothing here shows a secret, whatever it is asked; and what a server says is scrubbed of
//! them before it goes into an error.

use std::collections::BTreeMap;
use std::fmt;

use thiserror::Error;
use zeroize::Zeroizing;

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text, for the wire alone.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How to log in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Login {
    /// As nobody.
    #[default]
    Anonymous,
    /// By name and password, over http.
    Password {
        /// The name.
        username: String,
        /// The password, or a token in its place.
        password: Secret,
    },
    /// By a token, over http.
    Bearer(Secret),
    /// By a key, over ssh.
    Key {
        /// The private key.
        identity: Secret,
        /// What unlocks it.
        passphrase: Option<Secret>,
        /// The servers' keys, as OpenSSH writes them.
        known_hosts: String,
    },
}

/// A certificate to show to a server, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate chain, as PEM.
    pub certificate: String,
    /// Its key, as PEM.
    pub key: Secret,
}

/// Everything that reaching a remote takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// How to log in.
    pub login: Login,
    /// An authority to trust beside the system's, as PEM.
    pub authority: Option<String>,
    /// A certificate to show.
    pub certificate: Option<ClientCertificate>,
}

/// Why a Secret is no credentials. Names keys, never values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AccessError {
    /// A key belongs to another that is missing.
    #[error("the Secret has {0} but not {1}")]
    Half(&'static str, &'static str),
    /// Two ways to log in.
    #[error("the Secret has both {0} and {1}: keep one of them")]
    Both(&'static str, &'static str),
    /// A value is no text.
    #[error("the Secret's {0} is not text")]
    NotText(&'static str),
}

impl Access {
    /// From a Secret with Flux's key names: `username` and `password`; `bearerToken`; `identity`,
    /// `known_hosts` and perhaps `password`; `caFile` or `ca.crt`; `tls.crt` and `tls.key`.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, AccessError> {
        let text = |key: &'static str| match data.get(key) {
            None => Ok(None),
            Some(value) => match std::str::from_utf8(value) {
                Ok("") => Ok(None),
                Ok(value) => Ok(Some(value.to_owned())),
                Err(_) => Err(AccessError::NotText(key)),
            },
        };
        // A password typed with echo ends in a line break that is no part of it.
        let line = |key| text(key).map(|v| v.map(|v| v.trim_end_matches(['\r', '\n']).to_owned()));
        let (username, password) = (line("username")?, line("password")?);
        let bearer = line("bearerToken")?;
        let login = match (text("identity")?, bearer, username) {
            (Some(_), Some(_), _) => return Err(AccessError::Both("identity", "bearerToken")),
            (_, Some(_), Some(_)) => return Err(AccessError::Both("username", "bearerToken")),
            (Some(identity), None, _) => Login::Key {
                identity: Secret::new(identity),
                passphrase: password.map(Secret::new),
                known_hosts: text("known_hosts")?
                    .ok_or(AccessError::Half("identity", "known_hosts"))?,
            },
            (None, Some(token), None) => Login::Bearer(Secret::new(token)),
            (None, None, Some(username)) => Login::Password {
                username,
                password: Secret::new(password.ok_or(AccessError::Half("username", "password"))?),
            },
            (None, None, None) if password.is_some() => {
                return Err(AccessError::Half("password", "username"));
            }
            (None, None, None) => Login::Anonymous,
        };
        let authority = match text("caFile")? {
            Some(authority) => Some(authority),
            None => text("ca.crt")?,
        };
        let certificate = match (text("tls.crt")?, text("tls.key")?) {
            (Some(certificate), Some(key)) => {
                Some(ClientCertificate { certificate, key: Secret::new(key) })
            }
            (Some(_), None) => return Err(AccessError::Half("tls.crt", "tls.key")),
            (None, Some(_)) => return Err(AccessError::Half("tls.key", "tls.crt")),
            (None, None) => None,
        };
        Ok(Self { login, authority, certificate })
    }

    /// Whether a server would learn something that it could use elsewhere.
    pub fn is_secret(&self) -> bool {
        self.login != Login::Anonymous || self.certificate.is_some()
    }

    /// A text without the secrets that may be in it: servers repeat what they were sent.
    pub fn scrub(&self, text: &str) -> String {
        let mut scrubbed = text.to_owned();
        for secret in self.secrets() {
            if secret.len() >= 3 && scrubbed.contains(&secret) {
                scrubbed = scrubbed.replace(&secret, "***");
            }
        }
        scrubbed
    }

    fn secrets(&self) -> Vec<String> {
        use base64::Engine as _;
        let mut secrets = Vec::new();
        match &self.login {
            Login::Anonymous => {}
            Login::Password { username, password } => {
                secrets.push(password.reveal().to_owned());
                let both = format!("{username}:{}", password.reveal());
                secrets.push(base64::engine::general_purpose::STANDARD.encode(both));
            }
            Login::Bearer(token) => secrets.push(token.reveal().to_owned()),
            Login::Key { identity, passphrase, .. } => {
                let lines = identity.reveal().lines().filter(|line| !line.starts_with('-'));
                secrets.extend(lines.map(str::to_owned));
                secrets.extend(passphrase.iter().map(|p| p.reveal().to_owned()));
            }
        }
        if let Some(certificate) = &self.certificate {
            let lines = certificate.key.reveal().lines().filter(|line| !line.starts_with('-'));
            secrets.extend(lines.map(str::to_owned));
        }
        secrets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(pairs: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect()
    }

    #[test]
    fn flux_key_names_are_understood() {
        let access = |pairs| Access::from_secret(&secret(pairs));
        assert_eq!(access(&[]).unwrap().login, Login::Anonymous);
        assert_eq!(
            access(&[("username", "me"), ("password", "pw\n")]).unwrap().login,
            Login::Password { username: "me".into(), password: Secret::new("pw") }
        );
        assert_eq!(access(&[("bearerToken", "t")]).unwrap().login, Login::Bearer(Secret::new("t")));
        assert!(access(&[("caFile", "PEM")]).unwrap().authority.is_some());
        assert_eq!(
            access(&[("identity", "KEY"), ("known_hosts", "h"), ("password", "p")]).unwrap().login,
            Login::Key {
                identity: Secret::new("KEY"),
                passphrase: Some(Secret::new("p")),
                known_hosts: "h".into()
            }
        );
        assert_eq!(
            access(&[("identity", "KEY")]),
            Err(AccessError::Half("identity", "known_hosts"))
        );
        assert_eq!(access(&[("username", "me")]), Err(AccessError::Half("username", "password")));
        assert_eq!(
            access(&[("username", "me"), ("password", "x"), ("bearerToken", "t")]),
            Err(AccessError::Both("username", "bearerToken"))
        );
    }

    #[test]
    fn no_way_to_show_a_secret() {
        let access = Access {
            login: Login::Password { username: "me".into(), password: Secret::new("hunter2") },
            authority: None,
            certificate: Some(ClientCertificate {
                certificate: "C".into(),
                key: Secret::new("hunter2"),
            }),
        };
        assert!(!format!("{access:?} {access:#?}").contains("hunter2"));
        assert!(!format!("{}", Secret::new("hunter2")).contains("hunter2"));
        let said = "bad login hunter2, header Basic bWU6aHVudGVyMg==";
        assert_eq!(access.scrub(said), "bad login ***, header Basic ***");
    }
}
