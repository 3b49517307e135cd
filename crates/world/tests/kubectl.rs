//! An unmodified kubectl against the simulated cluster. It is built with the real cluster, so these run with
//! `cargo xtask test` only.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail as tests do"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use holdfast_world::actors::workloads;
use holdfast_world::real::module;
use holdfast_world::world::{EPOCH, World};
use tempfile::TempDir;

/// kubectl with a home of its own.
struct Kubectl {
    program: PathBuf,
    home: TempDir,
}

/// What a command said.
struct Said {
    ok: bool,
    out: String,
    err: String,
}

impl Said {
    /// What it printed, if it went well.
    #[track_caller]
    fn fine(self) -> String {
        assert!(self.ok, "out: {}\nerr: {}", self.out, self.err);
        self.out
    }

    /// What it complained about.
    #[track_caller]
    fn refused(self) -> String {
        assert!(!self.ok, "this went well: {}", self.out);
        self.err
    }
}

impl Kubectl {
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(line.split(' ').map(|word| word.replace('~', " ")))
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .env("KUBE_EDITOR", self.home.path().join("editor"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command line. Words are separated by spaces; `~` stands for a space inside one.
    async fn run(&self, line: &str) -> Said {
        self.run_with(line, "").await
    }

    /// Runs a command line with something to read.
    async fn run_with(&self, line: &str, input: &str) -> Said {
        let mut command = self.command(line);
        let input = input.to_owned();
        let output = tokio::task::spawn_blocking(move || {
            let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
            // A command that needs no input may be gone already.
            drop(child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes())));
            child.wait_with_output().unwrap()
        })
        .await
        .unwrap();
        Said {
            ok: output.status.success(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn write(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Runs a test against a served cluster whose deployments run.
async fn with_kubectl(test: impl AsyncFnOnce(&Kubectl)) {
    let built =
        module::KUBE.build(&module::cache_directory(), &|line| eprintln!("{line}")).unwrap();
    let world = World::live(1, EPOCH);
    let (listener, address) = holdfast_apiserver::http::bind(0).await.unwrap();
    let kubectl = Kubectl { program: built.program("kubectl"), home: tempfile::tempdir().unwrap() };
    kubectl.write("kubeconfig", &World::kubeconfig(address));
    let cast = vec![workloads::controller_manager(), workloads::nodes()];
    let limit = Duration::from_mins(3);
    tokio::select! {
        biased;
        outcome = tokio::time::timeout(limit, test(&kubectl)) => outcome.expect("kubectl hangs"),
        served = world.serve(listener) => panic!("the port stopped answering: {served:?}"),
        () = world.turn() => panic!("the world stopped"),
        () = world.act(cast) => panic!("the actors stopped"),
    }
}

/// The words of a line of a table.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

const WEB: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1"}]}
"#;

const GADGETS: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.ex.dev}
spec:
  group: ex.dev
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget, shortNames: [gg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    schema:
      openAPIV3Schema:
        description: A thing of some size.
        type: object
        properties:
          spec:
            description: What is wanted.
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How big it is.}
              colour: {type: string, enum: [red, blue], description: How it looks.}
";

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n1}}";

#[tokio::test]
#[ignore = "needs a built kubectl: cargo xtask test"]
async fn objects_are_shown_in_every_form() {
    with_kubectl(async |kubectl| {
        kubectl.run_with("apply -f -", NODE).await.fine();
        assert_eq!(
            kubectl.run_with("apply -f -", WEB).await.fine(),
            "deployment.apps/web created\n"
        );
        let said = kubectl.run("rollout status deployment/web --timeout=60s").await.fine();
        assert!(said.ends_with("deployment \"web\" successfully rolled out\n"), "{said}");

        let table = kubectl.run("get deployments").await.fine();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(words(lines[0]), ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]);
        assert_eq!(words(lines[1])[..4], ["web", "2/2", "2", "2"]);
        let wide = kubectl.run("get pods -o wide").await.fine();
        let row = words(wide.lines().nth(1).unwrap());
        assert_eq!((&row[1..4], row[6]), (&["1/1", "Running", "0"][..], "n1"));
        let everywhere = kubectl.run("get deployments,namespaces -A").await.fine();
        assert!(everywhere.contains("deployment.apps/web"), "{everywhere}");
        assert!(everywhere.contains("namespace/kube-system"), "{everywhere}");
        let yaml = kubectl.run("get deployment web -o yaml").await.fine();
        assert!(yaml.contains("kind: Deployment\n") && yaml.contains("  replicas: 2\n"), "{yaml}");
        let image = "jsonpath={.spec.template.spec.containers[0].image}";
        let image = kubectl.run(&format!("get deployment web -o {image}")).await.fine();
        assert_eq!(image, "example.com/web:1");
        let missing = kubectl.run("get deployment gone").await.refused();
        assert_eq!(missing, "Error from server (NotFound): deployments.apps \"gone\" not found\n");

        let told = kubectl.run("describe deployment web").await.fine();
        assert!(told.contains("2 desired | 2 updated | 2 total | 2 available"), "{told}");
        let told = kubectl.run("describe pods").await.fine();
        assert!(told.contains("Node:         n1/"), "{told}");
        assert_eq!(kubectl.run("logs deployment/web").await.fine(), "");

        let kinds = kubectl.run("api-resources --api-group=apps").await.fine();
        assert!(kinds.contains("deployments           deploy       apps/v1"), "{kinds}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a built kubectl: cargo xtask test"]
async fn fields_are_explained() {
    with_kubectl(async |kubectl| {
        let said = kubectl.run("explain pod.spec.containers").await.fine();
        assert!(said.starts_with("KIND:       Pod\nVERSION:    v1\n"), "{said}");
        assert!(said.contains("FIELD: containers <[]Container>"), "{said}");
        assert!(said.contains("A single application container"), "{said}");
        assert!(said.contains("  image\t<string>"), "{said}");

        kubectl.run_with("apply -f -", GADGETS).await.fine();
        kubectl.run("wait --for=condition=Established crd/gadgets.ex.dev --timeout=30s").await.fine();
        let said = kubectl.run("explain gadget.spec").await.fine();
        assert!(said.starts_with("GROUP:      ex.dev\nKIND:       Gadget\nVERSION:    v1\n"), "{said}");
        assert!(said.contains("What is wanted.") && said.contains("  size\t<integer> -required-"), "{said}");
        let said = kubectl.run("explain gadget.spec.colour").await.fine();
        assert!(said.contains("How it looks.") && said.contains("ENUM:\n    red\n    blue\n"), "{said}");
        let unknown = kubectl.run("explain gadget.spec.weight").await.refused();
        assert!(unknown.contains("field \"weight\" does not exist"), "{unknown}");

        let gadget = "{apiVersion: ex.dev/v1, kind: Gadget, metadata: {name: g}, spec: {size: 3, colour: red}}";
        kubectl.run_with("apply -f -", gadget).await.fine();
        let table = kubectl.run("get gg -o wide").await.fine();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(words(lines[0]), ["NAME", "SIZE", "COLOUR"]);
        assert_eq!(words(lines[1]), ["g", "3", "red"]);
        let wrong = kubectl.run_with("apply -f -", &gadget.replace('3', "0")).await.refused();
        assert!(wrong.contains("spec.size in body should be greater than or equal to 1"), "{wrong}");
        let unknown = kubectl.run_with("apply -f -", &gadget.replace("size: 3", "size: 3, x: 1")).await;
        let unknown = unknown.refused();
        assert!(unknown.contains("unknown field \"spec.x\""), "{unknown}");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a built kubectl: cargo xtask test"]
async fn objects_are_applied_patched_and_edited() {
    with_kubectl(async |kubectl| {
        assert_eq!(kubectl.run_with("apply -f -", WEB).await.fine(), "deployment.apps/web created\n");
        assert_eq!(kubectl.run_with("apply -f -", WEB).await.fine(), "deployment.apps/web unchanged\n");
        let more = WEB.replace("replicas: 2", "replicas: 3");
        let differing = kubectl.run_with("diff -f -", &more).await;
        assert!(differing.out.contains("-  replicas: 2\n+  replicas: 3\n"), "{}", differing.out);
        assert_eq!(kubectl.run_with("apply -f -", &more).await.fine(), "deployment.apps/web configured\n");
        assert_eq!(kubectl.run_with("diff -f -", &more).await.fine(), "");
        let applied = "deployment.apps/web serverside-applied\n";
        assert_eq!(kubectl.run_with("apply --server-side -f -", &more).await.fine(), applied);
        let other = "apply --server-side --field-manager=other -f -";
        let conflict = kubectl.run_with(other, WEB).await.refused();
        assert!(conflict.contains("conflict with \"kubectl\": .spec.replicas"), "{conflict}");
        let forced = kubectl.run_with(&format!("{other} --force-conflicts"), WEB).await.fine();
        assert_eq!(forced, applied);

        let value = async |path: &str| {
            kubectl.run(&format!("get deployment web -o jsonpath={{{path}}}")).await.fine()
        };
        assert_eq!(value(".spec.replicas").await, "2");
        let scaled = kubectl.run("scale deployment web --replicas=4").await.fine();
        assert_eq!((scaled.as_str(), value(".spec.replicas").await.as_str()), ("deployment.apps/web scaled\n", "4"));
        assert_eq!(kubectl.run("label deployment web tier=front").await.fine(), "deployment.apps/web labeled\n");
        assert_eq!(value(".metadata.labels.tier").await, "front");
        let again = kubectl.run("label deployment web tier=back").await.refused();
        assert!(again.contains("already has a value (front)"), "{again}");
        assert_eq!(kubectl.run("annotate deployment web note=x").await.fine(), "deployment.apps/web annotated\n");
        assert_eq!(value(".metadata.annotations.note").await, "x");

        let patched = "deployment.apps/web patched\n";
        let patch = async |kind: &str, text: &str| {
            kubectl.run(&format!("patch deployment web --type={kind} -p={text}")).await.fine()
        };
        let env = r#"{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"A","value":"1"}]}]}}}}"#;
        assert_eq!(patch("strategic", env).await, patched);
        assert_eq!(value(".spec.template.spec.containers[0].image").await, "example.com/web:1");
        assert_eq!(patch("merge", r#"{"metadata":{"labels":{"tier":null}}}"#).await, patched);
        assert_eq!(value(".metadata.labels").await, "");
        assert_eq!(patch("json", r#"[{"op":"replace","path":"/spec/replicas","value":1}]"#).await, patched);
        assert_eq!(value(".spec.replicas").await, "1");
        let same = patch("merge", r#"{"spec":{"replicas":1}}"#).await;
        assert_eq!(same, "deployment.apps/web patched (no change)\n");

        kubectl.write("editor", "#!/bin/sh\nsed -i 's/replicas: 1/replicas: 5/' \"$1\"\n");
        assert_eq!(kubectl.run("edit deployment web").await.fine(), "deployment.apps/web edited\n");
        assert_eq!(value(".spec.replicas").await, "5");
    })
    .await;
}

#[tokio::test]
#[ignore = "needs a built kubectl: cargo xtask test"]
async fn changes_are_watched_and_waited_for() {
    with_kubectl(async |kubectl| {
        kubectl.run_with("apply -f -", NODE).await.fine();
        let watching = kubectl.command("get deployments --watch").spawn().unwrap();
        kubectl.run_with("apply -f -", WEB).await.fine();
        let met = kubectl.run("wait --for=condition=Available deployment/web --timeout=60s").await;
        assert_eq!(met.fine(), "deployment.apps/web condition met\n");
        let gone = kubectl.run("delete deployment web").await.fine();
        assert!(gone.starts_with("deployment.apps \"web\" deleted"), "{gone}");
        let held =
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [ex.dev/hold]}}";
        kubectl.run_with("apply -f -", held).await.fine();
        kubectl.run("delete configmap held --wait=false").await.fine();
        let waiting = kubectl.run("wait --for=delete configmap/held --timeout=60s");
        let releasing = async {
            // Long enough for the other to begin.
            tokio::time::sleep(Duration::from_secs(2)).await;
            let patch = r#"{"metadata":{"finalizers":null}}"#;
            kubectl.run(&format!("patch configmap held --type=merge -p={patch}")).await.fine();
        };
        let (waiting, ()) = tokio::join!(waiting, releasing);
        assert_eq!(waiting.fine(), "configmap/held condition met\n");
        let late = kubectl.run("wait --for=condition=Available deployment/web --timeout=1s").await;
        assert!(late.refused().contains("deployments.apps \"web\" not found"));

        let mut watching = watching;
        watching.kill().unwrap();
        let seen = watching.wait_with_output().unwrap();
        let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
        let lines: Vec<Vec<&str>> = seen.lines().map(words).collect();
        assert_eq!(lines[0][..2], ["NAME", "READY"], "{seen}");
        assert_eq!(lines[1][..2], ["web", "0/2"], "{seen}");
        assert!(lines.iter().any(|line| line.starts_with(&["web", "2/2"])), "{seen}");
    })
    .await;
}

/// kubectl's typed commands send protobuf.
#[tokio::test]
#[ignore = "needs a built kubectl: cargo xtask test"]
async fn typed_commands_are_understood() {
    with_kubectl(async |kubectl| {
        for (line, said) in [
            ("create configmap a --from-literal=k=v", "configmap/a created"),
            ("create secret generic s --from-literal=password=x", "secret/s created"),
            ("create namespace shop", "namespace/shop created"),
            (
                "create deployment web --image=web:1 --replicas=2 --port=80",
                "deployment.apps/web created",
            ),
            ("create service clusterip web --tcp=80:http", "service/web created"),
            ("create job once --image=job:1 -- run me", "job.batch/once created"),
            (
                "create cronjob daily --image=job:1 --schedule=0~3~*~*~*",
                "cronjob.batch/daily created",
            ),
            (
                "create ingress web --rule=example.org/*=web:80",
                "ingress.networking.k8s.io/web created",
            ),
            ("create serviceaccount robot", "serviceaccount/robot created"),
            (
                "create role reader --verb=get --resource=pods",
                "role.rbac.authorization.k8s.io/reader created",
            ),
            (
                "create rolebinding reader --role=reader --serviceaccount=default:robot",
                "rolebinding.rbac.authorization.k8s.io/reader created",
            ),
            ("create quota q --hard=pods=9,requests.storage=1Gi", "resourcequota/q created"),
            (
                "create pdb web --selector=app=web --min-available=50%",
                "poddisruptionbudget.policy/web created",
            ),
            (
                "create priorityclass high --value=1000",
                "priorityclass.scheduling.k8s.io/high created",
            ),
        ] {
            assert_eq!(kubectl.run(line).await.fine().trim_end(), said);
        }
        let told = kubectl.run("describe configmap a").await.fine();
        assert!(told.contains("Data\n====\nk:\n----\nv\n"), "{told}");
        for (line, said) in [
            ("get secret s -o jsonpath={.data.password}", "eA=="),
            ("get deployment web -o jsonpath={.spec.replicas},{..containerPort}", "2,80"),
            ("get service web -o jsonpath={.spec.ports[0].targetPort}", "http"),
            ("get pdb web -o jsonpath={.spec.minAvailable}", "50%"),
            ("get quota q -o jsonpath={.spec.hard.requests\\.storage}", "1Gi"),
            ("get job once -o jsonpath={..command}", "[\"run\",\"me\"]"),
            ("auth can-i get pods", "yes\n"),
        ] {
            assert_eq!(kubectl.run(line).await.fine(), said, "{line}");
        }
        let line = "auth can-i delete nodes --as=system:serviceaccount:default:robot";
        assert_eq!(kubectl.run(line).await.out, "no\n");
        let again = kubectl.run("create configmap a --from-literal=k=v").await.refused();
        assert!(again.contains("configmaps \"a\" already exists"), "{again}");
    })
    .await;
}
