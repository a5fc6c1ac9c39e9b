//! The machine of a new user: a fresh root with an empty home, a project in it, and gambrel on the
//! PATH. Runs lines of shell there, one after the other, in a session that keeps folder and variables.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::cargo_lines::{self, repository};
use super::container::ContainerRoot;
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

/// The home of the user.
const HOME: &str = "/home/ada";
const PROJECT: &str = "/home/ada/project";
const CARGO_HOME: &str = "/home/ada/.cargo";
/// Where cargo installs programs.
const INSTALLED: &str = "/home/ada/.cargo/bin";

pub struct FreshRoot {
    _temp: tempfile::TempDir,
    container: ContainerRoot,
    /// Kept while Claude Code may ask it.
    model: Option<ScriptedModel>,
}

impl FreshRoot {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let folder = std::fs::canonicalize(temp.path()).unwrap();
        let mut container = ContainerRoot::new(folder, HOME);
        for folder in [PROJECT, INSTALLED, "/session"] {
            std::fs::create_dir_all(container.path_of(folder)).unwrap();
        }
        std::fs::write(container.path_of("/session/folder"), PROJECT).unwrap();
        std::fs::write(container.path_of("/session/variables"), "").unwrap();
        // The clone, which has the built program too.
        container.share(&repository());
        let program = std::fs::canonicalize(program()).unwrap();
        if !program.starts_with(repository()) {
            container.share(&program);
        }
        container.link_program("gambrel", &program);
        // The crates that cargo has fetched: there is no network.
        for name in ["registry", "config.toml"] {
            let fetched = cargo_home().join(name);
            if fetched.exists() {
                container.share_at(&fetched, &Path::new(CARGO_HOME).join(name));
            }
        }
        Self { _temp: temp, container, model: None }
    }

    pub fn project(&self) -> PathBuf {
        self.container.path_of(PROJECT)
    }

    fn home(&self) -> PathBuf {
        self.container.path_of(HOME)
    }

    /// Writes a file of the project, or of the home if the path begins with `~/`.
    pub fn write_file(&self, path: &str, text: &str) -> PathBuf {
        let file = match path.strip_prefix("~/") {
            Some(path) => self.home().join(path),
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
        if command.get_program() == "node" {
            self.container.share_program("node");
        }
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
        let script = format!(
            "#!/bin/sh\nexport ANTHROPIC_BASE_URL=http://127.0.0.1:{} ANTHROPIC_API_KEY=none\n\
             export DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 DISABLE_ERROR_REPORTING=1\n\
             export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\nexec {} \"$@\"\n",
            model.port,
            words.join(" ")
        );
        write_executable(&self.container.program_file("claude"), &script);
        self.model = Some(model);
        true
    }

    /// From here on, gambrel is what cargo installs.
    pub fn remove_gambrel(&self) {
        let _absent = std::fs::remove_file(self.container.program_file("gambrel"));
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

    /// A shell that runs a line in the session of the new user.
    pub fn session_shell(&self, line: &str) -> Command {
        self.command(&["sh", "-c", SESSION_SCRIPT, "/session", line])
    }

    /// A shell that runs a line in a folder.
    pub fn shell_in(&self, folder: &Path, line: &str) -> Command {
        self.command(&["sh", "-c", "cd \"$0\" && eval \"$1\"", folder.to_str().unwrap(), line])
    }

    /// `gambrel` in the project.
    pub fn gambrel_in_project(&self, args: &str) -> Command {
        self.shell_in(Path::new(PROJECT), &format!("gambrel {args}"))
    }

    /// A command in the environment of the new user.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.container.command(words, INSTALLED);
        command.envs([("HOME", HOME), ("LANG", "C.UTF-8"), ("TERM", "dumb"), ("USER", "ada")]);
        command
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

/// Where cargo keeps crates on this machine.
fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
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
