//! Stories on the real cluster: its own controllers play where it has them, actors where hardware or a
//! container would be needed.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::storage::v1::CSIDriver;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::{Cluster, Component};
use crate::actors::{Pace, git, volumes};
use crate::notes::Note;
use crate::scenario::{Operator, Scenario, Stage, Start, Told};
use crate::sim::Violation;

/// How long a story may take on the real cluster.
const PATIENCE: Duration = Duration::from_mins(10);

impl Component {
    /// The processes of a cast that this component makes superfluous.
    const fn replaces(self) -> &'static [&'static str] {
        match self {
            Self::ControllerManager => &["kube-controller-manager", "volume-controllers"],
            // Without it KWOK's nodes get no pods, so both stand for the one process.
            Self::Scheduler => &[],
            Self::Kwok => &["nodes"],
            Self::Flux => &["source-controller", "kustomize-controller", "helm-controller"],
            Self::SnapshotController => &["snapshot-controller"],
        }
    }
}

/// What came of a story on the real cluster.
#[derive(Debug, Clone)]
pub struct Performance {
    /// None if every promise was kept.
    pub violation: Option<Violation>,
    /// What the story told, with times.
    pub told: Vec<Told>,
    /// What the story wrote down about objects.
    pub notes: Vec<Note>,
    /// The actors that played beside the cluster's own controllers.
    pub cast: Vec<&'static str>,
}

impl Cluster {
    /// Plays a story in real time, with git on a port of its own.
    pub async fn play(&self, scenario: &Scenario, operator: &Operator) -> Performance {
        let listener = match TcpListener::bind("127.0.0.1:0").await {
            Ok(listener) => listener,
            Err(error) => return Performance::impossible(format!("no port for git: {error}")),
        };
        let Ok(address) = listener.local_addr() else {
            return Performance::impossible("the port of git has no address".into());
        };
        if let Err(error) = self.install_driver().await {
            return Performance::impossible(format!("no CSI driver: {error}"));
        }
        let stage = Stage::on(self.client()).with_git(format!("http://{address}"));
        self.perform(&stage, listener, scenario, operator).await
    }

    async fn perform(
        &self,
        stage: &Stage,
        listener: TcpListener,
        scenario: &Scenario,
        operator: &Operator,
    ) -> Performance {
        let (epoch, began) = (now(), Instant::now());
        let pace = Pace::new(epoch, began, 0, Duration::ZERO);
        let replaced: Vec<&str> =
            self.components.iter().flat_map(|one| one.replaces()).copied().collect();
        let mut cast = (scenario.cast)(stage);
        cast.retain(|process| !replaced.contains(&process.name));
        let names = cast.iter().map(|process| process.name).collect();
        let actors = async {
            let all = cast.into_iter().map(|process| process.run(self.client(), pace.clone()));
            futures::future::join_all(all).await;
            std::future::pending::<()>().await;
        };
        let start = Start { client: self.client(), incarnation: 1, epoch, began, seed: 1 };
        let script = AssertUnwindSafe((scenario.play)(stage.clone())).catch_unwind();
        let violation = tokio::select! {
            biased;
            ended = script => match ended {
                Ok(Ok(())) => None,
                Ok(Err(violation)) => Some(violation),
                Err(_) => Some(Violation("the scenario panicked".into())),
            },
            ended = operator(start) => Some(Violation(format!("the operator ended: {ended:?}"))),
            () = actors => Some(Violation("the actors ended".into())),
            () = git::serve(stage.forge.clone(), listener) => {
                Some(Violation("git stopped answering".into()))
            }
            () = tokio::time::sleep(PATIENCE) => Some(Violation(format!(
                "not finished after {} minutes",
                PATIENCE.as_secs() / 60
            ))),
        };
        Performance { violation, told: stage.told(), notes: stage.notes(), cast: names }
    }

    /// The driver whose volumes the CSI actor makes. Nothing attaches them: a node mounts nothing.
    async fn install_driver(&self) -> Result<(), kube::Error> {
        let driver = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
            "metadata": {"name": volumes::CSI}, "spec": {"attachRequired": false},
        });
        let params = PatchParams::apply("holdfast-testbed").force();
        Api::<CSIDriver>::all(self.client())
            .patch(volumes::CSI, &params, &Patch::Apply(&driver))
            .await
            .map(drop)
    }
}

impl Performance {
    fn impossible(why: String) -> Self {
        Self {
            violation: Some(Violation(why)),
            told: Vec::new(),
            notes: Vec::new(),
            cast: Vec::new(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the real cluster lives in real time")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
