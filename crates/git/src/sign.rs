//! Signatures of commits, made in the process: by an SSH key or an OpenPGP key.

use std::fmt;

use pgp::composed::{ArmorOptions, Deserializable as _, DetachedSignature, SignedSecretKey};
use pgp::packet::{SignatureConfig, SignatureType, Subpacket, SubpacketData};
use pgp::types::{KeyVersion, Password, SigningKey, Timestamp};
use russh::keys::PrivateKey;
use russh::keys::ssh_key::{HashAlg, LineEnding};
use thiserror::Error;

use crate::auth::Secret;
use crate::commit::Moment;
use crate::error::chain;

/// Why something is not signed. Says nothing of the key's content.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SignError {
    /// The text is no key, or its password is wrong.
    #[error("the {form} key cannot be read{}", if *.locked { ": its password is missing or wrong" } else { "" })]
    Key {
        /// Which kind of key was expected.
        form: &'static str,
        /// Whether the password is the reason.
        locked: bool,
    },
    /// The key is not for signing.
    #[error("the OpenPGP key has no part that may sign")]
    NotForSigning,
    /// The key is of a version that git's verifiers do not know.
    #[error("the OpenPGP key is not of version 4, which is what git's verifiers know")]
    Version,
    /// Signing failed.
    #[error("{0}")]
    Failed(String),
}

/// The key that git's own signatures are made for.
const NAMESPACE: &str = "git";

/// Someone who signs.
pub struct Signer(Key);

enum Key {
    Ssh(Box<PrivateKey>),
    OpenPgp { key: Box<SignedSecretKey>, password: Password },
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Key::Ssh(_) => "Signer(ssh)",
            Key::OpenPgp { .. } => "Signer(openpgp)",
        })
    }
}

/// Reads a private key of ssh, in any of the forms that ssh-keygen writes.
pub(crate) fn ssh_key(
    identity: &Secret,
    passphrase: Option<&Secret>,
) -> Result<PrivateKey, SignError> {
    let refuse = |locked| SignError::Key { form: "SSH", locked };
    let text = identity.reveal();
    // The parser wants the last line to end.
    let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let text = zeroize::Zeroizing::new(text);
    match russh::keys::decode_secret_key(&text, passphrase.map(Secret::reveal)) {
        Ok(key) if key.is_encrypted() => Err(refuse(true)),
        Ok(key) => Ok(key),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(refuse(true)),
        // A password for a key that has none is not held against it.
        Err(_) if passphrase.is_some() => match russh::keys::decode_secret_key(&text, None) {
            Ok(key) if !key.is_encrypted() => Ok(key),
            Ok(_) | Err(russh::keys::Error::KeyIsEncrypted) => Err(refuse(true)),
            Err(_) => Err(refuse(false)),
        },
        Err(_) => Err(refuse(false)),
    }
}

impl Signer {
    /// Signs by an SSH key.
    pub fn ssh(identity: &Secret, passphrase: Option<&Secret>) -> Result<Self, SignError> {
        Ok(Self(Key::Ssh(Box::new(ssh_key(identity, passphrase)?))))
    }

    /// Signs by an armoured OpenPGP key.
    pub fn openpgp(armoured: &Secret, passphrase: Option<&Secret>) -> Result<Self, SignError> {
        let unreadable = SignError::Key { form: "OpenPGP", locked: false };
        let (key, _) = SignedSecretKey::from_string(armoured.reveal()).map_err(|_| unreadable)?;
        let password = passphrase.map_or_else(Password::empty, |p| Password::from(p.reveal()));
        let signer = Self(Key::OpenPgp { key: Box::new(key), password });
        // A wrong password is found out now, not at the first commit.
        signer.sign(b"", Moment::utc(0))?;
        Ok(signer)
    }

    /// The signature of a commit, as its header carries it.
    pub fn sign(&self, payload: &[u8], at: Moment) -> Result<String, SignError> {
        match &self.0 {
            Key::Ssh(key) => {
                let failed = |e| SignError::Failed(chain(&e));
                let signature = key.sign(NAMESPACE, HashAlg::Sha512, payload).map_err(failed)?;
                signature.to_pem(LineEnding::LF).map_err(failed)
            }
            Key::OpenPgp { key, password } => {
                let subkey = key.secret_subkeys.iter().find(|subkey| {
                    subkey.signatures.iter().any(|signature| signature.key_flags().sign())
                });
                if let Some(subkey) = subkey {
                    return detached(&subkey.key, password, payload, at);
                }
                let users = key.details.users.iter().flat_map(|user| &user.signatures);
                let mut own = users.chain(&key.details.direct_signatures);
                if !own.any(|signature| signature.key_flags().sign()) {
                    return Err(SignError::NotForSigning);
                }
                detached(&key.primary_key, password, payload, at)
            }
        }
    }
}

fn detached(
    key: &impl SigningKey,
    password: &Password,
    payload: &[u8],
    at: Moment,
) -> Result<String, SignError> {
    if key.version() != KeyVersion::V4 {
        return Err(SignError::Version);
    }
    let failed = |e: pgp::errors::Error| SignError::Failed(chain(&e));
    let created = Timestamp::from_secs(u32::try_from(at.seconds.max(0)).unwrap_or(u32::MAX));
    let mut config = SignatureConfig::v4(SignatureType::Binary, key.algorithm(), key.hash_alg());
    config.hashed_subpackets = vec![
        Subpacket::regular(SubpacketData::SignatureCreationTime(created)).map_err(failed)?,
        Subpacket::regular(SubpacketData::IssuerFingerprint(key.fingerprint())).map_err(failed)?,
    ];
    config.unhashed_subpackets =
        vec![Subpacket::regular(SubpacketData::IssuerKeyId(key.legacy_key_id())).map_err(failed)?];
    let signature = config
        .sign(key, password, payload)
        .map_err(|_| SignError::Key { form: "OpenPGP", locked: true })?;
    DetachedSignature::new(signature).to_armored_string(ArmorOptions::default()).map_err(failed)
}

#[cfg(test)]
mod tests;
