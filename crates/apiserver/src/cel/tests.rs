//! Expressions and what they give, as the real server was seen to answer.

use serde_json::{Value as Json, json};

use super::{Program, Scope, Type, Value};

fn scope() -> Scope {
    Scope::new()
        .with("object", Type::Dyn)
        .with("text", Type::String)
        .with("number", Type::Int)
        .with(
            "spec",
            Type::object("spec", [("size", Type::Int), ("tags", Type::list(Type::String))]),
        )
}

fn run(expression: &str) -> Result<Json, String> {
    let program = Program::compile(expression, &scope()).map_err(|error| error.to_string())?;
    let object = json!({
        "metadata": { "name": "a", "labels": { "app": "x", "a/b": "y" } },
        "spec": { "replicas": 3, "ratio": 1.5, "tags": ["b", "a"], "ports": [{ "name": "p", "port": 80 }] },
    });
    let variables = [
        ("object", Value::of_json(&object)),
        ("text", Value::string("hello")),
        ("number", Value::Int(7)),
        ("spec", Value::of_json(&json!({ "size": 2 }))),
    ];
    let value = program.eval(&variables).map_err(|error| error.to_string())?;
    value.to_json().ok_or_else(|| value.type_name().to_owned())
}

#[test]
fn values() {
    let cases: &[(&str, Json)] = &[
        ("1 + 2 * 3", json!(7)),
        ("-number + 1", json!(-6)),
        ("'a' + \"b\" + r'\\n'", json!("ab\\n")),
        ("object.metadata.name == 'a' && !(number < 7)", json!(true)),
        ("object.spec.replicas >= 2.5", json!(true)),
        ("has(object.metadata.annotations)", json!(false)),
        ("has(spec.size) && !has(spec.tags)", json!(true)),
        ("object.metadata.labels['a/b']", json!("y")),
        ("object.spec.tags.all(t, t in ['a', 'b'])", json!(true)),
        ("object.spec.tags.exists(t, t == 'a')", json!(true)),
        ("object.spec.tags.exists_one(t, t.startsWith('a'))", json!(true)),
        ("object.spec.ports.map(p, p.port > 50, p.name)", json!(["p"])),
        ("object.spec.ports.filter(p, p.port > 90)", json!([])),
        ("object.metadata.labels.all(k, k.size() > 0)", json!(true)),
        ("object.spec.tags.all(i, t, i < 2 && t != '')", json!(true)),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v * 2)", json!({ "a": 2, "b": 4 })),
        ("[3, 1, 2].sort()", json!([1, 2, 3])),
        ("[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n)", json!([1, 2])),
        ("object.?metadata.?annotations.?x.orValue('none')", json!("none")),
        ("object.metadata.?labels['app'].orValue('none')", json!("x")),
        ("object.metadata.labels[?'zz'].hasValue()", json!(false)),
        ("optional.of(3).optMap(v, v + 1).value()", json!(4)),
        ("{?'a': optional.none(), 'b': 1}", json!({ "b": 1 })),
        ("[1, 2, 3].isSorted() && [1, 2].sum() == 3 && [1, 5, 2].max() == 5", json!(true)),
        ("['a', 'b', 'a'].lastIndexOf('a')", json!(2)),
        ("'abc'.find('[b-z]+')", json!("bc")),
        ("'a1b22'.findAll('[0-9]+')", json!(["1", "22"])),
        ("'a,b,c'.split(',')", json!(["a", "b", "c"])),
        ("'hello'.substring(1, 3) + 'x'.upperAscii()", json!("elX")),
        ("['a', 'b'].join('-')", json!("a-b")),
        ("'%s is %d, %.2f, %x'.format(['a', 3, 1.5, 255])", json!("a is 3, 1.50, ff")),
        ("quantity('1Gi').isGreaterThan(quantity('1000M'))", json!(true)),
        ("quantity('200m').add(quantity('800m')) == quantity('1')", json!(true)),
        ("quantity('50k').asInteger()", json!(50000)),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", json!(true)),
        ("isSemver('v1.2') || semver('v1.2', true).minor() == 2", json!(true)),
        ("url('https://a.b:80/p?q=1&q=2').getQuery()['q']", json!(["1", "2"])),
        ("url('https://a.b:80/p').getHostname()", json!("a.b")),
        ("isURL('../x')", json!(false)),
        ("ip('10.0.0.1').family() == 4 && isIP('::1')", json!(true)),
        ("cidr('10.0.0.0/8').containsIP('10.2.3.4')", json!(true)),
        ("cidr('10.0.0.0/8').containsCIDR('10.2.0.0/16')", json!(true)),
        ("format.dns1123Label().validate('My').hasValue()", json!(true)),
        ("sets.contains([1, 2, 3], [2]) && !sets.intersects([1], [2])", json!(true)),
        ("duration('1h30m').getMinutes()", json!(90)),
        ("timestamp('2024-01-02T03:04:05Z').getFullYear()", json!(2024)),
        (
            "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')",
            json!(true),
        ),
        ("type(number) == int && type(object) == map", json!(true)),
        ("string(number) + string(1.0) + string(true)", json!("71true")),
        ("int('12') + int(3.9)", json!(15)),
        ("false && object.zz == 1", json!(false)),
        ("object.zz == 1 || true", json!(true)),
        ("number > 5 ? 'big' : 'small'", json!("big")),
        ("dyn(1) == 1.0", json!(true)),
        ("size('äö') == 2", json!(true)),
        ("[[1], [2, 3]].flatten()", json!([1, 2, 3])),
        ("lists.range(3)", json!([0, 1, 2])),
    ];
    for (expression, expected) in cases {
        assert_eq!(run(expression).as_ref(), Ok(expected), "{expression}");
    }
}

#[test]
fn failures_while_running() {
    let cases = [
        ("object.zz", "no such key: zz"),
        ("object.metadata.labels['zz']", "no such key: zz"),
        ("spec.tags", "no such key: tags"),
        ("[1][3]", "index out of bounds: 3"),
        ("1 / (number - 7)", "division by zero"),
        ("1 % (number - 7)", "modulus by zero"),
        ("9223372036854775807 + number", "integer overflow"),
        ("object.metadata.name + object.spec.replicas", "no such overload"),
        ("optional.none().value()", "optional.none() dereference"),
        ("[0].filter(x, x > 0).min()", "min called on empty list"),
        ("'abc'.substring(5)", "index out of range: 5"),
        ("lists.range(2000000).all(x, x >= 0)", "operation cancelled: actual cost limit exceeded"),
    ];
    for (expression, expected) in cases {
        assert_eq!(run(expression), Err(expected.to_owned()), "{expression}");
    }
}

#[test]
fn failures_before_running() {
    let cases = [
        (
            "objectt.x",
            "1:1: undeclared reference to 'objectt' (in container '')\n | objectt.x\n | ^",
        ),
        ("text.foo", "1:5: type 'string' does not support field selection\n | text.foo\n | ....^"),
        ("spec.zz == 1", "1:5: undefined field 'zz'\n | spec.zz == 1\n | ....^"),
        (
            "text + number",
            "1:6: found no matching overload for '_+_' applied to '(string, int)'\n | text + number\n | .....^",
        ),
        (
            "text.startsWith(1)",
            "1:16: found no matching overload for 'startsWith' applied to 'string.(int)'\n | text.startsWith(1)\n | ...............^",
        ),
        ("foo(1)", "1:4: undeclared reference to 'foo' (in container '')\n | foo(1)\n | ...^"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'\n | [1, 'a']\n | ....^"),
        (
            "matches(text, '[')",
            "1:15: invalid matches argument\n | matches(text, '[')\n | ..............^",
        ),
    ];
    for (expression, expected) in cases {
        assert_eq!(run(expression), Err(format!("ERROR: <input>:{expected}")), "{expression}");
    }
}

#[test]
fn two_issues_stand_in_order_of_place() {
    let text = run("b.x ||\n a.x").unwrap_err();
    assert_eq!(
        text,
        "ERROR: <input>:1:1: undeclared reference to 'b' (in container '')\n | b.x ||\n | ^\n\
         ERROR: <input>:2:2: undeclared reference to 'a' (in container '')\n |  a.x\n | .^"
    );
}

#[test]
fn what_an_expression_uses_and_gives() {
    let program = Program::compile("spec.size > number", &scope()).unwrap();
    assert!(program.references("spec") && program.references("number"));
    assert!(!program.references("object"));
    assert_eq!(program.result().to_string(), "bool");
    let local = Program::compile("[1].all(number, number > 0)", &scope()).unwrap();
    assert!(!local.references("number"), "the loop's own variable hides the one outside");
}

#[test]
fn messages_are_built() {
    let scope = scope().with_message("Object").with_message("JSONPatch");
    let program =
        Program::compile("Object{metadata: Object.metadata{labels: {'a': text}}}", &scope).unwrap();
    let value = program.eval(&[("text", Value::string("b"))]).unwrap();
    assert_eq!(value.to_json(), Some(json!({ "metadata": { "labels": { "a": "b" } } })));
    assert_eq!(program.result().to_string(), "Object");
    assert!(Program::compile("Other{a: 1}", &scope).is_err());
}

#[test]
fn a_field_called_like_a_keyword_has_both_names() {
    let schema = serde_json::from_value(json!({
        "type": "object", "properties": { "namespace": { "type": "string" }, "a-b": { "type": "string" } },
    }))
    .unwrap();
    let shape = crate::schema::Shape::own(std::sync::Arc::default(), schema);
    let of = super::type_of(shape.node(), false).unwrap();
    let scope = Scope::new().with("self", of);
    let this = super::value_of(shape.node(), &json!({ "namespace": "n", "a-b": "c" }), false);
    for rule in [
        "self.namespace == 'n'",
        "self.__namespace__ == 'n'",
        "has(self.namespace)",
        "self.a__dash__b == 'c'",
    ] {
        let program = Program::compile(rule, &scope).unwrap();
        assert_eq!(program.eval_bool(&[("self", this.clone())]), Ok(true), "{rule}");
    }
}
