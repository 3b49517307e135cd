//! The folder of a running cluster, and the objects that the harness itself puts into it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::error::{RealError, asking, at};

const MANAGER: &str = "holdfast-testbed";
/// How long the logs of a failed cluster are kept.
const KEPT: Duration = Duration::from_hours(24 * 7);

/// The folder of one running cluster.
#[derive(Debug)]
pub struct Run {
    path: PathBuf,
    kept: AtomicBool,
}

impl Run {
    /// A new folder, after those of owners that are gone are removed.
    pub fn create(cache: &Path) -> Result<Self, RealError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let runs = cache.join("runs");
        fs::create_dir_all(&runs).map_err(at(&runs))?;
        sweep(&runs);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = runs.join(format!("{}-{number}", std::process::id()));
        // A folder of an earlier process with the same id.
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(path.join("logs")).map_err(at(&path))?;
        Ok(Self { path, kept: AtomicBool::new(false) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the logs stay.
    pub fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.kept.load(Ordering::Relaxed) {
            drop(fs::remove_dir_all(&self.path));
            return;
        }
        // The logs stay, keys and data do not.
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name() != "logs" {
                let path = entry.path();
                drop(if path.is_dir() {
                    fs::remove_dir_all(&path)
                } else {
                    fs::remove_file(&path)
                });
            }
        }
        eprintln!("testbed: the logs are kept in {}", self.path.join("logs").display());
    }
}

/// Removes folders whose owner was killed, and logs that are old.
fn sweep(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.split('-').next()).unwrap_or_default();
        if Path::new("/proc").join(owner).exists() {
            continue;
        }
        let only_logs = fs::read_dir(entry.path()).into_iter().flatten().flatten().count() == 1;
        let age = entry.metadata().and_then(|data| data.modified()).ok();
        let old = age.and_then(|time| time.elapsed().ok()).is_none_or(|age| age > KEPT);
        if !only_logs || old {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// What pods go through on nodes without containers; KWOK's own stages would open every readiness gate
/// and end every Job at once.
const PODS: &str = include_str!("pods.yaml");

/// KWOK's stages of nodes with our own of pods.
pub fn stages(files: Vec<String>) -> String {
    let of_nodes = |text: &String| !text.lines().any(|line| line.trim() == "kind: Pod");
    let mut all: Vec<String> = files.into_iter().filter(of_nodes).collect();
    all.push(PODS.to_owned());
    all.join("\n---\n")
}

/// Applies the CRDs in the files and waits until they are served.
pub async fn install(
    client: &kube::Client,
    files: &[String],
    patience: Duration,
) -> Result<(), RealError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut names = Vec::new();
    for text in files {
        let definition: serde_json::Value = serde_saphyr::from_str(text).map_err(|error| {
            RealError::Malformed { what: "a CRD of the modules".to_owned(), why: error.to_string() }
        })?;
        let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&definition))
            .await
            .map_err(asking(format!("applying the CRD {name}")))?;
        names.push(name);
    }
    let deadline = Instant::now() + patience;
    for name in names {
        loop {
            let definition = api.get(&name).await.map_err(asking(format!("reading {name}")))?;
            let conditions = definition.status.and_then(|status| status.conditions);
            if conditions
                .iter()
                .flatten()
                .any(|condition| condition.type_ == "Established" && condition.status == "True")
            {
                break;
            }
            if Instant::now() >= deadline {
                return Err(RealError::Malformed {
                    what: name,
                    why: format!("not established after {} s", patience.as_secs()),
                });
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

/// Creates a namespace unless it is there.
pub async fn create_namespace(client: &kube::Client, name: &str) -> Result<(), RealError> {
    let api: Api<Namespace> = Api::all(client.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&namespace))
        .await
        .map(drop)
        .map_err(asking(format!("creating the namespace {name}")))
}

/// Creates the nodes that KWOK then keeps alive.
pub async fn create_nodes(client: &kube::Client, count: usize) -> Result<(), RealError> {
    let api: Api<Node> = Api::all(client.clone());
    for number in 1..=count {
        let name = format!("node-{number}");
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": &name,
                "labels": {
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": &name,
                    "kubernetes.io/os": "linux",
                    "topology.kubernetes.io/zone": format!("zone-{number}"),
                },
            },
        });
        api.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(&node))
            .await
            .map_err(asking(format!("creating the node {name}")))?;
    }
    Ok(())
}

/// Waits until the nodes are ready.
pub async fn await_nodes(
    client: &kube::Client,
    count: usize,
    patience: Duration,
) -> Result<(), RealError> {
    let api: Api<Node> = Api::all(client.clone());
    let deadline = Instant::now() + patience;
    loop {
        let nodes =
            api.list(&kube::api::ListParams::default()).await.map_err(asking("listing nodes"))?;
        let ready = nodes.iter().filter(|node| is_ready(node)).count();
        if ready >= count {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(RealError::Malformed {
                what: "KWOK".to_owned(),
                why: format!("{ready} of {count} nodes ready after {} s", patience.as_secs()),
            });
        }
        sleep(Duration::from_millis(100)).await;
    }
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_run_unless_its_logs_are_kept() {
        let cache = tempfile::tempdir().unwrap();
        let run = Run::create(cache.path()).unwrap();
        let path = run.path().to_path_buf();
        fs::create_dir(path.join("trust")).unwrap();
        drop(run);
        assert!(!path.exists());

        let run = Run::create(cache.path()).unwrap();
        let path = run.path().to_path_buf();
        fs::create_dir(path.join("trust")).unwrap();
        run.keep();
        drop(run);
        assert!(path.join("logs").exists() && !path.join("trust").exists());
    }

    #[test]
    fn the_folder_of_a_killed_owner_is_swept_and_kept_logs_are_not() {
        let cache = tempfile::tempdir().unwrap();
        // No process has such an id.
        let killed = cache.path().join("runs/99999999-0");
        let kept = cache.path().join("runs/99999998-0");
        fs::create_dir_all(killed.join("logs")).unwrap();
        fs::create_dir_all(killed.join("trust")).unwrap();
        fs::create_dir_all(kept.join("logs")).unwrap();
        let _run = Run::create(cache.path()).unwrap();
        assert!(!killed.exists() && kept.exists());
    }
}
