use super::*;

fn wish<'a>(path: &'a str, hash: &'a str, known: &'a str) -> Wish<'a> {
    Wish { path, hash, known, now: Timestamp::constant(1_767_225_600, 0) }
}

fn body(answer: Answer) -> Value {
    let Content::Text(_, bytes) = answer.content else { panic!("not a text") };
    serde_json::from_slice(&bytes).unwrap()
}

fn header(answer: &Answer, name: &HeaderName) -> Option<String> {
    answer.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn definition(title: &str) -> Value {
    json!({
        "metadata": {"name": "gadgets.ex.dev", "uid": "1"},
        "spec": {
            "group": "ex.dev", "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "description": title,
                    "properties": {"spec": {"type": "object", "properties": {
                        "port": {"x-kubernetes-int-or-string": true, "description": "Where."},
                    }}},
                }},
            }],
        },
    })
}

fn kinds(title: &str) -> Kinds {
    let mut kinds = Kinds::default();
    for resource in crate::crd::definition::resources(&definition(title)) {
        kinds.insert(Arc::new(resource));
    }
    kinds
}

#[test]
fn the_list_leads_to_documents_that_never_change() {
    let (documents, kinds) = (Documents::default(), kinds("A gadget."));
    let index = body(documents.answer(&kinds, &wish("", "", "")));
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
    let hash = url.strip_prefix("/openapi/v3/apis/apps/v1?hash=").unwrap();
    assert_eq!(hash.len(), 128);
    let answer = documents.answer(&kinds, &wish("apis/apps/v1", hash, ""));
    assert_eq!(answer.code, 200);
    assert_eq!(header(&answer, &CACHE_CONTROL).as_deref(), Some("public, immutable"));
    assert_eq!(header(&answer, &EXPIRES).as_deref(), Some("Fri, 01 Jan 2027 00:00:00 UTC"));
    let tag = header(&answer, &ETAG).unwrap();
    assert_eq!(documents.answer(&kinds, &wish("apis/apps/v1", "", &tag)).code, 304);
    let moved = documents.answer(&kinds, &wish("apis/apps/v1", "old", ""));
    assert_eq!((moved.code, header(&moved, &LOCATION).as_deref()), (301, Some(url)));
    assert_eq!(documents.answer(&kinds, &wish("apis/nothing/v1", "", "")).code, 404);
}

#[test]
fn a_built_in_document_holds_what_it_refers_to() {
    let documents = Documents::default();
    let kinds = Kinds::default();
    for group in kinds.groups() {
        for version in kinds.versions(group) {
            let path = path_of(group, version);
            let text = body(documents.answer(&kinds, &wish(&path, "", ""))).to_string();
            let document: Value = serde_json::from_str(&text).unwrap();
            for part in text.split("\"#/components/schemas/").skip(1) {
                let name = part.split('"').next().unwrap();
                let known = document["components"]["schemas"].get(name).is_some();
                assert!(known, "{path} lacks {name}");
            }
        }
    }
}

#[test]
fn a_patch_says_which_kinds_and_options_it_takes() {
    let documents = Documents::default();
    let kinds = kinds("A gadget.");
    let of = |path: &str, item: &str| {
        body(documents.answer(&kinds, &wish(path, "", "")))["paths"][item]["patch"].clone()
    };
    let own = of("apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
    assert_eq!(own["operationId"], "patchAppsV1NamespacedDeployment");
    let names: Vec<&str> =
        own["parameters"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    let strategic = "application/strategic-merge-patch+json";
    assert!(own["requestBody"]["content"].get(strategic).is_some());
    let custom = of("apis/ex.dev/v1", "/apis/ex.dev/v1/namespaces/{namespace}/gadgets/{name}");
    assert!(custom["requestBody"]["content"].get(strategic).is_none());
    assert_eq!(custom["x-kubernetes-group-version-kind"]["kind"], "Gadget");
}

#[test]
fn a_custom_schema_is_completed_and_follows_its_definition() {
    let documents = Documents::default();
    let read = |title: &str| {
        let kinds = kinds(title);
        body(documents.answer(&kinds, &wish("apis/ex.dev/v1", "", "")))
    };
    let document = read("A gadget.");
    let schema = &document["components"]["schemas"]["dev.ex.v1.Gadget"];
    assert_eq!(schema["description"], "A gadget.");
    let port = &schema["properties"]["spec"]["properties"]["port"];
    assert_eq!(port["anyOf"], json!([{"type": "integer"}, {"type": "string"}]));
    assert!(schema["properties"]["metadata"]["allOf"].is_array());
    assert!(document["components"]["schemas"].get("dev.ex.v1.GadgetList").is_some());
    let changed = read("Another gadget.");
    let schema = &changed["components"]["schemas"]["dev.ex.v1.Gadget"];
    assert_eq!(schema["description"], "Another gadget.");
}
