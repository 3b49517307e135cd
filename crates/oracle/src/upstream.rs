//! Upstream's packages, asked through the program built of them.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// What upstream says: the text, or why it refuses.
pub type Answer = Result<String, String>;

/// The program, running.
#[derive(Debug)]
pub struct Upstream {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Upstream {
    /// Starts the program.
    pub fn start(program: &Path) -> Result<Self, String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", program.display());
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It warns of old fields there.
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(&error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(&"it has no pipes"));
        };
        Ok(Self { child, input: BufWriter::new(input), output: BufReader::new(output) })
    }

    /// The answers in the order of the questions.
    pub fn ask(&mut self, mut questions: Vec<Value>) -> Result<Vec<Answer>, String> {
        let count = questions.len();
        for (place, question) in questions.iter_mut().enumerate() {
            question["id"] = place.into();
        }
        let (input, output) = (&mut self.input, &mut self.output);
        std::thread::scope(|scope| {
            let asking = scope.spawn(move || {
                for question in &questions {
                    writeln!(input, "{question}")?;
                }
                input.flush()
            });
            let mut answers: Vec<Option<Answer>> = vec![None; count];
            let mut line = String::new();
            for _ in 0..count {
                line.clear();
                let read = output.read_line(&mut line).map_err(|error| error.to_string())?;
                if read == 0 {
                    return Err("upstream's program ended".to_owned());
                }
                let (place, answer) = understand(&line)?;
                if let Some(slot) = answers.get_mut(place) {
                    *slot = Some(answer);
                }
            }
            match asking.join() {
                Ok(outcome) => outcome.map_err(|error| error.to_string())?,
                Err(_) => return Err("the questions could not be asked".to_owned()),
            }
            answers
                .into_iter()
                .map(|answer| answer.ok_or_else(|| "a question has no answer".to_owned()))
                .collect()
        })
    }
}

fn understand(line: &str) -> Result<(usize, Answer), String> {
    let mut value: Value =
        serde_json::from_str(line).map_err(|error| format!("no answer: {error}: {line}"))?;
    let place = value["id"].as_u64().ok_or_else(|| format!("an answer without id: {line}"))?;
    let mut text = |name: &str| match value[name].take() {
        Value::String(text) => text,
        _ => String::new(),
    };
    let (yaml, error) = (text("yaml"), text("error"));
    let answer = if value["ok"] == true { Ok(yaml) } else { Err(error) };
    Ok((place as usize, answer))
}

impl Drop for Upstream {
    fn drop(&mut self) {
        // It ends with its input; waiting for it would only take time.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_text_or_a_refusal() {
        let line = r#"{"id":3,"ok":true,"yaml":"a: b\n"}"#;
        assert_eq!(understand(line), Ok((3, Ok("a: b\n".to_owned()))));
        let line = r#"{"id":0,"ok":false,"yaml":"","error":"no"}"#;
        assert_eq!(understand(line), Ok((0, Err("no".to_owned()))));
        assert!(understand("x").is_err());
    }
}
