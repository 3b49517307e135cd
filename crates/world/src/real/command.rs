//! The command lines of the components.

use std::path::Path;
use std::process::Command;

use super::error::{RealError, at};
use super::identity::{self, Identity, Trust};

/// etcd, which keeps nothing that outlives the cluster and so need not wait for the disk.
pub fn etcd(program: &Path, folder: &Path, client: u16, peer: u16) -> Command {
    let client = format!("http://127.0.0.1:{client}");
    let peer = format!("http://127.0.0.1:{peer}");
    let mut command = Command::new(program);
    command
        .arg("--name=default")
        .arg(format!("--data-dir={}", folder.join("etcd").display()))
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=default={peer}"))
        .arg("--unsafe-no-fsync");
    command
}

/// kube-apiserver.
pub fn api_server(program: &Path, trust: &Trust, folder: &Path, etcd: u16, port: u16) -> Command {
    let file = |name: &str| trust.path(name).display().to_string();
    let mut command = Command::new(program);
    command
        .arg(format!("--etcd-servers=http://127.0.0.1:{etcd}"))
        .arg("--bind-address=127.0.0.1")
        .arg(format!("--secure-port={port}"))
        .arg(format!("--cert-dir={}", folder.join("certificates").display()))
        .arg(format!("--tls-cert-file={}", file("server.crt")))
        .arg(format!("--tls-private-key-file={}", file("server.key")))
        .arg(format!("--token-auth-file={}", file("tokens.csv")))
        .arg(format!("--service-account-key-file={}", file("accounts.pub")))
        .arg(format!("--service-account-signing-key-file={}", file("accounts.key")))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg("--service-cluster-ip-range=10.96.0.0/16")
        .arg("--authorization-mode=RBAC")
        // Pods run nowhere, so no service account token has to be mounted into them.
        .arg("--disable-admission-plugins=ServiceAccount")
        .arg("--allow-privileged=true");
    command
}

/// kube-controller-manager; each controller asks as its own service account, as on an installed
/// cluster.
pub fn controller_manager(program: &Path, trust: &Trust, folder: &Path, port: u16) -> Command {
    let mut command = Command::new(program);
    kube_flags(&mut command, trust, folder, identity::CONTROLLER_MANAGER, port);
    command
        .arg(format!("--service-account-private-key-file={}", trust.path("accounts.key").display()))
        .arg("--use-service-account-credentials=true")
        // The default pace is meant for clusters of other sizes.
        .arg("--kube-api-qps=300")
        .arg("--kube-api-burst=600");
    command
}

/// kube-scheduler.
pub fn scheduler(program: &Path, trust: &Trust, folder: &Path, port: u16) -> Command {
    let mut command = Command::new(program);
    kube_flags(&mut command, trust, folder, identity::SCHEDULER, port);
    command
}

fn kube_flags(command: &mut Command, trust: &Trust, folder: &Path, who: Identity, port: u16) {
    let kubeconfig = trust.kubeconfig(who).display().to_string();
    command
        .arg(format!("--kubeconfig={kubeconfig}"))
        .arg(format!("--authentication-kubeconfig={kubeconfig}"))
        .arg(format!("--authorization-kubeconfig={kubeconfig}"))
        .arg("--leader-elect=false")
        .arg("--bind-address=127.0.0.1")
        .arg(format!("--secure-port={port}"))
        .arg(format!("--cert-dir={}", folder.join(who.name).display()));
}

/// KWOK for every node there is.
pub fn kwok(program: &Path, trust: &Trust, stages: &Path, port: u16) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!("--kubeconfig={}", trust.kubeconfig(identity::KWOK).display()))
        .arg(format!("--config={}", stages.display()))
        .arg("--manage-all-nodes=true")
        .arg("--node-lease-duration-seconds=40")
        .arg(format!("--server-address=127.0.0.1:{port}"));
    command
}

/// The snapshot-controller with group snapshots.
pub fn snapshot_controller(program: &Path, trust: &Trust, port: u16) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!("--kubeconfig={}", trust.kubeconfig(identity::SNAPSHOTS).display()))
        .arg("--leader-election=false")
        .arg("--feature-gates=CSIVolumeGroupSnapshot=true")
        .arg(format!("--http-endpoint=127.0.0.1:{port}"));
    command
}

/// One of Flux's controllers. `ports`: metrics, health, artifact storage.
pub fn flux(
    program: &Path,
    trust: &Trust,
    folder: &Path,
    who: Identity,
    ports: [u16; 3],
) -> Result<Command, RealError> {
    let [metrics, health, storage] = ports;
    let home = folder.join(who.name);
    std::fs::create_dir_all(&home).map_err(at(&home))?;
    let mut command = Command::new(program);
    command
        .env("KUBECONFIG", trust.kubeconfig(who))
        .env("RUNTIME_NAMESPACE", "flux-system")
        .env("HOME", &home)
        .env("TMPDIR", &home)
        .arg(format!("--metrics-addr=127.0.0.1:{metrics}"))
        .arg(format!("--health-addr=127.0.0.1:{health}"))
        .arg("--events-addr=");
    if who.name != identity::SOURCE.name {
        // The default is half a minute of waiting wherever something depends on something.
        command.arg("--requeue-dependency=5s");
    }
    if who.name == identity::SOURCE.name {
        command
            .arg(format!("--storage-path={}", home.display()))
            .arg(format!("--storage-addr=127.0.0.1:{storage}"))
            .arg(format!("--storage-adv-addr=127.0.0.1:{storage}"));
    }
    Ok(command)
}
