use proptest::prelude::*;

use super::*;

fn variables(pairs: &[(&str, &str)]) -> Variables {
    let mut variables = Variables::new();
    for (name, value) in pairs {
        variables.set(*name, value);
    }
    variables
}

fn object(text: &str) -> Node {
    yaml::documents(text).expect("valid").remove(0).root
}

fn after(text: &str, variables: &Variables) -> String {
    match variables.object(&object(text)).expect("substituted") {
        Some(changed) => {
            let mut text = String::new();
            yaml::emit::object(&changed.content, &mut text).expect("written");
            text
        }
        None => "unchanged".to_owned(),
    }
}

#[test]
fn values_may_change_their_type() {
    let variables = variables(&[("N", "3"), ("B", "yes"), ("S", "\"4\""), ("E", "")]);
    let text = "kind: A\nn: ${N}\nb: ${B}\ns: ${S}\ne: ${E}\nq: \"${N}\"\nt: v${N}\n";
    assert_eq!(
        after(text, &variables),
        "b: true\ne: null\nkind: A\n\"n\": 3\nq: 3\ns: \"4\"\nt: v3\n"
    );
}

#[test]
fn large_numbers_lose_their_digits_as_in_flux() {
    let variables = variables(&[("A", "x")]);
    let text =
        "a: 9223372036854775808\nb: 18446744073709551615\nc: 100000000000000000000\nd: 12345\n";
    assert_eq!(
        after(text, &variables),
        "a: 9223372036854776000\nb: 1.8446744073709552e+19\nc: 1e+20\nd: 12345\n"
    );
}

#[test]
fn defaults_nest_and_may_be_quoted() {
    let variables = variables(&[("APP", "radarr")]);
    let text = "a: ${CLAIM:=${APP}}\nb: \"${X:=\\\"4\\\"}\"\nc: ${A:-${B:-${APP}-x}}\nd: $${APP}\n";
    assert_eq!(after(text, &variables), "a: radarr\nb: \"4\"\nc: radarr-x\nd: ${APP}\n");
}

#[test]
fn line_breaks_leave_the_values() {
    let variables = variables(&[("A", "one\ntwo\n")]);
    assert_eq!(after("a: ${A}\n", &variables), "a: onetwo\n");
}

#[test]
fn objects_can_be_left_alone() {
    let variables = variables(&[("A", "x")]);
    for place in ["labels", "annotations"] {
        let text = format!("metadata:\n  {place}:\n    {SWITCH}: disabled\na: ${{A}}\n");
        assert_eq!(after(&text, &variables), "unchanged");
    }
    assert_eq!(after("a: ${A}\n", &Variables::new()), "unchanged", "no variable, no substitution");
    assert_eq!(after("a: ${A:=1}\n", &Variables::new().always(true)), "a: 1\n");
}

#[test]
fn failures_say_where_and_what_to_do() {
    let variables = variables(&[("A", "x")]);
    let error =
        variables.object(&object("a: 1\nscript: |\n  echo\n  echo ${a.b}\n")).expect_err("refused");
    assert_eq!(
        error.to_string(),
        "line 4, column 3: variable substitution failed: missing closing brace: `${a.b}`; write \
         `$${` for a text that is not meant for Flux, or label the object \
         `kustomize.toolkit.fluxcd.io/substitute: disabled`"
    );
    let error = variables.clone().strict(true).text("${B} ${C:=1}").expect_err("refused");
    assert_eq!(
        error.to_string(),
        "variable substitution failed: variable not set (strict mode): \"B\""
    );
    assert_eq!(variables.text("[${B}]").expect("empty").content, "[]");
    let error = super::tests::variables(&[("1a", "x")]).text("").expect_err("refused");
    assert!(error.message().starts_with("'1a' var name is invalid, must match"), "{error}");
}

#[test]
fn what_is_not_known_stays() {
    let mut variables = variables(&[("A", "x")]);
    variables.set_opaque("SECRET");
    let done = variables.text("${A} ${SECRET} ${B}").expect("substituted");
    assert_eq!(done.content, "x ${SECRET} ");
    assert_eq!(done.kept.into_iter().collect::<Vec<_>>(), ["SECRET"]);
    variables.leave_open();
    let done = variables.text("${B} ${C:=1}").expect("substituted");
    assert_eq!(done.content, "${B} 1");
    assert_eq!(done.kept.into_iter().collect::<Vec<_>>(), ["B", "C"]);
}

#[test]
fn marks_survive() {
    let variables = variables(&[("A", "x")]);
    let changed = variables.object(&object("b: 1\na: ${A}\n")).expect("substituted").expect("some");
    assert_eq!(changed.content.get("a").map(|node| node.mark.line), Some(2));
}

proptest! {
    #[test]
    fn no_text_panics(text in "[ab${}:=/#%^,\\- é\\\\\"\n]{0,60}", value in ".{0,20}") {
        let mut variables = Variables::new();
        variables.set("a", &value);
        let _ = variables.text(&text);
        let _ = variables.strict(true).text(&text);
    }

    #[test]
    fn no_object_panics(key in "[a${}: ]{1,8}", text in "[ab${}:='\"#\\- \n]{0,30}", value in ".{0,20}") {
        let mut mapping = yaml::Mapping::new();
        mapping.set(key, Node::string(text));
        let mut variables = Variables::new();
        variables.set("a", &value);
        let _ = variables.object(&mapping.into());
    }
}
