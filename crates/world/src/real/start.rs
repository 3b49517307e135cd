//! Starts the components in the order in which they need each other.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use super::error::{RealError, asking, at};
use super::health::{self, Health};
use super::identity::{self, Trust};
use super::module::{self, Built};
use super::process::{Guardian, Process};
use super::{Cluster, Component, Options, command, files, ports};

impl Cluster {
    /// One attempt; the logs of a failed one are kept.
    pub(super) async fn start_once(
        options: &Options,
        built: BTreeMap<&'static str, Built>,
    ) -> Result<Self, RealError> {
        let run = files::Run::create(&options.cache)?;
        let [etcd_port, peer_port, api_port] = ports::free()?;
        let trust =
            Trust::create(&run.path().join("trust"), &format!("https://127.0.0.1:{api_port}"))?;
        let config = health::config(&trust.kubeconfig(identity::ADMIN)).await?;
        let client =
            kube::Client::try_from(config.clone()).map_err(asking("a client for the cluster"))?;
        let guardian = Guardian::start()?;
        let components = options.components.clone();
        let mut cluster =
            Self { processes: Vec::new(), guardian, client, config, trust, built, components, run };
        let outcome = async {
            cluster.start_server(options.patience, etcd_port, peer_port, api_port).await?;
            cluster.start_components(options).await
        };
        if let Err(error) = outcome.await {
            cluster.keep_logs();
            return Err(error);
        }
        Ok(cluster)
    }

    async fn start_server(
        &mut self,
        patience: Duration,
        etcd_port: u16,
        peer_port: u16,
        api_port: u16,
    ) -> Result<(), RealError> {
        let folder = self.run.path().to_path_buf();
        let etcd = self.built(&module::ETCD)?.program("etcd");
        let etcd = self.spawn("etcd", command::etcd(&etcd, &folder, etcd_port, peer_port))?;
        self.wait(etcd, &Health::http(etcd_port, "/health"), patience).await?;
        let server = self.built(&module::KUBE)?.program("kube-apiserver");
        let server = command::api_server(&server, &self.trust, &folder, etcd_port, api_port);
        let server = self.spawn("kube-apiserver", server)?;
        let health = Health::server(&self.config)?;
        self.wait(server, &health, patience).await
    }

    /// These need not wait for each other, so all are started before any is waited for.
    async fn start_components(&mut self, options: &Options) -> Result<(), RealError> {
        let mut started = Vec::new();
        for component in Component::ALL {
            if options.components.contains(&component) {
                started.extend(self.start_component(component, options).await?);
            }
        }
        for (index, health) in started {
            self.wait(index, &health, options.patience).await?;
        }
        if options.components.contains(&Component::Kwok) {
            files::await_nodes(&self.client, options.nodes, options.patience).await?;
        }
        Ok(())
    }

    async fn start_component(
        &mut self,
        component: Component,
        options: &Options,
    ) -> Result<Vec<(usize, Health)>, RealError> {
        let folder = self.run.path().to_path_buf();
        let built = self.built(component.module())?.clone();
        let trust = self.trust.clone();
        let ports @ [port, ..] = ports::free::<3>()?;
        match component {
            Component::ControllerManager => {
                let name = "kube-controller-manager";
                let command =
                    command::controller_manager(&built.program(name), &trust, &folder, port);
                Ok(vec![(self.spawn(name, command)?, Health::https(port)?)])
            }
            Component::Scheduler => {
                let name = "kube-scheduler";
                let command = command::scheduler(&built.program(name), &trust, &folder, port);
                Ok(vec![(self.spawn(name, command)?, Health::https(port)?)])
            }
            Component::Kwok => {
                let stages = folder.join("stages.yaml");
                std::fs::write(&stages, files::stages(built.files()?)).map_err(at(&stages))?;
                files::create_nodes(&self.client, options.nodes).await?;
                let command = command::kwok(&built.program("kwok"), &trust, &stages, port);
                Ok(vec![(self.spawn("kwok", command)?, Health::http(port, "/healthz"))])
            }
            Component::SnapshotController => {
                files::install(&self.client, &built.files()?, options.patience).await?;
                let name = "snapshot-controller";
                let command = command::snapshot_controller(&built.program(name), &trust, port);
                Ok(vec![(self.spawn(name, command)?, Health::http(port, "/metrics"))])
            }
            Component::Flux => {
                files::install(&self.client, &built.files()?, options.patience).await?;
                files::create_namespace(&self.client, "flux-system").await?;
                let mut started = Vec::new();
                for (who, ports) in [
                    (identity::SOURCE, ports),
                    (identity::KUSTOMIZE, ports::free()?),
                    (identity::HELM, ports::free()?),
                ] {
                    let command =
                        command::flux(&built.program(who.name), &trust, &folder, who, ports)?;
                    let health = Health::http(ports[1], "/readyz");
                    started.push((self.spawn(who.name, command)?, health));
                }
                Ok(started)
            }
        }
    }

    fn built(&self, module: &module::Module) -> Result<&Built, RealError> {
        self.built.get(module.name).ok_or_else(|| RealError::Malformed {
            what: module.name.to_owned(),
            why: "was not built".to_owned(),
        })
    }

    fn spawn(&mut self, name: &str, command: Command) -> Result<usize, RealError> {
        let process = Process::start(name, command, self.run.path(), &mut self.guardian)?;
        self.processes.push(process);
        Ok(self.processes.len() - 1)
    }

    async fn wait(
        &mut self,
        index: usize,
        health: &Health,
        patience: Duration,
    ) -> Result<(), RealError> {
        match self.processes.get_mut(index) {
            Some(process) => health.wait(process, patience).await,
            None => Ok(()),
        }
    }
}
