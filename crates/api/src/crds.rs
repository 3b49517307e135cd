//! The custom resource definitions, as objects and as the files in `deploy/crds`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use crate::hands_off::HandsOff;

/// Every definition, sorted by name.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut definitions = vec![HandsOff::crd()];
    definitions.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    definitions
}

/// The name of the file that holds a definition.
pub fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}.yaml", crd.spec.names.plural)
}

/// One definition as YAML. Descriptions stay on one line, so that a changed word is a changed line.
pub fn yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string_with_options(
        crd,
        serde_saphyr::ser_options! { prefer_block_scalars: false },
    )
}
