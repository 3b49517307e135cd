//! An http server around stock git, which misbehaves on request.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::command;
use crate::url::RemoteUrl;

/// What the server does with a request instead of answering it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Answers it.
    None,
    /// Answers as it did before there was a second version of the protocol.
    Old,
    /// Says nothing.
    Hang,
    /// Says it byte by byte, with pauses that are each short enough.
    Drip,
    /// Says half of it.
    HangHalfway,
    /// Hangs up after half of it.
    CutHalfway,
    /// Does it and hangs up without a word.
    LoseAnswer,
    /// Changes a byte of it.
    Corrupt,
    /// Answers with this status and text.
    Status(u16, String),
    /// Says that it is elsewhere.
    Redirect(String),
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Whether it is the one that a push goes with.
    pub(crate) fn is_push(&self) -> bool {
        self.method == "POST" && self.path.ends_with("git-receive-pack")
    }

    /// Whether it is the one that a pack is asked for with.
    pub(crate) fn is_fetch(&self) -> bool {
        self.method == "POST"
            && self.path.ends_with("git-upload-pack")
            && String::from_utf8_lossy(&self.body).contains("want ")
    }
}

type Script = Arc<dyn Fn(&Request, usize) -> Fault + Send + Sync>;

/// Both ways of a connection.
pub(crate) trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

type Wrap = Arc<dyn Fn(TcpStream) -> Box<dyn Stream> + Send + Sync>;

/// A server.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Serves the repositories of a folder. The script is told each request and how many came
    /// before it.
    pub(crate) fn start(
        root: PathBuf,
        script: impl Fn(&Request, usize) -> Fault + Send + Sync + 'static,
    ) -> Self {
        Self::start_wrapped(root, script, Arc::new(|stream| Box::new(stream)))
    }

    pub(crate) fn start_wrapped(
        root: PathBuf,
        script: impl Fn(&Request, usize) -> Fault + Send + Sync + 'static,
        wrap: Wrap,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (log, script): (_, Script) = (seen.clone(), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (root, log, script, wrap) =
                    (root.clone(), log.clone(), script.clone(), wrap.clone());
                thread::spawn(move || serve(&mut *wrap(stream), &root, &log, &script));
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self) -> RemoteUrl {
        RemoteUrl::parse(&format!("http://127.0.0.1:{}/repo.git", self.port)).unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(stream: &mut dyn Stream, root: &PathBuf, log: &Mutex<Vec<Request>>, script: &Script) {
    let Some(mut request) = read_request(stream) else { return };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    let fault = script(&request, number);
    match &fault {
        Fault::Old => {
            request.headers.remove("git-protocol");
        }
        Fault::Hang => {
            thread::sleep(Duration::from_secs(30));
            return;
        }
        Fault::Status(status, text) => {
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
                text.len()
            );
            let _ = stream.write_all(head.as_bytes());
            return;
        }
        Fault::Redirect(to) => {
            let head = format!(
                "HTTP/1.1 302 X\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            return;
        }
        _ => {}
    }
    let (status, headers, mut body) = backend(root, &request);
    match fault {
        Fault::LoseAnswer => return,
        Fault::Corrupt if body.len() > 60 => {
            let at = body.len() - 30;
            body[at] ^= 0x55;
        }
        _ => {}
    }
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let half = match fault {
        Fault::HangHalfway | Fault::CutHalfway => body.len() / 2,
        _ => body.len(),
    };
    if fault == Fault::Drip {
        for byte in body.chunks(1) {
            if stream.write_all(byte).and_then(|()| stream.flush()).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    let _ = stream.write_all(&body[..half]);
    let _ = stream.flush();
    if fault == Fault::HangHalfway {
        thread::sleep(Duration::from_secs(30));
    }
}

fn read_request(stream: &mut dyn Stream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |l| l.parse::<usize>().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}

/// What git's own server program answers.
fn backend(root: &PathBuf, request: &Request) -> (String, String, Vec<u8>) {
    let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
    let mut child = command(root)
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "test")
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let body = request.body.clone();
    let feeder = thread::spawn(move || {
        let _ = stdin.write_all(&body);
    });
    let output = child.wait_with_output().unwrap().stdout;
    feeder.join().unwrap();
    let at = output.windows(4).position(|w| w == b"\r\n\r\n").map_or(0, |at| at + 4);
    let head = String::from_utf8_lossy(&output[..at]).into_owned();
    let mut status = "200 OK".to_owned();
    let mut headers = String::new();
    for line in head.lines().filter(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some(("Status", value)) => status = value.to_owned(),
            _ => headers.push_str(&format!("{line}\r\n")),
        }
    }
    (status, headers, output[at..].to_vec())
}
