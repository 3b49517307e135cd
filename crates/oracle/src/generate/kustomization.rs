//! Kustomizations that build upon each other.

use fastrand::Rng;

use super::object::{self, IMAGES, Known, NAMESPACES};
use super::yaml::{Style, Yaml, map};
use super::{Tree, chance, patch, pick, plugin, scalar};

/// What a folder gives to those that build upon it.
#[derive(Clone, Debug)]
struct Layer {
    folder: String,
    known: Vec<Known>,
}

struct Maker<'a> {
    rng: &'a mut Rng,
    tree: Tree,
}

/// Bases, components and overlays; the last is the target.
pub fn tree(rng: &mut Rng) -> Tree {
    let tree =
        Tree { legacy_order: chance(rng, 30), stay_in_folder: !chance(rng, 15), ..Tree::default() };
    let mut maker = Maker { rng, tree };
    let mut layers: Vec<Layer> = Vec::new();
    let bases = if chance(maker.rng, 30) { 2 } else { 1 };
    for place in 0..bases {
        let folder = if place == 0 { "base" } else { "other" };
        layers.push(maker.layer(folder, &[], &[], place * 8));
    }
    let mut components = Vec::new();
    if chance(maker.rng, 25) {
        let known = layers.iter().flat_map(|layer| layer.known.clone()).collect();
        components.push(maker.component("parts", known));
    }
    let mut top = layers[0].clone();
    for folder in ["overlay", "top/of/all"] {
        if !chance(maker.rng, 65) {
            continue;
        }
        let below: Vec<Layer> = match folder {
            "overlay" => layers.clone(),
            _ => vec![top.clone()],
        };
        top = maker.layer(folder, &below, &components, 16);
        components.clear();
    }
    if chance(maker.rng, 12) {
        top = maker.twins(&top);
    }
    if chance(maker.rng, 8) {
        top = maker.layer("", std::slice::from_ref(&top), &[], 40);
    }
    maker.tree.target = top.folder;
    maker.tree
}

impl Maker<'_> {
    fn file(&mut self, path: String, value: &Yaml) {
        let style = Style::some(self.rng);
        let text = style.write(self.rng, value);
        self.tree.files.insert(path, text);
    }

    /// A folder with files of its own and what it does to them and to those below.
    fn layer(
        &mut self,
        folder: &str,
        below: &[Layer],
        components: &[String],
        first: usize,
    ) -> Layer {
        let mut known: Vec<Known> = below.iter().flat_map(|layer| layer.known.clone()).collect();
        let mut resources: Vec<Yaml> =
            below.iter().map(|layer| relative(folder, &layer.folder).into()).collect();
        let files = if below.is_empty() { self.rng.usize(1..5) } else { self.rng.usize(0..2) };
        for place in 0..files {
            let name = format!("r{}.yaml", first + place);
            let objects = self.resource_file(at(folder, &name), &mut known);
            if objects > 0 {
                resources.push(name.into());
            }
        }
        let mut fields = vec![("resources", Yaml::from(resources))];
        if chance(self.rng, 5) && !below.is_empty() {
            let Some((_, Yaml::List(resources))) = fields.pop() else { unreachable!("set above") };
            let (bases, files) = resources.into_iter().partition::<Vec<_>, _>(
                |entry| matches!(entry, Yaml::Scalar(text) if text.starts_with("..")),
            );
            fields.push(("bases", bases.into()));
            if !files.is_empty() {
                fields.push(("resources", files.into()));
            }
        }
        if !components.is_empty() {
            let components: Vec<Yaml> =
                components.iter().map(|path| relative(folder, path).into()).collect();
            fields.push(("components", components.into()));
        }
        let (prefix, suffix) = self.fields(folder, &mut known, !below.is_empty(), &mut fields);
        self.write(folder, "Kustomization", fields);
        for object in &mut known {
            if !matches!(object.kind, "Namespace" | "CustomResourceDefinition" | "APIService") {
                object.now = format!("{prefix}{}{suffix}", object.now);
            }
        }
        Layer { folder: folder.to_owned(), known }
    }

    /// The same base twice, under two names.
    fn twins(&mut self, below: &Layer) -> Layer {
        let mut known = Vec::new();
        let mut resources: Vec<Yaml> = Vec::new();
        for (folder, prefix) in [("left", "l-"), ("right", "r-")] {
            let mut fields =
                vec![("resources", vec![relative(folder, &below.folder).into()].into())];
            if chance(self.rng, 90) {
                fields.push(("namePrefix", prefix.into()));
            } else {
                fields.push(("namespace", folder.into()));
            }
            if chance(self.rng, 30) {
                let object = pick(self.rng, &below.known).clone();
                let body = patch::merge(self.rng, &object);
                let body = patch::inline(self.rng, &body);
                fields.push(("patches", vec![map([("patch", body)])].into()));
            }
            self.write(folder, "Kustomization", fields);
            resources.push(relative("both", folder).into());
            known.extend(
                below.known.iter().map(|object| Known {
                    now: format!("{prefix}{}", object.now),
                    ..object.clone()
                }),
            );
        }
        let mut fields = vec![("resources", resources.into())];
        if chance(self.rng, 40) {
            fields.push(("nameSuffix", "-both".into()));
        }
        self.write("both", "Kustomization", fields);
        Layer { folder: "both".to_owned(), known }
    }

    fn component(&mut self, folder: &str, mut known: Vec<Known>) -> String {
        let mut fields = Vec::new();
        if chance(self.rng, 40) {
            self.resource_file(at(folder, "extra.yaml"), &mut known);
            fields.push(("resources", vec!["extra.yaml".into()].into()));
        }
        self.fields(folder, &mut known, true, &mut fields);
        self.write(folder, "Component", fields);
        folder.to_owned()
    }

    fn write(&mut self, folder: &str, kind: &str, mut fields: Vec<(&str, Yaml)>) {
        self.rng.shuffle(&mut fields);
        let mut file = Yaml::Mapping(Vec::new());
        if kind == "Component" || chance(self.rng, 60) {
            let version = if kind == "Component" { "v1alpha1" } else { "v1beta1" };
            file.set("apiVersion", format!("kustomize.config.k8s.io/{version}").into());
            file.set("kind", kind.into());
        }
        for (name, value) in fields {
            file.set(name, value);
        }
        let name = match self.rng.u32(..12) {
            0 => "kustomization.yml",
            1 => "Kustomization",
            _ => "kustomization.yaml",
        };
        if chance(self.rng, 3) {
            file.set(
                "metadata",
                map([("name", "named".into()), ("annotations", map([("a", "b".into())]))]),
            );
        }
        self.file(at(folder, name), &file);
    }

    /// One to three objects in a file; how many.
    fn resource_file(&mut self, path: String, known: &mut Vec<Known>) -> usize {
        let mut texts = Vec::new();
        let mut listed = Vec::new();
        for _ in 0..self.rng.usize(1..4) {
            let (object, yaml) = object::some(self.rng);
            let twice = known.iter().any(|other| {
                other.kind == object.kind && (other.name == object.name || other.now == object.name)
            });
            if twice && !chance(self.rng, 1) {
                continue;
            }
            known.push(object);
            let style = Style::some(self.rng);
            texts.push(style.write(self.rng, &yaml));
            listed.push(yaml);
        }
        let count = texts.len();
        if count > 1 && chance(self.rng, 6) {
            let list = map([
                ("apiVersion", "v1".into()),
                ("kind", "List".into()),
                ("items", listed.into()),
            ]);
            self.file(path, &list);
            return count;
        }
        let between = *pick(self.rng, &["---\n", "---\n", "---\n", "--- # next\n", "\n---\n\n"]);
        let mut text = texts.join(between);
        match self.rng.u32(..25) {
            0 => text.insert_str(0, "---\n"),
            1 => text.push_str("---\n"),
            2 => text.insert_str(0, "# a file\n\n"),
            3 => text.push_str("---\n# nothing more\n"),
            4 => text = text.replace('\n', "\r\n"),
            5 => text.push_str("...\n"),
            6 => text.insert(0, '\u{feff}'),
            7 => text.truncate(text.trim_end().len()),
            8 => text = text.replacen("---\n", "---\n# nothing\n---\n", 1),
            9 => text.push_str("---\n---\n"),
            _ => {}
        }
        self.tree.files.insert(path, text);
        count
    }

    /// What the folder does; the prefix and the suffix it gives.
    fn fields(
        &mut self,
        folder: &str,
        known: &mut Vec<Known>,
        upper: bool,
        fields: &mut Vec<(&'static str, Yaml)>,
    ) -> (String, String) {
        let (mut prefix, mut suffix) = (String::new(), String::new());
        let busy = *pick(self.rng, &[10, 25, 25, 50]);
        if chance(self.rng, busy) {
            prefix = (*pick(self.rng, &["pre-", "a-", "x"])).to_owned();
            fields.push(("namePrefix", prefix.as_str().into()));
        }
        if chance(self.rng, busy / 2) {
            suffix = (*pick(self.rng, &["-post", "-v1", "1"])).to_owned();
            fields.push(("nameSuffix", format!("'{suffix}'").into()));
        }
        if chance(self.rng, busy) {
            fields.push(("namespace", (*pick(self.rng, &NAMESPACES)).into()));
        }
        if chance(self.rng, busy / 2) {
            let labels = map([("common", "'label'".into()), ("app", "labelled".into())]);
            fields.push(("commonLabels", labels));
        }
        if chance(self.rng, busy) {
            let mut label = map([(
                "pairs",
                map([("team", (*pick(self.rng, &["one", "'2'", "\"on\""])).into())]),
            )]);
            if chance(self.rng, 40) {
                let field: &&str = pick(self.rng, &["includeSelectors", "includeTemplates"]);
                label.set(field, "true".into());
            }
            if chance(self.rng, 15) {
                let spec = map([
                    ("path", "spec/marks".into()),
                    ("kind", "Widget".into()),
                    ("create", "true".into()),
                ]);
                label.set("fields", vec![spec].into());
            }
            fields.push(("labels", vec![label].into()));
        }
        if chance(self.rng, busy / 2) {
            fields.push(("commonAnnotations", map([("seen", scalar::text(self.rng))])));
        }
        self.generators(folder, known, upper, busy, fields);
        if chance(self.rng, busy) {
            fields.push(("images", self.images()));
        }
        if chance(self.rng, busy / 2) {
            let target = known
                .iter()
                .find(|object| matches!(object.kind, "Deployment" | "StatefulSet" | "ReplicaSet"))
                .cloned();
            if let Some(object) = target {
                let replicas = map([
                    ("name", object.name.as_str().into()),
                    ("count", format!("{}", self.rng.u32(..9)).into()),
                ]);
                fields.push(("replicas", vec![replicas].into()));
            }
        }
        if !known.is_empty() {
            self.patches(folder, known, busy, fields);
            if chance(self.rng, busy / 2) {
                let replacement = self.replacement(known);
                if chance(self.rng, 20) {
                    let several =
                        if self.rng.bool() { replacement } else { vec![replacement].into() };
                    self.file(at(folder, "replace.yaml"), &several);
                    let entry = map([("path", "replace.yaml".into())]);
                    fields.push(("replacements", vec![entry].into()));
                } else {
                    fields.push(("replacements", vec![replacement].into()));
                }
            }
            if chance(self.rng, busy / 4) {
                fields.push(("vars", self.variables(known)));
            }
            if chance(self.rng, busy / 4) {
                let config = plugin::transformer(self.rng, known);
                let entry: Yaml = if chance(self.rng, 25) {
                    patch::inline(self.rng, &config)
                } else {
                    self.file(at(folder, "transformer.yaml"), &config);
                    "transformer.yaml".into()
                };
                fields.push(("transformers", vec![entry].into()));
            }
        }
        if chance(self.rng, busy / 4) {
            let config = plugin::configuration(self.rng);
            self.file(at(folder, "config.yaml"), &config);
            fields.push(("configurations", vec!["config.yaml".into()].into()));
        }
        if chance(self.rng, 2) {
            self.tree.files.insert(at(folder, "crd.json"), plugin::DEFINITIONS.to_owned());
            fields.push(("crds", vec!["crd.json".into()].into()));
        }
        if chance(self.rng, 1) && chance(self.rng, 40) {
            self.tree.files.insert(at(folder, "schema.json"), plugin::SCHEMA.to_owned());
            fields.push(("openapi", map([("path", "schema.json".into())])));
        }
        if chance(self.rng, busy / 8) {
            let config = plugin::generator(self.rng);
            self.file(at(folder, "generator.yaml"), &config);
            fields.push(("generators", vec!["generator.yaml".into()].into()));
        }
        if chance(self.rng, busy / 5) {
            let mut options = map([("order", (*pick(self.rng, &["fifo", "legacy"])).into())]);
            if chance(self.rng, 30) {
                options.set("order", "legacy".into());
                options.set(
                    "legacySortOptions",
                    map([
                        ("orderFirst", vec!["Service".into(), "Namespace".into()].into()),
                        ("orderLast", vec!["ConfigMap".into()].into()),
                    ]),
                );
            }
            fields.push(("sortOptions", options));
        }
        if chance(self.rng, busy / 5) {
            const SETS: [&str; 6] = [
                "[originAnnotations]",
                "[transformerAnnotations]",
                "[originAnnotations, transformerAnnotations]",
                "[managedByLabel]",
                "[]",
                "[managedByLabel, originAnnotations]",
            ];
            fields.push(("buildMetadata", (*pick(self.rng, &SETS)).into()));
        }
        (prefix, suffix)
    }

    fn generators(
        &mut self,
        folder: &str,
        known: &mut Vec<Known>,
        upper: bool,
        busy: u32,
        fields: &mut Vec<(&'static str, Yaml)>,
    ) {
        for (field, kind) in [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")] {
            if !chance(self.rng, busy) {
                continue;
            }
            let mut entries = Vec::new();
            for place in 0..self.rng.usize(1..3) {
                let there =
                    known.iter().filter(|object| object.kind == kind).cloned().collect::<Vec<_>>();
                let merges = upper && !there.is_empty() && chance(self.rng, 60);
                let name = if merges {
                    pick(self.rng, &there).name.clone()
                } else {
                    let name = object::name(self.rng);
                    if there.iter().any(|object| object.name == name || object.now == name) {
                        format!("made{place}")
                    } else {
                        name
                    }
                };
                let mut entry = map([("name", name.as_str().into())]);
                if merges {
                    entry.set("behavior", (*pick(self.rng, &["merge", "replace"])).into());
                }
                self.sources(folder, kind, &mut entry);
                if kind == "Secret" && chance(self.rng, 30) {
                    entry.set(
                        "type",
                        (*pick(self.rng, &["Opaque", "kubernetes.io/tls", "x"])).into(),
                    );
                }
                if chance(self.rng, 12) {
                    entry.set("namespace", (*pick(self.rng, &NAMESPACES)).into());
                }
                if chance(self.rng, 20) {
                    entry.set("options", self.options());
                }
                if !merges {
                    known.push(Known {
                        api_version: "v1",
                        kind: if kind == "Secret" { "Secret" } else { "ConfigMap" },
                        now: name.clone(),
                        name,
                        namespace: None,
                    });
                }
                entries.push(entry);
            }
            fields.push((field, entries.into()));
        }
        if chance(self.rng, busy / 3) {
            fields.push(("generatorOptions", self.options()));
        }
    }

    fn options(&mut self) -> Yaml {
        let mut options = Yaml::Mapping(Vec::new());
        if chance(self.rng, 50) {
            options.set("disableNameSuffixHash", (*pick(self.rng, &["true", "false"])).into());
        }
        if chance(self.rng, 40) {
            options.set("labels", map([("generated", "'yes'".into())]));
        }
        if chance(self.rng, 30) {
            options.set("annotations", map([("why", scalar::text(self.rng))]));
        }
        if chance(self.rng, 15) {
            options.set("immutable", "true".into());
        }
        options
    }

    fn sources(&mut self, folder: &str, kind: &str, entry: &mut Yaml) {
        const LITERALS: [&str; 14] = [
            "a=b",
            "c='d e'",
            "\"e=\\\"f\\\"\"",
            "g=h=i",
            "'j=k: l'",
            "m=",
            "n=1",
            "o=true",
            "'p=two words'",
            "q=é",
            "'r=  x  '",
            "\"s=t\\nu\"",
            "v='''w'''",
            "x=0x1",
        ];
        if chance(self.rng, 70) {
            let mut literals: Vec<Yaml> = Vec::new();
            let start = self.rng.usize(..LITERALS.len());
            for place in 0..self.rng.usize(1..4) {
                literals.push(LITERALS[(start + place) % LITERALS.len()].into());
            }
            entry.set("literals", literals.into());
        }
        if chance(self.rng, 35) {
            let name = format!("file{}.conf", self.rng.u32(..3));
            let texts = [
                "plain text\n",
                "no newline",
                "a: b\nc: d\n",
                "",
                "two\n\nlines\n\n",
                "tab\tx \n",
                "trailing space \nx\n",
                " lead\n",
                "é\n",
                "CR\r\nLF\r\n",
                "\u{1}binary\u{2}\n",
                "a very long line that goes on until it is longer than eighty columns and then some more words\n",
            ];
            if chance(self.rng, 8) {
                let bytes = vec![0x89, b'P', b'N', b'G', 0, 0xff, 0xfe, b'\n', self.rng.u8(..)];
                self.tree.binary.insert(at(folder, &name), bytes.repeat(12));
                self.tree.files.remove(&at(folder, &name));
            } else {
                let text = (*pick(self.rng, &texts)).to_owned();
                self.tree.binary.remove(&at(folder, &name));
                self.tree.files.insert(at(folder, &name), text);
            }
            let source: Yaml =
                if self.rng.bool() { name.into() } else { format!("key.txt={name}").into() };
            entry.set("files", vec![source].into());
        }
        if chance(self.rng, 25) {
            let name = format!("{}{}.env", kind.to_lowercase(), self.rng.u32(..2));
            let texts = [
                "ONE=1\nTWO=two words\n",
                "# comment\n\nTHREE=3\n",
                "FOUR='4'\nFIVE=\"5\"\n",
                "SIX=a=b\n  SEVEN=7\n",
                "EIGHT=\n",
                "NINE=9 # x\n",
            ];
            let text = (*pick(self.rng, &texts)).to_owned();
            self.tree.files.insert(at(folder, &name), text);
            if chance(self.rng, 80) {
                entry.set("envs", vec![name.into()].into());
            } else {
                entry.set("env", name.into());
            }
        }
    }

    fn images(&mut self) -> Yaml {
        let mut images = Vec::new();
        for _ in 0..self.rng.usize(1..3) {
            let full = *pick(self.rng, &IMAGES);
            let name = full.split('@').next().unwrap_or(full);
            let name = match name.rsplit_once(':') {
                Some((name, tag)) if !tag.contains('/') => name,
                _ => name,
            };
            let mut image = map([("name", name.into())]);
            match self.rng.u32(..6) {
                0 => image.set("newName", "other.example.com:443/new/name".into()),
                1 => image
                    .set("newTag", (*pick(self.rng, &["v2", "'1.10'", "\"2\"", "latest"])).into()),
                2 => image.set(
                    "digest",
                    "sha256:1111111111111111111111111111111111111111111111111111111111111111"
                        .into(),
                ),
                3 => image.set("tagSuffix", "-alpine".into()),
                4 => {
                    image.set("newName", "renamed".into());
                    image.set("newTag", "'3'".into());
                }
                _ => {
                    image.set("newTag", "v3".into());
                    image.set(
                        "digest",
                        "sha256:2222222222222222222222222222222222222222222222222222222222222222"
                            .into(),
                    );
                }
            }
            images.push(image);
        }
        images.into()
    }

    fn patches(
        &mut self,
        folder: &str,
        known: &[Known],
        busy: u32,
        fields: &mut Vec<(&'static str, Yaml)>,
    ) {
        if chance(self.rng, busy * 2) {
            let mut patches = Vec::new();
            for place in 0..self.rng.usize(1..4) {
                let object = pick(self.rng, known).clone();
                let mut entry = Yaml::Mapping(Vec::new());
                if chance(self.rng, 60) {
                    let body = patch::merge(self.rng, &object);
                    let mut several = false;
                    if chance(self.rng, 50) {
                        let name = format!("p{place}.yaml");
                        self.file(at(folder, &name), &body);
                        if chance(self.rng, 10) {
                            several = true;
                            let other = pick(self.rng, known).clone();
                            let other = patch::merge(self.rng, &other);
                            let style = Style::some(self.rng);
                            let more = style.write(self.rng, &other);
                            if let Some(text) = self.tree.files.get_mut(&at(folder, &name)) {
                                text.push_str("---\n");
                                text.push_str(&more);
                            }
                        }
                        entry.set("path", name.into());
                    } else {
                        entry.set("patch", patch::inline(self.rng, &body));
                    }
                    let chosen = if several { 5 } else { 35 };
                    if chance(self.rng, chosen) {
                        entry.set("target", patch::target(self.rng, &object));
                        if chance(self.rng, 20) {
                            const OPTIONS: [&str; 3] = [
                                "{allowNameChange: true}",
                                "{allowKindChange: true}",
                                "{allowNameChange: false}",
                            ];
                            entry.set("options", (*pick(self.rng, &OPTIONS)).into());
                        }
                    }
                } else {
                    let body = patch::operations(self.rng, object.kind);
                    if chance(self.rng, 40) {
                        let json = self.rng.bool();
                        let name = format!("p{place}.{}", if json { "json" } else { "yaml" });
                        if json {
                            self.tree.files.insert(at(folder, &name), patch::json(&body));
                        } else {
                            self.file(at(folder, &name), &body);
                        }
                        entry.set("path", name.into());
                    } else {
                        entry.set("patch", patch::inline(self.rng, &body));
                    }
                    entry.set("target", patch::target(self.rng, &object));
                }
                patches.push(entry);
            }
            fields.push(("patches", patches.into()));
        }
        if chance(self.rng, busy / 3) {
            let object = pick(self.rng, known).clone();
            let body = patch::merge(self.rng, &object);
            let entry = if self.rng.bool() {
                self.file(at(folder, "merge.yaml"), &body);
                "merge.yaml".into()
            } else {
                patch::inline(self.rng, &body)
            };
            fields.push(("patchesStrategicMerge", vec![entry].into()));
        }
        if chance(self.rng, busy / 4) {
            let object = pick(self.rng, known).clone();
            let (group, version) =
                object.api_version.split_once('/').unwrap_or(("", object.api_version));
            let mut target = map([
                ("version", version.into()),
                ("kind", object.kind.into()),
                ("name", object.name.as_str().into()),
            ]);
            if !group.is_empty() {
                target.set("group", group.into());
            }
            let body = patch::operations(self.rng, object.kind);
            let entry = map([("target", target), ("patch", patch::inline(self.rng, &body))]);
            fields.push(("patchesJson6902", vec![entry].into()));
        }
    }

    fn replacement(&mut self, known: &[Known]) -> Yaml {
        let from = pick(self.rng, known).clone();
        let to = pick(self.rng, known).clone();
        let mut source = map([("kind", from.kind.into()), ("name", from.name.as_str().into())]);
        let from_path = match self.rng.u32(..16) {
            0 => "metadata.labels.app",
            1 => "spec.replicas",
            2..=4 => "kind",
            _ => "metadata.name",
        };
        if from_path != "metadata.name" || self.rng.bool() {
            source.set("fieldPath", from_path.into());
        }
        if chance(self.rng, 20) {
            source.set("options", map([("delimiter", "'-'".into()), ("index", "0".into())]));
        }
        let mut select = map([("kind", to.kind.into())]);
        if self.rng.bool() {
            select.set("name", to.name.as_str().into());
        }
        let path = match self.rng.u32(..10) {
            0 | 1 => "metadata.annotations.from",
            2 => "metadata.annotations.[example.com/x]",
            3 => "metadata.labels.copied",
            4 if matches!(to.kind, "Deployment" | "StatefulSet") || chance(self.rng, 5) => {
                "spec.template.spec.containers.[name=main].env.[name=E0].value"
            }
            5 if matches!(to.kind, "Deployment" | "StatefulSet") || chance(self.rng, 5) => {
                "spec.template.spec.containers.*.image"
            }
            6 if to.kind == "Widget" => "spec.value",
            7 if to.kind == "ConfigMap" => "data.copied",
            8 if chance(self.rng, 40) => "metadata.name",
            9 if matches!(to.kind, "Deployment" | "Job") => "spec.template.metadata.labels.app",
            _ => "metadata.annotations.to.be",
        };
        let mut target = map([("select", select), ("fieldPaths", vec![path.into()].into())]);
        if chance(self.rng, 90) {
            target.set("options", map([("create", "true".into())]));
        } else if chance(self.rng, 50) {
            target.set(
                "options",
                map([
                    ("delimiter", "':'".into()),
                    ("index", (*pick(self.rng, &["0", "1", "-1", "5"])).into()),
                ]),
            );
        }
        if chance(self.rng, 15) {
            target.set("reject", vec![map([("name", "db".into())])].into());
        }
        map([("source", source), ("targets", vec![target].into())])
    }

    fn variables(&mut self, known: &[Known]) -> Yaml {
        let mut variables = Vec::new();
        for name in ["VAR_ONE", "VAR_TWO"] {
            let object = pick(self.rng, known).clone();
            let mut reference = map([
                ("kind", object.kind.into()),
                ("name", object.name.as_str().into()),
                ("apiVersion", object.api_version.into()),
            ]);
            if let Some(namespace) = &object.namespace {
                reference.set("namespace", namespace.as_str().into());
            }
            let mut variable = map([("name", name.into()), ("objref", reference)]);
            if self.rng.bool() {
                let path =
                    *pick(self.rng, &["metadata.name", "metadata.name", "spec.replicas", "kind"]);
                variable.set("fieldref", map([("fieldpath", path.into())]));
            }
            variables.push(variable);
            if self.rng.bool() {
                break;
            }
        }
        variables.into()
    }
}

/// The path of a file in a folder, which may be the root.
fn at(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The way from one folder to another.
fn relative(from: &str, to: &str) -> String {
    let up = "../".repeat(from.split('/').filter(|part| !part.is_empty()).count());
    format!("{up}{to}")
}
