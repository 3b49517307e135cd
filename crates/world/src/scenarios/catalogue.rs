//! The same loss with kopiur: a snapshot is taken, the claim goes twice, and each time a Restore fills
//! the new one, from the newest snapshot or from the one first chosen, as the dialect has it.

use std::time::Duration;

use futures::FutureExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::backup::{api, claim, continues, create, disk, lose, scale, serves, set_up, when};
use crate::actors::app::{app, rows};
use crate::actors::kopiur::{Dialect, kopiur};
use crate::actors::movers::movers;
use crate::actors::process::Process;
use crate::actors::{kinds, volumes, workloads};
use crate::crds;
use crate::scenario::{Scenario, Stage};
use crate::sim::Violation;

/// The story, in kopiur's later dialect.
pub fn scenario() -> Scenario {
    Scenario {
        name: "catalogue",
        capability: "world",
        about: "data is snapshotted by kopiur, lost with its claim, and restored into new ones",
        cast: |stage| cast(stage, Dialect::PerClaim),
        play: |stage| play(stage, Dialect::PerClaim).boxed(),
        patience: Duration::from_secs(12 * 3600),
    }
}

fn cast(stage: &Stage, dialect: Dialect) -> Vec<Process> {
    vec![
        workloads::controller_manager(),
        workloads::nodes(),
        volumes::volume_controllers(),
        volumes::csi_driver(&stage.disks),
        volumes::snapshot_controller(),
        kopiur(&stage.movers, dialect),
        movers(&stage.disks, &stage.movers),
        app(&stage.disks, &stage.witness),
    ]
}

async fn take(stage: &Stage, name: &str) -> Result<Vec<Value>, Violation> {
    let before = rows(&disk(stage).await?);
    let snapshot = json!({
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"policyRef": {"name": "shop"}, "tags": {"reason": "story"}},
    });
    create(stage, kinds::kopia_snapshots(), snapshot).await?;
    let over = |row: &DynamicObject| {
        matches!(row.data["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
    };
    let row = when(stage, "the snapshot ends", (kinds::kopia_snapshots(), name), over).await?;
    let status = &row.data["status"];
    if status["phase"] != "Succeeded" || status["stats"]["sizeBytes"].as_u64().unwrap_or(0) == 0 {
        return Err(Violation(format!("the snapshot failed: {status}")));
    }
    stage.tell("kopiur", format!("snapshot {name} succeeded"));
    Ok(before)
}

async fn come_back(stage: &Stage) -> Result<Vec<Value>, Violation> {
    lose(stage).await?;
    let source = json!({
        "apiGroup": "kopiur.home-operations.com", "kind": "Restore", "name": "shop",
    });
    create(stage, kinds::claims(), claim(&source)).await?;
    scale(stage, 1).await?;
    serves(stage).await?;
    let done = |restore: &DynamicObject| restore.data["status"]["phase"] == "Completed";
    let restore =
        when(stage, "the restore completes", (kinds::kopia_restores(), "shop"), done).await?;
    stage.tell("kopiur", format!("restored: {}", restore.data["status"]["resolved"]["resolution"]));
    Ok(rows(&disk(stage).await?))
}

async fn play(stage: Stage, dialect: Dialect) -> Result<(), Violation> {
    crds::install(&stage.client, crds::snapshots()).await?;
    crds::install(&stage.client, crds::kopiur(dialect)).await?;
    stage.movers.objects().make_bucket("kopia", None);
    set_up(&stage).await?;
    let repository = json!({
        "metadata": {"name": "store", "namespace": "shop"},
        "spec": {
            "backend": {"s3": {"bucket": "kopia", "prefix": "all"}}, "create": {"enabled": true},
            "encryption": {"passwordSecretRef": {"name": "repository", "key": "RESTIC_PASSWORD"}},
        },
    });
    create(&stage, kinds::kopia_repositories(), repository).await?;
    let policy = json!({
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {
            "repository": {"name": "store"}, "sources": [{"pvc": {"name": "data"}}],
            "volumeSnapshotClassName": "snap", "retention": {"keepLatest": 5},
        },
    });
    create(&stage, kinds::kopia_policies(), policy).await?;
    let restore = json!({
        "metadata": {"name": "shop", "namespace": "shop"},
        "spec": {"source": {"fromPolicy": {"name": "shop"}}, "target": {"populator": {}}},
    });
    create(&stage, kinds::kopia_restores(), restore).await?;
    let first = take(&stage, "first").await?;
    come_back(&stage).await?;
    continues(&disk(&stage).await?, &first)?;
    stage.tell("app", "serves the rows of the first snapshot");

    let second = take(&stage, "second").await?;
    let now = come_back(&stage).await?;
    let newest = now.len() > second.len() && now[..second.len()] == second[..];
    if newest != (dialect == Dialect::PerClaim) {
        return Err(Violation(format!("{dialect:?} restored {} rows of {second:?}", now.len())));
    }
    stage
        .tell("app", format!("serves the rows of the {}", if newest { "second" } else { "first" }));
    let row = api(&stage, &kinds::kopia_snapshots()).get("first").await?;
    if row.data["status"]["phase"] != "Succeeded" {
        return Err(Violation("the first row is no longer what it was".into()));
    }
    let seen = stage.witness.saw();
    if seen.is_empty() { Ok(()) } else { Err(Violation(seen.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::nobody;
    use crate::sim::{FaultPlan, Plan, simulate};

    fn runs(scenario: &Scenario, seed: u64) -> String {
        let plan = Plan { seed, faults: FaultPlan::from_seed(seed, 100) };
        let outcome = simulate(scenario, &nobody(), plan);
        let tail: Vec<_> = outcome.trace.iter().filter(|line| !line.contains(" GET ")).collect();
        let tail = &tail[tail.len().saturating_sub(60)..];
        assert_eq!(outcome.violation, None, "seed {seed}: {:#?} {tail:#?}", outcome.told);
        outcome.digest
    }

    #[test]
    fn each_new_claim_gets_the_newest_snapshot() {
        for seed in 1..=10 {
            runs(&scenario(), seed);
        }
        assert_eq!(runs(&scenario(), 3), runs(&scenario(), 3));
    }

    #[test]
    fn the_older_dialect_clings_to_its_first_choice() {
        let older = Scenario {
            cast: |stage| cast(stage, Dialect::One),
            play: |stage| play(stage, Dialect::One).boxed(),
            ..scenario()
        };
        for seed in 1..=3 {
            runs(&older, seed);
        }
    }
}
