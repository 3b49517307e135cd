//! What a destination refers to, as it is now.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_api::foreign::flux::GitRepository;
use holdfast_api::git_destination::GitDestination;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};

use super::Depended;
use crate::call::{CallError, bounded};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The GitRepository, if the destination names one.
    pub source: Option<SourceFact>,
    /// Each Secret by namespace and name.
    pub secrets: BTreeMap<(String, String), SecretFact>,
}

/// What was found of a GitRepository.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceFact {
    /// It is there.
    Found(Box<GitRepository>),
    /// It is not there.
    NotFound,
    /// Its kind is not there.
    NoKind,
}

/// What was found of a Secret: the names of its keys that are not empty, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretFact {
    /// It has these keys.
    Keys(BTreeSet<String>),
    /// It is not there.
    NotFound,
}

/// Asks the API server. `watch` is told of each object before it is asked for, so that one that
/// arrives in between is not missed.
pub(super) async fn observe(
    client: &Client,
    destination: &GitDestination,
    watch: &(dyn Fn(Depended, &str, &str) + Sync),
) -> Result<Observed, CallError> {
    let spec = &destination.spec;
    let own = destination.namespace().unwrap_or_default();
    let mut observed = Observed::default();
    if spec.suspend {
        return Ok(observed);
    }
    let mut secrets: BTreeSet<(String, String)> = BTreeSet::new();
    let mut own_secret = |name: &str| {
        secrets.insert((own.clone(), name.to_owned()));
    };
    if let Some(secret) = &spec.secret_ref {
        own_secret(&secret.name);
    }
    if let Some(signing) = &spec.signing {
        own_secret(&signing.secret_ref.name);
    }
    if let Some(secret) = &spec.provider.secret_ref {
        own_secret(&secret.name);
    }
    if let Some(reference) = &spec.source_ref {
        let namespace = reference.namespace.as_deref().unwrap_or(&own);
        watch(Depended::Source, namespace, &reference.name);
        let source = source(client, namespace, &reference.name).await?;
        if let SourceFact::Found(source) = &source
            && spec.secret_ref.is_none()
            && let Some(secret) = &source.spec.secret_ref
        {
            secrets.insert((namespace.to_owned(), secret.name.clone()));
        }
        observed.source = Some(source);
    }
    for (namespace, name) in secrets {
        watch(Depended::Secret, &namespace, &name);
        let fact = secret(client, &namespace, &name).await?;
        observed.secrets.insert((namespace, name), fact);
    }
    Ok(observed)
}

async fn source(client: &Client, namespace: &str, name: &str) -> Result<SourceFact, CallError> {
    let sources: Api<GitRepository> = Api::namespaced(client.clone(), namespace);
    match bounded(sources.get(name)).await {
        Ok(source) => Ok(SourceFact::Found(Box::new(source))),
        Err(error) if error.is_not_found() => {
            // The server says what was not found only in the details: without them the whole path
            // is unknown to it, which means that the kind is.
            let known = matches!(
                &error,
                CallError::Kube(kube::Error::Api(status))
                    if status.details.as_ref().is_some_and(|details| details.name == name)
            );
            Ok(if known { SourceFact::NotFound } else { SourceFact::NoKind })
        }
        Err(error) => Err(error),
    }
}

async fn secret(client: &Client, namespace: &str, name: &str) -> Result<SecretFact, CallError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let Some(secret) = bounded(secrets.get_opt(name)).await? else {
        return Ok(SecretFact::NotFound);
    };
    let data = secret.data.unwrap_or_default();
    let keys = data.into_iter().filter(|(_, value)| !value.0.is_empty()).map(|(key, _)| key);
    Ok(SecretFact::Keys(keys.collect()))
}
