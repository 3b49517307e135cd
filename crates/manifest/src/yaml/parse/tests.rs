use super::super::source::MOST_BYTES;
use super::*;

fn root(text: &str) -> Node {
    documents(text).expect("the text is read").remove(0).root
}

fn refused(text: &str) -> String {
    documents(text).expect_err("it is refused").to_string()
}

#[test]
fn later_anchors_of_the_same_name_win() {
    let node = root("a: &x 1\nb: *x\nc: &x 2\nd: *x\n");
    assert_eq!(node, root("{a: 1, b: 1, c: 2, d: 2}"));
}

#[test]
fn what_is_written_wins_over_what_is_merged_and_the_first_of_a_list_over_the_next() {
    let text = "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc:\n  <<: [*a, *b]\n  y: 3\n";
    assert_eq!(root(text).get("c"), Some(&root("{x: 1, y: 3, z: 2}")));
}

#[test]
fn merges_that_are_no_mappings_are_refused() {
    assert!(refused("a: &a [1]\nb: {<<: *a}").contains("line 2, column 9: invalid map merge"));
    assert!(refused("a: {<<: 1}").contains("map merge requires"));
    assert!(refused("a: {<<: [[{}]]}").contains("nested sequence"));
    assert!(refused("a: &a {}\nb: {<<: *a, <<: *a}").contains("duplicate merge key"));
}

#[test]
fn keys_written_twice_are_refused_when_they_are_printed_or_settings_are_strict() {
    let text = "a:\n  b: 1\n  c: 2\n  \"b\": 3\n";
    let printed = |text: &str| super::super::emit::object(&root(text), &mut String::new());
    let refused = printed(text).expect_err("twice").to_string();
    assert!(refused.starts_with("line 4, column 3: mapping key \"b\" already defined at line 2"));
    let many: String = (0..100).map(|key| format!("k{}: 1\n", key % 99)).collect();
    for refused in [printed(&many).map(|()| Node::null()), strict_configuration(&many)] {
        assert!(refused.expect_err("twice").to_string().starts_with("line 100, column 1"));
    }
    assert!(strict_configuration("a: 1\nb: 2").is_ok());
}

#[test]
fn bombs_do_not_go_off() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let inner = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", [inner.as_str(); 10].join(", "));
    }
    assert!(refused(&text).contains("beyond all measure"));
    let long = "x".repeat(100_000);
    let text = format!("a: &a {long}\nb: [{}]\n", ["*a"; 1000].join(", "));
    assert!(refused(&text).contains("beyond all measure"));
    assert!(refused(&"[".repeat(100_000)).contains("line 1"));
    assert!(refused(&"- ".repeat(100_000)).contains("line 1"));
    assert!(refused("a: &a [*a]").contains("inside of its own anchor"));
    assert!(refused(&"#\n".repeat(MOST_BYTES / 2 + 1)).contains("MiB"));
}

#[test]
fn only_the_first_document_between_two_separators_counts() {
    let text = "a: 1\n...\nb: 2\n---   # note\nc: 3\n---\n# nothing\n---\n---\nd: 4\r\n---\r\ne: 5";
    let roots: Vec<Node> =
        documents(text).expect("read").into_iter().map(|each| each.root).collect();
    let wanted = ["{a: 1}", "{c: 3}", "{d: 4}", "{e: 5}"].map(root);
    assert_eq!(roots, wanted);
    assert_eq!(roots[1].mark.line, 5);
    let start = roots[3].mark.start as usize;
    assert_eq!(&text[start..], "e: 5");
}

#[test]
fn separators_with_something_behind_are_refused() {
    let refused = refused("a: 1\n--- b: 2\n");
    assert!(
        refused.contains("line 2, column 1: invalid document separator: --- b: 2"),
        "{refused}"
    );
}

#[test]
fn characters_no_file_should_have_are_refused_by_name() {
    assert!(refused("a: 1\nb: x\u{1}").contains("line 2, column 5: control characters"));
    assert!(refused("a: \u{9c}").contains("U+009C"));
    assert_eq!(root("\u{feff}a: 1"), root("a: 1"));
}

#[test]
fn settings_are_read_by_the_older_rules() {
    let node =
        configuration("a: yes\nb: Off\non: 1\na: 'yes'\nc: 2001-01-01\n---\nd: 1").expect("read");
    let scalar = |key: &str| node.get(key).and_then(Node::as_scalar).cloned().expect(key);
    assert_eq!((scalar("a").text.as_str(), scalar("a").tag), ("yes", Tag::Str));
    assert_eq!((scalar("b").text.as_str(), scalar("b").tag), ("false", Tag::Bool));
    assert_eq!(scalar("true").tag, Tag::Int);
    assert_eq!(scalar("c").tag, Tag::Str);
    assert_eq!(node.as_mapping().map(Mapping::len), Some(4));
}

#[test]
fn mappings_and_lists_as_keys_are_refused() {
    assert!(refused("? [a]\n: b").contains("a key must be a text, not a list"));
    assert!(refused("{{a: 1}: b}").contains("a key must be a text, not a mapping"));
    assert_eq!(root("a: &k x\n*k : 1"), root("{a: x, x: 1}"));
}

#[test]
fn a_last_line_without_a_break_stays_without() {
    let text = |text: &str| root(text).get("a").and_then(Node::text).map(str::to_owned);
    assert_eq!(text("a: |\n  x").as_deref(), Some("x"));
    assert_eq!(text("a: |\n  x\n").as_deref(), Some("x\n"));
    assert_eq!(text("a: |\n  x\n---\nb: 1").as_deref(), Some("x\n"));
    assert_eq!(text("a: >+\n  x\n  y").as_deref(), Some("x y"));
}

#[test]
fn tabs_do_not_indent() {
    assert!(refused("a: 1\n\t\nb: 2").contains("line 2, column 1: found a tab"));
    assert!(refused("a:\n- \tb").contains("line 2, column 3: found a tab"));
    assert!(refused("a: |\n  \tb").contains("line 2, column 3: found a tab"));
    let welcome = "a: \t1\nb: [\n\t2]\nc: |\n  x\n  \tx\n";
    assert_eq!(root(welcome), root("{a: 1, b: [2], c: \"x\\n\\tx\\n\"}"));
}

#[test]
fn a_colon_alone_is_no_key() {
    assert!(refused("a: 1\n: 2").contains("line 2, column 1: did not find expected key"));
    assert_eq!(root("? \n: 2").as_mapping().map(Mapping::len), Some(1));
}

#[test]
fn quoted_lines_may_be_indented_less() {
    let text = "a:\n  b: \"x\ny\n\n z\"\n  c: 'v\n w'\nd: 1\n";
    let node = root(text);
    assert_eq!(node, root("{a: {b: \"x y\\nz\", c: v w}, d: 1}"));
    let mark = node.get("d").expect("d").mark;
    assert_eq!((mark.line, &text[mark.start as usize..mark.end as usize]), (8, "1"));
}

#[test]
fn what_follows_the_end_of_a_document_is_not_read() {
    assert_eq!(documents("a: 1\n...\nb: [\n").expect("the rest is not read").len(), 1);
    assert_eq!(root("  a: 1\nb: 2\n"), root("a: 1"));
}

#[test]
fn what_upstream_reads_and_the_parser_does_not_is_read() {
    assert_eq!(root("a: &x y\n*x: 1\n"), root("{a: y, y: 1}"));
    assert_eq!(root("a: [-, b]# c\nd: \"e\"# f\n"), root("{a: [\"-\", b], d: e}"));
    assert_eq!(root("a: \"it\\'s\"\nb: 1\n"), root("a: it's\nb: 1\n"));
    let text = "a: [-]\nb: \"\\'\"\nc: x\n";
    let mark = root(text).get("c").expect("c").mark;
    assert_eq!(&text[mark.start as usize..mark.end as usize], "x");
}

#[test]
fn what_upstream_does_not_read_is_refused() {
    assert!(refused("a: \"b\\/c\"").contains("line 1, column 6: found unknown escape"));
    assert!(refused("a: &b.c d").contains("the anchor `b.c`"));
}

#[test]
fn the_end_of_a_document_that_has_not_begun_is_refused() {
    assert!(refused("# c\n...\n").contains("line 2, column 1: did not find expected node content"));
    assert!(refused("a: 1\n---\n... # c\nb: 2\n").contains("line 3, column 1"));
    assert_eq!(documents("...a: 1").expect("a text").len(), 1);
}
