//! Runs a test without a network: the test executable starts itself again in a network namespace
//! that has only loopback, where the system allows that.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::outside::finish;

/// Set inside the namespace, so that a test starts itself again only once.
const INSIDE: &str = "CLAUDE_CODE_TEST_IS_OFFLINE";
/// For all versions of one scene, on a machine with other work.
const SCENE_TIMEOUT: Duration = Duration::from_secs(240);
const WITH_LOOPBACK: &str = "ip link set lo up && exec \"$0\" \"$@\"";

/// Runs `scene`, which is the test `name`, in a namespace of its own.
pub fn run_offline(name: &str, scene: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return scene();
    }
    let Some(unshare) = unshare_args() else { return scene() };
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-c", WITH_LOOPBACK]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    let (code, stdout, stderr) = finish(&mut command, SCENE_TIMEOUT);
    eprint!("{stderr}");
    // A name that is no test would pass with nothing run.
    let ran = code == Some(0) && stdout.contains("1 passed");
    assert!(ran, "{name} failed without a network:\n{stdout}");
}

/// The options with which `unshare` makes a namespace here, or nothing with a word about it.
fn unshare_args() -> Option<&'static [&'static str]> {
    const AS_ROOT: &[&str] = &["--net"];
    const AS_USER: &[&str] = &["--user", "--map-root-user", "--net"];
    static ARGS: OnceLock<Option<&[&str]>> = OnceLock::new();
    *ARGS.get_or_init(|| {
        let found = [AS_ROOT, AS_USER].into_iter().find(|args| {
            let mut try_it = Command::new("unshare");
            try_it.args(*args).args(["sh", "-c", WITH_LOOPBACK, "true"]);
            try_it.output().is_ok_and(|output| output.status.success())
        });
        if found.is_none() {
            eprintln!("no network namespace is allowed here: Claude Code runs with the network");
        }
        found
    })
}
