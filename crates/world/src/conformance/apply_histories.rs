//! Histories that nobody thought of: several managers apply, patch and replace one object at random.
//!
//! The same seed gives the same requests, so a difference can be asked for again.

use serde_json::{Map, Value, json};

use super::apply_custom::{ALL, ONE, body, custom};
use super::case::{Case, Request, apply, get, json_patch, merge_patch, post};

/// How many histories of each kind are part of the suite.
const HISTORIES: u64 = 6;
const STEPS: usize = 8;

/// Chance that repeats.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.next().is_multiple_of(count)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let index = usize::try_from(self.next() % all.len() as u64).unwrap_or_default();
        &all[index]
    }

    /// Some of them, in any order.
    fn some<'a, T>(&mut self, all: &'a [T]) -> Vec<&'a T> {
        let mut left: Vec<&T> = all.iter().collect();
        let mut out = Vec::new();
        while !left.is_empty() && !self.one_in(3) {
            let index = usize::try_from(self.next() % left.len() as u64).unwrap_or_default();
            out.push(left.swap_remove(index));
        }
        out
    }

    fn map(&mut self, names: &[&str]) -> Value {
        let chosen = self.some(names);
        let map: Map<String, Value> = chosen
            .into_iter()
            .map(|name| ((*name).to_owned(), Value::from(*self.of(&["1", "2"]))))
            .collect();
        Value::Object(map)
    }

    fn ports(&mut self) -> Value {
        let all = [
            json!({"port": 80}),
            json!({"port": 80, "protocol": "UDP"}),
            json!({"port": 81}),
            json!({"port": 82}),
        ];
        let chosen: Vec<Value> = self.some(&all).into_iter().cloned().collect();
        let mut out = Vec::new();
        for mut port in chosen {
            if self.one_in(2) {
                port["name"] = Value::from(*self.of(&["x", "y"]));
            }
            if port.get("protocol").is_none() && self.one_in(3) {
                port["protocol"] = json!("TCP");
            }
            out.push(port);
        }
        Value::Array(out)
    }

    fn widget(&mut self) -> Value {
        let mut spec = json!({});
        for field in self.some(&[
            "labels", "struct", "whole", "tags", "list", "ports", "any", "free", "mixed", "name",
            "template", "on", "maybe",
        ]) {
            spec[*field] = match *field {
                "labels" => self.map(&["a", "b", "c"]),
                "struct" | "whole" => self.map(&["a", "b"]),
                "tags" => json!(self.some(&["a", "b", "c", "d"])),
                "list" => json!(self.some(&["a", "b"])),
                "ports" => self.ports(),
                "any" => json!({"deep": self.map(&["x", "y"]), "list": self.some(&[1, 2])}),
                "free" => self
                    .of(&[
                        json!(1),
                        json!({"a": 1}),
                        json!([1]),
                        json!("x"),
                        json!({"a": {"b": 2}}),
                    ])
                    .clone(),
                "mixed" => self.of(&[json!(1), json!("1%")]).clone(),
                // Empty labels would be stored and not shown, so that a later write differs in nothing visible.
                "template" => {
                    json!({"apiVersion": "v1", "kind": "X", "metadata": {"labels": {"a": self.of(&["1", "2"])}}})
                }
                "on" => json!(self.one_in(2)),
                "maybe" => self.of(&[json!("x"), json!(null)]).clone(),
                _ => json!(self.of(&["one", "two"])),
            };
        }
        spec
    }

    fn pod(&mut self) -> Value {
        let mut containers = Vec::new();
        for name in self.some(&["a", "b", "c"]) {
            let mut container = json!({"name": name});
            for field in
                self.some(&["image", "env", "ports", "args", "resources", "tty", "volumeMounts"])
            {
                container[*field] = match *field {
                    "image" => json!(self.of(&["one", "two"])),
                    "env" => {
                        let names = self.some(&["A", "B", "C"]);
                        let env = names
                            .into_iter()
                            .map(|n| json!({"name": n, "value": self.of(&["1", "2"])}));
                        env.collect()
                    }
                    "ports" => {
                        let ports = self.some(&[80, 81]);
                        ports.into_iter().map(|n| json!({"containerPort": n})).collect()
                    }
                    "args" => json!(self.some(&["x", "y"])),
                    "resources" => json!({"limits": {"cpu": self.of(&["1", "1000m", "2"])}}),
                    "tty" => json!(true),
                    _ => json!([{"name": "v", "mountPath": self.of(&["/a", "/b"])}]),
                };
            }
            containers.push(container);
        }
        let mut spec = json!({"containers": containers});
        for field in
            self.some(&["nodeSelector", "tolerations", "volumes", "hostNetwork", "securityContext"])
        {
            spec[*field] = match *field {
                "nodeSelector" => self.map(&["a", "b"]),
                "tolerations" => json!([{"key": self.of(&["a", "b"]), "operator": "Exists"}]),
                "volumes" => json!([{"name": "v", "emptyDir": {}}]),
                "hostNetwork" => json!(false),
                _ => json!({"runAsUser": self.of(&[1, 2])}),
            };
        }
        spec
    }
}

const TEMPLATES: &str = "/api/v1/namespaces/{ns}/podtemplates";
const TEMPLATE: &str = "/api/v1/namespaces/{ns}/podtemplates/a";

fn template(spec: Value, labels: Value) -> Value {
    let mut body = json!({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": {}});
    body["template"]["spec"] = spec;
    body["metadata"]["labels"] = labels;
    body
}

fn widget_step(chance: &mut Chance) -> Request {
    let spec = chance.widget();
    let manager = *chance.of(&["m1", "m2", "m3"]);
    match chance.next() % 8 {
        0 => merge_patch(ONE, json!({ "spec": spec })).manager("u1"),
        1 => json_patch(ONE, json!([{"op": "add", "path": "/spec", "value": spec}])).manager("u2"),
        2 => merge_patch(ONE, json!({"spec": {"labels": null, "ports": null}})).manager("u1"),
        3 | 4 => apply(ONE, manager, body("v1", json!({ "spec": spec }))).force(),
        _ => apply(ONE, manager, body("v1", json!({ "spec": spec }))),
    }
}

fn template_step(chance: &mut Chance) -> Request {
    let (spec, labels) = (chance.pod(), chance.map(&["a", "b"]));
    let manager = *chance.of(&["m1", "m2", "m3"]);
    match chance.next() % 7 {
        0 => merge_patch(TEMPLATE, json!({"template": {"spec": spec}})).manager("u1"),
        1 => super::case::put(TEMPLATE, template(spec, labels)).manager("u2"),
        2 => super::case::strategic(TEMPLATE, json!({"template": {"spec": spec}})).manager("u3"),
        3 | 4 => apply(TEMPLATE, manager, template(spec, labels)).force(),
        _ => apply(TEMPLATE, manager, template(spec, labels)),
    }
}

/// Histories of custom resources and of pod templates.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 1..=HISTORIES {
        let mut chance = Chance(seed);
        let start = body("v1", json!({"spec": chance.widget()}));
        let mut case = custom(&format!("apply/history-of-a-widget-{seed}"))
            .compare(post(ALL, start).manager("maker").causes_in_any_order());
        for _ in 0..STEPS {
            case = case.compare(widget_step(&mut chance).causes_in_any_order());
        }
        cases.push(case.compare(get(ONE)));
        let mut chance = Chance(seed << 32);
        let start = template(
            json!({"containers": [{"name": "a", "image": "one"}], "volumes": [{"name": "v", "emptyDir": {}}]}),
            json!({}),
        );
        let mut case = Case::new(&format!("apply/history-of-a-template-{seed}"))
            .compare(post(TEMPLATES, start).manager("maker").causes_in_any_order());
        for _ in 0..STEPS {
            case = case.compare(template_step(&mut chance).causes_in_any_order());
        }
        cases.push(case.compare(get(TEMPLATE)));
    }
    cases
}
