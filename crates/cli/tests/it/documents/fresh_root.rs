//! A machine of a new user, as far as a folder can be one: an empty home with a project in it, and a
//! PATH that has gambrel and the programs of the system. Runs lines of shell there, one after the
//! other, in a session that keeps folder and variables.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::cargo_lines::{self, repository};
use super::serve_line;
use crate::claude_code::model::ScriptedModel;
use crate::claude_code::versions::newest_installed;
use crate::external_tools::run_to_end;
use crate::test_project::program;

/// Longer than any line takes on a busy machine.
const LINE_TIMEOUT: Duration = Duration::from_secs(100);
/// Reads the session, runs the line, and stores the session. `$0` is the folder of the session.
const SESSION_SCRIPT: &str = r#"exec 2>&1
. "$0/variables"; cd "$(cat "$0/folder")" || exit 99
eval "$1"
code=$?
pwd > "$0/folder"; export -p > "$0/variables"
exit $code"#;
/// What `gambrel trust` asks with, and what the user types.
const QUESTION: &str = "[y/N] ";

pub struct FreshRoot {
    temp: tempfile::TempDir,
    /// Kept while Claude Code may ask it.
    model: Option<ScriptedModel>,
}

impl FreshRoot {
    pub fn new() -> Self {
        let root = Self { temp: tempfile::tempdir().unwrap(), model: None };
        for folder in ["home/project", "bin", "installed/bin", "session", "tmp"] {
            std::fs::create_dir_all(root.path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(program(), root.path("bin/gambrel")).unwrap();
        let project = root.path("home/project");
        std::fs::write(root.path("session/folder"), project.to_str().unwrap()).unwrap();
        std::fs::write(root.path("session/variables"), "").unwrap();
        root
    }

    fn path(&self, name: &str) -> PathBuf {
        std::fs::canonicalize(self.temp.path()).unwrap().join(name)
    }

    pub fn project(&self) -> PathBuf {
        self.path("home/project")
    }

    /// Writes a file of the project, or of the home if the path begins with `~/`.
    pub fn write_file(&self, path: &str, text: &str) -> PathBuf {
        let file = match path.strip_prefix("~/") {
            Some(path) => self.path("home").join(path),
            None => self.project().join(path),
        };
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        if text.starts_with("#!") {
            write_executable(&file, text);
        } else {
            std::fs::write(&file, text).unwrap();
        }
        file
    }

    /// Puts the real Claude Code on the PATH. Its model lets it run these commands. False if it is
    /// not installed, which is an error in CI.
    pub fn install_claude_code(&mut self, commands: &[&str]) -> bool {
        let Some(claude) = newest_installed() else { return false };
        let call = |command: &&str| ("Bash", json!({"command": command, "description": "d"}));
        let model = ScriptedModel::start(commands.iter().map(call).collect());
        let command = claude.command();
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
        let script = format!(
            "#!/bin/sh\nexport ANTHROPIC_BASE_URL=http://127.0.0.1:{} ANTHROPIC_API_KEY=none\n\
             export DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 DISABLE_ERROR_REPORTING=1\n\
             export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\nexec {} \"$@\"\n",
            model.port,
            words.join(" ")
        );
        let file = self.path("bin/claude");
        write_executable(&file, &script);
        self.model = Some(model);
        true
    }

    /// Runs a line of shell. Returns what it printed, on stdout and stderr.
    pub fn run_line(&self, line: &str) -> Result<String, String> {
        let (code, printed) = match cargo_lines::read_line(line) {
            Some(cargo) => cargo.run(self),
            None if serve_line::is_server(line) => serve_line::run(self, line),
            None if line.starts_with("gambrel trust") && !line.contains("--yes") => {
                self.run_in_terminal(line)
            }
            None => self.run_command(self.session_shell(line), LINE_TIMEOUT),
        };
        match code {
            Some(0) => Ok(printed),
            code => Err(format!("`{line}` ended with {code:?}:\n{printed}")),
        }
    }

    /// A shell that runs a line in the session and environment of the new user.
    pub fn session_shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", SESSION_SCRIPT]).arg(self.path("session")).arg(line);
        self.set_env(&mut command);
        command
    }

    pub fn set_env(&self, command: &mut Command) {
        let cargo = PathBuf::from(env!("CARGO"));
        let folders = [
            self.path("installed/bin"),
            self.path("bin"),
            cargo.parent().unwrap().to_owned(),
            PathBuf::from("/usr/bin"),
            PathBuf::from("/bin"),
        ];
        command.env_clear().current_dir(self.path("home"));
        command.env("PATH", std::env::join_paths(folders).unwrap());
        command.env("HOME", self.path("home")).env("TMPDIR", self.path("tmp"));
        command.envs([("LANG", "C.UTF-8"), ("TERM", "dumb"), ("USER", "ada")]);
        // No file of this machine's administrator.
        command.env("GAMBREL_CLAUDE_MANAGED", self.path("managed.json"));
        command.env("CARGO_INSTALL_ROOT", self.path("installed"));
    }

    pub fn run_command(&self, mut command: Command, timeout: Duration) -> (Option<i32>, String) {
        let (code, stdout, stderr) = run_to_end(&mut command, timeout);
        (code, stdout + &stderr)
    }

    /// Runs a line on a terminal, and types `y` when it asks.
    fn run_in_terminal(&self, line: &str) -> (Option<i32>, String) {
        let typed = format!("script -qec '{}' /dev/null", line.replace('\'', r"'\''"));
        let mut command = self.session_shell(&typed);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (mut printed, mut bytes) = (Vec::new(), [0; 1024]);
        while let Ok(count @ 1..) = stdout.read(&mut bytes) {
            printed.extend_from_slice(&bytes[..count]);
            if printed.ends_with(QUESTION.as_bytes()) {
                stdin.write_all(b"y\n").unwrap();
            }
        }
        let code = child.wait().unwrap().code();
        (code, String::from_utf8_lossy(&printed).replace('\r', ""))
    }
}

/// Another process writes the file: a child that another thread starts meanwhile would keep it open
/// for writing, and the system refuses to run such a file.
fn write_executable(file: &Path, text: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(file);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", file.display());
}

/// The text of a file of the repository.
pub fn read_repository_file(path: &str) -> String {
    let file = repository().join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
