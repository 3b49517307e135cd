//! A GitOps repository of a given size, the same bytes every time: what benchmarks render.
//!
//! - `clusters/prod/NAME.yaml`: a Flux Kustomization per app, with `dependsOn` chains of five;
//! - `apps/base/NAME/`: a workload, a Service, a claim, an Ingress, and a generated ConfigMap;
//! - `apps/prod/NAME/`: an overlay with a namespace, a prefix, images, replicas, patches of both
//!   forms and labels; a component in every third app, replacements in every seventh.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The files of one app: path and text.
fn app(number: usize) -> Vec<(String, String)> {
    let name = format!("app-{number:04}");
    let (base, over) = (format!("apps/base/{name}"), format!("apps/prod/{name}"));
    let kind = if number.is_multiple_of(4) { "StatefulSet" } else { "Deployment" };
    let component =
        if number.is_multiple_of(3) { "components: [../../components/monitored]\n" } else { "" };
    let replacement = if number.is_multiple_of(7) {
        format!(
            "
replacements:
  - source: {{kind: Service, name: {name}, fieldPath: metadata.name}}
    targets:
      - select: {{kind: Ingress}}
        fieldPaths: [metadata.annotations.backend]
        options: {{create: true}}
"
        )
    } else {
        String::new()
    };
    let depends = if number.is_multiple_of(5) {
        String::new()
    } else {
        format!("\n  dependsOn: [{{name: app-{:04}}}]", number - 1)
    };
    vec![
        (format!("{base}/workload.yaml"), workload(&name, number, &name)),
        (
            format!("{base}/service.yaml"),
            format!(
                "apiVersion: v1
kind: Service
metadata:
  name: {name}
spec:
  selector: {{app: {name}}}
  ports: [{{name: http, port: 80, targetPort: http}}]
"
            ),
        ),
        (
            format!("{base}/claim.yaml"),
            format!(
                "apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {name}-data
  labels: {{backup: hourly}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: {}Gi}}}}
",
                1 + number % 7
            ),
        ),
        (
            format!("{base}/ingress.yaml"),
            format!(
                "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
spec:
  rules:
    - host: {name}.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {{service: {{name: {name}, port: {{name: http}}}}}}
"
            ),
        ),
        (format!("{base}/settings.properties"), format!("mode=prod\nworkers={}\n", number % 16)),
        (
            format!("{base}/kustomization.yaml"),
            format!(
                "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [workload.yaml, service.yaml, claim.yaml, ingress.yaml]
configMapGenerator:
  - name: {name}-config
    envs: [settings.properties]
"
            ),
        ),
        (
            format!("{over}/kustomization.yaml"),
            format!(
                "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: ns-{:02}
namePrefix: prod-
resources: [../../base/{name}]
{component}labels:
  - pairs: {{team: team-{}}}
images:
  - name: registry.example.com/{name}
    newTag: 1.{}.1
replicas:
  - name: {name}
    count: {}
patches:
  - path: resources.yaml
  - target: {{kind: Ingress}}
    patch: |-
      - op: add
        path: /metadata/annotations
        value: {{tls: \"true\"}}
{replacement}",
                number % 40,
                number % 12,
                number % 9,
                1 + number % 3
            ),
        ),
        (
            format!("{over}/resources.yaml"),
            format!(
                "apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
spec:
  template:
    spec:
      containers:
        - name: main
          resources: {{requests: {{cpu: {}m}}}}
",
                10 + number % 90
            ),
        ),
        (
            format!("clusters/prod/{name}.yaml"),
            format!(
                "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 10m
  path: ./apps/prod/{name}
  prune: true
  wait: true{depends}
  sourceRef: {{kind: GitRepository, name: flux-system}}
  postBuild: {{substitute: {{domain: example.com}}}}
"
            ),
        ),
    ]
}

fn workload(name: &str, number: usize, selector: &str) -> String {
    let stateful = number.is_multiple_of(4);
    let kind = if stateful { "StatefulSet" } else { "Deployment" };
    let extra = if stateful {
        format!(
            "
  serviceName: {name}
  volumeClaimTemplates:
    - metadata: {{name: state}}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {{requests: {{storage: 1Gi}}}}"
        )
    } else {
        String::new()
    };
    let (minor, patch) = (number % 9, number % 5);
    format!(
        "# {name}: the workload
apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
spec:
  replicas: 1{extra}
  selector:
    matchLabels: {{app: {selector}}}
  template:
    metadata:
      labels: {{app: {selector}}}
    spec:
      containers:
        - name: main
          image: registry.example.com/{name}:1.{minor}.0 # {{\"$imagepolicy\": \"flux-system:{name}\"}}
          ports: [{{name: http, containerPort: 8080}}]
          envFrom: [{{configMapRef: {{name: {name}-config}}}}]
          volumeMounts: [{{name: data, mountPath: /data}}]
        - name: sidecar
          image: registry.example.com/sidecar:2.1.{patch}
      volumes:
        - name: data
          persistentVolumeClaim: {{claimName: {name}-data}}
"
    )
}

const COMPONENT: (&str, &str) = (
    "apps/components/monitored/kustomization.yaml",
    "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
labels:
  - pairs: {monitored: \"true\"}
commonAnnotations: {prometheus.io/scrape: \"true\"}
",
);

/// Writes the repository.
pub fn write(root: &Path, apps: usize) -> std::io::Result<()> {
    for number in 0..apps {
        for (path, text) in app(number) {
            put(root, &path, &text)?;
        }
    }
    put(root, COMPONENT.0, COMPONENT.1)
}

/// Makes it a git repository of two commits. The second changes one app in ten: an image's tag, and in
/// one of fifty apps a field that Kubernetes lets nobody change.
pub fn commit(root: &Path, apps: usize) -> Result<(), String> {
    git(root, &["init", "-q", "-b", "main"])?;
    git(root, &["add", "-A"])?;
    git(root, &["commit", "-qm", "Start"])?;
    change(root, apps).map_err(|error| format!("{}: {error}", root.display()))?;
    git(root, &["commit", "-qam", "Update one app in ten"])
}

fn change(root: &Path, apps: usize) -> std::io::Result<()> {
    for number in (0..apps).step_by(10) {
        let name = format!("app-{number:04}");
        let path = root.join(format!("apps/prod/{name}/kustomization.yaml"));
        let minor = number % 9;
        let text = fs::read_to_string(&path)?
            .replace(&format!("newTag: 1.{minor}.1"), &format!("newTag: 1.{minor}.2"));
        fs::write(&path, text)?;
        if number.is_multiple_of(50) {
            let selector = format!("{name}-v2");
            let path = format!("apps/base/{name}/workload.yaml");
            put(root, &path, &workload(&name, number, &selector))?;
        }
    }
    Ok(())
}

fn put(root: &Path, path: &str, text: &str) -> std::io::Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

fn git(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let status = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["-c", "user.name=bench", "-c", "user.email=bench@example.com"])
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("git: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("git {} failed", arguments.join(" "))) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn the_repository_is_the_one_that_figures_are_compared_on() {
        let mut files: BTreeMap<String, String> = (0..20).flat_map(app).collect();
        files.insert(COMPONENT.0.to_owned(), COMPONENT.1.to_owned());
        let mut digest = Sha256::new();
        for (path, text) in &files {
            digest.update(path.as_bytes());
            digest.update([0]);
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text.as_bytes());
        }
        assert_eq!(files.len(), 181);
        assert_eq!(
            format!("{:x}", digest.finalize()),
            "e9cddcd5a5de4e5d62af0ec68a5261edd366d4bf9f1b99914ce03189fa917b6d"
        );
    }
}
