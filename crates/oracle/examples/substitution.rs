//! `substitution ORACLE [COUNT] [SEED]`: generated texts with variables, put in by the engine and by
//! Flux's own package.
#![expect(clippy::print_stdout, reason = "a command's results go to standard output")]

use std::error::Error;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

use holdfast_manifest::flux::Variables;
use serde_json::{Value, json};

const VALUES: [(&str, &str); 6] = [
    ("a", "bash.string.txt"),
    ("b", "/path/to/fILE"),
    ("c", ""),
    ("d", "aé€-ñ"),
    ("e", "3"),
    ("f", "*.a[b]"),
];

const PIECES: [&str; 46] = [
    "$", "$$", "${", "}", "{", "a", "b", "c", "d", "e", "f", "g", ":", ":=", ":-", ":+", ":?", "=",
    "#", "##", "%", "%%", "/", "//", "/#", "/%", "^", "^^", ",", ",,", "*", "?", "[", "]", "\\",
    "\\/", "1", "-1", ".", " ", "é", "-", "\n", "\"", "${a}", "${e}",
];

fn expression(random: &mut fastrand::Rng, depth: usize) -> String {
    let name = *random.choice(&["a", "b", "c", "d", "e", "f", "g"]).unwrap_or(&"a");
    let inner = |random: &mut fastrand::Rng| {
        if depth < 3 && random.u8(..) < 90 {
            expression(random, depth + 1)
        } else {
            let words = [
                "x", ".", "*.", ".*", "a", "2", "-3", "0", "path", "*/", "t?", "[a-c]", "\\/", "é",
                "", "$$",
            ];
            (*random.choice(&words).unwrap_or(&"x")).to_owned()
        }
    };
    let one = inner(random);
    let two = inner(random);
    match random.u8(0..16) {
        0 => format!("${{{name}}}"),
        1 => format!("${{#{name}}}"),
        2 => format!("${{{name}^}}"),
        3 => format!("${{{name}^^}}"),
        4 => format!("${{{name},}}"),
        5 => format!("${{{name},,}}"),
        6 => format!("${{{name}:{one}}}"),
        7 => format!("${{{name}:{one}:{two}}}"),
        8 => format!("${{{name}:={one}{two}}}"),
        9 => format!("${{{name}:-{one} {two}}}"),
        10 => format!("${{{name}={one}}}"),
        11 => format!("${{{name}#{one}}}"),
        12 => format!("${{{name}##{one}}}"),
        13 => format!("${{{name}%{one}}}"),
        14 => format!("${{{name}%%{one}}}"),
        _ => {
            let operator = *random.choice(&["/", "//", "/#", "/%"]).unwrap_or(&"/");
            format!("${{{name}{operator}{one}/{two}}}")
        }
    }
}

fn text(random: &mut fastrand::Rng) -> String {
    let mut text = String::new();
    for _ in 0..random.usize(1..6) {
        if random.bool() {
            text += &expression(random, 0);
        } else {
            for _ in 0..random.usize(1..5) {
                text += random.choice(&PIECES).unwrap_or(&"");
            }
        }
    }
    text
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let oracle = arguments.next().ok_or("usage: substitution ORACLE [COUNT] [SEED]")?;
    let count: usize = arguments.next().map_or(Ok(2000), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let mut random = fastrand::Rng::with_seed(seed);
    let texts: Vec<(String, bool)> =
        (0..count).map(|_| (text(&mut random), random.u8(..) < 60)).collect();

    let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let values: Value =
        VALUES.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let jobs: String = texts
        .iter()
        .enumerate()
        .map(|(id, (text, strict))| {
            let job = json!({"id": id, "mode": "envsubst", "text": text, "vars": values, "strict": strict});
            format!("{job}\n")
        })
        .collect();
    let writer = std::thread::spawn(move || input.write_all(jobs.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "writing failed")??;

    let mut variables = Variables::new();
    for (name, value) in VALUES {
        variables.set(name, value);
    }
    let (mut agreed, mut differ) = (0, 0);
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let answer: Value = serde_json::from_slice(line)?;
        let id = usize::try_from(answer["id"].as_u64().ok_or("no id")?)?;
        let (text, strict) = &texts[id];
        let ours = variables.clone().strict(*strict).text(text);
        let same = match &ours {
            Ok(done) => answer["ok"] == true && answer["yaml"] == done.content.as_str(),
            Err(error) => {
                let theirs = answer["error"].as_str().unwrap_or_default();
                // What is no text any more, JSON cannot carry back.
                let cut = answer["yaml"].as_str().is_some_and(|text| text.contains('\u{FFFD}'));
                (answer["ok"] == false
                    && (theirs.starts_with("panic") || error.message().contains(theirs)))
                    || cut
            }
        };
        if same {
            agreed += 1;
        } else {
            differ += 1;
            println!("DIFFERS {text:?} strict={strict}\n  theirs {answer}\n  ours   {ours:?}");
        }
    }
    println!("{agreed} agree, {differ} differ");
    Ok(if differ == 0 && agreed == count { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
