//! What must hold for any bytes whatsoever. The targets of `cargo fuzz` call these functions, and so do
//! tests with seeds; what must not happen is an assertion that fails.

use std::collections::BTreeMap;

use fastrand::Rng;
use holdfast_manifest::document::{Address, Documents, Step, apply};
use holdfast_manifest::files::Memory;
use holdfast_manifest::flux::Variables;
use holdfast_manifest::kustomize::merge::merge;
use holdfast_manifest::kustomize::schema::Schema;
use holdfast_manifest::kustomize::{Options, build};
use holdfast_manifest::yaml::{Node, Value, documents, emit};

use crate::generate;

/// Values that are put in place of others.
const VALUES: [&str; 8] = ["1.2.3", "1.10", "true", "", "a: b", "- x", "é\nnext", " # no comment "];

/// Any scalar of any text can be replaced, or the edit is refused: nothing else changes.
pub fn yaml_edit(bytes: &[u8]) {
    let Some((choice, text)) = text(bytes) else { return };
    let Ok(parsed) = Documents::parse(text) else { return };
    let mut addresses = Vec::new();
    for document in 0..parsed.len() {
        if let Ok(Some(root)) = parsed.get(document, &Address::root()) {
            scalars(&root, &Address::root(), &mut |address| addresses.push((document, address)));
        }
    }
    if addresses.is_empty() {
        return;
    }
    let (document, address) = &addresses[choice % addresses.len()];
    let value = VALUES[choice % VALUES.len()];
    let Ok(edit) = parsed.replace_text(*document, address, value) else { return };
    let Ok(edited) = apply(text, std::slice::from_ref(&edit)) else { return };
    assert!(edited.starts_with(&text[..edit.start]), "bytes before the edit changed");
    assert!(edited.ends_with(&text[edit.end..]), "bytes after the edit changed");
    let again = Documents::parse(&edited);
    let found = again.ok().and_then(|again| again.get(*document, address).ok().flatten());
    assert!(
        found.as_ref().and_then(Node::as_scalar).is_some_and(|scalar| scalar.text == value),
        "{address} is not {value:?} in {edited:?}"
    );
}

fn scalars(node: &Node, address: &Address, found: &mut impl FnMut(Address)) {
    match &node.value {
        Value::Scalar(_) => found(address.clone()),
        Value::Mapping(mapping) => {
            for entry in mapping {
                scalars(&entry.value, &address.clone().key(entry.key.text.as_str()), found);
            }
        }
        Value::Sequence(items) => {
            for (place, item) in items.iter().enumerate() {
                let mut address = address.clone();
                address.0.push(Step::Index(place));
                scalars(item, &address, found);
            }
        }
    }
}

/// Any kustomization builds or is refused, and what is built can be read again.
pub fn kustomization(bytes: &[u8]) {
    let mut files = Memory::new()
        .with("deployment.yaml", DEPLOYMENT)
        .with("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")
        .with("settings.env", "ONE=1\n")
        .with(
            "patch.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n",
        )
        .with("base/kustomization.yaml", "resources: [../deployment.yaml]\n");
    files.insert("kustomization.yaml", bytes);
    let Ok(built) = build(&files, "", &Options::default()) else { return };
    let mut text = String::new();
    if emit::objects(built.iter().map(|resource| &resource.node), &mut text).is_ok() {
        let again = documents(&text);
        assert!(again.is_ok(), "what was built cannot be read: {again:?}\n{text}");
    }
}

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: 'nginx:1', ports: [{containerPort: 80}], env: [{name: A, value: b}]}]
";

/// Any patch can be laid over any object, or is refused.
pub fn strategic_merge(bytes: &[u8]) {
    let Some((_, text)) = text(bytes) else { return };
    let (object, patch) = text.split_once("\n---\n").unwrap_or((DEPLOYMENT, text));
    let first = |text: &str| documents(text).ok()?.into_iter().next().map(|document| document.root);
    let (Some(mut object), Some(mut patch)) = (first(object), first(patch)) else { return };
    if merge(&mut object, &mut patch, &Schema::new()).is_ok() {
        let mut text = String::new();
        drop(emit::object(&object, &mut text));
    }
}

/// Any text can be substituted in, or is refused; a text without a dollar stays as it is.
pub fn substitution(bytes: &[u8]) {
    let Some((choice, text)) = text(bytes) else { return };
    let mut variables = Variables::new().strict(choice.is_multiple_of(2));
    for (name, value) in [("ONE", "value"), ("EMPTY", ""), ("WORDS", "two words: é")] {
        variables.set(name, value);
    }
    let done = variables.text(text);
    // Upstream ends a text at NUL, which no YAML has in it.
    if !text.contains(['$', '\0']) {
        assert!(done.is_ok_and(|done| done.content == text), "{text:?} was changed");
    }
}

/// A number to choose by, and the rest as text.
fn text(bytes: &[u8]) -> Option<(usize, &str)> {
    let (choice, rest) = bytes.split_at_checked(2)?;
    let choice = choice.iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte));
    Some((choice, std::str::from_utf8(rest).ok()?))
}

/// Generated text with something done to its bytes: what the tests begin with.
pub fn sample(seed: u64) -> Vec<u8> {
    const TOKENS: [&str; 24] = [
        "---\n",
        "...\n",
        ": ",
        "- ",
        "&a ",
        "*a",
        "<<: *a\n",
        "|\n",
        ">-\n",
        "\"",
        "'",
        "{",
        "}",
        "[",
        "]",
        "# ",
        "\t",
        "\r\n",
        "${ONE:=",
        "$patch: delete\n",
        "!!str ",
        "? ",
        "\u{feff}",
        "%",
    ];
    let mut rng = Rng::with_seed(seed);
    let files: BTreeMap<String, String> = generate::tree(seed).files;
    let texts: Vec<&String> = files.values().collect();
    let mut bytes = vec![rng.u8(..), rng.u8(..)];
    bytes.extend_from_slice(texts[rng.usize(..texts.len())].as_bytes());
    for _ in 0..rng.usize(..6) {
        let place = rng.usize(2..=bytes.len());
        let end = (place + rng.usize(..12)).min(bytes.len());
        match rng.u32(..5) {
            0 => drop(bytes.drain(place..end)),
            1 => {
                let copied = bytes[place..end].to_vec();
                bytes.splice(place..place, copied);
            }
            2 if place < bytes.len() => bytes[place] = rng.u8(..),
            _ => {
                let token = TOKENS[rng.usize(..TOKENS.len())];
                bytes.splice(place..place, token.bytes());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn config() -> ProptestConfig {
        ProptestConfig {
            cases: 1500,
            rng_seed: RngSeed::Fixed(20_261_115),
            failure_persistence: None,
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn an_edit_changes_one_scalar(seed: u64) {
            yaml_edit(&sample(seed));
        }

        #[test]
        fn a_kustomization_builds_or_is_refused(seed: u64) {
            kustomization(&sample(seed)[2..]);
        }

        #[test]
        fn a_patch_is_laid_over_or_refused(seed: u64) {
            strategic_merge(&sample(seed));
        }

        #[test]
        fn a_text_is_substituted_or_refused(seed: u64, noise: Vec<u8>) {
            let template = generate::template(seed);
            substitution(&[&[seed as u8, 0], template.text.as_bytes()].concat());
            substitution(&sample(seed));
            substitution(&noise);
        }

        #[test]
        fn bytes_without_any_sense_do_no_harm(bytes: Vec<u8>) {
            yaml_edit(&bytes);
            kustomization(&bytes);
            strategic_merge(&bytes);
        }
    }
}
