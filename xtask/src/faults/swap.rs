//! Row `swap`: an attacker replaces a trusted script while `gambrel fire` runs it. The other script
//! creates a file, which shows that it ran.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, anyhow};

use super::project::{TestProject, guard_settings, path_text, tool_event};
use super::{GoalState, Measured, Options};

/// How many projects are attacked in parallel.
const MAX_CONCURRENT_PROJECTS: usize = 4;
/// The trusted script. Its output shows that it ran.
const TRUSTED_SCRIPT: &str = "#!/bin/sh\necho good >&2\nexit 2\n";
/// Ways to replace the script. Each is a loop with random delays that restores the trusted script.
const METHODS: [&str; 4] = ["rename", "link", "write", "folder"];

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let count = options.row_count(100, 10_000);
    let paths = options.row_count(100, 10_000);
    let mut rows = vec![row_by_path(paths, &run_all(options, paths, &[])?)];
    rows.push(row_verified(count, &run_all(options, count, &["--verified-exec"])?));
    Ok(rows)
}

/// Counts of firing results.
#[derive(Default)]
struct SwapCounts {
    /// The trusted script denied.
    denied: usize,
    /// The change was found before the start.
    skipped: usize,
    /// The other script ran.
    swapped: usize,
    /// The other script ran, and the user received no message.
    unreported: usize,
    /// Neither script answered, and the user received no message.
    silent: usize,
    /// The hook could not be started, and the user received a message.
    refused: usize,
}

fn row_by_path(count: usize, found: &SwapCounts) -> Measured {
    Measured {
        what: "a script exchanged while `fire` runs it by path".into(),
        goal: "0 runs of the other script unreported",
        count,
        measured: describe_counts(found),
        // With a small count the attack may never succeed.
        held: (found.unreported == 0 && found.silent == 0).into(),
    }
}

fn row_verified(count: usize, found: &SwapCounts) -> Measured {
    let held = match found.refused == count {
        true => GoalState::NotRun,
        false => (found.swapped == 0 && found.silent == 0).into(),
    };
    Measured {
        what: "the same with `--verified-exec`".into(),
        goal: "0 runs of the other script",
        count,
        measured: describe_counts(found),
        held,
    }
}

fn describe_counts(found: &SwapCounts) -> String {
    let SwapCounts { denied, skipped, swapped, unreported, silent, refused } = found;
    format!(
        "{swapped} ran the other script, {unreported} of them unreported; {denied} denied by the \
         trusted one, {skipped} skipped as changed, {refused} not started, {silent} open without a \
         word"
    )
}

fn run_all(options: &Options, count: usize, flags: &[&str]) -> anyhow::Result<SwapCounts> {
    let next = AtomicUsize::new(0);
    let all = thread::scope(|scope| {
        let next = &next;
        let start =
            |n: usize| scope.spawn(move || attack_project(options, n, (next, count), flags));
        let threads: Vec<_> = (0..MAX_CONCURRENT_PROJECTS).map(start).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| anyhow!("an attack panicked")).and_then(|counted| counted)
        });
        joined.collect::<anyhow::Result<Vec<SwapCounts>>>()
    })?;
    Ok(all.into_iter().fold(SwapCounts::default(), SwapCounts::add))
}

impl SwapCounts {
    fn add(self, other: Self) -> Self {
        Self {
            denied: self.denied + other.denied,
            skipped: self.skipped + other.skipped,
            swapped: self.swapped + other.swapped,
            unreported: self.unreported + other.unreported,
            silent: self.silent + other.silent,
            refused: self.refused + other.refused,
        }
    }
}

/// Fires in one project, under one kind of attack, until all firings are done.
fn attack_project(
    options: &Options,
    n: usize,
    (next, count): (&AtomicUsize, usize),
    flags: &[&str],
) -> anyhow::Result<SwapCounts> {
    let project = TestProject::new(options)?.with_trust_store();
    let ran = project.base.join("ran");
    let bad = format!("#!/bin/sh\ntouch '{}'\nexit 0\n", path_text(&ran));
    let script = project.write_file("hooks/guard.sh", TRUSTED_SCRIPT)?;
    project.write_file("other/guard.sh", &bad)?;
    make_executable(&script)?;
    make_executable(&project.root.join("other/guard.sh"))?;
    let settings = guard_settings("\"$CLAUDE_PROJECT_DIR\"/hooks/guard.sh", 20);
    project.write_file(".claude/settings.json", &settings)?;
    project.trust_all()?;

    let attacker = Attacker::start(&project, METHODS[n % METHODS.len()])?;
    let mut counted = SwapCounts::default();
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        if at >= count {
            break;
        }
        fire_and_count(&project, &ran, (at, flags), &mut counted)?;
        if at % 1_000 == 999 {
            eprintln!("faults: swap: {} of {count}", at + 1);
        }
    }
    drop(attacker);
    Ok(counted)
}

fn fire_and_count(
    project: &TestProject,
    ran: &Path,
    (at, flags): (usize, &[&str]),
    counted: &mut SwapCounts,
) -> anyhow::Result<()> {
    let args = [&["fire", "--from", "claude"], flags].concat();
    let event = tool_event(&format!("swap-{at}")).to_string();
    let ended = project.run(&args, event.as_bytes())?;
    let message = ended.reply()["systemMessage"].as_str().unwrap_or_default().to_owned();
    let changed = message.contains("changed while it ran");
    let swapped = fs::remove_file(ran).is_ok();
    counted.swapped += usize::from(swapped);
    counted.unreported += usize::from(swapped && !changed);

    match ended.reply()["hookSpecificOutput"]["permissionDecisionReason"].as_str() {
        Some(why) if why.contains("good") => counted.denied += 1,
        _ if swapped || changed => {}
        _ if message.contains("verified_exec") => counted.refused += 1,
        _ if message.contains("changed") || message.contains("not found") => counted.skipped += 1,
        _ if message.is_empty() => counted.silent += 1,
        _ => counted.skipped += 1,
    }
    Ok(())
}

fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// A process that replaces the script until it is dropped.
struct Attacker(Child);

impl Attacker {
    fn start(project: &TestProject, method: &str) -> anyhow::Result<Self> {
        let program: PathBuf = project.base.join("attack.py");
        fs::write(&program, ATTACK_SCRIPT)?;
        let mut command = Command::new("python3");
        command.arg(&program).arg(&project.root).arg(method).stdin(Stdio::null());
        Ok(Self(command.spawn().context("python3")?))
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        // If the kill fails, the loop ends when its folder is removed.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Puts the other script in place for a few milliseconds, then the trusted one for longer, so that
/// the check often passes.
const ATTACK_SCRIPT: &str = r#"
import os, random, shutil, sys, time
root, way = sys.argv[1], sys.argv[2]
os.chdir(root)
good, bad = open("hooks/guard.sh").read(), open("other/guard.sh").read()
def pause(most): time.sleep(random.random() * most)
def copy(text, name):
    with open(name, "w") as file: file.write(text)
    os.chmod(name, 0o755)
def by_rename():
    copy(bad, "hooks/tmp"); os.rename("hooks/tmp", "hooks/guard.sh"); pause(0.006)
    copy(good, "hooks/tmp"); os.rename("hooks/tmp", "hooks/guard.sh")
def by_link():
    os.link("hooks/guard.sh", "hooks/kept"); copy(bad, "hooks/tmp")
    os.rename("hooks/tmp", "hooks/guard.sh"); pause(0.006)
    os.rename("hooks/kept", "hooks/guard.sh")
def by_write():
    old = os.stat("hooks/guard.sh")
    with open("hooks/guard.sh", "r+") as file:
        file.write(bad); file.truncate(); file.flush(); pause(0.006)
        file.seek(0); file.write(good); file.truncate()
    os.utime("hooks/guard.sh", ns=(old.st_atime_ns, old.st_mtime_ns))
def by_folder():
    os.rename("hooks", "kept"); os.rename("other", "hooks"); pause(0.006)
    os.rename("hooks", "other"); os.rename("kept", "hooks")
exchange = {"rename": by_rename, "link": by_link, "write": by_write, "folder": by_folder}[way]
while os.path.exists(root):
    try:
        exchange()
    except OSError:
        pass # the script is being executed, or the project is being removed
    pause(0.04)
"#;
