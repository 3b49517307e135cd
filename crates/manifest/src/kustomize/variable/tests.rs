use super::super::fixture::{node, resources, same};
use super::*;

fn built(vars: &str, text: &str) -> Result<Resources> {
    let incoming: Vec<Variable> =
        node(vars).as_sequence().unwrap().iter().map(|it| Variable::parse(it).unwrap()).collect();
    let mut objects = resources(text);
    let mut variables = Variables::default();
    variables.claim(&incoming, &mut objects)?;
    variables.resolve(&mut objects, &Config::default())?;
    Ok(objects)
}

const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: db, annotations: {a.b/c: 'x'}}, spec: {ports: [{port: 5432}], on: true, half: 0.5}}";

fn command(vars: &str, command: &str) -> Result<String> {
    let pod = format!(
        "{SERVICE}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{command: {command}}}]}}}}"
    );
    let objects = built(vars, &pod)?;
    let items = objects.list[1].node.at(&["spec", "containers"]).unwrap().as_sequence().unwrap();
    let items = items[0].get("command").unwrap().as_sequence().unwrap();
    Ok(items.iter().map(|item| item.text().unwrap()).collect::<Vec<_>>().join("|"))
}

#[test]
fn values_are_written_into_commands() {
    let vars = "[{name: DB, objref: {apiVersion: v1, kind: Service, name: db}},
                 {name: PORT, objref: {version: v1, kind: Service, name: db}, fieldref: {fieldPath: 'spec.ports[0].port'}},
                 {name: NOTE, objref: {version: v1, kind: Service, name: db}, fieldref: {fieldPath: 'metadata.annotations.[a.b/c]'}}]";
    let text = "['$(DB):$(PORT)', '$(OTHER)', '$$(DB)', 'cost $5 $', '$(DB', '$(NOTE)']";
    assert_eq!(command(vars, text).unwrap(), "db:5432|$(OTHER)|$(DB)|cost $5 $|$(DB|x");
}

#[test]
fn a_variable_alone_keeps_its_type() {
    let vars = "[{name: PORT, objref: {version: v1, kind: Service, name: db}, fieldref: {fieldPath: spec.ports.0.port}},
                 {name: ON, objref: {version: v1, kind: Service, name: db}, fieldref: {fieldPath: spec.on}},
                 {name: HALF, objref: {version: v1, kind: Service, name: db}, fieldref: {fieldPath: spec.half}},
                 {name: PORTS, objref: {version: v1, kind: Service, name: db}, fieldref: {fieldPath: spec.ports}}]";
    let objects = built(
        vars,
        &format!("{SERVICE}\n---\n{{apiVersion: v1, kind: Foo, metadata: {{annotations: {{a: $(PORT), b: $(ON), c: $(HALF), d: $(PORTS)}}}}}}"),
    )
    .unwrap();
    same(
        &objects,
        &format!(
            "{SERVICE}\n---\n{{apiVersion: v1, kind: Foo, metadata: {{annotations: {{a: 5432, b: true, c: 0.5, d: $(PORTS)}}}}}}"
        ),
    );
}

#[test]
fn what_cannot_be_found_is_an_error() {
    let missing = "[{name: A, objref: {version: v1, kind: Service, name: other}}]";
    let error = command(missing, "[a]").unwrap_err();
    assert!(error.to_string().contains("cannot be mapped"), "{error}");
    let field = "[{name: A, objref: {version: v1, kind: Service, name: db}, fieldref: {fieldPath: spec.x}}]";
    let error = command(field, "[a]").unwrap_err();
    assert!(error.to_string().contains("not found in corresponding resource"), "{error}");
}

#[test]
fn numbers_in_lists_are_refused() {
    let vars = "[{name: DB, objref: {apiVersion: v1, kind: Service, name: db}}]";
    assert!(command(vars, "[a, 1]").unwrap_err().to_string().contains("expect a string"));
}

#[test]
fn one_name_for_two_variables_is_refused() {
    let vars = "[{name: DB, objref: {apiVersion: v1, kind: Service, name: db}}, {name: DB, objref: {apiVersion: v1, kind: Service, name: db}}]";
    assert!(command(vars, "[a]").unwrap_err().to_string().contains("already encountered"));
}

#[test]
fn two_objects_for_one_variable_are_refused() {
    let vars = "[{name: DB, objref: {apiVersion: v1, kind: Service, name: db}}]";
    let text = "{apiVersion: v1, kind: Service, metadata: {name: db, namespace: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: db, namespace: b}}";
    assert!(built(vars, text).unwrap_err().to_string().contains("unable to disambiguate"));
}
