use super::recorded::Recorded;
use super::*;

const REPOSITORY: &str = "https://github.com/me/home.git";

fn clock(text: &'static str) -> Now {
    Arc::new(move || text.parse().unwrap())
}

fn forge<'a>(provider: Provider, url: &str, record: &'a Recorded) -> Forge<&'a Recorded> {
    let address = Address::new(provider, url, None).unwrap();
    let credential = Credential::Token(Secret::new("s3cr3t"));
    Forge::new(address, credential, record, clock("2026-11-01T00:00:00Z"))
}

fn proposal(body: &str) -> Proposal {
    Proposal {
        head: "holdfast/paperless".into(),
        base: "main".into(),
        title: "Upgrade paperless".into(),
        body: body.into(),
    }
}

#[test]
fn github_from_opening_to_merging() {
    let record = Recorded::new(include_str!("conversations/github.json"));
    let forge = forge(Provider::GitHub, REPOSITORY, &record);
    // The answer is lost after the request took effect: the next try finds it and opens no second one.
    let lost = forge.open(&proposal("To 2.9.")).unwrap_err();
    assert!(lost.reason.is_transient(), "{lost}");
    let pull = forge.open(&proposal("To 2.9.")).unwrap();
    assert_eq!((pull.number, &pull.state), (7, &State::Open));
    assert_eq!(pull.page, "https://github.com/me/home/pull/7");
    assert_eq!(pull.commit, "0b5f3c1d2e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b");
    assert_eq!(forge.open(&proposal("To 2.9.1.")).unwrap().body, "To 2.9.1.");
    forge.comment(7, "upgrade-1", "Snapshot taken.").unwrap();
    forge.comment(7, "upgrade-1", "Snapshot taken.").unwrap();
    let merged = State::Merged { commit: Some("9c3f1f5f2e6d0c7b8a9e0d1c2b3a4f5e6d7c8b9a".into()) };
    assert_eq!(forge.get(7).unwrap().state, merged);
    let found = forge.find("holdfast/paperless", "main").unwrap().unwrap();
    assert_eq!((found.number, found.state), (7, merged));
    assert!(record.is_over());
}

#[test]
fn gitlab_from_opening_to_merging() {
    let record = Recorded::new(include_str!("conversations/gitlab.json"));
    let url = "https://gitlab.example.org/ops/homes/home.git";
    let forge = forge(Provider::GitLab, url, &record);
    assert_eq!(forge.open(&proposal("To 2.9.")).unwrap().number, 3);
    assert_eq!(forge.open(&proposal("To 2.9.1.")).unwrap().body, "To 2.9.1.");
    forge.comment(3, "upgrade-1", "Snapshot taken.").unwrap();
    forge.comment(3, "upgrade-1", "Snapshot taken.").unwrap();
    let merged = State::Merged { commit: Some("9c3f1f5f2e6d0c7b8a9e0d1c2b3a4f5e6d7c8b9a".into()) };
    assert_eq!(forge.get(3).unwrap().state, merged);
    assert_eq!(forge.find("holdfast/paperless", "main").unwrap().unwrap().state, merged);
    assert!(record.is_over());
}

/// Recorded from Gitea 1.26.
#[test]
fn gitea_from_opening_to_merging() {
    let record = Recorded::new(include_str!("conversations/gitea.json"));
    let forge = forge(Provider::Gitea, "http://git.lan:3000/me/home.git", &record);
    assert_eq!(forge.open(&proposal("To 2.9.")).unwrap().number, 2);
    assert_eq!(forge.open(&proposal("To 2.9.1.")).unwrap().body, "To 2.9.1.");
    forge.comment(2, "upgrade-1", "Snapshot taken.").unwrap();
    forge.comment(2, "upgrade-1", "Snapshot taken.").unwrap();
    let merged = State::Merged { commit: Some("e2d155ba75da9696a7efb028f2d1a3bb4d585de4".into()) };
    assert_eq!(forge.get(2).unwrap().state, merged);
    assert_eq!(forge.find("holdfast/paperless", "main").unwrap().unwrap().state, merged);
    assert_eq!(forge.close(1).unwrap().state, State::Closed);
    let missing = forge.get(99).unwrap_err().reason;
    assert!(matches!(missing, Reason::NotFound(_)), "{missing}");
    let stranger = forge.get(1).unwrap_err();
    assert_eq!(
        stranger.to_string(),
        "http://git.lan:3000/api/v1 (me/home): the token is not accepted: invalid username, password or token"
    );
    assert!(record.is_over());
}

#[test]
fn one_that_somebody_opened_meanwhile_is_taken_over() {
    let record = Recorded::new(include_str!("conversations/github-taken.json"));
    let pull = forge(Provider::GitHub, REPOSITORY, &record).open(&proposal("To 2.9.")).unwrap();
    assert_eq!(pull.number, 8);
    assert!(record.is_over());

    let record = Recorded::new(include_str!("conversations/gitea-taken.json"));
    let second = Proposal { head: "second".into(), ..proposal("To 2.9.") };
    let pull =
        forge(Provider::Gitea, "http://git.lan:3000/me/home", &record).open(&second).unwrap();
    assert_eq!(pull.number, 3);
    assert!(record.is_over());

    let record = Recorded::new(include_str!("conversations/gitlab-taken.json"));
    let url = "https://gitlab.example.org/ops/homes/home.git";
    let pull = forge(Provider::GitLab, url, &record).open(&proposal("To 2.9.")).unwrap();
    assert_eq!(pull.number, 4);
    assert!(record.is_over());
}

#[test]
fn an_app_asks_for_a_token_when_its_last_one_ends() {
    let record = Recorded::new(include_str!("conversations/github-app.json"));
    let key = rsa_key();
    let app = App { id: "1234".into(), installation: "42".into(), key: Secret::new(key) };
    let minutes = Arc::new(std::sync::atomic::AtomicI64::new(0));
    let passed = minutes.clone();
    let now: Now = Arc::new(move || {
        let minutes = passed.load(std::sync::atomic::Ordering::Relaxed);
        let start: jiff::Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
        start + jiff::SignedDuration::from_mins(minutes)
    });
    let address = Address::new(Provider::GitHub, REPOSITORY, None).unwrap();
    let forge = Forge::new(address, Credential::App(app), &record, now);
    forge.get(7).unwrap();
    forge.get(7).unwrap();
    minutes.store(56, std::sync::atomic::Ordering::Relaxed);
    forge.get(7).unwrap();
    assert!(record.is_over());
}

#[test]
fn an_app_signs_what_github_can_read() {
    use aws_lc_rs::signature::{
        KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey,
    };
    use base64::Engine as _;
    use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject as _};

    let key = rsa_key();
    let app = App { id: "1234".into(), installation: "42".into(), key: Secret::new(key.clone()) };
    let statement = app.statement("2026-11-01T00:00:00Z".parse().unwrap()).unwrap();
    let (text, signature) = statement.reveal().rsplit_once('.').unwrap();
    let decode =
        |part: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap();
    let der = PrivatePkcs8KeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref())
        .verify(text.as_bytes(), &decode(signature))
        .unwrap();
    let claims: serde_json::Value =
        serde_json::from_slice(&decode(text.split_once('.').unwrap().1)).unwrap();
    assert_eq!(
        claims,
        serde_json::json!({"iat": 1_793_491_140, "exp": 1_793_491_740, "iss": "1234"})
    );
    let bad = App { key: Secret::new("-----BEGIN nothing"), ..app };
    assert_eq!(
        bad.statement(jiff::Timestamp::UNIX_EPOCH).unwrap_err(),
        "the App's privateKey is not a PEM private key"
    );
}

#[test]
fn refusals_say_what_and_where_and_never_the_token() {
    let refused = |status: u16, retry_after: Option<u64>, body: serde_json::Value| {
        let turn = serde_json::json!([{
            "request": {"method": "GET", "url": "https://api.github.com/repos/me/home/pulls/7", "body": null},
            "answer": {"status": status, "retry_after": retry_after, "body": body},
        }]);
        let record = Recorded::new(&turn.to_string());
        forge(Provider::GitHub, REPOSITORY, &record).get(7).unwrap_err().to_string()
    };
    let at = "https://api.github.com (me/home): ";
    for (status, wait, body, wanted) in [
        (
            401,
            None,
            serde_json::json!({"message": "Bad credentials"}),
            "the token is not accepted: Bad credentials",
        ),
        (
            403,
            Some(30),
            serde_json::json!({"message": "secondary rate limit"}),
            "too many requests; it asks to wait 30 s",
        ),
        (
            403,
            None,
            serde_json::json!({"message": "no s3cr3t here"}),
            "the token may not do this: no *** here",
        ),
        (
            404,
            None,
            serde_json::json!({"message": "Not Found"}),
            "not found, or the token may not see it: Not Found",
        ),
        (502, None, serde_json::Value::Null, "refused with 502: null"),
        (
            200,
            None,
            serde_json::json!("<html>"),
            "the answer is not a pull request; is this the address of the API?",
        ),
    ] {
        assert_eq!(refused(status, wait, body), format!("{at}{wanted}"));
    }
}

/// What the network adds: a server of one answer.
fn over_http(answer: &'static str) -> Result<Answer, Reason> {
    use std::io::{Read as _, Write as _};
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = server.local_addr().unwrap();
    let told = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut seen = Vec::new();
        let mut buffer = [0; 1024];
        while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
            let count = stream.read(&mut buffer).unwrap();
            seen.extend_from_slice(&buffer[..count]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(seen).unwrap().to_lowercase()
    });
    let network = crate::transport::Network::start().unwrap();
    let limits = crate::transport::Limits {
        total: std::time::Duration::from_secs(20),
        ..crate::transport::Limits::default()
    };
    let web = Web::new(network, &crate::auth::Access::default(), limits).unwrap();
    let call = Call::new("GET", format!("http://{at}/api/v1/x"))
        .header("authorization", Secret::new("token s3cr3t"));
    let answered = web.exchange(&call);
    assert!(told.join().unwrap().contains("authorization: token s3cr3t"));
    answered
}

#[test]
fn the_network_gives_whatever_answer_there_is() {
    let fine = over_http("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\": 1}").unwrap();
    assert_eq!((fine.status, fine.body), (200, serde_json::json!({"a": 1})));
    let busy =
        over_http("HTTP/1.1 403 No\r\nx-ratelimit-remaining: 0\r\ncontent-length: 2\r\n\r\nno")
            .unwrap();
    assert_eq!((busy.status, busy.retry_after), (403, Some(60)));
    let away = over_http(
        "HTTP/1.1 307 Go\r\nlocation: https://other.example.org/api\r\ncontent-length: 0\r\n\r\n",
    );
    assert_eq!(away, Err(Reason::Redirected("other.example.org".into())));
    let cut = over_http("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}").unwrap_err();
    assert!(cut.is_transient(), "{cut}");
}

/// A key for this run alone.
fn rsa_key() -> String {
    use aws_lc_rs::encoding::AsDer as _;
    use base64::Engine as _;
    let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let der: aws_lc_rs::encoding::Pkcs8V1Der<'_> = pair.as_der().unwrap();
    let text = base64::engine::general_purpose::STANDARD.encode(der.as_ref());
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|l| std::str::from_utf8(l).unwrap()).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
}
