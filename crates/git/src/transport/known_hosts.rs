//! Which keys a server may show, as OpenSSH's `known_hosts` says.

use hmac::{Hmac, Mac as _};
use russh::keys::ssh_key::known_hosts::{HostPatterns, Marker};
use russh::keys::ssh_key::{Algorithm, HashAlg, KnownHosts, PublicKey};
use sha1::Sha1;

/// What the known keys say of one that a server shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the server's.
    Known,
    /// No key is known for the server.
    Unknown,
    /// Another key is known for the server, or this one is revoked.
    Changed,
}

/// The keys that are known for one server.
#[derive(Clone, Debug)]
pub(super) struct Known {
    keys: Vec<PublicKey>,
    revoked: Vec<PublicKey>,
}

impl Known {
    /// Reads them. Lines that cannot be read vouch for nobody.
    pub(super) fn read(text: &str, host: &str, port: u16) -> Self {
        // What OpenSSH looks for.
        let name = if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") };
        let mut known = Self { keys: Vec::new(), revoked: Vec::new() };
        for entry in KnownHosts::new(text).flatten() {
            if !covers(entry.host_patterns(), &name) {
                continue;
            }
            match entry.marker() {
                None => known.keys.push(entry.public_key().clone()),
                Some(Marker::Revoked) => known.revoked.push(entry.public_key().clone()),
                Some(Marker::CertAuthority) => {}
            }
        }
        known
    }

    pub(super) fn judge(&self, shown: &PublicKey) -> Verdict {
        let is = |key: &PublicKey| key.key_data() == shown.key_data();
        if self.revoked.iter().any(is) {
            Verdict::Changed
        } else if self.keys.iter().any(is) {
            Verdict::Known
        } else if self.keys.is_empty() {
            Verdict::Unknown
        } else {
            Verdict::Changed
        }
    }

    /// Algorithms in the order in which to ask for them: those that a key is known for come first,
    /// or a server with several keys would show one that nobody wrote down.
    pub(super) fn preference(&self, all: &[Algorithm]) -> Vec<Algorithm> {
        let known = |algorithm: &Algorithm| {
            self.keys.iter().any(|key| match (key.algorithm(), algorithm) {
                (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
                (own, other) => own == *other,
            })
        };
        let (mut first, rest): (Vec<_>, Vec<_>) = all.iter().cloned().partition(known);
        first.extend(rest);
        first
    }
}

/// A key as people compare it.
pub(super) fn fingerprint(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

fn covers(patterns: &HostPatterns, name: &str) -> bool {
    match patterns {
        HostPatterns::Patterns(patterns) => {
            let mut covered = false;
            for pattern in patterns {
                match pattern.strip_prefix('!') {
                    Some(pattern) if matches(pattern, name) => return false,
                    Some(_) => {}
                    None => covered |= matches(pattern, name),
                }
            }
            covered
        }
        HostPatterns::HashedName { salt, hash } => {
            let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(salt) else { return false };
            mac.update(name.as_bytes());
            mac.verify_slice(hash).is_ok()
        }
    }
}

/// `*` stands for any characters and `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_lowercase(), name.to_ascii_lowercase());
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == b'?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
    const TWO: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA6rWI3G1sz07DnfFlrouTcysQlj2P+jpNSOEWD9OJ3X";

    fn judge(text: &str, host: &str, port: u16, key: &str) -> Verdict {
        Known::read(text, host, port).judge(&PublicKey::from_openssh(key).unwrap())
    }

    #[test]
    fn only_the_written_key_of_the_host_is_known() {
        let text = format!("# comment\nnonsense\nexample.org,*.example.com {ONE}\n");
        assert_eq!(judge(&text, "example.org", 22, ONE), Verdict::Known);
        assert_eq!(judge(&text, "git.example.com", 22, ONE), Verdict::Known);
        assert_eq!(judge(&text, "example.org", 22, TWO), Verdict::Changed);
        assert_eq!(judge(&text, "example.org", 2222, ONE), Verdict::Unknown);
        assert_eq!(judge(&text, "other.org", 22, ONE), Verdict::Unknown);
        let text = format!("[example.org]:2222 {ONE}\n");
        assert_eq!(judge(&text, "example.org", 2222, ONE), Verdict::Known);
        let text = format!("*,!bad.org {ONE}\n");
        assert_eq!(judge(&text, "bad.org", 22, ONE), Verdict::Unknown);
        let text = format!("example.org {ONE}\n@revoked * {ONE}\n");
        assert_eq!(judge(&text, "example.org", 22, ONE), Verdict::Changed);
        let text = format!("@cert-authority * {ONE}\n");
        assert_eq!(judge(&text, "example.org", 22, ONE), Verdict::Unknown);
    }

    #[test]
    fn hashed_names_are_recognised() {
        use base64::Engine as _;
        let base64 = base64::engine::general_purpose::STANDARD;
        let salt = [7_u8; 20];
        let mut mac = Hmac::<Sha1>::new_from_slice(&salt).unwrap();
        mac.update(b"example.org");
        let hash = mac.finalize().into_bytes();
        let text = format!("|1|{}|{} {ONE}\n", base64.encode(salt), base64.encode(hash));
        assert_eq!(judge(&text, "example.org", 22, ONE), Verdict::Known);
        assert_eq!(judge(&text, "example.com", 22, ONE), Verdict::Unknown);
    }

    #[test]
    fn algorithms_with_a_known_key_are_asked_for_first() {
        let known = Known::read(&format!("h {ONE}\n"), "h", 22);
        let rsa = Algorithm::Rsa { hash: Some(HashAlg::Sha512) };
        let all = [rsa.clone(), Algorithm::Ed25519];
        assert_eq!(known.preference(&all), [Algorithm::Ed25519, rsa]);
    }
}
