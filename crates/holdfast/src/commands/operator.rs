//! `holdfast operator`.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use holdfast_api::names::NAMESPACE;
use holdfast_api::timeline::Capability;
use holdfast_cluster::clock::SystemClock;
use holdfast_cluster::lease::Options as LeaseOptions;
use holdfast_cluster::operator::{self, Options, Part, Shared};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Outcome;
use crate::endpoint;

/// How the operator runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  holdfast operator
  holdfast operator --kubeconfig ~/.kube/config --capabilities upgrade,record
  holdfast operator --no-leader-election --health-address 127.0.0.1:8081")]
pub struct Args {
    /// The capabilities to run, separated by commas: upgrade, protect, guard, record. Those whose
    /// kinds are installed if left out.
    #[arg(long, value_delimiter = ',', value_parser = capability, value_name = "LIST")]
    capabilities: Option<Vec<Capability>>,

    /// The kubeconfig to read; the pod's own account, or the usual places, if left out.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    /// The namespace that Holdfast lives in.
    #[arg(long, env = "POD_NAMESPACE", default_value = NAMESPACE, value_name = "NAMESPACE")]
    namespace: String,

    /// The name of this process among those that want to lead.
    #[arg(long, env = "POD_NAME", default_value_t = default_identity(), value_name = "NAME")]
    identity: String,

    /// Lead at once, without a lease. Only where there is no other operator.
    #[arg(long)]
    no_leader_election: bool,

    /// Where /healthz and /readyz are served.
    #[arg(long, default_value = "0.0.0.0:8081", value_name = "ADDRESS")]
    health_address: SocketAddr,

    /// Where /metrics is served.
    #[arg(long, default_value = "0.0.0.0:8080", value_name = "ADDRESS")]
    metrics_address: SocketAddr,
}

/// Everything that the operator consists of: what all capabilities share, then each capability.
pub fn parts() -> Vec<Box<dyn Part>> {
    vec![Box::new(Shared)]
}

impl Args {
    /// Runs until the process is asked to stop, or may not lead any more.
    pub fn run(self) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.operate())
    }

    async fn operate(self) -> Outcome {
        let client = Client::try_from(self.config().await?)?;
        let (context, runner) =
            operator::prepare(client, Arc::new(SystemClock), &self.namespace, &self.identity);
        let lease = (!self.no_leader_election)
            .then(|| LeaseOptions::new(&self.namespace, "holdfast", &self.identity));
        let capabilities = self.capabilities.map(BTreeSet::from_iter);
        let options = Options { capabilities, lease };

        let health = endpoint::bind(self.health_address).await?;
        let metrics = endpoint::bind(self.metrics_address).await?;
        let stop = context.tasks.stop().clone();
        let health = endpoint::serve_health(health, context.readiness.clone());
        let metrics = endpoint::serve_metrics(metrics, context.metrics.clone());
        let operator = operator::run(context, runner, options, parts());
        let ended = tokio::select! {
            biased;
            ended = operator => ended,
            () = async { tokio::join!(health, metrics, stop_on_signal(stop)); } => Ok(()),
        };
        match ended {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => Err(error.into()),
        }
    }

    async fn config(&self) -> Result<Config, Box<dyn std::error::Error + Send + Sync>> {
        let options = KubeConfigOptions { context: self.context.clone(), ..Default::default() };
        if let Some(path) = &self.kubeconfig {
            let read = Kubeconfig::read_from(path)
                .map_err(|error| format!("{} cannot be used: {error}", path.display()))?;
            return Ok(Config::from_custom_kubeconfig(read, &options).await?);
        }
        if self.context.is_some() {
            return Ok(Config::from_kubeconfig(&options).await?);
        }
        Ok(Config::infer().await?)
    }
}

/// Asks everything to stop on SIGTERM or Ctrl-C, and goes on: the operator says when it has ended.
async fn stop_on_signal(stop: CancellationToken) {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    tokio::select! {
        biased;
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    stop.cancel();
    std::future::pending::<()>().await;
}

fn capability(text: &str) -> Result<Capability, String> {
    text.parse().map_err(|_| {
        format!("there is no capability {text:?}: write upgrade, protect, guard or record")
    })
}

/// The process id keeps apart two operators on one machine.
fn default_identity() -> String {
    format!("holdfast-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::commands::Cli;

    #[test]
    fn an_unknown_capability_gets_a_sentence() {
        let error = Cli::try_parse_from(["holdfast", "operator", "--capabilities", "upgrade,fly"])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(
                "there is no capability \"fly\": write upgrade, protect, guard or record"
            ),
            "{error}"
        );
    }

    #[test]
    fn capabilities_are_read_in_any_case() {
        assert_eq!(capability("Guard"), Ok(Capability::Guard));
        assert_eq!(capability("record"), Ok(Capability::Record));
    }
}
