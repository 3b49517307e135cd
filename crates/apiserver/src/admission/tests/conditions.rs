//! Conditions, each with what the server made of it for the config map `x`: `ok`, `false`, or its error.

use super::*;

const TABLE: &[(&str, &str)] = &[
    (r#"object.data.a.b == "x""#, "no such key: b"),
    (r#"object.data.a[0] == "x""#, "no such key: 0"),
    (r#"object.data.a["x"] == "x""#, "no such key: x"),
    ("has(object.data.a.b) || false", "false"),
    ("has(oldObject.metadata) || false", "false"),
    ("has(oldObject.metadata.name) || false", "no such key: metadata"),
    ("oldObject.?metadata.hasValue()", "false"),
    (r#"oldObject[?"x"].hasValue()"#, "false"),
    ("object.?data.?zz.?y.hasValue()", "false"),
    ("object.data.?a.?b.hasValue()", "false"),
    (r#"["s"].all(x, dyn(x)[0] == 1)"#, "no such key: 0"),
    ("dyn(1).foo == 2", "no such key: foo"),
    ("dyn([1]).foo == 2", "unsupported index type 'string' in list"),
    (r#"dyn([1])["a"] == 2"#, "unsupported index type 'string' in list"),
    ("dyn([1])[5] == 2", "index out of bounds: 5"),
    (r#"object.data[1] == "a""#, "no such key: 1"),
    ("object.metadata.labels[true] == 1", "no such key: true"),
    (r#"dyn(object.data.a + "b").foo == 1"#, "no such key: foo"),
    ("size(oldObject) == 1", "no such overload: size"),
    ("oldObject.all(x, true)", "got 'types.Null', expected iterable type"),
    (r#""a" in oldObject"#, "no such overload"),
    ("oldObject == object", "false"),
    ("object.data.a > 1", "no such overload"),
    ("!object.data.a", "no such overload"),
    ("object.data.a ? true : false", "no such overload"),
    ("object.data.a && true", "no such overload"),
    (r#"object.data.all(k, k == "z")"#, "false"),
    (r#"object.data.exists(k, object.data[k] == "z")"#, "false"),
    (r#"object.metadata.creationTimestamp == "x""#, "false"),
    ("int(object.data.a) == 2", "false"),
    ("double(object.metadata.name) == 1.0", "type conversion error from 'string' to 'double'"),
    (
        r#"timestamp(object.metadata.name) == timestamp("2020-01-01T00:00:00Z")"#,
        "type conversion error from 'string' to 'google.protobuf.Timestamp'",
    ),
    (
        r#"quantity(object.metadata.name).isGreaterThan(quantity("1"))"#,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (
        r#"object.metadata.name.matches(object.data.a + "[")"#,
        "error parsing regexp: missing closing ]: `[`",
    ),
    ("1/0 == 1", "division by zero"),
    ("[1,2,3][7] == 1", "index out of bounds: 7"),
    (r#"{"a":1}["b"] == 1"#, "no such key: b"),
    (r#"object.data.a.split(",")[3] == "x""#, "index out of bounds: 3"),
    (r#"object.metadata.name.substring(5) == "x""#, "index out of range: 5"),
    ("optional.none().value() == 1", "optional.none() dereference"),
    ("-9223372036854775808 - 1 == 0", "integer overflow"),
    (r#"object.kind == "z" || object.apiVersion == "z""#, "false"),
    (r#"string(object.metadata.generation) == "1""#, "no such key: generation"),
    (r#"object.data.a.lowerAscii() == "z" && request.kind.group == """#, "false"),
    (r#"request.subResource == """#, "no such key: subResource"),
    (r#"request.options.fieldManager == "x""#, "no such key: fieldManager"),
    (r#"namespaceObject.metadata.annotations["x"] == "y""#, "no such key: annotations"),
    ("type(object.data.a) == int", "false"),
    (r#"dyn(1).startsWith("a")"#, "no such overload"),
    (r#"dyn("a").startsWith(dyn(1))"#, "no such overload"),
    (r#"dyn("x") + dyn(1) == 2"#, "no such overload"),
    (r#"dyn("x") - dyn(1) == 2"#, "no such overload"),
    (r#"-dyn("x") == 2"#, "no such overload"),
    (r#"dyn("x") * dyn(2) == 2"#, "no such overload"),
    (r#"dyn("x") < dyn(1)"#, "no such overload"),
    (r#"dyn("x").all(c, true)"#, "got 'types.String', expected iterable type"),
    ("dyn(1).all(c, true)", "got 'types.Int', expected iterable type"),
    ("dyn(1) in dyn(2)", "no such overload"),
    ("size(dyn(1)) == 1", "no such overload: size"),
    ("dyn(1).size() == 1", "no such overload: size"),
    (r#"dyn(1).lowerAscii() == "a""#, "no such overload: lowerAscii(int)"),
    (r#"dyn("a").format([1]) == "a""#, "ok"),
    (r#"dyn(1).matches("a")"#, "no such overload"),
    (r#"dyn("a").getFullYear() == 1"#, "no such overload: getFullYear(string)"),
    (r#"dyn(1).contains("a")"#, "no such overload"),
    (r#"dyn(1).split(",") == []"#, "no such overload: split(int, string)"),
    (r#"dyn([1]).join(",") == "a""#, "no such overload: join(list, string)"),
    (r#"dyn("a").sum() == 1"#, "no such overload: sum(string)"),
    ("dyn(1).isSorted()", "no such overload: isSorted(int)"),
    (r#"dyn("x").indexOf(dyn(1)) == 1"#, "no such overload: indexOf(string, int)"),
    (r#"quantity(dyn(1)) == quantity("1")"#, "no such overload: quantity(int)"),
    (
        r#"dyn(1).isGreaterThan(quantity("1"))"#,
        "no such overload: isGreaterThan(int, kubernetes.Quantity)",
    ),
    (r#"dyn("a") ? true : false"#, "no such overload"),
    ("dyn(1) || true", "ok"),
    ("dyn(1) || false", "no such overload"),
    ("object.metadata.name % 2 == 1", "no such overload"),
    (r#"object.metadata.name[0] == "x""#, "no such key: 0"),
    ("object[0] == 1", "no such key: 0"),
    (r#"object.metadata.labels.foo == "x" || object.metadata.labels.case != """#, "ok"),
    (
        r#"authorizer.group(dyn(1)).resource("x").check("y").allowed()"#,
        "no such overload: group(kubernetes.authorization.Authorizer, int)",
    ),
    ("object.data.a == 1", "false"),
    ("object.data.a != 1", "ok"),
    ("object.metadata == object.data", "false"),
    (r#"object.data == {"a":"1"}"#, "ok"),
    (r#"object.data.a in ["1"]"#, "ok"),
    ("object.data.a in object.data", "false"),
    (r#""a" in object.data"#, "ok"),
    (r#"object.data.map(k, k) == ["z"]"#, "false"),
    ("object.data.filter(k, true) == []", "false"),
    ("object.data.a.foo.bar == 1", "no such key: foo"),
    (r#"sets.contains([1],[dyn("a")])"#, "false"),
    (r#"dyn("2020-01-01T00:00:00Z") == timestamp("2020-01-01T00:00:00Z")"#, "false"),
    (r#"duration("1h") > dyn("1h")"#, "no such overload"),
    (r#"has(object.data["a"].b)"#, "false"),
    ("has(object.metadata.labels.case) && has(object.nope.x)", "no such key: nope"),
    (r#"object.?metadata.?labels.?nope.orValue("d") == "x""#, "false"),
    (r#"object.metadata.?labels["nope"].orValue("d") == "x""#, "false"),
    (r#"object.metadata.labels[?"nope"].orValue("d") == "x""#, "false"),
    (r#"[1,2].exists_one(x, x == dyn("a"))"#, "false"),
    (r#"object.data.exists(k, v, v == "z")"#, "false"),
];

#[test]
fn conditions_hold_fail_or_err_as_on_the_server() {
    let mut wrong = Vec::new();
    for (expression, expected) in TABLE {
        let mut held = Held::new();
        held.policy(
            "validating",
            "p",
            json!({ "validations": [{ "expression": expression }] }),
            json!({}),
        );
        let said = match Write::plain().validate(&held) {
            Ok(_) => "ok".to_owned(),
            Err(failure) => {
                let message = failure.message;
                let prefix = "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: ";
                let message = message.strip_prefix(prefix).unwrap_or(&message);
                if message.starts_with("failed expression") {
                    "false".to_owned()
                } else {
                    message.rsplit("resulted in error: ").next().unwrap_or_default().to_owned()
                }
            }
        };
        if said != *expected {
            wrong.push(format!("{expression}\n  is: {said}\n  should: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), TABLE.len(), wrong.join("\n"));
}
