//! Selectors by labels and fields: what they select and what is wrong with them.

use serde_json::{Value, json};

use super::case::{Case, Request, get, post};

const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";

/// A selector as it stands in a query.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(
                [byte >> 4, byte & 15].map(|n| char::from_digit(n.into(), 16).unwrap_or('0')),
            );
        }
    }
    out
}

fn labels(selector: &str) -> Request {
    get(CONFIG_MAPS).query("labelSelector", &encoded(selector))
}

fn fields(path: &str, selector: &str) -> Request {
    get(path).query("fieldSelector", &encoded(selector))
}

fn config_map(name: &str, labels: Value) -> Request {
    post(CONFIG_MAPS, json!({"metadata": {"name": name, "labels": labels}}))
}

fn labels_select() -> Case {
    // The root certificate's map appears by itself.
    let own = |selector: &str| labels(&format!("own,{selector}"));
    Case::new("selectors/labels")
        .given(config_map("a", json!({"own": "", "a": "1", "n": "5"})))
        .given(config_map("b", json!({"own": "", "a": "2", "in": "in"})))
        .given(config_map("c", json!({"own": ""})))
        .compare_all([
            own("a=1"),
            own("a==2"),
            own("a!=1"),
            own("a in (1,3)"),
            own("a notin (1)"),
            own("a"),
            own("!a"),
            own("n>4"),
            own("n<5"),
            own("in in (in)"),
            own("a in ()"),
            own("a="),
            own(" a = 1 , n "),
        ])
}

fn labels_fail() -> Case {
    Case::new("selectors/labels-refused").compare_all(
        [
            "==",
            "a=b=c",
            "a in",
            "a in (",
            "a in b",
            "a in (b",
            "a in (b c)",
            "a in (=)",
            "a,",
            ",a",
            "a,,b",
            "!a=b",
            "!",
            "!!a",
            "a b",
            "a>x",
            "a=-x",
            "a=x y",
            "x/y/z",
            "/a",
            "a/",
            "A_B/c",
            "a=(b)",
            "a!b",
            "a=>b",
            "a in (b)c",
            ")",
            "a in (-,_)",
            "é",
        ]
        .map(labels),
    )
}

fn fields_select() -> Case {
    Case::new("selectors/fields")
        .given(config_map("a", json!({})))
        .given(config_map("b", json!({})))
        .given(post(
            "/api/v1/namespaces/{ns}/secrets",
            json!({"metadata": {"name": "s"}, "type": "ex.dev/kind"}),
        ))
        .compare_all([
            fields(CONFIG_MAPS, "metadata.name=a"),
            fields(CONFIG_MAPS, "metadata.name!=a,metadata.name!=kube-root-ca.crt"),
            fields(CONFIG_MAPS, "metadata.name==a,metadata.namespace!={ns}"),
            fields(CONFIG_MAPS, r"metadata.name=a\,b"),
            fields("/api/v1/namespaces/{ns}/secrets", "type=ex.dev/kind"),
            fields("/api/v1/namespaces", "metadata.name={ns},status.phase=Active"),
        ])
}

fn fields_fail() -> Case {
    let all = |path: &'static str, texts: &[&str]| {
        texts.iter().map(|text| fields(path, text)).collect::<Vec<_>>()
    };
    Case::new("selectors/fields-refused")
        .compare_all(all(
            CONFIG_MAPS,
            &[
                "bogus",
                "a==b",
                "=b",
                "metadata.name=a=b",
                r"metadata.name=a\x",
                r"metadata.name=a\",
                "data.k=v",
                "spec.x=1,metadata.name",
            ],
        ))
        .compare_all(all("/api/v1/namespaces/{ns}/pods", &["spec.nodeNam=1"]))
        .compare_all(all("/api/v1/namespaces", &["metadata.namespace=x"]))
        .compare_all(all("/apis/batch/v1/namespaces/{ns}/jobs", &["bogus.x=1"]))
        .compare_all(all("/apis/events.k8s.io/v1/namespaces/{ns}/events", &["source=x"]))
        .compare_all(all("/apis/apps/v1/namespaces/{ns}/deployments", &["spec.replicas=1"]))
        .compare_all(all("/apis/resource.k8s.io/v1/resourceslices", &["metadata.namespace=x"]))
}

/// Cases of selectors.
pub fn cases() -> Vec<Case> {
    vec![labels_select(), labels_fail(), fields_select(), fields_fail()]
}
