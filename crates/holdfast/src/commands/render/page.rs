//! A rendered cluster for people and for programs.

use std::error::Error;
use std::fmt::Write as _;

use holdfast_manifest::flux::{Applied, Cluster, Object, Outcome};
use holdfast_manifest::kustomize::Origin;
use holdfast_manifest::render::to_json;
use holdfast_manifest::yaml::emit;
use serde_json::{Value, json};

use super::charts::Rendered;
use super::place::Place;
use super::title;

type Failure = Box<dyn Error + Send + Sync>;

/// `apps/web/deployment.yaml:3`.
pub fn place_of(origin: &Origin) -> Option<String> {
    let file = origin.file.as_deref()?;
    Some(if origin.line > 0 { format!("{file}:{}", origin.line) } else { file.to_owned() })
}

/// Where something was written, for programs.
pub fn origin(origin: &Origin) -> Value {
    match &origin.file {
        Some(file) if origin.line > 0 => json!({ "file": file.as_ref(), "line": origin.line }),
        Some(file) => json!({ "file": file.as_ref() }),
        None => Value::Null,
    }
}

/// All of it as YAML: who applies it and where it was written stand in comments.
pub fn text(cluster: &Cluster, place: &Place, releases: &[Rendered]) -> Result<String, Failure> {
    let mut text = String::new();
    for applied in &cluster.applied {
        header(&mut text, applied, place);
        for object in applied.objects() {
            text.push_str("---\n");
            comment(&mut text, object);
            emit::object(&object.resource.node, &mut text)?;
            let own = releases.iter().filter(|release| release.is_of(&object.resource.node));
            for release in own {
                chart(&mut text, release)?;
            }
        }
    }
    Ok(text)
}

fn header(text: &mut String, applied: &Applied, place: &Place) {
    let mut line = |line: String| {
        for part in line.lines() {
            let _ = writeln!(text, "# {part}");
        }
    };
    line(applied.applier.to_string());
    if let Some(path) = &applied.path {
        line(format!("  path: ./{path}"));
    }
    match place_of(&applied.origin) {
        Some(place) => line(format!("  written in: {place}")),
        None => line("  written in: nowhere here, Flux was bootstrapped with it".to_owned()),
    }
    if let Some(parent) = &applied.parent {
        line(format!("  applied by: {parent}"));
    }
    if !applied.depends_on.is_empty() {
        let names: Vec<String> = applied.depends_on.iter().map(ToString::to_string).collect();
        line(format!("  after: {}", names.join(", ")));
    }
    if applied.suspended {
        line("  suspended".to_owned());
    }
    if applied.elsewhere {
        line("  applies to another cluster".to_owned());
    }
    for note in &applied.notes {
        line(format!("  note: {note}"));
    }
    match &applied.outcome {
        Outcome::Built(built) => line(match built.objects.len() {
            1 => "  1 object".to_owned(),
            count => format!("  {count} objects"),
        }),
        Outcome::Failed(error) => line(format!("  refused: {}", place.shown(error))),
        Outcome::NotFollowed(why) => line(format!("  not followed: {why}")),
    }
}

fn comment(text: &mut String, object: &Object) {
    let place = place_of(&object.resource.origin).unwrap_or_else(|| "unknown".to_owned());
    let _ = writeln!(text, "# from {place}");
    if object.encrypted {
        let _ = writeln!(text, "# encrypted by SOPS: Flux applies other values");
    }
    if !object.kept.is_empty() {
        let names: Vec<&str> = object.kept.iter().map(String::as_str).collect();
        let _ = writeln!(text, "# not known here: {}", names.join(", "));
    }
}

fn chart(text: &mut String, release: &Rendered) -> Result<(), Failure> {
    match &release.objects {
        Err(error) => {
            for line in error.lines() {
                let _ = writeln!(text, "# chart not rendered: {line}");
            }
        }
        Ok(objects) => {
            for object in objects {
                let _ = writeln!(text, "---\n# from the chart of HelmRelease {}", release.name);
                emit::object(object, text)?;
            }
        }
    }
    Ok(())
}

/// All of it for programs.
pub fn json(cluster: &Cluster, place: &Place, releases: &[Rendered]) -> Result<Value, Failure> {
    let mut applied = Vec::new();
    for one in &cluster.applied {
        let mut objects = Vec::new();
        for object in one.objects() {
            let mut entry = json!({
                "origin": origin(&object.resource.origin),
                "object": to_json(&object.resource.node)?,
            });
            if object.encrypted {
                entry["encrypted"] = json!(true);
            }
            if !object.kept.is_empty() {
                entry["unknownVariables"] = json!(object.kept);
            }
            for release in releases.iter().filter(|release| release.is_of(&object.resource.node)) {
                match &release.objects {
                    Ok(objects) => {
                        let objects = objects.iter().map(to_json).collect::<Result<Vec<_>, _>>()?;
                        entry["chart"] = json!({ "objects": objects });
                    }
                    Err(error) => entry["chart"] = json!({ "error": error }),
                }
            }
            objects.push(entry);
        }
        let mut entry = json!({
            "applier": one.applier.to_string(),
            "namespace": one.applier.name.namespace.as_str(),
            "name": one.applier.name.name.as_str(),
            "origin": origin(&one.origin),
            "parent": one.parent.as_ref().map(ToString::to_string),
            "path": one.path,
            "dependsOn": one.depends_on.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "suspended": one.suspended,
            "otherCluster": one.elsewhere,
            "notes": one.notes,
            "objects": objects,
        });
        match &one.outcome {
            Outcome::Built(_) => entry["outcome"] = json!("built"),
            Outcome::Failed(error) => {
                entry["outcome"] = json!("refused");
                entry["error"] = json!(place.shown(error));
            }
            Outcome::NotFollowed(why) => {
                entry["outcome"] = json!("notFollowed");
                entry["error"] = json!(why);
            }
        }
        applied.push(entry);
    }
    Ok(json!({ "root": place.root, "entry": place.path, "applied": applied }))
}

/// `HelmRelease media/plex`, for lists of what there is.
pub fn titles(cluster: &Cluster) -> Vec<String> {
    let objects = cluster.applied.iter().flat_map(Applied::objects);
    objects.map(|object| title(&object.resource.node)).collect()
}
