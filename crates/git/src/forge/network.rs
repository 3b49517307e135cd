//! The forge over http.

use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use reqwest::{Client, Method, Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use super::call::{Answer, Call, Exchange, Reason};
use crate::auth::Access;
use crate::error::{Cause, chain};
use crate::transport::{Limits, Network, client};

/// No answer about a pull request is larger.
const LARGEST: usize = 16 << 20;

/// Sends requests over http, in bounded time.
#[derive(Debug)]
pub struct Web {
    network: Arc<Network>,
    client: Client,
    limits: Limits,
}

impl Web {
    /// With the authorities of `access`; its login is for git, not for the API.
    pub fn new(network: Arc<Network>, access: &Access, limits: Limits) -> Result<Self, Reason> {
        let client =
            client(true, access, limits).map_err(|cause| Reason::Credential(cause.to_string()))?;
        Ok(Self { network, client, limits })
    }
}

impl Exchange for Web {
    fn exchange(&self, call: &Call) -> Result<Answer, Reason> {
        let method = Method::from_bytes(call.method.as_bytes())
            .map_err(|_| Reason::Odd(format!("{} is no method", call.method)))?;
        let url = Url::parse(&call.url).map_err(|error| Reason::Odd(error.to_string()))?;
        let mut request = self.client.request(method, url.clone());
        for (name, value) in &call.headers {
            request = request.header(*name, value.reveal());
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let total = self.limits.total;
        let asked = async move {
            let exchange = async {
                let lost = |error: reqwest::Error| Cause::Unreachable(chain(&error.without_url()));
                read(request.send().await.map_err(lost)?).await
            };
            timeout(total, exchange)
                .await
                .unwrap_or(Err(Cause::TimedOut { what: "the forge's answer", after: total }))
        };
        let (answer, location) =
            self.network.wait(asked).map_err(|cause| Reason::Unreachable(cause.to_string()))?;
        // A token meant for one host is not told to another, and a POST that is redirected is no POST.
        if (300..400).contains(&answer.status) {
            let to = location.and_then(|to| url.join(&to).ok());
            let host = to.and_then(|to| to.host_str().map(ToOwned::to_owned)).unwrap_or_default();
            return Err(Reason::Redirected(host));
        }
        Ok(answer)
    }
}

async fn read(mut response: Response) -> Result<(Answer, Option<String>), Cause> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let location = header(LOCATION).map(ToOwned::to_owned);
    let retry_after = header(RETRY_AFTER).and_then(|value| value.parse().ok());
    // GitHub answers 403 with nothing left, and not always a Retry-After.
    let spent = response.headers().get("x-ratelimit-remaining").is_some_and(|left| left == "0");
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| Cause::Cut(chain(&error.without_url())))?
    {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LARGEST {
            return Err(Cause::TooLarge { limit: LARGEST as u64 });
        }
    }
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() { Value::Null } else { Value::String(text.trim().to_owned()) }
    });
    let refused = status == 403 || status == 429;
    let retry_after = retry_after.or((refused && spent).then_some(60));
    Ok((Answer { status, retry_after, body }, location))
}
