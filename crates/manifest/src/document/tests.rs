use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;

fn address(text: &str) -> Address {
    text.parse().expect("an address")
}

fn replaced(text: &str, at: &str, with: &str) -> String {
    let documents = Documents::parse(text).expect("parsed");
    let edit = documents.replace_text(0, &address(at), with).expect("an edit");
    apply(text, &[edit]).expect("applied")
}

fn refused(text: &str, at: &str) -> String {
    let documents = Documents::parse(text).expect("parsed");
    documents.replace_text(0, &address(at), "x").expect_err("refused").to_string()
}

#[test]
fn one_scalar_changes_and_nothing_around_it() {
    let text = "\u{feff}# head\r\nspec:\r\n    image: 'a:1' # {\"$imagepolicy\": \"flux:app\"}\r\n\r\n    # renovate: x\r\n    tag:   v1   # keep\r\n---\r\nb: 1";
    assert_eq!(replaced(text, "spec.image", "a:2"), text.replace("'a:1'", "'a:2'"));
    assert_eq!(replaced(text, "spec.tag", "v2"), text.replace("v1   #", "v2   #"));
}

#[test]
fn what_would_change_its_type_is_quoted() {
    for (new, written) in [
        ("1.10", "\"1.10\""),
        ("true", "\"true\""),
        ("0x1", "\"0x1\""),
        ("1e3", "\"1e3\""),
        ("null", "\"null\""),
        ("y", "\"y\""),
        ("2001-01-01", "\"2001-01-01\""),
        ("", "\"\""),
        ("1.2.3", "1.2.3"),
        ("a: b", "\"a: b\""),
        ("a\nb", "\"a\\nb\""),
        ("1.2.3@sha256:ab", "1.2.3@sha256:ab"),
    ] {
        assert_eq!(replaced("a: old # c\n", "a", new), format!("a: {written} # c\n"));
    }
    let documents = Documents::parse("port: 80\n").expect("parsed");
    let number = Node::scalar("8080", crate::yaml::Tag::Int);
    let edit = documents.replace(0, &address("port"), &number).expect("an edit");
    assert_eq!(edit.text, "8080");
}

#[test]
fn quotes_stay_what_they_are() {
    assert_eq!(replaced("a: \"1\"", "a", "2"), "a: \"2\"");
    assert_eq!(replaced("a: '1'", "a", "it's"), "a: 'it''s'");
    assert_eq!(replaced("a: '1'", "a", "x\ny"), "a: \"x\\ny\"");
}

#[test]
fn items_are_found_by_place_and_by_what_they_say() {
    let text = "c:\n- name: a\n  image: x:1\n-   # note\n  name: \"b.c\"\n  image: y:1\n";
    assert_eq!(replaced(text, "c[0].image", "x:2"), text.replace("x:1", "x:2"));
    assert_eq!(replaced(text, "c[name=b.c].image", "y:2"), text.replace("y:1", "y:2"));
    let text = "metadata:\n  annotations: {\"a.b/c\": v, d: [1, e]}\n";
    assert_eq!(replaced(text, "metadata.annotations.\"a.b/c\"", "w"), text.replace('v', "w"));
    assert_eq!(replaced(text, "metadata.annotations.d[1]", "f,g"), text.replace("e]", "\"f,g\"]"));
}

#[test]
fn blocks_of_text_are_replaced_with_their_header() {
    let text = "a: |  # script\n    one\n    two\n\nb: 1\n";
    assert_eq!(replaced(text, "a", "x\ny\n"), "a: |  # script\n    x\n    y\n\nb: 1\n");
    assert_eq!(replaced(text, "a", "x"), "a: x  # script\n\nb: 1\n");
    assert_eq!(replaced("a: >-\n  x\n  y\n", "a", "z\nw"), "a: |-\n  z\n  w\n");
    assert_eq!(replaced("a: |\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
}

#[test]
fn what_is_empty_gets_a_value() {
    assert_eq!(replaced("a:  # c\nb: 1\n", "a", "x"), "a: x  # c\nb: 1\n");
    assert_eq!(replaced("a:\n  -\n  - y\n", "a[0]", "x"), "a:\n  - x\n  - y\n");
    assert_eq!(replaced("{a, b: }", "a", "x"), "{a: x, b: }");
    assert_eq!(replaced("{a, b: }", "b", "x"), "{a, b: x }");
    assert_eq!(replaced("a: &x\nb: *x\n", "a", "v"), "a: &x v\nb: *x\n");
}

#[test]
fn anchors_say_what_else_changes_and_aliases_refuse() {
    let text = "a: &x 1.2.3\nb: *x\nc: {d: *x}\n";
    let documents = Documents::parse(text).expect("parsed");
    let edit = documents.replace_text(0, &address("a"), "1.2.4").expect("an edit");
    assert_eq!(edit.also.iter().map(|mark| mark.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(apply(text, &[edit]).expect("applied"), text.replace("1.2.3", "1.2.4"));
    assert!(refused(text, "b").contains("alias of `&x` on line 1"));
    let text = "a: &x {v: 1}\nb: *x\nc:\n  <<: *x\n  w: 2\n";
    assert!(refused(text, "b.v").contains("alias of `&x` on line 1"));
    assert!(refused(text, "c.v").contains("comes from a merge key"));
    let documents = Documents::parse(text).expect("parsed");
    assert_eq!(
        documents.get(0, &address("c.v")).expect("read"),
        documents.get(0, &address("a.v")).expect("read")
    );
    assert!(
        documents
            .remove(0, &address("a"))
            .expect_err("used")
            .to_string()
            .contains("used on line 2")
    );
}

#[test]
fn the_right_document_is_found_by_what_it_is() {
    let text = "kind: A\nmetadata: {name: x}\nv: 1\n---\n# c\n---\nkind: A\napiVersion: g/v1\nmetadata: {name: y, namespace: n}\nv: 1\n";
    let documents = Documents::parse(text).expect("parsed");
    let identity = |name: &str, namespace: Option<&str>| Identity {
        kind: "A".into(),
        name: name.into(),
        namespace: namespace.map(str::to_owned),
        group: None,
    };
    assert_eq!(documents.find(&identity("y", Some("n"))), [1]);
    assert!(documents.find(&identity("y", Some("m"))).is_empty());
    assert_eq!(documents.find(&identity("x", Some("n"))), [0]);
    let document = documents.find_one(&identity("y", None)).expect("one");
    let edit = documents.replace_text(document, &address("v"), "z").expect("an edit");
    assert!(apply(text, &[edit]).expect("applied").ends_with("v: z\n"));
    assert!(documents.find_one(&identity("z", None)).is_err());
}

fn changed(text: &str, edit: impl Fn(&Documents) -> Result<Edit>) -> String {
    let documents = Documents::parse(text).expect("parsed");
    let edit = edit(&documents).expect("an edit");
    apply(text, &[edit]).expect("applied")
}

#[test]
fn keys_are_put_in_where_their_neighbours_stand() {
    let set = |text: &str, at: &str, value: &str| {
        changed(text, |documents| documents.set(0, &address(at), &Node::string(value)))
    };
    assert_eq!(
        set("a:\n    b: 1 # c\n\nd: 2\n", "a.e", "x"),
        "a:\n    b: 1 # c\n    e: x\n\nd: 2\n"
    );
    assert_eq!(set("a: {b: 1}\n", "a.c", "x"), "a: {b: 1, c: x}\n");
    assert_eq!(set("a: {}\n", "a.c", "x"), "a: {c: x}\n");
    assert_eq!(set("a:\nb: 1\n", "a.c", "x"), "a:\n  c: x\nb: 1\n");
    assert_eq!(set("a: 1", "b.c.d", "x"), "a: 1\nb:\n  c:\n    d: x");
    assert_eq!(
        set("a:\n- b: 1\n  c: 2\n- d: 3\n", "a[0].e", "x"),
        "a:\n- b: 1\n  c: 2\n  e: x\n- d: 3\n"
    );
    assert_eq!(set("a:\n- 1\n", "b[0].c", "x"), "a:\n- 1\nb:\n- c: x\n");
    assert_eq!(set("a: |\n  x\n", "b", "1"), "a: |\n  x\nb: \"1\"\n");
    let cut = Documents::parse("a: |\n  x").expect("parsed");
    assert!(cut.set(0, &address("b"), &Node::string("1")).is_err());
}

#[test]
fn items_are_added_at_the_end() {
    let append = |text: &str, at: &str, value: &Node| {
        changed(text, |documents| documents.append(0, &address(at), value))
    };
    let x = Node::string("x");
    assert_eq!(append("a:\n  - b # c\nd: 1\n", "a", &x), "a:\n  - b # c\n  - x\nd: 1\n");
    assert_eq!(append("a: [b]\n", "a", &x), "a: [b, x]\n");
    assert_eq!(append("a: []\n", "a", &x), "a: [x]\n");
    assert_eq!(append("a:\r\n", "a", &x), "a:\r\n  - x\r\n");
    let node = Documents::parse("{k: v, l: [1]}").expect("parsed").get(0, &Address::root());
    let node = node.expect("read").expect("there");
    assert_eq!(append("a:\n- b\n", "a", &node), "a:\n- b\n- k: v\n  l:\n  - 1\n");
}

#[test]
fn what_is_removed_leaves_no_trace() {
    let remove =
        |text: &str, at: &str| changed(text, |documents| documents.remove(0, &address(at)));
    assert_eq!(remove("a: 1\nb:\n  c: 2 # d\n  e: 3\nf: 4\n", "b"), "a: 1\nf: 4\n");
    assert_eq!(remove("a:\n- b: 1\n  c: 2\n", "a[0].b"), "a:\n- c: 2\n");
    assert_eq!(remove("a:\n- b: 1\n  c: 2\n", "a[0].c"), "a:\n- b: 1\n");
    assert_eq!(remove("a:\n- b\n- c\n", "a[0]"), "a:\n- c\n");
    assert_eq!(remove("a:\n- b\n", "a[0]"), "a: []\n");
    assert_eq!(remove("a:\n  b: 1\n", "a.b"), "a: {}\n");
    assert_eq!(remove("a: {b: 1, c: 2}\n", "a.b"), "a: {c: 2}\n");
    assert_eq!(remove("a: {b: 1, c: 2}\n", "a.c"), "a: {b: 1}\n");
    assert_eq!(remove("a: [b]\n", "a[0]"), "a: []\n");
    assert_eq!(remove("a: 1\nb: 2", "b"), "a: 1");
    assert_eq!(remove("a: |\n  x\n\nb: 2\n", "a"), "\nb: 2\n");
}

#[test]
fn nodes_take_the_place_of_nodes() {
    let node = |text: &str| {
        let documents = Documents::parse(text).expect("parsed");
        documents.get(0, &Address::root()).expect("read").expect("there")
    };
    let replace = |text: &str, at: &str, with: &str| {
        changed(text, |documents| documents.replace(0, &address(at), &node(with)))
    };
    assert_eq!(replace("a: 1\nb: 2\n", "a", "{c: [d]}"), "a:\n  c:\n    - d\nb: 2\n");
    assert_eq!(replace("a:\n  c: 1\n  d: 2\nb: 2\n", "a", "x"), "a: x\nb: 2\n");
    assert_eq!(replace("a: {c: 1}\n", "a.c", "[x]"), "a: {c: [x]}\n");
    assert_eq!(replace("a:\n- b\n- c\n", "a[0]", "{k: v, l: w}"), "a:\n- k: v\n  l: w\n- c\n");
    assert_eq!(replace("a:\n- b\n- c\n", "a", "[x]"), "a:\n- x\n");
}

#[test]
fn edits_are_made_together() {
    let text = "a: 1\nb: 2\n";
    let documents = Documents::parse(text).expect("parsed");
    let edit = |at: &str| documents.replace_text(0, &address(at), "x").expect("an edit");
    assert_eq!(apply(text, &[edit("b"), edit("a")]).expect("applied"), "a: x\nb: x\n");
    assert!(apply(text, &[edit("a"), edit("a")]).is_err());
}

/// What another parser reads.
fn independently(text: &str) -> Option<Vec<Json>> {
    let mut options = serde_saphyr::Options::default();
    options.legacy_octal_numbers = true;
    serde_saphyr::from_multiple_with_options(text, options).ok()
}

/// Texts of documents, written in many ways.
fn written(depth: u32, indent: usize) -> BoxedStrategy<String> {
    let line = "[a-z0-9][a-zA-Z0-9.:/@_-]{0,12}";
    let leaf = prop_oneof![
        line.prop_map(|text| format!(" {text}")),
        line.prop_map(|text| format!(" {text}  # note")),
        line.prop_map(|text| format!(" '{text}'")),
        "[a-z #:'{}\\[\\],&*!|>%@-]{0,12}".prop_map(|text| format!(" \"{text}\"")),
        Just(" 0755".to_owned()),
        Just(" true".to_owned()),
        Just(" 1.10".to_owned()),
        Just(String::new()),
        Just(" # nothing".to_owned()),
        (line, line).prop_map(|(one, two)| format!(" [{one}, '{two}']")),
        (line, line).prop_map(|(one, two)| format!(" {{k: {one}, \"l.m\": {two}}}")),
        proptest::collection::vec("[a-z#: -]{0,10}", 1..4).prop_map(move |lines| {
            let pad = " ".repeat(indent + 3);
            let lines: Vec<_> = lines.iter().map(|line| format!("{pad}x{line}")).collect();
            format!(" |\n{}\n", lines.join("\n"))
        }),
        proptest::collection::vec("[a-z]{1,10}", 1..4).prop_map(move |lines| {
            let pad = " ".repeat(indent + 2);
            let lines: Vec<_> = lines.iter().map(|line| format!("{pad}{line}")).collect();
            format!(" >-  # folded\n{}", lines.join("\n"))
        }),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let pad = " ".repeat(indent);
    let deeper = " ".repeat(indent + 2);
    let mapping = {
        let pad = deeper.clone();
        proptest::collection::vec(("[a-z]{1,4}", written(depth - 1, indent + 2)), 1..4).prop_map(
            move |entries| {
                let mut text = String::new();
                for (place, (key, value)) in entries.iter().enumerate() {
                    text += &format!("\n{pad}{key}{place}:{value}");
                }
                text
            },
        )
    };
    let list = proptest::collection::vec((any::<bool>(), written(depth - 1, indent + 2)), 1..4)
        .prop_map(move |items| {
            let mut text = String::new();
            for (comment, value) in items {
                if comment {
                    text += &format!("\n{deeper}# about the next");
                }
                text += &format!("\n{deeper}-{value}");
            }
            let _ = &pad;
            text
        });
    prop_oneof![2 => leaf, 2 => mapping, 1 => list].boxed()
}

fn file() -> impl Strategy<Value = String> {
    let document =
        proptest::collection::vec(("[a-z]{1,4}", written(3, 0)), 1..4).prop_map(|entries| {
            let mut text = String::new();
            for (place, (key, value)) in entries.iter().enumerate() {
                text += &format!("{key}{place}:{value}\n");
            }
            text
        });
    (proptest::collection::vec(document, 1..3), any::<bool>()).prop_map(|(documents, windows)| {
        let text = documents.join("--- # next\n");
        if windows { text.replace('\n', "\r\n") } else { text }
    })
}

/// The addresses of all scalars.
fn scalars(value: &Json, at: &Address, found: &mut Vec<Address>) {
    match value {
        Json::Object(map) => {
            for (key, value) in map {
                scalars(value, &at.clone().key(key), found);
            }
        }
        Json::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                scalars(value, &at.clone().index(index), found);
            }
        }
        _ => found.push(at.clone()),
    }
}

fn at<'a>(value: &'a mut Json, address: &Address) -> &'a mut Json {
    address.0.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key],
        Step::Index(index) => &mut value[*index],
        Step::Match(..) => unreachable!("not made here"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: proptest::test_runner::RngSeed::Fixed(4),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn an_edit_changes_one_scalar_for_any_reader(
        text in file(),
        which in any::<prop::sample::Index>(),
        new in prop_oneof![
            "[ -~]{0,12}",
            "[a-z0-9.:@/-]{1,20}",
            "(1\\.10|true|0x1|1e3|null|y|~|0755|1_0|- a|a: b|#|\n|a\nb|é😀|\t)",
        ],
    ) {
        let read = independently(&text);
        prop_assume!(read.is_some());
        let mut wanted = read.expect("assumed");
        let documents = Documents::parse(&text).expect("what others read is read");
        let mut all = Vec::new();
        for (document, value) in wanted.iter().enumerate() {
            let mut found = Vec::new();
            scalars(value, &Address::root(), &mut found);
            all.extend(found.into_iter().map(|address| (document, address)));
        }
        let (document, address) = which.get(&all);
        let edit = documents.replace_text(*document, address, &new).expect("a scalar can be replaced");
        let edited = apply(&text, &[edit]).expect("one edit does not overlap");
        *at(&mut wanted[*document], address) = Json::String(new.clone());
        prop_assert_eq!(independently(&edited), Some(wanted), "{}\n=====\n{}", text, edited);
    }

    #[test]
    fn a_key_that_is_put_in_and_taken_out_again_leaves_the_rest(text in file(), new in "[ -~]{0,12}") {
        let Some(mut wanted) = independently(&text) else { return Ok(()) };
        let documents = Documents::parse(&text).expect("what others read is read");
        let address = Address::root().key("new").key("key");
        let Ok(edit) = documents.set(0, &address, &Node::string(new.as_str())) else { return Ok(()) };
        let edited = apply(&text, &[edit]).expect("one edit");
        let before = wanted.clone();
        wanted[0]["new"]["key"] = Json::String(new);
        prop_assert_eq!(independently(&edited), Some(wanted), "{}\n=====\n{}", text, edited);
        let documents = Documents::parse(&edited).expect("still read");
        let edit = documents.remove(0, &Address::root().key("new")).expect("removed");
        let removed = apply(&edited, &[edit]).expect("one edit");
        prop_assert_eq!(independently(&removed), Some(before), "{}\n=====\n{}", edited, removed);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60), pieces in proptest::collection::vec(
        prop::sample::select(vec!["a", ": ", "\n", "- ", "  ", "[", "]", "{", "}", ",", "&x ", "*x", "|", ">", "'", "\"", "#", "? ", "!!str ", "---\n", "\t", "\r", "<<: "]), 0..25)) {
        for text in [String::from_utf8_lossy(&bytes).into_owned(), pieces.concat()] {
            let _ = crate::yaml::documents(&text);
            let _ = crate::yaml::configuration(&text);
            let Ok(documents) = Documents::parse(&text) else { continue };
            for document in 0..documents.len() {
                for place in 0..documents.trees[document].places.len() {
                    let Some(address) = documents.trees[document].address(place) else { continue };
                    let _ = documents.get(document, &address);
                    for edit in [
                        documents.replace_text(document, &address, "x y"),
                        documents.set(document, &address.clone().key("new"), &Node::null()),
                        documents.append(document, &address, &Node::mapping()),
                        documents.remove(document, &address),
                    ].into_iter().flatten() {
                        prop_assert!(apply(&text, &[edit]).is_ok());
                    }
                }
            }
        }
    }
}
