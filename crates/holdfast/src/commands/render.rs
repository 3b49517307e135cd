//! `holdfast render`.

mod charts;
mod explain;
mod page;
mod place;
mod remote;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use holdfast_manifest::Diagnostic;
use holdfast_manifest::cache::Cache;
use holdfast_manifest::files::Files;
use holdfast_manifest::flux::{Cluster, Options as FluxOptions, Renderer};
use holdfast_manifest::kustomize::{self, Reorder, Resources, Restriction};
use holdfast_manifest::render::to_json;
use holdfast_manifest::yaml::{Node, emit};
use serde_json::json;

use super::output::{Format, Output};
use super::{Outcome, print, say};
use charts::HelmCommand;
use explain::Wanted;
use place::Place;
use remote::Bases;

/// What to render, and from where.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  holdfast render apps/web                             what `kustomize build apps/web` prints
  holdfast render apps/web --reorder none              in the order the objects were added
  holdfast render --flux clusters/production           everything Flux applies, per Kustomization
  holdfast render --flux clusters/production --rev HEAD~3
  holdfast render --flux clusters/production --charts  with the charts of HelmReleases (needs helm)
  holdfast render --flux clusters/production --explain HelmRelease/media/plex
  holdfast render apps/web --explain Deployment/web --json

Exit codes: 0 everything was rendered, 1 something was refused, 2 the command itself is wrong.")]
pub struct Args {
    /// The folder with a kustomization file.
    #[arg(value_name = "DIR", required_unless_present = "flux", conflicts_with = "flux")]
    folder: Option<PathBuf>,

    /// The folder Flux was bootstrapped with; every Kustomization is followed from there.
    #[arg(long, value_name = "CLUSTER_PATH")]
    flux: Option<PathBuf>,

    /// How objects are sorted; Flux does not sort.
    #[arg(long, value_enum, default_value_t = Order::Legacy, conflicts_with = "flux")]
    reorder: Order,

    /// The root of the repository; else that of the enclosing git worktree, else the nearest parent
    /// under which the paths of the Kustomizations exist.
    #[arg(long, value_name = "DIR", requires = "flux")]
    root: Option<PathBuf>,

    /// Read this revision (branch, tag, commit, HEAD~1) from git instead of the files on the disk.
    #[arg(long, value_name = "REV")]
    rev: Option<String>,

    /// Show each step that touched an object: Kind/name or Kind/namespace/name.
    #[arg(long, value_name = "OBJECT")]
    explain: Option<Wanted>,

    /// Render the charts of HelmReleases too, with `helm` on the PATH.
    #[arg(long, requires = "flux")]
    charts: bool,

    /// A variable that is not set and has no default is an error, as with Flux's strict substitution.
    #[arg(long, requires = "flux")]
    strict: bool,

    /// Refuse bases that lie in other repositories instead of fetching them.
    #[arg(long)]
    no_remote_bases: bool,

    /// Where repositories of such bases are kept; ~/.cache/holdfast/git if not said.
    #[arg(long, value_name = "DIR", env = "HOLDFAST_GIT_CACHE")]
    git_cache: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// How objects are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Namespaces first, webhooks last.
    Legacy,
    /// As they were added.
    None,
}

impl Args {
    /// Renders, and prints.
    pub fn run(self) -> Outcome {
        match (&self.flux, &self.folder) {
            (Some(entry), _) => self.render_flux(entry),
            (None, Some(folder)) => self.render_folder(folder),
            (None, None) => {
                Err("give a folder, or --flux with the folder Flux was bootstrapped with".into())
            }
        }
    }

    fn bases(&self) -> Option<Bases> {
        if self.no_remote_bases {
            return None;
        }
        let home = || std::env::home_dir().map(|home| home.join(".cache/holdfast/git"));
        self.git_cache.clone().or_else(home).map(Bases::new)
    }

    fn render_folder(&self, folder: &Path) -> Outcome {
        let bases = self.bases();
        let place = Place::of_folder(folder, self.rev.as_deref())?;
        let cache = Cache::default();
        let options = kustomize::Options {
            keep_schema: false,
            restriction: Restriction::RootOnly,
            reorder: if self.reorder == Order::Legacy { Reorder::Legacy } else { Reorder::None },
            cache: Some(&cache),
            remote: bases.as_ref().map(|bases| bases as &dyn kustomize::Remote),
            explain: self.explain.is_some(),
        };
        let built = kustomize::build(place.files.as_ref(), &place.path, &options);
        let resources = match built {
            Ok(resources) => resources,
            Err(error) => return Ok(refuse(&place, &error)),
        };
        if let Some(wanted) = &self.explain {
            return explain::folder(wanted, &resources, &place, self.output.format());
        }
        print_folder(&resources, self.output.format())
    }

    fn render_flux(&self, entry: &Path) -> Outcome {
        let bases = self.bases();
        let place = Place::of_cluster(entry, self.root.as_deref(), self.rev.as_deref())?;
        let options = FluxOptions {
            remote: bases.as_ref().map(|bases| bases as &dyn kustomize::Remote),
            strict: self.strict,
            explain: self.explain.is_some(),
            threads: 0,
            addresses: place.addresses.clone(),
        };
        let cluster = match Renderer::new().render(place.files.as_ref(), &place.path, &options) {
            Ok(cluster) => cluster,
            Err(error) => return Ok(refuse(&place, &error)),
        };
        if let Some(wanted) = &self.explain {
            return explain::cluster(wanted, &cluster, &place, self.output.format());
        }
        let charts = self.charts.then(|| HelmCommand::new(&place));
        print_cluster(&cluster, &place, charts.as_ref(), self.output.format())
    }
}

fn print_folder(resources: &Resources, format: Format) -> Outcome {
    let nodes = resources.list.iter().map(|resource| &resource.node);
    match format {
        Format::Human => {
            let mut text = String::new();
            emit::objects(nodes, &mut text)?;
            print(&text)?;
        }
        Format::Json => {
            let mut objects = Vec::new();
            for resource in &resources.list {
                objects.push(json!({
                    "origin": page::origin(&resource.origin),
                    "object": to_json(&resource.node)?,
                }));
            }
            let page = json!({ "objects": objects });
            print(&format!("{}\n", serde_json::to_string_pretty(&page)?))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print_cluster(
    cluster: &Cluster,
    place: &Place,
    charts: Option<&HelmCommand<'_>>,
    format: Format,
) -> Outcome {
    let releases = charts.map(|charts| charts.render_all(cluster)).unwrap_or_default();
    let text = match format {
        Format::Human => page::text(cluster, place, &releases)?,
        Format::Json => {
            format!("{}\n", serde_json::to_string_pretty(&page::json(cluster, place, &releases)?)?)
        }
    };
    print(&text)?;
    let mut failed = false;
    for (applied, error) in cluster.failures() {
        failed = true;
        say(&format!("holdfast: {}: {}", applied.applier, place.shown(error)));
    }
    for release in &releases {
        if let Err(error) = &release.objects {
            failed = true;
            say(&format!("holdfast: HelmRelease {}: {error}", release.name));
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn refuse(place: &Place, error: &Diagnostic) -> ExitCode {
    say(&format!("holdfast: {}", place.shown(error)));
    ExitCode::FAILURE
}

/// The files of a place, wherever they are.
type AnyFiles = Box<dyn Files>;

/// An object as `Kind namespace/name`.
fn title(node: &Node) -> String {
    let text = |field| node.at(&["metadata", field]).and_then(Node::text).unwrap_or_default();
    let kind = node.get("kind").and_then(Node::text).unwrap_or_default();
    match text("namespace") {
        "" => format!("{kind} {}", text("name")),
        namespace => format!("{kind} {namespace}/{}", text("name")),
    }
}

#[cfg(test)]
mod tests;
