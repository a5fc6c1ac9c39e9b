//! `gambrel doctor`: what of the machine is there, and what is not. Always says what would follow.

mod host;

use std::net::TcpListener;
use std::path::PathBuf;

use gambrel::Gambrel;
use gambrel::model::{SessionState, Severity};
use serde_json::{Value, json};

use crate::args::JsonArgs;
use crate::{look, printer};

/// The port on which contract 002 is called back.
const CALLBACK_PORT: u16 = 8765;

struct Finding {
    name: &'static str,
    ok: bool,
    what: String,
}

/// Looks around.
pub fn run(folder: Option<PathBuf>, args: &JsonArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::open(look::setup(folder, None)?);
    let mut findings = vec![ledger(&gambrel), hooks(&gambrel), trust(&gambrel)];
    let path = gambrel.setup().env.get("PATH").cloned().unwrap_or_default();
    let programs: [(&'static str, &str); 6] = [
        ("sh", "shell hooks of contracts 001 and 003 do not run"),
        ("bash", "002 falls back to sh; .sh team hooks do not run"),
        ("node", "team hooks in .js and .mjs do not run, nor modules that need npm packages"),
        ("bun", "modules that need npm packages go to node instead"),
        ("pwsh", "hooks with `shell: powershell` do not run"),
        ("git", "changed files are not known"),
    ];
    findings.extend(programs.iter().map(|(name, without)| program(name, without, &path)));
    findings.extend(host::findings(&gambrel, &path));
    findings.extend([callback(), processes(gambrel.settings().isolate), sandbox()]);
    let broken = findings.iter().take(3).any(|finding| !finding.ok);
    show(&findings, args.json);
    Ok(u8::from(broken))
}

fn ledger(gambrel: &Gambrel) -> Finding {
    let place = gambrel.setup().state_dir();
    let Some(place) = place else {
        let what = "no state folder: set HOME or GAMBREL_STATE_DIR; nothing is remembered".into();
        return Finding { name: "ledger", ok: false, what };
    };
    let mut touch = |state: &mut SessionState| state.counts.clear();
    match gambrel.ledger().amend("gambrel-doctor", &mut touch) {
        Ok(()) => Finding { name: "ledger", ok: true, what: place.display().to_string() },
        Err(error) => Finding { name: "ledger", ok: false, what: error.to_string() },
    }
}

fn hooks(gambrel: &Gambrel) -> Finding {
    let loaded = gambrel.load(None);
    let errors = loaded.complaints.iter().filter(|c| c.severity == Severity::Error).count();
    let what = match errors {
        0 => format!("{} found", loaded.hooks.len()),
        _ => format!("{} found, {errors} errors: run `gambrel check`", loaded.hooks.len()),
    };
    Finding { name: "hooks", ok: errors == 0, what }
}

fn trust(gambrel: &Gambrel) -> Finding {
    match gambrel.ledger().trust() {
        Ok(entries) => {
            Finding { name: "trust", ok: true, what: format!("{} entries", entries.len()) }
        }
        Err(error) => Finding { name: "trust", ok: false, what: error.to_string() },
    }
}

fn program(name: &'static str, without: &str, path: &str) -> Finding {
    let found = std::env::split_paths(path).map(|dir| dir.join(name)).find(|file| file.is_file());
    match found {
        Some(file) => Finding { name, ok: true, what: file.display().to_string() },
        None => Finding { name, ok: false, what: format!("not found: {without}") },
    }
}

fn callback() -> Finding {
    let name = "callback port";
    match TcpListener::bind(("127.0.0.1", CALLBACK_PORT)) {
        Ok(_) => Finding { name, ok: true, what: format!("{CALLBACK_PORT} is free") },
        Err(error) => Finding { name, ok: false, what: format!("{CALLBACK_PORT}: {error}") },
    }
}

/// How everything that a hook started is ended here.
fn processes(isolates: bool) -> Finding {
    let children = std::fs::read("/proc/thread-self/children").is_ok();
    let found = match children {
        true => "late ones are swept through /proc",
        false => "no list of children in /proc: a hook that leaves its session may escape",
    };
    let usual = format!(
        "killed with gambrel by the kernel (not hooks of Claude Code), by a watchdog after 50 ms, \
         else at the next start; {found}"
    );
    let tried = gambrel::actions::try_isolation();
    let ok = children && (tried.is_ok() || !isolates);
    let what = match (isolates, tried) {
        (true, Ok(())) => {
            "isolate is on and works: the kernel ends everything that a hook started \
                           when the hook or gambrel ends"
                .to_owned()
        }
        (true, Err(why)) => format!("no hook starts here: {why}"),
        (false, Ok(())) => format!("{usual}; isolate is off, would work here"),
        (false, Err(_)) => format!("{usual}; isolate is off, is refused here"),
    };
    Finding { name: "processes", ok, what }
}

fn sandbox() -> Finding {
    let abi = std::fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_default();
    let what = match abi.contains("landlock") {
        true => "landlock is there; hooks are not sandboxed yet",
        false => "no landlock seen; hooks are not sandboxed",
    };
    Finding { name: "sandbox", ok: abi.contains("landlock"), what: what.into() }
}

fn show(findings: &[Finding], as_json: bool) {
    if as_json {
        let list = findings.iter().map(|f| json!({"name": f.name, "ok": f.ok, "what": f.what}));
        return printer::json(&list.collect::<Value>());
    }
    let row = |f: &Finding| {
        vec![if f.ok { "ok" } else { "--" }.into(), f.name.to_owned(), printer::line(&f.what, 200)]
    };
    let rows: Vec<Vec<String>> = findings.iter().map(row).collect();
    printer::out(&printer::table(&["", "PART", "WHAT"], &rows));
}
