//! The files that keep what an agent says in an iteration: its messages as text, and
//! `transcript.jsonl` with all updates. Secrets are removed before anything is written.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use gambrel_model::json_texts::map_texts;
use gambrel_process::redact::Redact;
use gambrel_process::tee::{Tee, TeeFile};
use serde_json::{Map, Value, json};

/// The most bytes of a transcript.
const MAX_TRANSCRIPT_BYTES: u64 = 64 << 20;
/// The most bytes of text that are joined to one line.
const MAX_JOINED_BYTES: usize = 64 << 10;
/// The update that is the agent's output.
const MESSAGE: &str = "agent_message_chunk";

/// The files of one turn. Dropping it writes the rest.
pub struct TurnFiles<'r> {
    output: Option<Tee<'r>>,
    transcript: Option<File>,
    written: u64,
    redact: Option<&'r Redact>,
    /// Text of one kind that may go on.
    joined: Option<(String, String)>,
    /// Whether the output ends within a line that is complete.
    has_open_line: bool,
}

impl<'r> TurnFiles<'r> {
    /// Opens the files. They are created at the first byte.
    pub fn open(output: TeeFile<'_>, transcript: &Path, redact: Option<&'r Redact>) -> Self {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(transcript).ok();
        let written = file.as_ref().and_then(|file| Some(file.metadata().ok()?.len()));
        Self {
            output: Some(Tee::new(output, redact)),
            transcript: file,
            written: written.unwrap_or(0),
            redact,
            joined: None,
            has_open_line: false,
        }
    }

    /// Keeps an update of the session.
    pub fn keep_update(&mut self, ms: u64, update: &Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let text = update["content"]["text"].as_str();
        if kind == MESSAGE
            && let Some(text) = text
        {
            self.print(text);
        } else {
            self.end_line();
        }
        let Some(text) = text.filter(|_| kind.ends_with("_chunk")) else {
            return self.keep_line(ms, "update", json!({"update": update}));
        };
        match &mut self.joined {
            Some((known, joined))
                if known == kind && joined.len() + text.len() <= MAX_JOINED_BYTES =>
            {
                joined.push_str(text);
            }
            _ => {
                self.keep_joined(ms);
                self.joined = Some((kind.to_owned(), text.to_owned()));
            }
        }
    }

    /// Keeps a line of another kind.
    pub fn keep_line(&mut self, ms: u64, kind: &str, fields: Value) {
        self.keep_joined(ms);
        let mut line =
            Map::from_iter([("ms".to_owned(), json!(ms)), ("type".to_owned(), json!(kind))]);
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        self.write_line(Value::Object(line));
    }

    /// Writes what was kept back long enough.
    pub fn flush(&mut self, now: Instant) {
        if let Some(output) = &mut self.output {
            output.flush_due(now);
        }
    }

    /// Ends the files of a turn. Returns why one is incomplete, if it is.
    pub fn finish(mut self, ms: u64) -> Option<String> {
        self.end_line();
        self.keep_joined(ms);
        self.output.take().and_then(Tee::finish)
    }

    fn print(&mut self, text: &str) {
        if let Some(output) = &mut self.output {
            output.append(text.as_bytes());
        }
        self.has_open_line = !text.is_empty() && !text.ends_with('\n');
    }

    /// Separates messages: the protocol has no end of a message.
    fn end_line(&mut self) {
        if self.has_open_line {
            self.print("\n");
        }
    }

    fn keep_joined(&mut self, ms: u64) {
        if let Some((kind, text)) = self.joined.take() {
            let content = json!({"type": "text", "text": text});
            let update = json!({"sessionUpdate": kind, "content": content});
            self.write_line(json!({"ms": ms, "type": "update", "update": update}));
        }
    }

    fn write_line(&mut self, mut line: Value) {
        let Some(file) = &mut self.transcript else { return };
        if let Some(redact) = self.redact {
            let apply = |text: &str| String::from_utf8_lossy(&redact.apply(text.as_bytes())).into();
            line = map_texts(&line, &apply);
        }
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        let is_over = self.written + bytes.len() as u64 > MAX_TRANSCRIPT_BYTES;
        if is_over {
            bytes = b"{\"type\":\"cut\"}\n".to_vec();
        }
        self.written += bytes.len() as u64;
        if file.write_all(&bytes).is_err() || is_over {
            self.transcript = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use gambrel_process::redact::Redact;
    use gambrel_process::tee::TeeFile;
    use serde_json::{Value, json};

    use super::TurnFiles;

    fn chunk(text: &str) -> Value {
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
    }

    #[test]
    fn keeps_messages_and_updates_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let (output, transcript) = (folder.path().join("o"), folder.path().join("t"));
        let redact = Redact::new(|bytes| {
            String::from_utf8_lossy(bytes).replace("hunter2", "[secret]").into_bytes()
        });
        let target = TeeFile { path: &output, if_taken: None };
        let mut files = TurnFiles::open(target, &transcript, Some(&redact));
        files.keep_update(1, &chunk("one hun"));
        files.keep_update(2, &chunk("ter2 two"));
        files.keep_update(3, &json!({"sessionUpdate": "tool_call", "title": "hunter2"}));
        files.keep_update(4, &chunk("three"));
        assert_eq!(files.finish(5), None);
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "one [secret] two\nthree\n");
        let text = std::fs::read_to_string(&transcript).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert_eq!(lines[0]["update"]["content"]["text"], "one [secret] two");
        assert_eq!(lines[1]["update"]["title"], "[secret]");
    }
}
