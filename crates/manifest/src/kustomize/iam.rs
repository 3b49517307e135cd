//! `IAMPolicyGenerator`: a service account that is bound to one of a cloud's.

use super::transform::settings;
use crate::diagnostic::{Diagnostic, Result};
use crate::yaml::{Mapping, Node, Text};

/// A service account that is bound to one of a cloud's.
#[derive(Clone, Debug)]
pub struct IamPolicy {
    name: Text,
    namespace: Text,
    account: Text,
    project: Text,
}

impl IamPolicy {
    /// From a configuration.
    pub fn from_config(config: &Node) -> Result<Self> {
        let cloud = settings::text(config, "cloud")?;
        if cloud != "gke" {
            let message = format!("cloud provider {cloud} not supported yet");
            return Err(Diagnostic::new(message).at(config.mark).hint("only gke is known"));
        }
        let text = |of: &str, name: &str| match settings::field(config, of) {
            Some(node) => settings::text(node, name),
            None => Ok(Text::default()),
        };
        Ok(Self {
            name: text("kubernetesService", "name")?,
            namespace: text("kubernetesService", "namespace")?,
            account: text("serviceAccount", "name")?,
            project: text("serviceAccount", "projectId")?,
        })
    }

    /// The service account.
    pub fn generate(&self) -> Node {
        let bound = format!("{}@{}.iam.gserviceaccount.com", self.account, self.project);
        let mut annotations = Mapping::new();
        annotations.set("iam.gke.io/gcp-service-account", Node::string(bound));
        let mut metadata = Mapping::new();
        metadata.set("annotations", annotations.into());
        metadata.set("name", Node::string(self.name.clone()));
        if !self.namespace.is_empty() {
            metadata.set("namespace", Node::string(self.namespace.clone()));
        }
        let mut object = Mapping::new();
        object.set("apiVersion", Node::string("v1"));
        object.set("kind", Node::string("ServiceAccount"));
        object.set("metadata", metadata.into());
        object.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_bound() {
        let config = "{cloud: gke, kubernetesService: {name: k, namespace: n}, serviceAccount: {name: a, projectId: p}}";
        let config = crate::yaml::documents(config).unwrap().remove(0).root;
        let object = IamPolicy::from_config(&config).unwrap().generate();
        let bound = object.at(&["metadata", "annotations", "iam.gke.io/gcp-service-account"]);
        assert_eq!(bound.and_then(Node::text), Some("a@p.iam.gserviceaccount.com"));
        let config = crate::yaml::documents("{cloud: moon}").unwrap().remove(0).root;
        assert!(IamPolicy::from_config(&config).is_err());
    }
}
