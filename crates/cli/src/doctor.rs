//! `gambrel doctor`: checks the environment and states the consequence of each missing part.

mod acp_agents;
mod claude_code;

use std::net::TcpListener;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use gambrel::Gambrel;
use gambrel_model::{SessionState, Severity};
use serde_json::{Value, json};

use crate::args::JsonArgs;
use crate::open;
use crate::printer::{self, diagnostic};

/// The default `callback_port` of agent-pipelines.
const CALLBACK_PORT: u16 = 8765;

struct Finding {
    name: &'static str,
    ok: bool,
    what: String,
}

/// Runs all checks and prints their findings.
pub fn run(folder: Option<PathBuf>, args: &JsonArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let mut findings = vec![check_ledger(&gambrel), check_hooks(&gambrel), check_trust(&gambrel)];

    let path = gambrel.setup().env.get("PATH").cloned().unwrap_or_default();
    let programs: [(&'static str, &str); 6] = [
        ("sh", "shell hooks of Claude Code and iteratr do not run"),
        ("bash", "agent-pipelines falls back to sh; pi-teams hooks in .sh do not run"),
        ("node", "pi-teams hooks in .js and .mjs do not run, nor modules that need npm packages"),
        ("bun", "modules that need npm packages go to node instead"),
        ("pwsh", "hooks with `shell: powershell` do not run"),
        ("git", "changed files are not known"),
    ];

    findings.extend(programs.iter().map(|(name, without)| check_program(name, without, &path)));
    findings.extend(claude_code::check_claude_code(&gambrel, &path));
    findings.extend(acp_agents::check_acp_agents(&gambrel, &path));
    findings.extend([
        check_callback_port(),
        check_processes(gambrel.build_settings().isolate),
        check_sandbox(),
    ]);
    findings.extend([check_verified_exec(&gambrel), check_environment(&gambrel)]);

    let broken = findings.iter().take(3).any(|finding| !finding.ok);
    print_findings(&findings, args.json);
    Ok(u8::from(broken))
}

fn check_ledger(gambrel: &Gambrel) -> Finding {
    let place = gambrel.setup().state_dir();
    let Some(place) = place else {
        let what = "no state folder: set HOME or GAMBREL_STATE_DIR; nothing is remembered".into();
        return Finding { name: "ledger", ok: false, what };
    };
    let mut touch = |state: &mut SessionState| state.counts.clear();
    match gambrel.ledger().update_session("gambrel-doctor", &mut touch) {
        Ok(()) => Finding { name: "ledger", ok: true, what: place.display().to_string() },
        Err(error) => Finding { name: "ledger", ok: false, what: error.to_string() },
    }
}

fn check_hooks(gambrel: &Gambrel) -> Finding {
    let loaded = gambrel.load_hooks(None);
    let errors = loaded.complaints.iter().filter(|c| c.severity == Severity::Error).count();
    let what = match errors {
        0 => format!("{} found", loaded.hooks.len()),
        _ => {
            let errors = printer::format_quantity(errors, "error");
            format!("{} found, {errors}: run `gambrel check`", loaded.hooks.len())
        }
    };
    Finding { name: "hooks", ok: errors == 0, what }
}

fn check_trust(gambrel: &Gambrel) -> Finding {
    match gambrel.trust_store().trust_entries() {
        Ok(entries) => {
            let by_variable = gambrel.setup().options.trusts_all_by == Some(open::TRUST_VARIABLE);
            let all =
                if by_variable { format!("; {}", open::TRUSTS_ALL_WARNING) } else { String::new() };
            let noun = if entries.len() == 1 { "entry" } else { "entries" };
            let what = format!("{} {noun}{all}", entries.len());
            Finding { name: "trust", ok: true, what }
        }
        Err(error) => Finding { name: "trust", ok: false, what: error.to_string() },
    }
}

fn check_program(name: &'static str, without: &str, path: &str) -> Finding {
    let found = std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| file.is_file());
    match found {
        Some(file) => Finding { name, ok: true, what: file.display().to_string() },
        None => Finding { name, ok: false, what: format!("not found: {without}") },
    }
}

fn check_callback_port() -> Finding {
    let name = "callback port";
    match TcpListener::bind(("127.0.0.1", CALLBACK_PORT)) {
        Ok(_) => Finding { name, ok: true, what: format!("{CALLBACK_PORT} is free") },
        Err(error) => Finding { name, ok: false, what: format!("{CALLBACK_PORT}: {error}") },
    }
}

/// How the processes of a hook are killed on this machine.
fn check_processes(isolates: bool) -> Finding {
    let children = std::fs::read("/proc/thread-self/children").is_ok();
    let found = match children {
        true => "others are found through /proc",
        false => "no list of children in /proc: a hook that leaves its session may escape",
    };
    let usual = format!(
        "killed with gambrel by the kernel (not hooks of Claude Code), by a watchdog after 50 ms, \
         else at the next start; {found}"
    );

    let tried = gambrel_actions::try_isolation();
    let ok = children && (tried.is_ok() || !isolates);
    let what = match (isolates, tried) {
        (true, Ok(())) => {
            "isolate is on and works: the kernel kills all processes of a hook when the hook or \
             gambrel ends"
                .to_owned()
        }
        (true, Err(why)) => format!("no hook starts here: {why}"),
        (false, Ok(())) => format!("{usual}; isolate is off, would work here"),
        (false, Err(_)) => format!("{usual}; isolate is off, is refused here"),
    };
    Finding { name: "processes", ok, what }
}

/// Whether `--verified-exec` works on this machine.
fn check_verified_exec(gambrel: &Gambrel) -> Finding {
    let wanted = gambrel.setup().options.verified_exec;
    let tried = try_verified_exec(gambrel);
    let ok = tried.is_ok() || !wanted;
    let what = match (wanted, tried) {
        (true, Ok(())) => "on and works: only the hashed bytes of a trusted hook run".to_owned(),
        (true, Err(why)) => format!("no trusted hook starts here: {why}"),
        (false, Ok(())) => {
            "off, would work here; files that change while a hook runs are noticed after it ends"
                .to_owned()
        }
        (false, Err(why)) => format!("off, is refused here: {why}"),
    };
    Finding { name: "verified_exec", ok, what }
}

/// Tests it with a script that fails unless other bytes run in its place.
fn try_verified_exec(gambrel: &Gambrel) -> anyhow::Result<()> {
    let folder = gambrel.setup().state_dir().context("verified_exec: no state folder")?;
    let folder = folder.join(format!("doctor-{}", std::process::id()));
    let file = folder.join("probe");

    let made = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, "exit 1\n"));
    let tried = match made {
        Ok(()) => gambrel_actions::try_verified_exec(&file).map_err(Into::into),
        Err(error) => Err(anyhow!("verified_exec: {}: {error}", file.display())),
    };
    // A folder that cannot be removed has at most this one small file.
    let _left = std::fs::remove_dir_all(&folder);
    tried
}

/// Environment variables that are ignored because a project file sets them.
fn check_environment(gambrel: &Gambrel) -> Finding {
    let complaints = &gambrel.setup().complaints;
    let what = match complaints.is_empty() {
        true => "no project file sets a variable that gambrel reads".to_owned(),
        false => complaints.iter().map(diagnostic::short_line).collect::<Vec<_>>().join("; "),
    };
    Finding { name: "environment", ok: complaints.is_empty(), what }
}

fn check_sandbox() -> Finding {
    let abi = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    let what = match abi.contains("landlock") {
        true => "landlock is available; hooks are not sandboxed yet",
        false => "landlock is not available; hooks are not sandboxed",
    };
    Finding { name: "sandbox", ok: abi.contains("landlock"), what: what.into() }
}

fn print_findings(findings: &[Finding], as_json: bool) {
    if as_json {
        let list = findings.iter().map(|f| json!({"name": f.name, "ok": f.ok, "what": f.what}));
        return printer::print_json(&list.collect::<Value>());
    }

    let row = |f: &Finding| {
        vec![
            if f.ok { "ok" } else { "--" }.into(),
            f.name.to_owned(),
            printer::truncate_line(&f.what, 200),
        ]
    };
    let rows: Vec<Vec<String>> = findings.iter().map(row).collect();
    printer::print(&printer::format_table(&["", "CHECK", "RESULT"], &rows));
}
