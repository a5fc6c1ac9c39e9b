//! A project folder with a home and a state folder of its own, and the built binary to run in it.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;

pub const BASH_LS: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"1"}"#;

/// The program under test: the one that `cargo xtask dist` names, else the one that cargo built.
pub fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let named = std::env::var("GAMBREL_TEST_PROGRAM");
        named.unwrap_or_else(|_| env!("CARGO_BIN_EXE_gambrel").to_owned())
    })
}

pub struct TestProject {
    _temp: tempfile::TempDir,
    pub base: PathBuf,
    pub root: PathBuf,
    pub env: Vec<(String, String)>,
}

impl TestProject {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(temp.path()).unwrap();
        let root = base.join("my project");
        for folder in [&root, &base.join("home")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let env = [
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", base.join("home").to_string_lossy().into_owned()),
            ("GAMBREL_STATE_DIR", base.join("state").to_string_lossy().into_owned()),
            ("GAMBREL_TRUST", "all".into()),
            ("GAMBREL_CLAUDE_MANAGED", base.join("managed.json").to_string_lossy().into_owned()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Self { _temp: temp, base, root, env }
    }

    /// Adds an environment variable, or changes its value.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// Puts `gambrel` on PATH, like an installed program.
    pub fn with_gambrel_on_path(self) -> Self {
        let bin = self.base.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink(program(), bin.join("gambrel")).unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        self.with("PATH", &path)
    }

    pub fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn script(&self, path: &str, text: &str) -> PathBuf {
        let path = self.file(path, text);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A settings file with one PreToolUse command for Bash.
    pub fn guard(&self, command: &str, timeout: u32) {
        let hook = serde_json::json!({"type": "command", "command": command, "timeout": timeout});
        let settings =
            serde_json::json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
        self.file(".claude/settings.json", &settings.to_string());
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).env_clear().envs(self.env.clone()).current_dir(&self.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn start(&self, args: &[&str], stdin: &[u8]) -> Child {
        let mut child = self.command(args).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // A program that refuses its arguments does not read.
        let _unread = pipe.write_all(stdin);
        child
    }

    /// Starts gambrel on its own terminal. The test types through stdin; `words` is shell text.
    pub fn start_in_terminal(&self, words: &str) -> Child {
        let line = format!("'{}' {words}", program());
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).current_dir(&self.root);
        script.env_clear().envs(self.env.clone()).stdin(Stdio::piped()).stdout(Stdio::piped());
        script.spawn().unwrap()
    }

    /// Starts `gambrel` under `unshare` with these options, after a line of shell. `None` if this
    /// machine allows no user namespaces.
    pub fn start_under_unshare(
        &self,
        options: &[&str],
        line: &str,
        args: &[&str],
    ) -> Option<Child> {
        let made = Command::new("unshare").args(options).arg("true").status();
        if !made.is_ok_and(|status| status.success()) {
            report_missing_part(&format!("`unshare {}`", options.join(" ")));
            return None;
        }
        let mut command = Command::new("unshare");
        command.args(options).args(["sh", "-c", &format!("{line} exec \"$@\""), "sh"]);
        command.arg(program()).args(args).current_dir(&self.root);
        command.env_clear().envs(self.env.clone());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(BASH_LS.as_bytes()).unwrap();
        Some(child)
    }

    /// Runs a script in a mount namespace; `$0` is the binary. False if this machine allows none.
    pub fn run_in_mount_namespace(&self, script: &str) -> bool {
        let Some(starter) = mount_namespace() else { return false };
        let mut command = Command::new(starter[0]);
        command.args(&starter[1..]).args(["sh", "-c", script, program()]);
        command.env_clear().envs(self.env.clone()).current_dir(&self.root);
        let output = command.output().unwrap();
        assert_ne!(output.status.code(), Some(77), "cannot mount: {}", text(&output.stderr));
        true
    }

    pub fn run(&self, args: &[&str], stdin: &[u8]) -> Output {
        self.start(args, stdin).wait_with_output().unwrap()
    }

    /// Runs a line of shell in which `$0` is the binary.
    pub fn run_in_shell(&self, line: &str, stdin: &[u8]) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", line, program()]).env_clear().envs(self.env.clone());
        shell.current_dir(&self.root).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.stderr(Stdio::piped()).spawn().unwrap();
        let _unread = child.stdin.take().unwrap().write_all(stdin);
        child.wait_with_output().unwrap()
    }

    /// Fires and reads the neutral decision.
    pub fn decide(&self, from: &str, event: &str) -> Value {
        let output = self.run(&["fire", "--from", from, "--json"], event.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", text(&output.stdout)))
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let output = self.run(args, b"");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}{}", text(&output.stdout), text(&output.stderr)))
    }
}

/// The words before a command that runs it in a mount namespace of its own. `None` if this machine
/// allows no mounts, which is an error in CI.
pub fn mount_namespace() -> Option<&'static [&'static str]> {
    const AS_ROOT: &[&str] = &["unshare", "--mount"];
    const AS_USER: &[&str] = &["unshare", "--user", "--map-root-user", "--mount"];

    let works = |starter: &&[&str]| {
        let mut try_it = Command::new(starter[0]);
        try_it.args(&starter[1..]).args(["mount", "-t", "tmpfs", "tmpfs", "/tmp"]);
        try_it.output().is_ok_and(|output| output.status.success())
    };
    let found = [AS_ROOT, AS_USER].into_iter().find(works);
    if found.is_none() {
        report_missing_part("a mount namespace");
    }
    found
}

/// Says that this machine lacks a part and the rest of the test is skipped. Fails in CI.
pub fn report_missing_part(part: &str) {
    eprintln!("SKIPPED: {part} is missing or does not work here");
    assert!(std::env::var_os("CI").is_none(), "CI leaves nothing untested: {part}");
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until a condition holds, with a generous deadline.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Processes whose command line names this path.
pub fn processes_naming(path: &Path) -> Vec<u32> {
    let needle = path.to_string_lossy().into_owned();
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| *pid != std::process::id())
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| text(&c).contains(&needle))
        })
        .collect()
}
