//! GitHub Apps: a private key says who we are, and an hour's token is given for it.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::{Address, Call};
use crate::auth::Secret;

/// A GitHub App as installed for an owner.
#[derive(Clone, Debug)]
pub struct App {
    /// The App's id, or its client id.
    pub id: String,
    /// The installation's id.
    pub installation: String,
    /// The App's private key, as PEM.
    pub key: Secret,
}

/// A token that was given.
pub(super) struct Issued {
    pub(super) token: Secret,
    until: Timestamp,
}

impl App {
    /// The signed statement that we are the App, good for nine minutes.
    pub(super) fn statement(&self, now: Timestamp) -> Result<Secret, String> {
        let key = PrivateKeyDer::from_pem_slice(self.key.reveal().as_bytes())
            .map_err(|_| "the App's privateKey is not a PEM private key".to_owned())?;
        let key = match &key {
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
            _ => return Err("the App's privateKey is not an RSA key".to_owned()),
        };
        // What the parser says could quote the key.
        let key = key.map_err(|_| "the App's privateKey is not an RSA key".to_owned())?;
        let seconds = now.as_second();
        // A minute back, for clocks that disagree.
        let claims = json!({"iat": seconds - 60, "exp": seconds + 540, "iss": self.id});
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(json!({"alg": "RS256", "typ": "JWT"})), part(claims));
        let mut signature = vec![0; key.public_modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
            .map_err(|_| "the App's privateKey cannot sign".to_owned())?;
        Ok(Secret::new(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }

    /// The request for a token.
    pub(super) fn ask(&self, at: &Address) -> Call {
        let id = super::call::encoded(&self.installation);
        Call::new("POST", format!("{}/app/installations/{id}/access_tokens", at.api))
    }
}

impl Issued {
    pub(super) fn read(answer: &Value) -> Option<Self> {
        let token = Secret::new(answer.get("token")?.as_str()?);
        let until = answer.get("expires_at")?.as_str()?.parse().ok()?;
        Some(Self { token, until })
    }

    /// Whether it is good for a while yet.
    pub(super) fn is_good(&self, now: Timestamp) -> bool {
        now + SignedDuration::from_mins(5) < self.until
    }
}
