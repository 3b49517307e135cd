//! What the API server makes of our definitions: it takes the good object of each kind, and refuses
//! each bad one with the sentence that says what to write instead. The same table is put to the
//! simulated server and to the real one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail anywhere")]

use std::collections::BTreeMap;
use std::time::Duration;

use holdfast_api::crds;
use holdfast_apiserver::identity::User;
use holdfast_apiserver::server::{Config, Server};
use holdfast_world::real::{Cluster, Options};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::ApiResource;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tower::ServiceExt as _;

const ACCEPTED: &str = include_str!("../cases/accepted.yaml");
const REFUSED: &str = include_str!("../cases/refused.yaml");
const NAMESPACE: &str = "holdfast-cases";

/// One kind: its definition, the object that is taken, and those that are not.
struct Kind {
    crd: CustomResourceDefinition,
    good: Value,
    refusals: Vec<Value>,
}

fn kinds() -> Vec<Kind> {
    // Several documents in one file are read one by one, so that comments may stand between them.
    let good: Vec<Value> =
        ACCEPTED.split("\n---\n").map(|text| serde_saphyr::from_str(text).unwrap()).collect();
    let mut refused: BTreeMap<String, Vec<Value>> = serde_saphyr::from_str(REFUSED).unwrap();
    let kinds = crds::all().into_iter().map(|crd| {
        let kind = crd.spec.names.kind.clone();
        let good = good.iter().find(|object| object["kind"] == kind.as_str());
        let good = good.unwrap_or_else(|| panic!("no accepted object of {kind}")).clone();
        let refusals = refused.remove(&kind).unwrap_or_default();
        assert!(refusals.len() >= 2, "{kind} has fewer than two refusals");
        Kind { crd, good, refusals }
    });
    let kinds = kinds.collect();
    assert!(refused.is_empty(), "refusals of unknown kinds: {:?}", refused.keys());
    kinds
}

impl Kind {
    fn api(&self, client: &Client) -> Api<DynamicObject> {
        let spec = &self.crd.spec;
        let version = spec.versions[0].name.clone();
        let resource = ApiResource {
            api_version: format!("{}/{version}", spec.group),
            group: spec.group.clone(),
            version,
            kind: spec.names.kind.clone(),
            plural: spec.names.plural.clone(),
        };
        if spec.scope == "Namespaced" {
            Api::namespaced_with(client.clone(), NAMESPACE, &resource)
        } else {
            Api::all_with(client.clone(), &resource)
        }
    }

    /// The good object with a change of its spec.
    fn changed(&self, change: &Value) -> DynamicObject {
        let mut object = self.good.clone();
        json_patch::merge(&mut object["spec"], change);
        serde_json::from_value(object).unwrap()
    }
}

/// Takes the good objects, refuses the bad ones: the differences, one line each.
async fn differences(client: &Client) -> Vec<String> {
    let mut differences = Vec::new();
    for kind in kinds() {
        let api = kind.api(client);
        let name = &kind.crd.spec.names.kind;
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        if let Err(error) = api.create(&dry, &kind.changed(&json!({}))).await {
            differences.push(format!("{name}: the good object is refused: {error}"));
            continue;
        }
        for refusal in &kind.refusals {
            let change = &refusal["change"];
            let answer = if refusal.get("started").is_some() || refusal.get("update").is_some() {
                change_object(&kind, &api, refusal).await
            } else {
                let mut bad = kind.changed(change);
                if let Some(name) = refusal["name"].as_str() {
                    bad.metadata.name = Some(name.to_owned());
                }
                api.create(&dry, &bad).await.map(drop)
            };
            let sentence = refusal["sentence"].as_str().unwrap();
            match answer {
                Ok(()) => differences.push(format!("{name}: taken: {change}")),
                Err(kube::Error::Api(status)) => {
                    let causes = status.details.map(|details| details.causes).unwrap_or_default();
                    if status.code != 422 || !causes.iter().any(|c| c.message.contains(sentence)) {
                        let message = status.message;
                        differences.push(format!("{name}: {change}: {} {message}", status.code));
                    }
                }
                Err(error) => differences.push(format!("{name}: {change}: {error}")),
            }
        }
    }
    differences
}

/// Makes the good object, lets its status say that it has started, and changes it.
async fn change_object(
    kind: &Kind,
    api: &Api<DynamicObject>,
    refusal: &Value,
) -> Result<(), kube::Error> {
    let before = kind.changed(refusal.get("update").unwrap_or(&json!({})));
    let name = before.name_any();
    let made = api.create(&PostParams::default(), &before).await.unwrap();
    if refusal.get("started").is_some() {
        let status = json!({ "status": { "startedAt": "2026-11-15T12:00:00Z" } });
        let params = PatchParams::default();
        api.patch_status(&name, &params, &Patch::Merge(status)).await.unwrap();
    }
    let spec = json!({ "spec": refusal["change"] });
    let answer = api.patch(&name, &PatchParams::default(), &Patch::Merge(spec)).await;
    // What may change has to: abort is not refused with the rest.
    if made.data["spec"].get("abort").is_some_and(|abort| abort == false) {
        let abort = Patch::Merge(json!({ "spec": { "abort": true } }));
        api.patch(&name, &PatchParams::default(), &abort).await.unwrap();
    }
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    answer.map(drop)
}

async fn install(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for crd in crds::all() {
        let name = crd.name_any();
        let params = PatchParams::apply("holdfast.dev/cases").force();
        definitions.patch(&name, &params, &Patch::Apply(&crd)).await.unwrap();
    }
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace =
        serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } })).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let established = |crd: &CustomResourceDefinition| {
        let conditions = crd.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|one| one.type_ == "Established" && one.status == "True")
    };
    loop {
        let list = definitions.list(&kube::api::ListParams::default()).await.unwrap();
        if list.items.iter().all(established) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for crd in crds::all() {
        let found = definitions.get(&crd.name_any()).await.unwrap();
        let conditions = found.status.unwrap().conditions.unwrap_or_default();
        let flaws = conditions.iter().filter(|one| one.type_ == "NonStructuralSchema");
        assert_eq!(flaws.count(), 0, "{}", crd.name_any());
    }
}

#[tokio::test(start_paused = true)]
async fn the_simulated_server_refuses_with_a_sentence() {
    let server = Server::new(Config::default());
    let service = server.clone().map_request(|mut request: http::Request<kube::client::Body>| {
        request.extensions_mut().insert(User::admin("test"));
        request
    });
    let client = Client::new(service, NAMESPACE);
    tokio::select! {
        biased;
        () = server.housekeeping(Duration::from_millis(5)) => unreachable!(),
        () = async {
            install(&client).await;
            let differences = differences(&client).await;
            assert!(differences.is_empty(), "{}", differences.join("\n"));
        } => {}
    }
}

#[tokio::test]
#[ignore = "needs the real cluster: cargo xtask test"]
async fn the_real_server_refuses_with_a_sentence() {
    let cluster = Cluster::start(Options::control_plane()).await.unwrap();
    let client = cluster.client();
    install(&client).await;
    let differences = differences(&client).await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    cluster.stop();
}

#[test]
fn the_files_are_those_of_the_types() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let mut expected: BTreeMap<String, String> = BTreeMap::new();
    for crd in crds::all() {
        expected.insert(crds::file_name(&crd), crds::yaml(&crd).unwrap());
    }
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.insert(name, std::fs::read_to_string(&path).unwrap());
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, text) in &expected {
        assert!(found[name] == *text, "{name} is out of date: run `cargo xtask gen crds`");
    }
}

#[test]
fn every_field_is_explained() {
    fn walk(path: &str, schema: &Value, silent: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let described = property["description"].as_str().is_some_and(|text| text.len() > 3);
            let own = !["metadata", "apiVersion", "kind"].contains(&name.as_str());
            if !described && (own || path.contains(".spec.") || path.contains(".status.")) {
                silent.push(path.clone());
            }
            walk(&path, property, silent);
        }
        if schema["items"].is_object() {
            walk(&format!("{path}[]"), &schema["items"], silent);
        }
    }
    let mut silent = Vec::new();
    for crd in crds::all() {
        let kind = &crd.spec.names.kind;
        for version in &crd.spec.versions {
            let schema = serde_json::to_value(&version.schema).unwrap();
            walk(kind, &schema["openAPIV3Schema"], &mut silent);
        }
        let names = &crd.spec.names;
        assert_eq!(names.categories.as_deref(), Some(&["holdfast".to_owned()][..]), "{kind}");
        assert!(names.short_names.as_ref().is_some_and(|short| !short.is_empty()), "{kind}");
    }
    assert!(silent.is_empty(), "no words about {silent:#?}");
}
