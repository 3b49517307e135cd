//! `cargo xtask conformance`

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use holdfast_world::conformance::{
    self, Case, Content, Known, Recording, Report, Simulated, Target, differences, recorded,
    run::CaseResult,
};
use holdfast_world::real::{Cluster, Options};

/// Arguments of `cargo xtask conformance`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Only cases whose name contains this text.
    #[arg(long, default_value = "")]
    filter: String,
    /// Ask the real server that this kubeconfig leads to; default: one that is started for this run.
    #[arg(long, value_name = "FILE")]
    real_kubeconfig: Option<PathBuf>,
    /// Ask the real server twice in place of the simulated one: shows which cases do not repeat.
    #[arg(long)]
    itself: bool,
    /// Print what the real server answered, normalised.
    #[arg(long)]
    show: bool,
    /// Keep what the real server answered for `cargo test`; only a whole run may.
    #[arg(long, conflicts_with_all = ["filter", "itself"])]
    record: bool,
    /// How many cases run at the same time.
    #[arg(long, default_value_t = 8)]
    concurrency: usize,
}

impl Arguments {
    /// The whole suite on a control plane that is started for it.
    pub fn whole() -> Self {
        Self {
            filter: String::new(),
            real_kubeconfig: None,
            itself: false,
            show: false,
            record: false,
            concurrency: 8,
        }
    }
}

/// Runs the suite, prints the report, fails on any complaint.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    crate::block_on(compare(arguments))?
}

async fn compare(arguments: &Arguments) -> Result<(), String> {
    let all = conformance::cases();
    let known = Known::parse(differences::LIST).map_err(|e| format!("differences.txt: {e}"))?;
    let strangers = known.strangers(&all);
    if !strangers.is_empty() {
        return Err(format!("differences.txt names no interaction: {}", strangers.join(", ")));
    }
    let cases: Vec<Case> =
        all.into_iter().filter(|case| case.name.contains(&arguments.filter)).collect();
    if cases.is_empty() {
        return Err(format!("no case's name contains `{}`", arguments.filter));
    }
    let mut cluster = None;
    let client = if let Some(path) = &arguments.real_kubeconfig {
        real_client(path).await?
    } else {
        let started =
            Cluster::start(Options::control_plane()).await.map_err(|error| error.to_string())?;
        let client = started.impatient_client().map_err(|error| error.to_string())?;
        cluster = Some(started);
        client
    };
    let outcome = judge(arguments, &cases, &known, client).await;
    if let (Err(_), Some(cluster), "") = (&outcome, &cluster, arguments.filter.as_str()) {
        cluster.keep_logs();
    }
    outcome
}

async fn judge(
    arguments: &Arguments,
    cases: &[Case],
    known: &Known,
    client: kube::Client,
) -> Result<(), String> {
    let stamp = stamp();
    let tidy = arguments.real_kubeconfig.is_some();
    let real = Target { name: "real", client: client.clone(), prefix: format!("a{stamp}"), tidy };
    let started = tokio::time::Instant::now();
    let results = if arguments.itself {
        let again = Target { name: "simulated", client, prefix: format!("b{stamp}"), tidy };
        conformance::run::run(cases, &real, &again, arguments.concurrency).await
    } else {
        let mut simulated = Simulated::new(&format!("a{stamp}"), Arc::new(now));
        simulated.target.tidy = tidy;
        let run = conformance::run::run(cases, &real, &simulated.target, arguments.concurrency);
        simulated
            .while_keeping_house(run)
            .await
            .ok_or("the simulated server's housekeepers stopped working")?
    };
    if arguments.show {
        show(&results)?;
    }
    let report = Report::new(&results, known);
    println!("{}", report.render());
    println!("{} cases in {:.1} s", cases.len(), started.elapsed().as_secs_f32());
    let whole = arguments.filter.is_empty() && !arguments.itself;
    let mut complaints = report.complaints(whole);
    if whole {
        complaints.extend(remember(&results, known, arguments.record)?);
    }
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!("conformance: {} complaints\n  {}", complaints.len(), complaints.join("\n  ")))
}

/// Writes down what the real server answered, or says where that is out of date.
fn remember(results: &[CaseResult], known: &Known, record: bool) -> Result<Vec<String>, String> {
    let newer = Recording::of(results.iter());
    if record {
        // A case on which the servers differ without a reason is not done yet.
        let newer = Recording::of(results.iter().filter(|case| {
            case.broken.is_none()
                && case.interactions.iter().all(|one| {
                    one.differences.is_empty() || known.reason(&case.name, one.step).is_some()
                })
        }));
        let place =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/world/src/conformance/recorded.jsonl");
        std::fs::write(place, newer.render()).map_err(|error| format!("{place}: {error}"))?;
        return Ok(Vec::new());
    }
    let kept = Recording::parse(recorded::FILE).map_err(|e| format!("recorded.jsonl: {e}"))?;
    let stale = kept.stale(&newer);
    if stale.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "{} recorded answers are out of date, the first is {}: run `cargo xtask conformance --record`",
        stale.len(),
        stale.first().map_or("", String::as_str)
    )])
}

/// A client for a kubeconfig that does not retry.
pub async fn real_client(path: &Path) -> Result<kube::Client, String> {
    let sentence = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let kubeconfig = kube::config::Kubeconfig::read_from(path).map_err(|e| sentence(&e))?;
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|e| sentence(&e))?;
    // An answer is compared as it comes; waiting and asking again would hide it.
    config.default_retry = false;
    config.read_timeout = Some(Duration::from_mins(1));
    kube::Client::try_from(config).map_err(|e| sentence(&e))
}

#[expect(clippy::disallowed_methods, reason = "the real server lives in real time")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Keeps the namespaces of runs on the same server apart.
fn stamp() -> String {
    format!("{:x}", now().as_millisecond() & 0xffff_ffff)
}

fn show(results: &[CaseResult]) -> Result<(), String> {
    for case in results {
        for interaction in &case.interactions {
            println!("{} {}: {}", case.name, interaction.step, interaction.asked);
            let Some(answer) = &interaction.real else { continue };
            println!("  {}", answer.status);
            for (name, value) in &answer.headers {
                println!("  {name}: {value}");
            }
            let body = match &answer.body {
                Content::Json(value) => serde_json::to_string_pretty(value),
                Content::Events(events) => serde_json::to_string_pretty(events),
                Content::Text(text) => Ok(text.clone()),
            };
            println!("{}", body.map_err(|error| error.to_string())?);
        }
    }
    Ok(())
}
