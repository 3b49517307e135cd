//! What the server says about itself: groups, versions, resources, health.

use bytes::Bytes;
use http::header::{ACCEPT, ETAG, IF_NONE_MATCH, VARY};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::respond::{Answer, Content};
use super::route::Target;
use super::{Call, Kinds, Server};
use crate::openapi::Wish;
use crate::resource::Resource;
use crate::status::Failure;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

impl Server {
    pub(super) fn discover(&self, call: &Call, target: &Target) -> Result<Answer, Failure> {
        if call.method != http::Method::GET && call.method != http::Method::HEAD {
            return Err(Failure::method_not_allowed());
        }
        if let Target::OpenApiV3(path) = target {
            // A document takes its time; nobody else should wait for it.
            let kinds = self.state().kinds.clone();
            let wish = Wish {
                path,
                hash: call.query.get("hash"),
                known: call.header(IF_NONE_MATCH),
                now: self.now(),
            };
            return Ok(self.shared.documents.answer(&kinds, &wish));
        }
        let aggregated = wants_aggregated(call);
        let state = self.state();
        let kinds = &state.kinds;
        match target {
            Target::CoreVersions if aggregated => Ok(tagged(call, &aggregate(kinds, &[""]))),
            Target::CoreVersions => Ok(Answer::ok(json!({
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [
                    { "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443" },
                ],
            }))),
            Target::Groups if aggregated => {
                let groups: Vec<&str> =
                    kinds.groups().into_iter().filter(|g| !g.is_empty()).collect();
                Ok(tagged(call, &aggregate(kinds, &groups)))
            }
            Target::Groups => {
                let groups: Vec<Value> = kinds
                    .groups()
                    .into_iter()
                    .filter(|g| !g.is_empty())
                    .map(|g| group(kinds, g))
                    .collect();
                Ok(Answer::ok(
                    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }),
                ))
            }
            Target::Group(name) => {
                if !kinds.has(name, "").0 {
                    return Err(Failure::page_not_found());
                }
                let mut body = group(kinds, name);
                body["kind"] = json!("APIGroup");
                body["apiVersion"] = json!("v1");
                Ok(Answer::ok(body))
            }
            Target::GroupVersion(group, version) => {
                let known = kinds.has(group, version);
                if !known.0 {
                    return Err(Failure::page_not_found());
                }
                if !known.1 {
                    return Err(if kinds.is_built_in(group) {
                        Failure::unknown_resource()
                    } else {
                        Failure::page_not_found()
                    });
                }
                Ok(Answer::ok(resource_list(kinds, group, version)))
            }
            Target::Version => Ok(Answer::ok(json!({
                "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
                "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
                "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "",
                "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "gc",
                "platform": "linux/amd64",
            }))),
            Target::Health(check) => {
                if !matches!(check.as_str(), "" | "ping" | "etcd" | "log") {
                    return Err(Failure::page_not_found());
                }
                let verbose = call.query.has("verbose");
                let text = if verbose { "[+]ping ok\nreadyz check passed\n" } else { "ok" };
                Ok(Answer::text("text/plain; charset=utf-8", text))
            }
            Target::OpenApiV2 => Err(Failure::new(
                406,
                "NotAcceptable",
                "this server has no OpenAPI v2; ask for /openapi/v3",
            )),
            Target::OpenApiV3(_) | Target::Resource(_) => Err(Failure::page_not_found()),
        }
    }
}

fn wants_aggregated(call: &Call) -> bool {
    let accept = call.header(ACCEPT);
    accept.split(',').any(|clause| {
        clause.contains("as=APIGroupDiscoveryList") && clause.contains("v=v2;")
            || clause.trim().ends_with("v=v2") && clause.contains("APIGroupDiscoveryList")
    })
}

fn tagged(call: &Call, body: &Value) -> Answer {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect();
    let tag = format!("\"{hash}\"");
    let known = call.header(IF_NONE_MATCH) == tag;
    let content = if known {
        Content::Text(AGGREGATED, Bytes::new())
    } else {
        Content::Text(AGGREGATED, Bytes::from(bytes))
    };
    Answer {
        code: if known { 304 } else { 200 },
        warnings: Vec::new(),
        headers: vec![(ETAG, tag), (VARY, "Accept".into())],
        content,
    }
}

fn group(kinds: &Kinds, name: &str) -> Value {
    let versions: Vec<Value> = kinds
        .versions(name)
        .into_iter()
        .map(|version| json!({ "groupVersion": format!("{name}/{version}"), "version": version }))
        .collect();
    json!({ "name": name, "versions": versions, "preferredVersion": versions.first() })
}

fn resource_list(kinds: &Kinds, group: &str, version: &str) -> Value {
    let mut resources = Vec::new();
    for resource in kinds.resources(group, version) {
        resources.push(listed(resource));
        for sub in &resource.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, sub.name),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": sub.kind,
                "verbs": sub.verbs,
            });
            if !sub.version.is_empty() {
                entry["group"] = json!(sub.group);
                entry["version"] = json!(sub.version);
            }
            resources.push(entry);
        }
    }
    let group_version =
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut list = json!({
        "kind": "APIResourceList", "groupVersion": group_version, "resources": resources,
    });
    // The list of the core group is the older one.
    if !group.is_empty() {
        list["apiVersion"] = json!("v1");
    }
    list
}

fn listed(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !resource.storage_version_hash.is_empty() {
        entry["storageVersionHash"] = json!(resource.storage_version_hash);
    }
    entry
}

fn aggregate(kinds: &Kinds, groups: &[&str]) -> Value {
    let items: Vec<Value> = groups
        .iter()
        .map(|group| {
            let versions: Vec<Value> = kinds
                .versions(group)
                .into_iter()
                .map(|version| {
                    let resources: Vec<Value> = kinds
                        .resources(group, version)
                        .into_iter()
                        .map(|r| aggregated(r))
                        .collect();
                    json!({ "version": version, "resources": resources, "freshness": "Current" })
                })
                .collect();
            let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": items,
    })
}

fn aggregated(resource: &Resource) -> Value {
    let (group, version) = if resource.custom {
        (resource.group.as_str(), resource.version.as_str())
    } else {
        ("", "")
    };
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": { "group": group, "version": version, "kind": resource.kind },
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        let below: Vec<Value> = resource
            .subresources
            .iter()
            .map(|sub| {
                let (g, v) = if sub.version.is_empty() {
                    (group, version)
                } else {
                    (sub.group.as_str(), sub.version.as_str())
                };
                json!({
                    "subresource": sub.name,
                    "responseKind": { "group": g, "version": v, "kind": sub.kind },
                    "verbs": sub.verbs,
                })
            })
            .collect();
        entry["subresources"] = json!(below);
    }
    entry
}
