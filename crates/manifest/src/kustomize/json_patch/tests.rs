use proptest::prelude::*;

use super::*;

fn node(text: &str) -> Node {
    yaml::documents(text).unwrap().remove(0).root
}

fn patched(object: &str, patch: &str) -> Result<String> {
    let mut object = node(object);
    JsonPatch::parse(patch)?.apply(&mut object)?;
    let mut out = String::new();
    yaml::emit::object(&object, &mut out)?;
    Ok(out)
}

#[test]
fn every_operation_does_what_it_says() {
    let object = "{a: {b: [1, 2, 3]}, c: d}";
    let cases = [
        ("[{op: add, path: /a/b/1, value: x}]", "a:\n  b:\n  - 1\n  - x\n  - 2\n  - 3\nc: d\n"),
        ("[{op: add, path: /a/b/-, value: x}]", "a:\n  b:\n  - 1\n  - 2\n  - 3\n  - x\nc: d\n"),
        ("[{op: remove, path: /a/b/-1}]", "a:\n  b:\n  - 1\n  - 2\nc: d\n"),
        ("[{op: replace, path: /a, value: 1.50}]", "a: 1.5\nc: d\n"),
        (
            "[{op: replace, path: /new, value: yes}]",
            "a:\n  b:\n  - 1\n  - 2\n  - 3\nc: d\nnew: true\n",
        ),
        ("[{op: move, from: /c, path: /a/b}]", "a:\n  b: d\n"),
        ("[{op: copy, from: /gone, path: /c}]", "a:\n  b:\n  - 1\n  - 2\n  - 3\nc: null\n"),
        ("[{op: test, path: /a/b/0, value: 1}, {op: remove, path: /a}]", "c: d\n"),
        (
            "[{op: add, path: /e~1f, value: {x: 1000000}}, {op: remove, path: /a}]",
            "c: d\ne/f:\n  x: 1000000\n",
        ),
    ];
    for (patch, expected) in cases {
        // As YAML: a bracket at the beginning would make it JSON.
        let patch = format!("# a patch\n{patch}");
        assert_eq!(patched(object, &patch).unwrap(), expected, "{patch}");
    }
}

#[test]
fn what_does_not_apply_is_refused() {
    let object = "{a: {b: [1]}, c: d, n: null}";
    let cases = [
        ("{op: add, path: /x/y, value: 1}", "doc is missing path"),
        ("{op: add, path: /n/y, value: 1}", "doc is missing path"),
        ("{op: add, path: /a/b/2, value: 1}", "invalid index"),
        ("{op: add, path: /a/b/x, value: 1}", "proper array index"),
        ("{op: remove, path: /x}", "nonexistent key: x"),
        ("{op: replace, path: /a/b/1, value: 1}", "doc is missing key"),
        ("{op: test, path: /c, value: e}", "testing value /c failed"),
        ("{op: test, path: /x, value: e}", "testing value /x failed"),
        ("{op: grow, path: /x}", "Unexpected kind: grow"),
        ("{path: /x}", "Unexpected kind: unknown"),
        ("{op: add}", "failed to decode path"),
        ("{op: move, path: /x}", "failed to decode from"),
    ];
    for (operation, message) in cases {
        let error = patched(object, &format!("- {operation}")).unwrap_err();
        assert!(error.message().contains(message), "{operation}: {error}");
        assert_eq!(error.mark().map(|mark| mark.line), Some(1));
    }
    assert!(JsonPatch::parse("[{op: add}]").is_err(), "flow style is no JSON");
    assert!(JsonPatch::parse("{op: add}").is_err());
}

#[test]
fn numbers_go_through_floats() {
    let mut object = node("{a: 1000000, b: 0755, c: '123', d: 9007199254740993}");
    JsonPatch::parse("[]").unwrap().apply(&mut object).unwrap();
    let text = |key: &str| object.get(key).and_then(Node::text).unwrap_or_default().to_owned();
    assert_eq!(text("a"), "1e+06");
    assert_eq!(text("b"), "493");
    assert_eq!(text("c"), "123");
    assert_eq!(object.get("c").and_then(Node::as_scalar).map(|it| it.tag), Some(Tag::Str));
    assert_eq!(text("d"), "9.007199254740992e+15");
}

fn small() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1".to_owned()),
        Just("text".to_owned()),
        Just("-2.5".to_owned())
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::btree_map("[ab]", inner, 0..3).prop_map(|fields| {
                let fields: Vec<_> =
                    fields.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(
        object in small(),
        kinds in prop::collection::vec((0_usize..7, "(/[ab012-]{0,2}){0,3}", "(/[ab01-]{0,2}){0,3}", small()), 0..5),
    ) {
        let names = ["add", "remove", "replace", "move", "copy", "test", "odd"];
        let patch: String = kinds.iter().map(|(kind, path, from, value)| {
            format!("- {{op: {}, path: '{path}', from: '{from}', value: {value}}}\n", names[*kind])
        }).collect();
        let mut object = node(&format!("o: {object}"));
        if let Ok(patch) = JsonPatch::parse(&patch) {
            let _ = patch.apply(&mut object);
        }
    }
}
