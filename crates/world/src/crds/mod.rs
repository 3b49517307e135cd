//! Definitions of foreign kinds, as small as the actors need them and no copy of their owners' files.

mod build;
mod flux;
mod kopiur;
mod resourceset;
mod snapshots;
mod volsync;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, PostParams};

pub use build::Definition;
pub use flux::flux;
pub use kopiur::kopiur;
pub use resourceset::flux_operator;
pub use snapshots::snapshots;
pub use volsync::volsync;

/// Creates definitions that are not there yet, and waits until they are served.
pub async fn install(
    client: &Client,
    definitions: Vec<CustomResourceDefinition>,
) -> Result<(), kube::Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut names = Vec::new();
    for definition in definitions {
        names.push(definition.metadata.name.clone().unwrap_or_default());
        match api.create(&PostParams::default(), &definition).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
            Err(error) => return Err(error),
        }
    }
    for name in names {
        loop {
            let established =
                api.get(&name).await?.status.and_then(|status| status.conditions).is_some_and(
                    |conditions| {
                        conditions.iter().any(|c| c.type_ == "Established" && c.status == "True")
                    },
                );
            if established {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
    Ok(())
}
