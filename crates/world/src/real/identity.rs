//! Who the components are to the API server, and whom they trust.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use sha2::{Digest as _, Sha256};

use super::error::{RealError, at};

/// Who asks: file name of the kubeconfig, user name, groups.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Names the kubeconfig.
    pub name: &'static str,
    user: &'static str,
    groups: &'static str,
}

/// A person with every right.
pub const ADMIN: Identity = Identity { name: "admin", user: "admin", groups: "system:masters" };

// Names are those of ordinary installations, because admission policies and audit see them. Flux and
// the others have every right, as their usual cluster-admin bindings give them.
const FLUX_GROUPS: &str =
    "system:masters,system:serviceaccounts,system:serviceaccounts:flux-system";
const SYSTEM_GROUPS: &str =
    "system:masters,system:serviceaccounts,system:serviceaccounts:kube-system";

/// The kube-controller-manager.
pub const CONTROLLER_MANAGER: Identity = Identity {
    name: "kube-controller-manager",
    user: "system:kube-controller-manager",
    groups: "",
};
/// The kube-scheduler.
pub const SCHEDULER: Identity =
    Identity { name: "kube-scheduler", user: "system:kube-scheduler", groups: "" };
/// KWOK.
pub const KWOK: Identity = Identity {
    name: "kwok",
    user: "system:serviceaccount:kube-system:kwok-controller",
    groups: SYSTEM_GROUPS,
};
/// The snapshot-controller.
pub const SNAPSHOTS: Identity = Identity {
    name: "snapshot-controller",
    user: "system:serviceaccount:kube-system:snapshot-controller",
    groups: SYSTEM_GROUPS,
};
/// Flux's source-controller.
pub const SOURCE: Identity = Identity {
    name: "source-controller",
    user: "system:serviceaccount:flux-system:source-controller",
    groups: FLUX_GROUPS,
};
/// Flux's kustomize-controller.
pub const KUSTOMIZE: Identity = Identity {
    name: "kustomize-controller",
    user: "system:serviceaccount:flux-system:kustomize-controller",
    groups: FLUX_GROUPS,
};
/// Flux's helm-controller.
pub const HELM: Identity = Identity {
    name: "helm-controller",
    user: "system:serviceaccount:flux-system:helm-controller",
    groups: FLUX_GROUPS,
};

const ALL: [Identity; 8] =
    [ADMIN, CONTROLLER_MANAGER, SCHEDULER, KWOK, SNAPSHOTS, SOURCE, KUSTOMIZE, HELM];

/// The files that make a cluster's trust.
#[derive(Clone, Debug)]
pub struct Trust {
    folder: PathBuf,
}

impl Trust {
    /// Makes an authority, the server's certificate, the key that signs service account tokens, and a
    /// token and kubeconfig per identity.
    pub fn create(folder: &Path, server: &str) -> Result<Self, RealError> {
        let trust = Self { folder: folder.to_path_buf() };
        fs::create_dir_all(folder).map_err(at(folder))?;
        let authority_key = KeyPair::generate()?;
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        authority.distinguished_name.push(rcgen::DnType::CommonName, "holdfast-testbed");
        let authority_certificate = authority.self_signed(&authority_key)?;
        let issuer = Issuer::new(authority, &authority_key);
        let key = KeyPair::generate()?;
        let mut certificate = CertificateParams::new(vec![
            "localhost".to_owned(),
            "kubernetes.default.svc".to_owned(),
        ])?;
        certificate
            .subject_alt_names
            .push(SanType::IpAddress(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)));
        certificate.distinguished_name.push(rcgen::DnType::CommonName, "kube-apiserver");
        let certificate = certificate.signed_by(&key, &issuer)?;
        let accounts = KeyPair::generate()?;
        // Token secrets come from the randomness of a key that is used for nothing else.
        let secret = KeyPair::generate()?.serialize_der();
        let mut tokens = String::new();
        for identity in ALL {
            let token = token(&secret, identity.name);
            tokens.push_str(&token_line(identity, &token));
            trust.write(
                &format!("{}.kubeconfig", identity.name),
                &kubeconfig(server, &authority_certificate.pem(), identity, &token),
            )?;
        }
        trust.write("ca.crt", &authority_certificate.pem())?;
        trust.write("server.crt", &certificate.pem())?;
        trust.write("server.key", &key.serialize_pem())?;
        trust.write("accounts.key", &accounts.serialize_pem())?;
        trust.write("accounts.pub", &accounts.public_key_pem())?;
        trust.write("tokens.csv", &tokens)?;
        Ok(trust)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), RealError> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let path = self.path(name);
        fs::File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
            .map_err(at(&path))
    }

    /// The path of one of the files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The kubeconfig of an identity.
    pub fn kubeconfig(&self, identity: Identity) -> PathBuf {
        self.path(&format!("{}.kubeconfig", identity.name))
    }
}

fn token(secret: &[u8], name: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(secret);
    digest.update(name.as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(digest.finalize())
}

fn token_line(identity: Identity, token: &str) -> String {
    let Identity { name, user, groups } = identity;
    if groups.is_empty() {
        return format!("{token},{user},{name}\n");
    }
    format!("{token},{user},{name},\"{groups}\"\n")
}

fn kubeconfig(server: &str, authority: &str, identity: Identity, token: &str) -> String {
    let authority = base64::engine::general_purpose::STANDARD.encode(authority);
    let name = identity.name;
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: holdfast-testbed
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {name}
  user:
    token: {token}
contexts:
- name: holdfast-testbed
  context:
    cluster: holdfast-testbed
    user: {name}
current-context: holdfast-testbed
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identity_has_a_token_of_its_own_and_a_kubeconfig_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let trust = Trust::create(folder.path(), "https://127.0.0.1:1").unwrap();
        let tokens = fs::read_to_string(trust.path("tokens.csv")).unwrap();
        let first: std::collections::BTreeSet<&str> =
            tokens.lines().map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(first.len(), ALL.len());
        let admin = tokens.lines().find(|line| line.contains(",admin,")).unwrap();
        assert!(admin.ends_with(",admin,admin,\"system:masters\""));
        let kubeconfig = fs::read_to_string(trust.kubeconfig(ADMIN)).unwrap();
        assert!(kubeconfig.contains(admin.split(',').next().unwrap()));
        kube::config::Kubeconfig::from_yaml(&kubeconfig).unwrap();
    }
}
