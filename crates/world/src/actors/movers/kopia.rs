//! kopiur's kopia mover: one snapshot, or one restore. Its result is one JSON object.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Run, Verdict};
use crate::actors::objects::ObjectError;
use crate::actors::repository::{Origin, Repository, RepositoryError};

/// kopiur's word for what went wrong.
pub(in crate::actors) fn class(error: &RepositoryError) -> &'static str {
    match error {
        RepositoryError::Missing(_) | RepositoryError::Damaged(_) => "NotFound",
        RepositoryError::WrongPassword => "AuthFailure",
        RepositoryError::Store(_, ObjectError::AccessDenied) => "AccessDenied",
        _ => "RepositoryUnavailable",
    }
}

/// Whose snapshots the environment means.
fn origin(run: &Run<'_>) -> Origin {
    Origin {
        host: run.get("KOPIA_HOSTNAME").to_owned(),
        user: run.get("KOPIA_USERNAME").to_owned(),
        path: run.get("SOURCE_PATH").to_owned(),
    }
}

/// Does what the environment asks for.
pub(super) fn run(run: &Run<'_>) -> Verdict {
    let repository = Repository::open(run.place(run.get("KOPIA_PASSWORD")));
    let done = repository.and_then(|repository| match run.get("OPERATION") {
        "snapshot" => snapshot(run, &repository),
        _ => restore(run, &repository),
    });
    match done {
        Ok((code, result)) => Verdict { code, log: result.to_string() },
        Err(error) => Verdict {
            code: 1,
            log: json!({"class": class(&error), "message": error.to_string()}).to_string(),
        },
    }
}

fn snapshot(run: &Run<'_>, repository: &Repository) -> Result<(i32, Value), RepositoryError> {
    let Some(mut disk) = run.disk.as_deref().and_then(|disk| run.disks.read(disk)) else {
        return Ok((1, json!({"class": "PermissionDenied", "message": "no such device"})));
    };
    disk.files.retain(|path, _| !path.starts_with("lost+found"));
    if run.movers.killed() {
        return Ok((137, json!({"class": "RepositoryUnavailable", "message": "killed"})));
    }
    let origin = origin(run);
    if run.get("IGNORE_IDENTICAL") == "true"
        && let Some((_, last)) = repository.select(&origin, None, 0)?
        && last.digest == disk.digest()
    {
        return Ok((0, json!({"unchanged": true})));
    }
    let tags: BTreeMap<String, String> = serde_json::from_str(run.get("TAGS")).unwrap_or_default();
    let (id, snapshot) = repository.backup(&disk, &origin, tags, run.now)?;
    let id = if run.get("PIN") == "true" { repository.pin(&id, true, run.now)? } else { id };
    let summary = &snapshot.summary;
    Ok((
        0,
        json!({
            "id": id, "startTime": snapshot.time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "stats": {
                "sizeBytes": summary.total_bytes_processed, "bytesNew": summary.data_added,
                "filesNew": summary.files_new, "filesModified": summary.files_changed,
                "filesUnchanged": summary.files_unmodified, "filesFailed": 0,
            },
        }),
    ))
}

fn restore(run: &Run<'_>, repository: &Repository) -> Result<(i32, Value), RepositoryError> {
    let wanted = run.get("SNAPSHOT_ID");
    let found = if wanted.is_empty() {
        let offset = run.get("OFFSET").parse().unwrap_or_default();
        repository.select(&origin(run), run.get("AS_OF").parse().ok(), offset)?
    } else {
        repository.snapshots()?.into_iter().find(|(id, _)| id == wanted)
    };
    let Some((id, snapshot)) = found else {
        return Ok(if run.get("ON_MISSING") == "Continue" {
            (0, json!({"resolution": "NoSnapshot"}))
        } else {
            let message = format!("no snapshot of {}", origin(run));
            (1, json!({"class": "NotFound", "reason": "SnapshotNotFound", "message": message}))
        });
    };
    let exact = run.get("DELETE_EXTRA") == "true";
    let target = run.disk.as_deref().unwrap_or_default();
    match run.disks.write(target, |disk| repository.restore(&snapshot, disk, exact)) {
        Some(restored) => restored?,
        None => return Ok((1, json!({"class": "PermissionDenied", "message": "no such device"}))),
    }
    Ok((
        0,
        json!({
            "resolution": "Snapshot", "id": id,
            "bytes": snapshot.summary.total_bytes_processed,
            "files": snapshot.summary.total_files_processed,
        }),
    ))
}
