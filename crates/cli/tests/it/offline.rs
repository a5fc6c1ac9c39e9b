//! Runs a test without a network: the test executable starts itself again in a network namespace
//! with only loopback, if the system allows it.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::external_tools::run_to_end;

/// Set inside the namespace, so that a test starts itself again only once.
const INSIDE: &str = "GAMBREL_TEST_IS_OFFLINE";
/// For a test that starts real agents, on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(240);
const WITH_LOOPBACK: &str = "ip link set lo up && exec \"$0\" \"$@\"";

/// The name of the test that contains the closure `S`, from its type name.
pub fn test_name<S>() -> &'static str {
    let name = std::any::type_name::<S>().trim_end_matches("::{{closure}}");
    name.split_once("::").map_or(name, |(_, rest)| rest)
}

/// Runs the test `name` in its own network namespace.
pub fn run_offline(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let Some(unshare) = unshare_args() else { return test() };
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-c", WITH_LOOPBACK]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    let (code, stdout, stderr) = run_to_end(&mut command, TEST_TIMEOUT);
    eprint!("{stderr}");
    // An unknown test name would pass without running anything.
    let ran = code == Some(0) && stdout.contains("1 passed");
    assert!(ran, "{name} failed without a network:\n{stdout}");
}

/// Options with which `unshare` works on this machine. Prints a notice if there are none.
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
            eprintln!("no network namespace is allowed here: agents run with the network");
        }
        found
    })
}
