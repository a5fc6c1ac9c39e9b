//! What every test here stands on: a folder with a space in its name, calls that carry a token in
//! their environment, and the check that no process with that token is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gambrel_actions::{Settings, ShellAction};
use gambrel_model::{Action, Call, End, Job, Limits, Outcome, Program, Shell};
use rustix::process::{Pid, Signal, kill_process};

const TOKEN: &str = "GAMBREL_TEST_TOKEN";

/// The place of one test.
pub struct Stand {
    pub dir: tempfile::TempDir,
    pub settings: Settings,
    token: String,
}

impl Stand {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = tempfile::Builder::new().prefix("a place ").tempdir().unwrap();
        let settings = Settings {
            spill_dir: Some(dir.path().join("spill")),
            supervisor: Some(host()),
            ..Settings::default()
        };
        Self { dir, settings, token: format!("{}-{count}", std::process::id()) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A call of `/bin/sh` with ten seconds.
    pub fn sh(&self, text: &str) -> Call {
        self.call(Program::Shell { shell: Shell::Sh, text: text.to_owned() })
    }

    pub fn exec(&self, argv: &[&str]) -> Call {
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

    pub fn script(&self, name: &str, text: &str) -> PathBuf {
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

    /// The host program on one call; its outcome goes to the file `outcome`.
    pub fn host(&self, call: &Call, errand: Option<&Path>) -> Child {
        self.host_command(call, errand).spawn().unwrap()
    }

    pub fn host_command(&self, call: &Call, errand: Option<&Path>) -> Command {
        let file = self.path("call.json");
        fs::write(&file, serde_json::to_vec(call).unwrap()).unwrap();
        let mut command = Command::new(host());
        command.arg("run").arg(self.path("outcome")).args(errand).env("CALL_FILE", file);
        command.env("SPILL_DIR", self.path("spill")).env(TOKEN, &self.token);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// An outcome that somebody else writes.
    pub fn outcome(&self, file: &Path) -> Outcome {
        eventually("an outcome", || file.exists());
        serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
    }

    /// Whether processes of this test run.
    pub fn living(&self) -> Vec<u32> {
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

    pub fn nobody_is_left(&self) {
        eventually("the end of all processes", || self.living().is_empty());
    }
}

impl Drop for Stand {
    /// A test that failed must not leave to others what it could not end.
    fn drop(&mut self) {
        for pid in self.living().into_iter().filter_map(|pid| Pid::from_raw(pid as i32)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The example `supervisor`, which `cargo test` builds beside the tests.
pub fn host() -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let path = exe.parent().and_then(Path::parent).unwrap().join("examples/supervisor");
    assert!(path.exists(), "{} is missing: build the examples of this crate", path.display());
    path
}

/// Waits for something, and fails when it does not come.
pub fn eventually(what: &str, mut happened: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(15);
    while !happened() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The promise of every answer: within the timeout and one second. The machine that runs the
/// tests may be busy with something else, so a second more is forgiven.
pub fn in_time(outcome: &Outcome, call: &Call) {
    let limit = call.limits.timeout + Duration::from_secs(2);
    assert!(outcome.elapsed < limit, "took {:?} of {limit:?}", outcome.elapsed);
}

pub fn text(outcome: &Outcome) -> String {
    outcome.stdout.text()
}

pub fn unstarted(outcome: &Outcome) -> &str {
    match &outcome.end {
        End::FailedToStart(reason) => reason,
        other => panic!("it started: {other:?}"),
    }
}
