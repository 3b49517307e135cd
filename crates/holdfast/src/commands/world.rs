//! `holdfast world`.

use std::path::PathBuf;
use std::process::ExitCode;

use holdfast_world::actors;
use holdfast_world::crds;
use holdfast_world::scenario::Stage;
use holdfast_world::world::World;

use super::{Outcome, say};

/// How the simulated cluster is served.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  holdfast world --port 6443 --write-kubeconfig world.yaml
  kubectl --kubeconfig world.yaml get namespaces
  holdfast world --no-actors

With its actors the cluster has a node, so that pods run.")]
pub struct Args {
    /// The port on loopback; any free one if 0.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,

    /// Write a kubeconfig for the cluster to this file.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,

    /// Serve the API alone: nothing schedules, binds or reconciles.
    #[arg(long)]
    no_actors: bool,

    /// Chooses uids and generated names.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
}

impl Args {
    /// Serves until Ctrl-C.
    pub fn run(self) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let world = World::live(self.seed, super::wall_clock());
            serve(&world, self.port, self.write_kubeconfig.as_ref(), self.no_actors).await
        })
    }
}

/// Serves a world until Ctrl-C.
pub async fn serve(
    world: &World,
    port: u16,
    kubeconfig: Option<&PathBuf>,
    no_actors: bool,
) -> Outcome {
    let (listener, address) = holdfast_apiserver::http::bind(port).await.map_err(|error| {
        format!("port {port} on 127.0.0.1 cannot be used: {error}; choose another with --port")
    })?;
    if let Some(path) = kubeconfig {
        std::fs::write(path, World::kubeconfig(address))
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        say(&format!(
            "the simulated cluster listens on http://{address}; try: kubectl --kubeconfig {} get namespaces",
            path.display()
        ));
    } else {
        say(&format!(
            "the simulated cluster listens on http://{address} (token {})",
            holdfast_world::world::TOKEN
        ));
    }
    let stage = Stage::simulated(world);
    let actors = async {
        if no_actors {
            return std::future::pending().await;
        }
        let mut definitions = crds::snapshots();
        definitions.extend(crds::flux());
        definitions.extend(crds::flux_operator());
        definitions.extend(crds::volsync());
        definitions.extend(crds::kopiur(actors::kopiur::Dialect::PerClaim));
        if let Err(error) = crds::install(&stage.client, definitions).await {
            tracing::warn!(%error, "the actors' kinds could not be installed");
        }
        if let Err(error) = actors::workloads::ensure_node(&stage.client).await {
            tracing::warn!(%error, "there is no node for pods to run on");
        }
        world.act(actors::everyone(&stage)).await;
    };
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
        served = world.serve(listener) => match served {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => Err(format!("the port stopped answering: {error}").into()),
        },
        () = world.turn() => Ok(ExitCode::SUCCESS),
        () = actors => Ok(ExitCode::SUCCESS),
    }
}
