//! Helm releases: rendering of plain charts, and the secrets that releases are kept in.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::Files;

/// The most that a release may unpack to.
const LARGEST: u64 = 64 << 20;

/// One version of a release, as Helm stores it.
#[derive(Debug, Clone, PartialEq)]
pub struct Release(pub Value);

impl Release {
    /// Its version, from 1.
    pub fn version(&self) -> u64 {
        self.0["version"].as_u64().unwrap_or_default()
    }

    /// What it applied.
    pub fn manifest(&self) -> &str {
        self.0["manifest"].as_str().unwrap_or_default()
    }

    /// `deployed`, `failed`, …
    pub fn status(&self) -> &str {
        self.0["info"]["status"].as_str().unwrap_or_default()
    }

    /// The name of the secret that holds it.
    pub fn secret(&self) -> String {
        let name = self.0["name"].as_str().unwrap_or_default();
        format!("sh.helm.release.v1.{name}.v{}", self.version())
    }

    /// The secret that holds it.
    pub fn to_secret(&self, namespace: &str, seconds: i64) -> std::io::Result<Value> {
        let encoded = encode(&self.0)?;
        Ok(json!({
            "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {
                "name": self.secret(), "namespace": namespace,
                "labels": {
                    "name": self.0["name"], "owner": "helm", "status": self.status(),
                    "version": self.version().to_string(), "modifiedAt": seconds.to_string(),
                },
            },
            "data": {"release": STANDARD.encode(encoded)},
        }))
    }
}

/// A release as the value of a secret's key: base64 of gzip of JSON.
pub fn encode(release: &Value) -> std::io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(release.to_string().as_bytes())?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// The release in a secret's key.
pub fn decode(text: &[u8]) -> Option<Value> {
    let packed = STANDARD.decode(text).ok()?;
    let mut json = Vec::new();
    GzDecoder::new(&packed[..]).take(LARGEST).read_to_end(&mut json).ok()?;
    serde_json::from_slice(&json).ok()
}

/// A chart's own values under those of the release.
pub fn values(chart: &Files, given: &Value) -> Result<Value, String> {
    let mut all = match chart.get("values.yaml") {
        Some(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
            serde_saphyr::from_str(text).map_err(|error| format!("values.yaml: {error}"))?
        }
        None => json!({}),
    };
    overlay(&mut all, given);
    Ok(all)
}

fn overlay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    base.remove(key);
                } else {
                    overlay(base.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = over.clone(),
    }
}

/// Renders the templates of a plain chart into objects with the files they come from, in the order in
/// which Helm applies them; anything but `.Values…` and `.Release.Name` is refused by name.
pub fn render(
    chart: &Files,
    values: &Value,
    release: &str,
) -> Result<Vec<(String, Value)>, String> {
    let mut out = Vec::new();
    for (path, bytes) in chart {
        let Some(file) = path.strip_prefix("templates/") else { continue };
        let plain = file == "NOTES.txt" || super::build::is_manifest(file);
        if !plain {
            return Err(format!("{path} is not a plain manifest, and only those are played here"));
        }
        if file == "NOTES.txt" {
            continue;
        }
        let text = std::str::from_utf8(bytes).map_err(|error| format!("{path}: {error}"))?;
        let text = fill(text, values, release).map_err(|why| format!("{path}: {why}"))?;
        let objects = super::build::parse(&text).map_err(|why| format!("{path}: {why}"))?;
        out.extend(objects.into_iter().map(|object| (path.clone(), object)));
    }
    out.sort_by_key(|(_, object)| rank(object["kind"].as_str().unwrap_or_default()));
    Ok(out)
}

/// Where a kind stands in the order in which Helm installs; those it does not know come last.
fn rank(kind: &str) -> usize {
    const ORDER: [&str; 31] = [
        "PriorityClass",
        "Namespace",
        "NetworkPolicy",
        "ResourceQuota",
        "LimitRange",
        "PodDisruptionBudget",
        "ServiceAccount",
        "Secret",
        "ConfigMap",
        "StorageClass",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "CustomResourceDefinition",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Service",
        "DaemonSet",
        "Pod",
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "HorizontalPodAutoscaler",
        "StatefulSet",
        "Job",
        "CronJob",
        "IngressClass",
        "Ingress",
        "APIService",
        "MutatingWebhookConfiguration",
    ];
    ORDER.iter().position(|known| *known == kind).unwrap_or(ORDER.len())
}

/// The manifest of a release as it is stored.
pub fn manifest(chart: &str, objects: &[(String, Value)]) -> Result<String, String> {
    let mut out = String::new();
    for (path, object) in objects {
        let text = serde_saphyr::to_string(object).map_err(|error| format!("{path}: {error}"))?;
        // Writing to a string cannot fail.
        let _ = write!(out, "---\n# Source: {chart}/{path}\n{}\n", text.trim_end());
    }
    Ok(out)
}

fn fill(text: &str, values: &Value, release: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (action, tail) = after.split_once("}}").ok_or("an action is not closed")?;
        out.push_str(before);
        let action = action.trim();
        if action == ".Release.Name" {
            out.push_str(release);
        } else if let Some(path) = action.strip_prefix(".Values.").filter(|path| plain(path)) {
            out.push_str(&lookup(values, path)?);
        } else {
            return Err(format!("{{{{ {action} }}}} is not played here"));
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

fn plain(path: &str) -> bool {
    path.split('.')
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn lookup(values: &Value, path: &str) -> Result<String, String> {
    let mut at = values;
    for part in path.split('.') {
        if at.is_null() {
            return Err(format!("nil pointer evaluating interface {{}}.{part}"));
        }
        at = &at[part];
    }
    match at {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(at.to_string()),
        _ => Err(format!(".Values.{path} is not a scalar")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_survive_helms_encoding() {
        let release =
            Release(json!({"name": "shop", "version": 3, "info": {"status": "deployed"}}));
        let secret = release.to_secret("web", 7).unwrap();
        assert_eq!(secret["metadata"]["name"], "sh.helm.release.v1.shop.v3");
        let data = STANDARD.decode(secret["data"]["release"].as_str().unwrap()).unwrap();
        assert_eq!(&STANDARD.decode(&data).unwrap()[..2], [0x1f, 0x8b], "gzip inside base64");
        assert_eq!(decode(&data), Some(release.0));
    }

    #[test]
    fn plain_charts_render_and_others_are_refused_by_name() {
        let chart = |text: &str| -> Files {
            [
                ("templates/a.yaml".to_owned(), text.as_bytes().to_vec()),
                ("values.yaml".to_owned(), b"image: {tag: 1, name: rows}\n".to_vec()),
            ]
            .into()
        };
        let given = json!({"image": {"tag": 2}});
        let one = chart(
            "apiVersion: v1
kind: Pod
metadata: {name: {{ .Release.Name }}}
image: {{ .Values.image.name }}:{{.Values.image.tag}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
",
        );
        let all = values(&one, &given).unwrap();
        let objects = render(&one, &all, "shop").unwrap();
        assert_eq!(objects[0].1["kind"], "ConfigMap", "in Helm's order");
        assert_eq!(objects[1].1["image"], "rows:2");
        assert_eq!(objects[1].1["metadata"]["name"], "shop");
        let text = manifest("web", &objects).unwrap();
        assert!(
            text.starts_with("---\n# Source: web/templates/a.yaml\napiVersion: v1\n"),
            "{text}"
        );
        assert_eq!(text.matches("# Source").count(), 2);
        let refused = |text: &str| render(&chart(text), &all, "shop").unwrap_err();
        assert!(refused("{{ include \"x\" . }}").contains("{{ include \"x\" . }} is not played"));
        assert!(refused("{{ .Values.a | quote }}").contains("quote"));
        assert!(refused("{{ .Values.none.x }}").contains("nil pointer"));
        assert!(refused("{{ .Values.image }}").contains("not a scalar"));
    }
}
