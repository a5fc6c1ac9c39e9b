//! The fixture of every test: a directory with a space in its name, and calls with a token in their
//! environment. It checks that no process with that token is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gambrel_actions::{Settings, ShellAction};
use gambrel_model::{Action, Call, End, Job, Limits, Outcome, Program, Shell};
use rustix::process::{Pid, Signal, kill_process};

const TOKEN: &str = "GAMBREL_TEST_TOKEN";

/// The directory, settings and token of one test.
pub struct HookFixture {
    pub dir: tempfile::TempDir,
    pub settings: Settings,
    token: String,
}

impl HookFixture {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = tempfile::Builder::new().prefix("a place ").tempdir().unwrap();
        let settings = Settings {
            spill_dir: Some(dir.path().join("spill")),
            supervisor: Some(host_program()),
            ..Settings::default()
        };
        Self { dir, settings, token: format!("{}-{count}", std::process::id()) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A call of `/bin/sh` with a timeout of ten seconds.
    pub fn sh_call(&self, text: &str) -> Call {
        self.call(Program::Shell { shell: Shell::Sh, text: text.to_owned() })
    }

    pub fn exec_call(&self, argv: &[&str]) -> Call {
        self.call(Program::Exec(argv.iter().map(|word| (*word).to_owned()).collect()))
    }

    pub fn call(&self, program: Program) -> Call {
        Call {
            program,
            env: vec![(TOKEN.to_owned(), self.token.clone())],
            cwd: self.dir.path().to_owned(),
            limits: Limits { timeout: Duration::from_secs(10), ..Limits::default() },
            ..Call::default()
        }
    }

    pub fn write_script(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub fn run(&self, call: &Call) -> Outcome {
        self.run_all(std::slice::from_ref(call)).remove(0)
    }

    pub fn run_all(&self, calls: &[Call]) -> Vec<Outcome> {
        let jobs: Vec<Job> = calls.iter().map(|call| Job { call, record: None }).collect();
        ShellAction::new(self.settings.clone()).run(&jobs)
    }

    /// Starts the host program with one call; its outcome goes to the file `outcome`.
    pub fn spawn_host(&self, call: &Call, record: Option<&Path>) -> Child {
        self.host_command(call, record).spawn().unwrap()
    }

    pub fn host_command(&self, call: &Call, record: Option<&Path>) -> Command {
        let file = self.path("call.json");
        fs::write(&file, serde_json::to_vec(call).unwrap()).unwrap();
        let mut command = Command::new(host_program());
        command.arg("run").arg(self.path("outcome")).args(record).env("CALL_FILE", file);
        command.env("SPILL_DIR", self.path("spill")).env(TOKEN, &self.token);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Waits for an outcome that another process writes.
    pub fn wait_for_outcome(&self, file: &Path) -> Outcome {
        wait_until("an outcome", || file.exists());
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }

    /// The processes of this test that still run.
    pub fn living_pids(&self) -> Vec<u32> {
        let wanted = format!("{TOKEN}={}", self.token);
        let pids = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        })
        .collect()
    }

    pub fn assert_no_processes_left(&self) {
        wait_until("the end of all processes", || self.living_pids().is_empty());
    }
}

impl Drop for HookFixture {
    /// Kills processes that a failed test left.
    fn drop(&mut self) {
        for pid in self.living_pids().into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The example `supervisor`, which `cargo test` builds beside the tests.
pub fn host_program() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let path = exe.parent().and_then(Path::parent).unwrap().join("examples/supervisor");
    assert!(path.exists(), "{} is missing: build the examples of this crate", path.display());
    path
}

/// Polls a condition and fails when it does not become true.
pub fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(15);
    while !happened() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Checks that the answer came within the timeout and one second. The test machine may be busy, so
/// another second is allowed.
pub fn assert_in_time(outcome: &Outcome, call: &Call) {
    let limit = call.limits.timeout + Duration::from_secs(2);
    assert!(outcome.elapsed < limit, "took {:?} of {limit:?}", outcome.elapsed);
}

pub fn stdout_text(outcome: &Outcome) -> String {
    outcome.stdout.to_text()
}

pub fn start_failure(outcome: &Outcome) -> &str {
    match &outcome.end {
        End::FailedToStart(reason) => reason,
        other => panic!("it started: {other:?}"),
    }
}
