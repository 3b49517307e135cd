//! Which crate may know which: a crate is a room with one job, and dependencies point one way.

/// A crate of ours, and those of ours that it may depend on. Tests may use more.
#[cfg(test)]
const ROOMS: &[(&str, &[&str])] = &[
    ("holdfast-api", &[]),
    ("holdfast-apiserver", &[]),
    ("holdfast-check", &["holdfast-apiserver", "holdfast-manifest"]),
    ("holdfast-cluster", &["holdfast-api"]),
    ("holdfast-manifest", &[]),
    ("holdfast-git", &["holdfast-manifest"]),
    ("holdfast-oracle", &["holdfast-manifest"]),
    (
        "holdfast-world",
        &["holdfast-api", "holdfast-apiserver", "holdfast-manifest", "holdfast-git"],
    ),
    ("holdfast", EVERYTHING),
    (
        "xtask",
        &["holdfast-api", "holdfast-git", "holdfast-manifest", "holdfast-oracle", "holdfast-world"],
    ),
];

#[cfg(test)]
const EVERYTHING: &[&str] = &[
    "holdfast-api",
    "holdfast-apiserver",
    "holdfast-check",
    "holdfast-cluster",
    "holdfast-git",
    "holdfast-manifest",
    "holdfast-world",
];

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::Value;

    use super::ROOMS;
    use crate::step::cargo_program;

    #[test]
    fn dependencies_point_one_way() {
        let output = Command::new(cargo_program())
            .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        for package in packages {
            let name = package["name"].as_str().unwrap();
            let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == name) else {
                panic!("{name} is a new room: say in rooms.rs what it may know");
            };
            for dependency in package["dependencies"].as_array().unwrap() {
                let wanted = dependency["name"].as_str().unwrap();
                let ours = ROOMS.iter().any(|(room, _)| *room == wanted);
                if ours && dependency["kind"].is_null() {
                    assert!(allowed.contains(&wanted), "{name} must not know {wanted}");
                }
            }
        }
        assert_eq!(packages.len(), ROOMS.len(), "a room in rooms.rs does not exist");
    }
}
