//! Runs a test without a network, or with its own host names: the test executable starts itself
//! again in a network namespace with only loopback, if the system allows it.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::external_tools::run_to_end;
use crate::test_project::report_missing_part;

/// Set inside the namespace, so that a test starts itself again only once.
const INSIDE: &str = "GAMBREL_TEST_IS_OFFLINE";
/// For a test that starts real agents, on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(240);
/// Binds the files in HOSTS and RESOLVER over those of the system.
const WITH_OWN_NAMES: &str = "ip link set lo up && mount --bind \"$HOSTS\" /etc/hosts \
     && mount --bind \"$RESOLVER\" /etc/resolv.conf && exec \"$0\" \"$@\"";
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

/// Runs the test `name` with this hosts file and a name server on loopback. Without the right to do
/// so nothing is tested, which is an error in CI.
pub fn run_with_own_names(name: &str, hosts: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let folder = tempfile::tempdir().unwrap();
    let (hosts_file, resolver) = (folder.path().join("hosts"), folder.path().join("resolver"));
    std::fs::write(&hosts_file, hosts).unwrap();
    std::fs::write(&resolver, "nameserver 127.0.0.1\n").unwrap();
    let command = |options: &[&str], args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).args(["--mount", "sh", "-c", WITH_OWN_NAMES]).args(args);
        command.env("HOSTS", &hosts_file).env("RESOLVER", &resolver).env(INSIDE, "1");
        command
    };
    let works = |options: &&&[&str]| {
        command(options, &["true"]).output().is_ok_and(|output| output.status.success())
    };
    let Some(options) = [AS_ROOT, AS_USER].iter().find(works) else {
        return report_missing_part("a mount namespace for own host names");
    };
    let own = std::env::current_exe().unwrap().display().to_string();
    let mut command = command(options, &[&own, "--exact", name, "--nocapture"]);
    let (code, stdout, stderr) = run_to_end(&mut command, TEST_TIMEOUT);
    let ran = code == Some(0) && stdout.contains("1 passed");
    assert!(ran, "{name} failed with its own host names:\n{stdout}{stderr}");
}

const AS_ROOT: &[&str] = &["--net"];
const AS_USER: &[&str] = &["--user", "--map-root-user", "--net"];

/// Options with which `unshare` works on this machine. Prints a notice if there are none.
fn unshare_args() -> Option<&'static [&'static str]> {
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
