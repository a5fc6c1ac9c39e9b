//! The checks of `gambrel doctor` for Claude Code: its version, entries in its settings that call
//! gambrel, and its last call.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use gambrel::{Gambrel, Loaded};
use gambrel_dialects::claude::CLAUDE;
use gambrel_engine::describe_uncovered;
use gambrel_model::ledger::{FiringQuery, FiringRecord, RecordedFiring};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Finding;

/// The dialect of the checked agent.
const DIALECT: &str = CLAUDE.name;
/// The agent's program.
const PROGRAM: &str = CLAUDE.properties.agents[0];
/// Time limit of `claude --version`.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How many of the newest firings are searched.
const MAX_FIRING_COUNT: usize = 500;

/// All findings about Claude Code.
pub fn check_claude_code(gambrel: &Gambrel, path: &str) -> Vec<Finding> {
    let loaded = gambrel.load_hooks(None);
    let mut findings =
        vec![check_agent_program(path), check_entries(&loaded), check_calls(gambrel, &loaded)];
    let gap = Gambrel::dialect_by_name(DIALECT).and_then(|host| describe_uncovered(&loaded, host));
    findings.extend(gap.map(|what| Finding { name: "events", ok: false, what }));
    findings
}

fn check_agent_program(path: &str) -> Finding {
    let name = "Claude Code";
    let found = std::env::split_paths(path).map(|dir| dir.join(PROGRAM)).find(|f| f.is_file());
    let Some(file) = found else {
        let what = format!("not found: `{PROGRAM}` is not on PATH");
        return Finding { name, ok: false, what };
    };
    match read_version(&file) {
        Ok(version) => Finding { name, ok: true, what: format!("{version}, {}", file.display()) },
        Err(why) => Finding { name, ok: false, what: format!("{}: {why}", file.display()) },
    }
}

/// Runs `claude --version` and returns its output.
fn read_version(file: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(file);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    // A group of its own, so that its children can be killed with it.
    command.process_group(0);
    let mut child = command.spawn()?;

    let deadline = Instant::now() + VERSION_TIMEOUT;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            kill_program(&mut child);
            bail!("`{PROGRAM} --version` did not answer within {} s", VERSION_TIMEOUT.as_secs());
        }
        std::thread::sleep(POLL_INTERVAL);
    }

    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(
        output.status.success() && !text.is_empty(),
        "`{PROGRAM} --version` failed: {}",
        output.status
    );
    Ok(text)
}

fn kill_program(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _gone = kill_process_group(group, Signal::KILL);
    }
    let _status = child.wait();
}

fn check_entries(loaded: &Loaded) -> Finding {
    let name = "entries";
    let mut files: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for (_, draft) in loaded.host_entries.iter().filter(|(d, _)| d.name == DIALECT) {
        *files.entry(draft.source.spot.path.clone()).or_default() += 1;
    }

    if files.is_empty() {
        let what = "none: run `gambrel install claude` to run hooks inside Claude Code".into();
        return Finding { name, ok: false, what };
    }

    let own = loaded.host_entries.iter().filter(|(d, _)| d.name == DIALECT);
    if let Some(off) = own.clone().find_map(|(_, draft)| draft.disabled.as_ref()) {
        return Finding { name, ok: false, what: off.why.clone() };
    }
    let counts = files.iter().map(|(path, count)| format!("{count} in {}", path.display()));
    Finding { name, ok: true, what: counts.collect::<Vec<_>>().join(", ") }
}

/// Whether the journal has a call of Claude Code.
fn check_calls(gambrel: &Gambrel, loaded: &Loaded) -> Finding {
    let name = "calls";
    let query = FiringQuery { limit: MAX_FIRING_COUNT, ..FiringQuery::default() };
    let firings = gambrel.durable_ledger().and_then(|ledger| {
        // `gambrel log` reports problems of the journal.
        let _later = ledger.import_unattended();
        ledger.firings(&query).ok()
    });
    let firings = firings.unwrap_or_default();

    let last = firings.iter().filter(|firing| is_from_host(firing)).max_by_key(|f| f.at);
    match last {
        Some(firing) => {
            let what = format!("Claude Code called gambrel last in session {}", firing.session);
            Finding { name, ok: true, what }
        }
        None if loaded.host_entries.is_empty() => {
            Finding { name, ok: false, what: "Claude Code never called gambrel".into() }
        }
        None => {
            let what = "Claude Code never called gambrel: start it here once, then run `gambrel doctor` again";
            Finding { name, ok: false, what: what.into() }
        }
    }
}

fn is_from_host(firing: &FiringRecord) -> bool {
    let recorded = RecordedFiring::new(firing);
    recorded.text("from") == DIALECT && *recorded.field("hosted") == true
}
