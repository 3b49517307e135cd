//! ConfigMaps and Secrets from literals, files and lists of variables.

use super::kustomization::GeneratorArguments;
use super::{Loader, Origin, Resource};
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Mark, Node, Tag, Text};

mod base64;
pub(super) mod hash;
mod pairs;

use pairs::Pair;

/// Makes the ConfigMap or Secret. `origin` is the file that asks for it.
pub(super) fn generate(
    arguments: &GeneratorArguments,
    loader: &Loader<'_>,
    origin: Origin,
) -> Result<Resource> {
    if arguments.name.is_empty() {
        return Err(Diagnostic::new("a configmap must have a name").at(arguments.mark));
    }
    let mut pairs = pairs::read(arguments, loader)?;
    pairs.sort_by(|one, two| one.key.cmp(&two.key));
    if let Some(twice) = pairs.windows(2).find(|two| two[0].key == two[1].key) {
        let message =
            format!("configmap {} illegally repeats the key `{}`", arguments.name, twice[0].key);
        return Err(Diagnostic::new(message).at(arguments.mark));
    }
    let mut metadata = Mapping::new();
    metadata.set("name", Node::string(arguments.name.clone()));
    if !arguments.namespace.is_empty() {
        metadata.set("namespace", Node::string(arguments.namespace.clone()));
    }
    let options = &arguments.options;
    for (field, texts) in [("labels", &options.labels), ("annotations", &options.annotations)] {
        if !texts.is_empty() {
            let mut mapping = Mapping::new();
            for (key, value) in texts {
                mapping.put(key.clone(), Node::string(value.clone()));
            }
            metadata.set(field, mapping.into());
        }
    }
    let mut object = Mapping::new();
    object.set("apiVersion", Node::string("v1"));
    object.set("kind", Node::string(if arguments.is_secret { "Secret" } else { "ConfigMap" }));
    object.set("metadata", metadata.into());
    if arguments.is_secret {
        let named =
            if arguments.secret_type.is_empty() { "Opaque" } else { &arguments.secret_type };
        object.set("type", Node::string(named));
        let mut data = Mapping::new();
        for pair in pairs {
            data.put(pair.key, Node::string(base64::encode(&pair.value)));
        }
        object.set("data", data.into());
    } else {
        add_config(&mut object, pairs);
    }
    if options.immutable {
        object.set("immutable", Node::scalar("true", Tag::Bool));
    }
    let mut resource = Resource::new(
        Node { value: crate::yaml::Value::Mapping(object), mark: Mark::default() },
        origin,
    );
    resource.generated = true;
    resource.behavior = arguments.behavior;
    resource.needs_hash = !options.no_hash;
    Ok(resource)
}

/// Text goes to `data`, what is none to `binaryData`.
fn add_config(object: &mut Mapping, pairs: Vec<Pair>) {
    let (mut data, mut binary) = (Mapping::new(), Mapping::new());
    for pair in pairs {
        match String::from_utf8(pair.value) {
            Ok(text) => data.put(pair.key, Node::string(Text::from(text))),
            Err(bytes) => {
                binary.put(pair.key, Node::string(base64::encode(bytes.as_bytes())));
            }
        }
    }
    for (field, mapping) in [("data", data), ("binaryData", binary)] {
        if !mapping.is_empty() {
            object.set(field, mapping.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Memory;
    use crate::kustomize::Options;

    fn generated(entry: &str, is_secret: bool) -> Result<String> {
        let files = Memory::new()
            .with("k/app.properties", "a=1\n")
            .with("k/image.bin", [0xff, 0xfe])
            .with("k/app.env", "\u{feff}# a comment\n\nKEY=value=with=signs\r\n  BARE\n=skipped\n");
        let options = Options::default();
        let loader = Loader::new(&files, "k", &options).unwrap();
        let node = crate::yaml::documents(entry).unwrap().remove(0).root;
        let arguments = GeneratorArguments::read(&node, is_secret, None)?;
        let resource = generate(&arguments, &loader, Origin::default())?;
        let mut text = String::new();
        crate::yaml::emit::object(&resource.node, &mut text)?;
        Ok(text)
    }

    #[test]
    fn a_config_map() {
        let text = generated(
            "name: c\nliterals: [a=\"quoted\", b=c=d]\nfiles: [app.properties, x=image.bin]\nenvs: [app.env]\noptions: {immutable: true, labels: {l: m}}\n",
            false,
        );
        assert_eq!(
            text.unwrap(),
            "apiVersion: v1\nbinaryData:\n  x: //4=\ndata:\n  BARE: \"\"\n  KEY: value=with=signs\n  a: quoted\n  app.properties: |\n    a=1\n  b: c=d\nimmutable: true\nkind: ConfigMap\nmetadata:\n  labels:\n    l: m\n  name: c\n"
        );
    }

    #[test]
    fn a_secret() {
        let text = generated("name: s\nnamespace: n\ntype: x/y\nliterals: [a=b]\n", true);
        assert_eq!(
            text.unwrap(),
            "apiVersion: v1\ndata:\n  a: Yg==\nkind: Secret\nmetadata:\n  name: s\n  namespace: \"n\"\ntype: x/y\n"
        );
    }

    #[test]
    fn keys_are_unique_and_sources_well_formed() {
        for entry in [
            "name: c\nliterals: [a=b, a=c]\n",
            "name: c\nliterals: [ab]\n",
            "name: c\nliterals: [=b]\n",
            "name: c\nfiles: [=app.env]\n",
            "name: c\nfiles: [a=]\n",
            "name: c\nfiles: [a=b=c]\n",
            "name: c\nfiles: [missing]\n",
            "name: ''\n",
        ] {
            assert!(generated(entry, false).is_err(), "{entry}");
        }
    }
}
