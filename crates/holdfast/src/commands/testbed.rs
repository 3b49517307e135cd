//! `holdfast testbed`: the real cluster that the tests use, for a person.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use holdfast_world::real::{Cluster, Component, Options};

use super::{Outcome, print, say};

/// What to do with it.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Start a real cluster on loopback and keep it until Ctrl-C.
    Up(Up),
}

/// What the cluster consists of.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Start a real cluster on loopback and keep it until Ctrl-C: etcd and kube-apiserver, \
beside them kube-controller-manager, kube-scheduler, KWOK nodes, Flux's source, kustomize and helm \
controllers and the snapshot-controller. No container engine is needed. The programs are built with \
Go once, which takes about 21 minutes on two cores, and kept in the user's cache.",
    after_help = "Examples:
  holdfast testbed up
  holdfast testbed up --components controller-manager,scheduler,kwok
  holdfast testbed up --write-kubeconfig testbed.kubeconfig"
)]
struct Up {
    /// What runs beside etcd and kube-apiserver: controller-manager, scheduler, kwok, flux,
    /// snapshot-controller, none; default: everything.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    components: Vec<String>,

    /// Write the cluster's kubeconfig to this file; it is removed with the cluster.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,

    /// How many KWOK nodes there are.
    #[arg(long, default_value_t = 3)]
    nodes: usize,

    /// How many seconds one component may take to become ready.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    patience: u64,
}

impl Args {
    /// Runs the action to its end.
    pub fn run(self) -> Outcome {
        let Action::Up(up) = self.action;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(up.run())
    }
}

impl Up {
    async fn run(self) -> Outcome {
        let mut options = Options::with(components(&self.components)?);
        options.nodes = self.nodes;
        options.patience = Duration::from_secs(self.patience);
        let mut interrupt =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
        let mut terminate =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let mut cluster = tokio::select! {
            biased;
            _ = interrupt.recv() => return Ok(ExitCode::from(130)),
            _ = terminate.recv() => return Ok(ExitCode::from(143)),
            cluster = Cluster::start(options) => cluster?,
        };
        let kubeconfig = match &self.write_kubeconfig {
            Some(path) => {
                std::fs::copy(cluster.kubeconfig(), path)?;
                path.clone()
            }
            None => cluster.kubeconfig(),
        };
        print(&format!("export KUBECONFIG={}\n", kubeconfig.display()))?;
        let names: Vec<String> = cluster.processes().into_iter().map(|(name, _)| name).collect();
        say(&format!("{} answers, with {}", cluster.url(), names.join(", ")));
        say(&format!("kubectl: {}", cluster.kubectl().display()));
        say(&format!("logs: {}", cluster.logs().display()));
        say("Ctrl-C ends it.");
        let ended = loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => break Ok(()),
                _ = terminate.recv() => break Ok(()),
                () = tokio::time::sleep(Duration::from_secs(1)) => {
                    if let Err(error) = cluster.check() {
                        cluster.keep_logs();
                        break Err(error);
                    }
                }
            }
        };
        cluster.stop();
        if let Some(path) = &self.write_kubeconfig {
            std::fs::remove_file(path)?;
        }
        ended?;
        Ok(ExitCode::SUCCESS)
    }
}

fn components(names: &[String]) -> Result<Vec<Component>, String> {
    if names.is_empty() {
        return Ok(Component::ALL.to_vec());
    }
    if names.len() == 1 && names.iter().any(|name| name == "none") {
        return Ok(Vec::new());
    }
    let known = || Component::ALL.map(Component::name).join(", ");
    names
        .iter()
        .map(|name| {
            Component::ALL.into_iter().find(|component| component.name() == name).ok_or_else(|| {
                format!("there is no component {name:?}; write some of {}, or none", known())
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> Result<Vec<Component>, String> {
        components(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn components_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), 5);
        assert_eq!(chosen(&["none"]).unwrap(), []);
        assert_eq!(chosen(&["kwok", "flux"]).unwrap(), [Component::Kwok, Component::Flux]);
        assert_eq!(
            chosen(&["kvok"]).unwrap_err(),
            "there is no component \"kvok\"; write some of controller-manager, scheduler, kwok, snapshot-controller, flux, or none"
        );
    }
}
