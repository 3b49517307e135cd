//! Webhooks: whom to ask, and what to make of the answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::expression::{Expression, Inputs, Names, Sees, Wanted};
use super::matching::{Match, MatchPolicy, Rule, webhook_matches};
use super::merge;
use super::mutating::{Round, Sort};
use super::review::{self, Response, Unusable};
use super::selector::Selector;
use super::{
    Admission, Attributes, CallError, Caller, GROUP, Lookup, Target, Verdict, policy, text,
};
use crate::rbac::Snapshot;
use crate::status::Failure;

/// A webhook configuration.
#[derive(Debug)]
pub(super) struct Configuration {
    hooks: Vec<Hook>,
}

#[derive(Debug)]
struct Hook {
    key: String,
    written: Written,
    target: Target,
    conditions: Vec<Expression>,
    asks: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    name: String,
    failure_policy: String,
    match_policy: MatchPolicy,
    namespace_selector: Selector,
    object_selector: Selector,
    rules: Vec<Rule>,
    side_effects: String,
    timeout_seconds: u64,
    admission_review_versions: Vec<String>,
    reinvocation_policy: String,
    match_conditions: Vec<BTreeMap<String, String>>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            name: String::new(),
            failure_policy: "Fail".into(),
            match_policy: MatchPolicy::Equivalent,
            namespace_selector: Selector::default(),
            object_selector: Selector::default(),
            rules: Vec::new(),
            side_effects: String::new(),
            timeout_seconds: 10,
            admission_review_versions: Vec::new(),
            reinvocation_policy: String::new(),
            match_conditions: Vec::new(),
        }
    }
}

impl Admission {
    /// All webhook configurations of a sort, by name.
    pub(super) fn configurations(
        &self,
        plural: &str,
        lookup: &dyn Lookup,
    ) -> Vec<Arc<Configuration>> {
        let kept = if plural.starts_with("mutating") { &self.changers } else { &self.judges };
        let objects = lookup.list(GROUP, plural, None);
        if objects.is_empty() { Vec::new() } else { kept.all(&objects, Configuration::parse) }
    }
}

impl Configuration {
    fn parse(object: &Value) -> Self {
        let name = text(&object["metadata"], "name");
        let hooks = object["webhooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let hooks = hooks.iter().map(|hook| Hook::parse(name, hook)).collect();
        Self { hooks }
    }
}

impl Hook {
    fn parse(configuration: &str, hook: &Value) -> Self {
        let written: Written = serde_json::from_value(hook.clone()).unwrap_or_default();
        let names = Names::default();
        let conditions: Vec<Expression> = written
            .match_conditions
            .iter()
            .map(|condition| {
                let text = condition.get("expression").cloned().unwrap_or_default();
                let program = names.compile(&text, Sees::All, Wanted::Bool);
                Expression { text, program }
            })
            .collect();
        let asks = conditions.iter().any(|condition| condition.text.contains("authorizer"));
        let key = format!("{configuration}/{}", written.name);
        Self { key, target: target(&hook["clientConfig"]), written, conditions, asks }
    }

    fn ignores_errors(&self) -> bool {
        self.written.failure_policy == "Ignore"
    }

    /// How the hook is concerned with the request, if it is.
    fn concerned(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        lookup: &dyn Lookup,
    ) -> Result<Option<Match>, Failure> {
        let written = &self.written;
        let Some(matched) = webhook_matches(
            (&written.namespace_selector, &written.object_selector),
            &written.rules,
            written.match_policy,
            attributes,
            object,
            lookup,
        )?
        else {
            return Ok(None);
        };
        if self.conditions.is_empty() {
            return Ok(Some(matched));
        }
        let roles = self.asks.then(|| Arc::new(Snapshot::of(lookup)));
        let (new, old) = (matched.view(object, lookup), matched.view(attributes.old, lookup));
        let inputs = Inputs::new(attributes, &matched, new.as_ref(), old.as_ref(), roles);
        match policy::applies(&self.conditions, self.ignores_errors(), &inputs) {
            Ok(true) => Ok(Some(matched)),
            Ok(false) => Ok(None),
            Err(why) => {
                let resource = attributes.resource;
                Err(Failure::forbidden(&resource.group, &resource.plural, attributes.name, &why))
            }
        }
    }

    /// The answer, or why there is none that can be used.
    async fn ask(
        &self,
        asking: &Asking<'_>,
        call: u32,
        mutating: bool,
    ) -> Result<Response, Trouble> {
        let Asking { attributes, matched, object, lookup, caller } = *asking;
        let written = &self.written;
        if attributes.dry_run && !matches!(written.side_effects.as_str(), "None" | "NoneOnDryRun") {
            return Err(Trouble::Refused(Failure::bad_request(format!(
                "admission webhook {:?} does not support dry run",
                written.name
            ))));
        }
        let known = |version: &&String| matches!(version.as_str(), "v1" | "v1beta1");
        let Some(version) = written.admission_review_versions.iter().find(known) else {
            return Err(Trouble::Call(
                "could not create admission objects: webhook does not accept known \
                 AdmissionReview versions (v1, v1beta1)"
                    .into(),
            ));
        };
        let uid = review::call_id(&attributes.uid, call);
        let (new, old) = (matched.view(object, lookup), matched.view(attributes.old, lookup));
        let question =
            review::question(attributes, matched, new.as_ref(), old.as_ref(), version, &uid);
        let timeout = Duration::from_secs(written.timeout_seconds);
        let post = |why: &str| {
            let url = &self.target.url;
            let seconds = written.timeout_seconds;
            Trouble::Call(format!(
                "failed to call webhook: Post \"{url}?timeout={seconds}s\": {why}"
            ))
        };
        let review = match caller.call(self.target.clone(), question, timeout).await {
            Ok(review) => review,
            Err(error @ (CallError::Connect(_) | CallError::Timeout)) => {
                return Err(post(&error.to_string()));
            }
            Err(CallError::Answer(why)) => {
                return Err(Trouble::Call(format!("failed to call webhook: {why}")));
            }
            Err(CallError::Client(why)) => {
                return Err(Trouble::Call(format!("could not get REST client: {why}")));
            }
        };
        review::answer(&review, version, &uid, mutating).map_err(|unusable| match unusable {
            Unusable::Kind(why) => Trouble::Call(format!("failed to call webhook: {why}")),
            Unusable::Content(why) => {
                Trouble::Call(format!("received invalid webhook response: {why}"))
            }
        })
    }

    /// The 500 for a call that failed, unless failures are ignored.
    fn failed(&self, trouble: Trouble) -> Result<(), Failure> {
        match trouble {
            Trouble::Refused(failure) => Err(failure),
            Trouble::Call(_) if self.ignores_errors() => Ok(()),
            Trouble::Call(why) => {
                Err(internal(&format!("failed calling webhook {:?}: {why}", self.written.name)))
            }
        }
    }
}

/// A question to a webhook.
#[derive(Clone, Copy)]
struct Asking<'a> {
    attributes: &'a Attributes<'a>,
    matched: &'a Match,
    object: Option<&'a Value>,
    lookup: &'a dyn Lookup,
    caller: &'a dyn Caller,
}

/// What stands between a question and its answer.
enum Trouble {
    /// The failure policy decides.
    Call(String),
    /// Nothing can help.
    Refused(Failure),
}

/// 500 with its cause.
pub(super) fn internal(why: &str) -> Failure {
    Failure::new(500, "InternalError", format!("Internal error occurred: {why}"))
        .with_details(json!({ "causes": [{ "message": why }] }))
}

fn target(config: &Value) -> Target {
    let ca_bundle = base64::engine::general_purpose::STANDARD
        .decode(text(config, "caBundle"))
        .unwrap_or_default();
    let with_path = |base: String, path: &str| {
        if path.is_empty() { format!("{base}/") } else { format!("{base}{path}") }
    };
    let service = &config["service"];
    if !service.is_object() {
        let url = text(config, "url");
        let after = url.find("://").map_or(0, |at| at + 3);
        let path = url[after..].find('/').map_or("", |at| &url[after + at..]);
        let base = url[..url.len() - path.len()].to_owned();
        return Target { url: with_path(base, path), service: None, ca_bundle };
    }
    let (name, namespace) = (text(service, "name"), text(service, "namespace"));
    let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(443);
    Target {
        url: with_path(format!("https://{name}.{namespace}.svc:{port}"), text(service, "path")),
        service: Some((namespace.to_owned(), name.to_owned(), port)),
        ca_bundle,
    }
}

/// Asks mutating webhooks in order, each about what the ones before it left.
pub(super) async fn mutate(
    configurations: &[Arc<Configuration>],
    attributes: &Attributes<'_>,
    round: &mut Round,
    lookup: &dyn Lookup,
    caller: &dyn Caller,
) -> Result<(), Failure> {
    round.begin(Sort::Hooks);
    for hook in configurations.iter().flat_map(|configuration| &configuration.hooks) {
        let here = (!round.object.is_null()).then_some(&round.object);
        let Some(matched) = hook.concerned(attributes, here, lookup)? else { continue };
        if !round.is_due(Sort::Hooks, &hook.key) {
            continue;
        }
        let asking = Asking { attributes, matched: &matched, object: here, lookup, caller };
        let answer = hook.ask(&asking, round.calls, true).await;
        let object =
            answer.as_ref().ok().map(|response| patched(hook, response, here, attributes, lookup));
        round.calls += 1;
        let reinvoke = hook.written.reinvocation_policy == "IfNeeded";
        let response = match answer {
            Ok(response) => response,
            Err(trouble) => {
                hook.failed(trouble)?;
                round.ran(Sort::Hooks, &hook.key, None, reinvoke);
                continue;
            }
        };
        round.warnings.extend(response.warnings.iter().cloned());
        if !response.allowed {
            return Err(review::denial(&hook.written.name, response.status.as_ref()));
        }
        let object = match object {
            Some(Ok(object)) => object,
            Some(Err(trouble)) => {
                hook.failed(trouble)?;
                None
            }
            None => None,
        };
        round.ran(Sort::Hooks, &hook.key, object, reinvoke);
    }
    round.end(Sort::Hooks);
    Ok(())
}

/// The object after the webhook's patch, if it sent one.
fn patched(
    hook: &Hook,
    response: &Response,
    object: Option<&Value>,
    attributes: &Attributes<'_>,
    lookup: &dyn Lookup,
) -> Result<Option<Value>, Trouble> {
    if response.patch.is_empty() {
        return Ok(None);
    }
    let operations = merge::operations(&response.patch).map_err(|why| {
        Trouble::Call(format!("received undecodable patch in webhook response: {why}"))
    })?;
    if operations == 0 {
        return Ok(None);
    }
    let Some(object) = object else {
        return Err(Trouble::Refused(internal(&format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.written.name
        ))));
    };
    if response.patch_type != "JSONPatch" {
        return Err(Trouble::Call(format!("unsupported patch type {:?}", response.patch_type)));
    }
    let after =
        merge::patched(object, &response.patch).map_err(|why| Trouble::Refused(internal(&why)))?;
    let mut after = merge::decoded(attributes, after, false).map_err(Trouble::Refused)?;
    if attributes.subresource.is_empty() {
        lookup.fill_defaults(attributes.resource, &mut after);
    }
    Ok(Some(after))
}

/// Asks all validating webhooks at once; of several refusals the first in order counts.
pub(super) async fn validate(
    configurations: &[Arc<Configuration>],
    attributes: &Attributes<'_>,
    lookup: &dyn Lookup,
    caller: &dyn Caller,
    verdict: &mut Verdict,
) -> Result<(), Failure> {
    let mut concerned = Vec::new();
    for hook in configurations.iter().flat_map(|configuration| &configuration.hooks) {
        if let Some(matched) = hook.concerned(attributes, attributes.object, lookup)? {
            concerned.push((hook, matched));
        }
    }
    let calls = concerned.iter().zip(0..).map(|((hook, matched), call)| async move {
        let asking = Asking { attributes, matched, object: attributes.object, lookup, caller };
        hook.ask(&asking, call, false).await
    });
    let answers = futures::future::join_all(calls).await;
    let mut refusal = Ok(());
    for ((hook, _), answer) in concerned.iter().zip(answers) {
        let outcome = match answer {
            Err(trouble) => hook.failed(trouble),
            Ok(response) => {
                verdict.warnings.extend(response.warnings);
                for (key, value) in response.audit {
                    verdict.audit.insert(format!("{}/{key}", hook.written.name), value);
                }
                if response.allowed {
                    Ok(())
                } else {
                    Err(review::denial(&hook.written.name, response.status.as_ref()))
                }
            }
        };
        if refusal.is_ok() {
            refusal = outcome;
        }
    }
    refusal
}
