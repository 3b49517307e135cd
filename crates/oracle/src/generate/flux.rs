//! Flux Kustomizations over generated trees, and texts with variables.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::object::{IMAGES, NAMES, NAMESPACES};
use super::{Tree, chance, pick};

/// A text with variables, and their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The text.
    pub text: String,
    /// The variables that are set.
    pub variables: BTreeMap<String, String>,
    /// Whether a variable must be set.
    pub strict: bool,
}

/// Words that become expressions in the files of a Flux build.
const WORDS: [&str; 7] = ["red", "green", "blue", "fast", "big", "north", "x1"];

const EXPRESSIONS: [&str; 22] = [
    "${ONE}",
    "${TWO}",
    "${ONE:=default}",
    "${MISSING:=default}",
    "${MISSING:-other}",
    "${MISSING:=${ONE}}",
    "${MISSING:=${NOTHING:=deep}}",
    "$${ONE}",
    "$ONE",
    "$$",
    "${NUMBER}",
    "${BOOL}",
    "${MISSING}",
    "${ONE:1:3}",
    "${ONE^^}",
    "${ONE/a/b}",
    "${#ONE}",
    "${EMPTY:=filled}",
    "${ONE%l*}",
    "${ONE##*a}",
    "'${MISSING:=\"4\"}'",
    "\"${TWO}\"",
];

/// Values of variables.
fn variables(rng: &mut Rng) -> BTreeMap<String, String> {
    let values = [
        ("ONE", "value"),
        ("TWO", "two words: here"),
        ("NUMBER", "42"),
        ("BOOL", "true"),
        ("EMPTY", ""),
        ("LINES", "a\nb"),
        ("QUOTED", "\"x\""),
        ("_under", "1.10"),
    ];
    values
        .into_iter()
        .filter(|_| chance(rng, 75))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Turns the tree into one that Flux builds.
pub fn apply(rng: &mut Rng, tree: &mut Tree) {
    if chance(rng, 60) {
        for text in tree.files.values_mut() {
            for word in WORDS {
                if chance(rng, 20) {
                    *text = text.replacen(
                        &format!(" {word}\n"),
                        &format!(" {}\n", pick(rng, &EXPRESSIONS)),
                        2,
                    );
                }
            }
        }
    }
    if chance(rng, 30) {
        // Without a kustomization file Flux makes one.
        let made = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
        tree.files.retain(|path, _| {
            let name = path.strip_prefix(&format!("{}/", tree.target)).unwrap_or_default();
            !made.contains(&name)
        });
    }
    let mut spec = json!({
        "path": format!("./{}", tree.target),
        "interval": "10m",
        "prune": true,
        "sourceRef": { "kind": "GitRepository", "name": "flux-system" },
    });
    if chance(rng, 40) {
        spec["targetNamespace"] = (*pick(rng, &NAMESPACES)).into();
    }
    if chance(rng, 15) {
        spec["namePrefix"] = "flux-".into();
    }
    if chance(rng, 10) {
        spec["nameSuffix"] = "-flux".into();
    }
    if chance(rng, 25) {
        spec["images"] = json!([{ "name": image(rng), "newTag": "v9" }]);
    }
    if chance(rng, 25) {
        let kind = *pick(rng, &["Deployment", "ConfigMap", "HelmRelease", "Service"]);
        let patch = "- op: add\n  path: /metadata/labels\n  value: {flux: patched}\n";
        spec["patches"] = json!([{ "patch": patch, "target": { "kind": kind } }]);
    } else if chance(rng, 15) {
        let patch = "kind: any\nmetadata:\n  name: any\n  annotations:\n    by: ${ONE:=flux}\n";
        spec["patches"] = json!([{ "patch": patch, "target": { "name": pick(rng, &NAMES) } }]);
    }
    if chance(rng, 10) {
        let up = "../".repeat(tree.target.split('/').count());
        spec["components"] = json!([format!("{up}parts")]);
        spec["ignoreMissingComponents"] = chance(rng, 70).into();
    }
    if chance(rng, 75) {
        let mut post = json!({ "substitute": variables(rng) });
        if chance(rng, 30) {
            let held: BTreeMap<&str, &str> =
                [("ONE", "from a map"), ("HELD", "held"), ("NUMBER", "7")].into();
            tree.objects = vec![json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": "vars", "namespace": "flux-system" }, "data": held,
            })];
            post["substituteFrom"] = json!([{ "kind": "ConfigMap", "name": "vars" }]);
        }
        if chance(rng, 15) {
            post["substituteStrategy"] = "Always".into();
            post["substitute"] = json!({});
        }
        spec["postBuild"] = post;
    }
    tree.strict = chance(rng, 10);
    tree.kustomization = Some(json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": { "name": "generated", "namespace": "flux-system" },
        "spec": spec,
    }));
}

fn image(rng: &mut Rng) -> Value {
    let full = *pick(rng, &IMAGES);
    let name = full.split(['@']).next().unwrap_or(full);
    match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name.into(),
        _ => name.into(),
    }
}

/// A text of pieces that mean something to a substitution, in any order.
pub fn template(rng: &mut Rng) -> Template {
    const PIECES: [&str; 58] = [
        "${",
        "}",
        "$",
        "$$",
        "${ONE}",
        "${TWO}",
        "${NONE}",
        "ONE",
        "NONE",
        ":",
        ":-",
        ":=",
        ":+",
        ":?",
        "=",
        "-",
        "+",
        "?",
        "#",
        "##",
        "%",
        "%%",
        "/",
        "//",
        "/#",
        "/%",
        "^",
        "^^",
        ",",
        ",,",
        "*",
        "?a",
        "[a-z]",
        "a",
        "value",
        " ",
        "\n",
        "\\",
        "\\}",
        "\"",
        "'",
        "1",
        "2",
        "-1",
        "é",
        "${#ONE}",
        "${ONE:1}",
        "${ONE:1:2}",
        "${NONE:=x y}",
        "${NONE:-${ONE}}",
        "${EMPTY:=e}",
        "text ",
        "{",
        "${ONE",
        "${_under}",
        "${1}",
        ".",
        "$(ONE)",
    ];
    let mut text = String::new();
    for _ in 0..rng.usize(1..9) {
        text.push_str(PIECES[rng.usize(..PIECES.len())]);
    }
    if chance(rng, 40) {
        const FORMS: [&str; 12] = [
            "${A:=B}",
            "${A:-B}",
            "${A=B}",
            "${A/B/B}",
            "${A//B/B}",
            "${A#B}",
            "${A%%B}",
            "${A:1:B}",
            "${A^^}",
            "${A,B}",
            "${A:+B}",
            "${A:?B}",
        ];
        let mut form = (*pick(rng, &FORMS)).to_owned();
        let name: &&str = pick(rng, &["ONE", "TWO", "NONE", "EMPTY", "LINES"]);
        form = form.replacen('A', name, 1);
        while form.contains('B') && form.len() < 200 {
            let piece = pick(rng, &PIECES).replace('B', "");
            form = form.replacen('B', &piece, 1);
        }
        text.push_str(&form);
    }
    Template { text, variables: variables(rng), strict: chance(rng, 25) }
}
