//! Conditions, each with what the server made of it for the config map `x`: `ok`, `false`, or its error.

use super::*;

const TABLE: &[(&str, &str)] = &[
    (r#"object.data.a.b == "x""#, r#"no such key: b"#),
    (r#"object.data.a[0] == "x""#, r#"no such key: 0"#),
    (r#"object.data.a["x"] == "x""#, r#"no such key: x"#),
    (r#"has(object.data.a.b) || false"#, r#"false"#),
    (r#"has(oldObject.metadata) || false"#, r#"false"#),
    (r#"has(oldObject.metadata.name) || false"#, r#"no such key: metadata"#),
    (r#"oldObject.?metadata.hasValue()"#, r#"false"#),
    (r#"oldObject[?"x"].hasValue()"#, r#"false"#),
    (r#"object.?data.?zz.?y.hasValue()"#, r#"false"#),
    (r#"object.data.?a.?b.hasValue()"#, r#"false"#),
    (r#"["s"].all(x, dyn(x)[0] == 1)"#, r#"no such key: 0"#),
    (r#"dyn(1).foo == 2"#, r#"no such key: foo"#),
    (r#"dyn([1]).foo == 2"#, r#"unsupported index type 'string' in list"#),
    (r#"dyn([1])["a"] == 2"#, r#"unsupported index type 'string' in list"#),
    (r#"dyn([1])[5] == 2"#, r#"index out of bounds: 5"#),
    (r#"object.data[1] == "a""#, r#"no such key: 1"#),
    (r#"object.metadata.labels[true] == 1"#, r#"no such key: true"#),
    (r#"dyn(object.data.a + "b").foo == 1"#, r#"no such key: foo"#),
    (r#"size(oldObject) == 1"#, r#"no such overload: size"#),
    (r#"oldObject.all(x, true)"#, r#"got 'types.Null', expected iterable type"#),
    (r#""a" in oldObject"#, r#"no such overload"#),
    (r#"oldObject == object"#, r#"false"#),
    (r#"object.data.a > 1"#, r#"no such overload"#),
    (r#"!object.data.a"#, r#"no such overload"#),
    (r#"object.data.a ? true : false"#, r#"no such overload"#),
    (r#"object.data.a && true"#, r#"no such overload"#),
    (r#"object.data.all(k, k == "z")"#, r#"false"#),
    (r#"object.data.exists(k, object.data[k] == "z")"#, r#"false"#),
    (r#"object.metadata.creationTimestamp == "x""#, r#"false"#),
    (r#"int(object.data.a) == 2"#, r#"false"#),
    (
        r#"double(object.metadata.name) == 1.0"#,
        r#"type conversion error from 'string' to 'double'"#,
    ),
    (
        r#"timestamp(object.metadata.name) == timestamp("2020-01-01T00:00:00Z")"#,
        r#"type conversion error from 'string' to 'google.protobuf.Timestamp'"#,
    ),
    (
        r#"quantity(object.metadata.name).isGreaterThan(quantity("1"))"#,
        r#"quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#,
    ),
    (
        r#"object.metadata.name.matches(object.data.a + "[")"#,
        r#"error parsing regexp: missing closing ]: `[`"#,
    ),
    (r#"1/0 == 1"#, r#"division by zero"#),
    (r#"[1,2,3][7] == 1"#, r#"index out of bounds: 7"#),
    (r#"{"a":1}["b"] == 1"#, r#"no such key: b"#),
    (r#"object.data.a.split(",")[3] == "x""#, r#"index out of bounds: 3"#),
    (r#"object.metadata.name.substring(5) == "x""#, r#"index out of range: 5"#),
    (r#"optional.none().value() == 1"#, r#"optional.none() dereference"#),
    (r#"-9223372036854775808 - 1 == 0"#, r#"integer overflow"#),
    (r#"object.kind == "z" || object.apiVersion == "z""#, r#"false"#),
    (r#"string(object.metadata.generation) == "1""#, r#"no such key: generation"#),
    (r#"object.data.a.lowerAscii() == "z" && request.kind.group == """#, r#"false"#),
    (r#"request.subResource == """#, r#"no such key: subResource"#),
    (r#"request.options.fieldManager == "x""#, r#"no such key: fieldManager"#),
    (r#"namespaceObject.metadata.annotations["x"] == "y""#, r#"no such key: annotations"#),
    (r#"type(object.data.a) == int"#, r#"false"#),
    (r#"dyn(1).startsWith("a")"#, r#"no such overload"#),
    (r#"dyn("a").startsWith(dyn(1))"#, r#"no such overload"#),
    (r#"dyn("x") + dyn(1) == 2"#, r#"no such overload"#),
    (r#"dyn("x") - dyn(1) == 2"#, r#"no such overload"#),
    (r#"-dyn("x") == 2"#, r#"no such overload"#),
    (r#"dyn("x") * dyn(2) == 2"#, r#"no such overload"#),
    (r#"dyn("x") < dyn(1)"#, r#"no such overload"#),
    (r#"dyn("x").all(c, true)"#, r#"got 'types.String', expected iterable type"#),
    (r#"dyn(1).all(c, true)"#, r#"got 'types.Int', expected iterable type"#),
    (r#"dyn(1) in dyn(2)"#, r#"no such overload"#),
    (r#"size(dyn(1)) == 1"#, r#"no such overload: size"#),
    (r#"dyn(1).size() == 1"#, r#"no such overload: size"#),
    (r#"dyn(1).lowerAscii() == "a""#, r#"no such overload: lowerAscii(int)"#),
    (r#"dyn("a").format([1]) == "a""#, r#"ok"#),
    (r#"dyn(1).matches("a")"#, r#"no such overload"#),
    (r#"dyn("a").getFullYear() == 1"#, r#"no such overload: getFullYear(string)"#),
    (r#"dyn(1).contains("a")"#, r#"no such overload"#),
    (r#"dyn(1).split(",") == []"#, r#"no such overload: split(int, string)"#),
    (r#"dyn([1]).join(",") == "a""#, r#"no such overload: join(list, string)"#),
    (r#"dyn("a").sum() == 1"#, r#"no such overload: sum(string)"#),
    (r#"dyn(1).isSorted()"#, r#"no such overload: isSorted(int)"#),
    (r#"dyn("x").indexOf(dyn(1)) == 1"#, r#"no such overload: indexOf(string, int)"#),
    (r#"quantity(dyn(1)) == quantity("1")"#, r#"no such overload: quantity(int)"#),
    (
        r#"dyn(1).isGreaterThan(quantity("1"))"#,
        r#"no such overload: isGreaterThan(int, kubernetes.Quantity)"#,
    ),
    (r#"dyn("a") ? true : false"#, r#"no such overload"#),
    (r#"dyn(1) || true"#, r#"ok"#),
    (r#"dyn(1) || false"#, r#"no such overload"#),
    (r#"object.metadata.name % 2 == 1"#, r#"no such overload"#),
    (r#"object.metadata.name[0] == "x""#, r#"no such key: 0"#),
    (r#"object[0] == 1"#, r#"no such key: 0"#),
    (r#"object.metadata.labels.foo == "x" || object.metadata.labels.case != """#, r#"ok"#),
    (
        r#"authorizer.group(dyn(1)).resource("x").check("y").allowed()"#,
        r#"no such overload: group(kubernetes.authorization.Authorizer, int)"#,
    ),
    (r#"object.data.a == 1"#, r#"false"#),
    (r#"object.data.a != 1"#, r#"ok"#),
    (r#"object.metadata == object.data"#, r#"false"#),
    (r#"object.data == {"a":"1"}"#, r#"ok"#),
    (r#"object.data.a in ["1"]"#, r#"ok"#),
    (r#"object.data.a in object.data"#, r#"false"#),
    (r#""a" in object.data"#, r#"ok"#),
    (r#"object.data.map(k, k) == ["z"]"#, r#"false"#),
    (r#"object.data.filter(k, true) == []"#, r#"false"#),
    (r#"object.data.a.foo.bar == 1"#, r#"no such key: foo"#),
    (r#"sets.contains([1],[dyn("a")])"#, r#"false"#),
    (r#"dyn("2020-01-01T00:00:00Z") == timestamp("2020-01-01T00:00:00Z")"#, r#"false"#),
    (r#"duration("1h") > dyn("1h")"#, r#"no such overload"#),
    (r#"has(object.data["a"].b)"#, r#"false"#),
    (r#"has(object.metadata.labels.case) && has(object.nope.x)"#, r#"no such key: nope"#),
    (r#"object.?metadata.?labels.?nope.orValue("d") == "x""#, r#"false"#),
    (r#"object.metadata.?labels["nope"].orValue("d") == "x""#, r#"false"#),
    (r#"object.metadata.labels[?"nope"].orValue("d") == "x""#, r#"false"#),
    (r#"[1,2].exists_one(x, x == dyn("a"))"#, r#"false"#),
    (r#"object.data.exists(k, v, v == "z")"#, r#"false"#),
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
