//! A webhook server for the cases of admission: what it answers is the path it is called under.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use futures::StreamExt as _;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;

/// Where the webhook is reached, and whom to trust for it.
#[derive(Debug, Default)]
pub struct Hook {
    /// `https://127.0.0.1:PORT`
    pub url: String,
    /// Its certificate, as webhook configurations carry it.
    pub ca_bundle: String,
}

/// The webhook of this process, started on first use. If it cannot start, its address is empty and the cases
/// that need it fail.
pub fn running() -> &'static Hook {
    static HOOK: LazyLock<Hook> = LazyLock::new(|| start().unwrap_or_default());
    &HOOK
}

fn start() -> Option<Hook> {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).ok()?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .ok()?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .ok()?;
    let listener = TcpListener::bind("127.0.0.1:0").ok()?;
    let address = listener.local_addr().ok()?;
    listener.set_nonblocking(true).ok()?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    // A thread of its own, because cases are made outside of any runtime and the hook outlives them all.
    std::thread::Builder::new()
        .name("webhook".to_owned())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(serve(listener, acceptor));
            }
        })
        .ok()?;
    let ca_bundle = base64::engine::general_purpose::STANDARD.encode(cert.pem());
    Some(Hook { url: format!("https://{address}"), ca_bundle })
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let connections = futures::stream::unfold(listener, |listener| async move {
        let accepted = listener.accept().await.ok();
        Some((accepted, listener))
    });
    connections
        .for_each_concurrent(None, |accepted| {
            let acceptor = acceptor.clone();
            async move {
                let Some((stream, _)) = accepted else { return };
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = hyper::service::service_fn(answer);
                // A caller that hangs up ends the connection, not the hook.
                drop(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await,
                );
            }
        })
        .await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().trim_matches('/').to_owned();
    let body = request.into_body().collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    if path == "slow" {
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let (status, kind, body) = reply(&path, &asked["request"]);
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind)
        .body(Full::from(body))
        .unwrap_or_default();
    Ok(response)
}

/// Status, content type and body of the answer that a path stands for.
fn reply(path: &str, request: &Value) -> (u16, &'static str, Vec<u8>) {
    const JSON: &str = "application/json";
    const TEXT: &str = "text/plain";
    let review = |more: Value| {
        let mut response = json!({"uid": request["uid"], "allowed": true});
        if let (Some(response), Value::Object(more)) = (response.as_object_mut(), more) {
            response.extend(more);
        }
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    };
    let base64_of = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let by_patch = |operations: Value| json!({"patchType": "JSONPatch", "patch": base64_of(&operations.to_string())});
    let adding = |key: &str, value: &str| json!([{"op": "add", "path": format!("/data/{key}"), "value": value}]);
    let body = match path {
        "deny" => review(json!({"allowed": false, "status": {"message": "no way"}})),
        "deny-code" => review(
            json!({"allowed": false, "status": {"message": "no way", "code": 418, "reason": "Teapot", "details": {"name": "q"}}}),
        ),
        "deny-silent" => review(json!({"allowed": false})),
        "deny-reason" => review(json!({"allowed": false, "status": {"reason": "Because"}})),
        "deny-delete" => {
            let said = super::webhooks::told(request);
            review(
                json!({"allowed": request["operation"] != "DELETE", "status": {"message": said}}),
            )
        }
        "warn" => review(json!({"warnings": ["careful \"now\"", "two"]})),
        "patch" => review(by_patch(adding("patched", "yes"))),
        "append" => {
            let seen = request["object"]["data"]["seen"].as_str().unwrap_or_default();
            review(by_patch(adding("seen", &format!("{seen}+"))))
        }
        "echo" => {
            let mut operations = vec![];
            if request["object"]["data"].is_null() {
                operations.push(json!({"op": "add", "path": "/data", "value": {}}));
            }
            let told = super::webhooks::told(request);
            operations.push(json!({"op": "add", "path": "/data/told", "value": told}));
            review(by_patch(Value::Array(operations)))
        }
        "patch-test" => review(by_patch(json!([{"op": "test", "path": "/data/a", "value": "x"}]))),
        "patch-missing" => review(by_patch(json!([{"op": "remove", "path": "/data/zz"}]))),
        "patch-unknown" => review(by_patch(json!([{"op": "add", "path": "/bogus", "value": "x"}]))),
        "patch-type" => review(by_patch(json!([{"op": "add", "path": "/data/x", "value": 5}]))),
        "patch-invalid" => review(by_patch(adding("b~1d", "x"))),
        "patch-empty" => review(by_patch(json!([]))),
        "only-patch" => review(json!({"patch": base64_of("[]")})),
        "only-type" => review(json!({"patchType": "JSONPatch"})),
        "other-type" => {
            review(json!({"patchType": "Merge", "patch": base64_of(&adding("x", "1").to_string())}))
        }
        "junk-patch" => review(json!({"patchType": "JSONPatch", "patch": base64_of("nope")})),
        "absent" => json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}),
        "empty" => json!({}),
        "other-kind" => json!({"apiVersion": "v1", "kind": "ConfigMap"}),
        "beta" => {
            json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "response": {"allowed": true}})
        }
        "no-kind" => json!({"response": {"uid": request["uid"], "allowed": true}}),
        "half" => return (200, JSON, b"{\"a\"".to_vec()),
        "nothing" => return (200, JSON, Vec::new()),
        "code-500" => return (500, JSON, b"boom".to_vec()),
        "text-500" => return (500, TEXT, b"boom\n".to_vec()),
        "code-404" => return (404, JSON, b"x".to_vec()),
        "text-403" => return (403, TEXT, b"x y".to_vec()),
        "code-503" => return (503, JSON, b"x".to_vec()),
        "code-418" => return (418, JSON, b"x".to_vec()),
        "status" => {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "own words", "reason": "Conflict", "code": 409});
            return (409, JSON, status.to_string().into_bytes());
        }
        _ => review(json!({})),
    };
    (200, JSON, body.to_string().into_bytes())
}
