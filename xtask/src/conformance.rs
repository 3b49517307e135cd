//! `cargo xtask conformance`

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use holdfast_world::conformance::{self, Case, Content, Known, Report, Target, differences};

/// Arguments of `cargo xtask conformance`.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Arguments {
    /// Only cases whose name contains this text.
    #[arg(long, default_value = "")]
    filter: String,
    /// Ask the real server that this kubeconfig leads to.
    #[arg(long, value_name = "FILE")]
    real_kubeconfig: Option<PathBuf>,
    /// Ask the real server twice in place of the simulated one: shows which cases do not repeat.
    #[arg(long)]
    itself: bool,
    /// Print what the real server answered, normalised.
    #[arg(long)]
    show: bool,
    /// How many cases run at the same time.
    #[arg(long, default_value_t = 8)]
    concurrency: usize,
}

/// Runs the suite, prints the report, fails on any complaint.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(compare(arguments))
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
    let kubeconfig = arguments.real_kubeconfig.as_ref().ok_or("--real-kubeconfig is needed")?;
    let client = real_client(kubeconfig).await?;
    let stamp = stamp()?;
    let real = Target { name: "real", client: client.clone(), prefix: format!("a{stamp}") };
    if !arguments.itself {
        return Err("only --itself is possible".to_owned());
    }
    let simulated = Target { name: "simulated", client, prefix: format!("b{stamp}") };
    let started = tokio::time::Instant::now();
    let results = conformance::run::run(&cases, &real, &simulated, arguments.concurrency).await;
    if arguments.show {
        show(&results)?;
    }
    let report = Report::new(&results, &known);
    println!("{}", report.render());
    println!("{} cases in {:.1} s", cases.len(), started.elapsed().as_secs_f32());
    let complaints = report.complaints(arguments.filter.is_empty() && !arguments.itself);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!("conformance: {} complaints\n  {}", complaints.len(), complaints.join("\n  ")))
}

async fn real_client(path: &PathBuf) -> Result<kube::Client, String> {
    let sentence = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let kubeconfig = kube::config::Kubeconfig::read_from(path).map_err(|e| sentence(&e))?;
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|e| sentence(&e))?;
    // An answer is compared as it comes; waiting and asking again would hide it.
    config.default_retry = false;
    config.read_timeout = Some(Duration::from_secs(60));
    kube::Client::try_from(config).map_err(|e| sentence(&e))
}

/// Keeps the namespaces of runs on the same server apart.
#[expect(clippy::disallowed_methods, reason = "the real server lives in real time")]
fn stamp() -> Result<String, String> {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|error| error.to_string())?;
    Ok(format!("{:x}", since.as_millis() & 0xffff_ffff))
}

fn show(results: &[conformance::run::CaseResult]) -> Result<(), String> {
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
