//! Trouble around a `fire`: a full disk, missing streams, huge texts, a home that cannot be read.
//! The usual command line and one that clap reads must give the same answer.

use std::fs::{self, File};
use std::process::Command;
use std::time::{Duration, Instant};

use regex_lite::Regex;
use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, mount_namespace, program, text};

/// For 300 MB through a debug build on a busy machine.
const FIRE_TIMEOUT: Duration = Duration::from_secs(150);
/// The words before the options. The usual ones are read without clap.
const USUAL_WORDS: &[&str] = &["fire"];
const WORDS_FOR_CLAP: &[&str] = &["--color", "auto", "fire"];

const DENY: &str = "echo no >&2; exit 2";
const DENIED: &str = r#""permissionDecision":"deny","permissionDecisionReason":"no""#;
const DENIED_IN_JSON: &str = r#""ruling":"deny""#;
const NO_SPACE: &str = "No space left on device";
const NO_RIGHT: &str = "Permission denied";

/// One trouble, and the answer of a `fire` that meets it.
#[derive(Clone, Copy)]
struct Trouble {
    /// A program and its options, which start the shell.
    starter: &'static [&'static str],
    /// A line of shell that makes the trouble and runs `$@`.
    line: &'static str,
    hook: &'static str,
    event: fn() -> String,
    /// Variables that are not set.
    unset: &'static [&'static str],
    reply: Expected,
    /// With `--json`.
    json: Expected,
}

/// An exit code, and a part of each stream. The empty part means an empty stream.
#[derive(Clone, Copy)]
struct Expected {
    code: i32,
    stdout: &'static str,
    stderr: &'static str,
}

const NO_TROUBLE: Trouble = Trouble {
    starter: &["env"],
    line: "exec \"$@\"",
    hook: DENY,
    event: || BASH_LS.to_owned(),
    unset: &[],
    reply: Expected { code: 0, stdout: DENIED, stderr: "" },
    json: Expected { code: 0, stdout: DENIED_IN_JSON, stderr: "" },
};

/// What a `fire` left.
#[derive(Debug, PartialEq)]
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Trouble {
    /// The same on stderr, with and without `--json`.
    const fn with_stderr(self, stderr: &'static str) -> Self {
        let (reply, json) = (self.reply, self.json);
        Self { reply: Expected { stderr, ..reply }, json: Expected { stderr, ..json }, ..self }
    }

    /// Fires with both command lines in fresh projects, and compares the answers.
    fn check(&self) {
        for (more, expected) in [(&[][..], self.reply), (&["--json"][..], self.json)] {
            let usual = self.fire(USUAL_WORDS, more);
            let about = format!("{} {more:?}: {usual:?}", self.line);
            assert_eq!(usual.code, Some(expected.code), "{about}");
            for (stream, part) in
                [(&usual.stdout, expected.stdout), (&usual.stderr, expected.stderr)]
            {
                assert!(stream.contains(part), "{part} is missing: {about}");
                assert!(!part.is_empty() || stream.is_empty(), "{about}");
            }
            assert_eq!(usual, self.fire(WORDS_FOR_CLAP, more), "{}", self.line);
        }
    }

    fn fire(&self, words: &[&str], more: &[&str]) -> Answer {
        let mut project = TestProject::new();
        project.env.retain(|(name, _)| !self.unset.contains(&name.as_str()));
        project.guard(self.hook, 100);
        let [event, out, err] = ["event", "out", "err"].map(|name| project.base.join(name));
        fs::write(&event, (self.event)()).unwrap();
        let mut shell = Command::new(self.starter[0]);
        shell.args(&self.starter[1..]).args(["sh", "-c", self.line, "sh", program()]);
        shell.args(words).args(["--from", "claude"]);
        shell.args(more).env_clear().envs(project.env.clone()).current_dir(&project.root);
        shell.stdin(File::open(&event).unwrap());
        shell.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        let code = wait_for_code(&mut shell);
        let read = |file| remove_ids(&project, &text(&fs::read(file).unwrap()));
        Answer { code, stdout: read(&out), stderr: read(&err) }
    }
}

/// Runs a program to its end, or fails at the timeout.
fn wait_for_code(command: &mut Command) -> Option<i32> {
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + FIRE_TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} did not end in {FIRE_TIMEOUT:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The text without what differs between two firings: the folder, ids, which are hashes of paths, and times.
fn remove_ids(project: &TestProject, text: &str) -> String {
    let text = text.replace(project.base.to_str().unwrap(), "BASE");
    let ids = Regex::new("s__[A-Za-z0-9_-]*|claude-[0-9a-f]{12}").unwrap();
    let text = ids.replace_all(&text, "ID").into_owned();
    let Ok(mut json) = serde_json::from_str::<Value>(&text) else { return text };
    if json["trail"].is_array() {
        json["id"] = Value::Null;
    }
    for step in json["trail"].as_array_mut().into_iter().flatten() {
        step["ms"] = Value::Null;
    }
    json.to_string()
}

#[test]
fn answers_alike_without_a_stream() {
    const UNWRITTEN: Expected =
        Expected { code: 1, stdout: "", stderr: "the reply could not be written" };
    let not_json = "the event on stdin is not JSON";
    let lost = Trouble { reply: UNWRITTEN, json: UNWRITTEN, ..NO_TROUBLE };
    let unread = Trouble {
        reply: Expected { code: 64, stdout: "", stderr: not_json },
        json: Expected { code: 0, stdout: not_json, stderr: "" },
        ..NO_TROUBLE
    };
    let silent = |code| Expected { code, stdout: "", stderr: "" };
    let unseen = Trouble { reply: silent(64), json: silent(1), ..NO_TROUBLE };
    for trouble in [
        NO_TROUBLE,
        Trouble { line: "exec \"$@\" 2>&-", ..NO_TROUBLE },
        Trouble { line: "exec \"$@\" 2> /dev/full", ..NO_TROUBLE },
        Trouble { line: "exec \"$@\" >&-", ..lost },
        Trouble { line: "exec \"$@\" > /dev/full", ..lost },
        Trouble { line: "exec \"$@\" <&-", ..unread },
        Trouble { line: "exec \"$@\" <&- >&-", json: UNWRITTEN, ..unread },
        Trouble { line: "exec \"$@\" <&- > /dev/full", json: UNWRITTEN, ..unread },
        Trouble { line: "exec \"$@\" <&- >&- 2>&-", ..unseen },
    ] {
        trouble.check();
    }
}

#[test]
fn answers_alike_about_300_mb_of_output() {
    let hook = "yes | head -c 300000000; echo no >&2; exit 2";
    Trouble { hook, ..NO_TROUBLE }.check();
}

#[test]
fn answers_alike_about_an_event_of_9_mb() {
    let hook = "[ $(wc -c) -gt 9000000 ] && { echo no >&2; exit 2; }";
    let event = || BASH_LS.replace("\"ls\"", &format!("\"{}\"", "x".repeat(9_000_000)));
    Trouble { hook, event, ..NO_TROUBLE }.check();
}

#[test]
fn answers_alike_without_a_home() {
    let without_home = Trouble { unset: &["HOME"], ..NO_TROUBLE };
    let without_both = Trouble { unset: &["HOME", "GAMBREL_STATE_DIR"], ..NO_TROUBLE };
    without_home.check();
    without_both.with_stderr("nothing is remembered: set HOME or GAMBREL_STATE_DIR").check();
}

/// Root reads every folder, unless it gives up that right.
#[test]
fn answers_alike_with_an_unreadable_home() {
    let line = "chmod 000 \"$HOME\"\n\
        rights=-dac_override,-dac_read_search\n\
        [ \"$(id -u)\" != 0 ] || set -- setpriv --bounding-set $rights --inh-caps $rights \"$@\"\n\
        \"$@\"; code=$?; chmod 700 \"$HOME\"; exit $code";
    let without_settings = Trouble { line, ..NO_TROUBLE }.with_stderr(NO_RIGHT);
    without_settings.check();
    Trouble { unset: &["GAMBREL_STATE_DIR"], ..without_settings }.check();
}

#[test]
fn answers_alike_on_a_full_disk() {
    let Some(starter) = mount_namespace() else { return };
    let line = "mkdir -m 700 \"$GAMBREL_STATE_DIR\"\n\
        mount -t tmpfs -o size=64k,mode=700 tmpfs \"$GAMBREL_STATE_DIR\" || exit 77\n\
        cat /dev/zero > \"$GAMBREL_STATE_DIR/filler\" 2> /dev/null\n\
        exec \"$@\"";
    Trouble { starter, line, ..NO_TROUBLE }.with_stderr(NO_SPACE).check();
}
