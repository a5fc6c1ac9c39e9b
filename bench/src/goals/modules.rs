//! Goal 12: a handler of a module in the embedded engine, against its limits, and beside the same
//! rule in node, in bun and in the product's own runner under bun.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gambrel::model::{Action, Call, Job};
use gambrel_script::{ModuleAction, ScriptSettings};
use serde_json::json;

use super::Ground;
use crate::child;
use crate::floor::Bare;
use crate::meter::{here, interleave};
use crate::programs::present;
use crate::report::Row;

/// The first example of oh-my-pi's hook documentation, in TypeScript and without its types.
const RULE: &str = r#"import type { HookAPI } from "@oh-my-pi/pi-coding-agent/hooks";

export default function (pi: HookAPI): void {
	pi.on("tool_call", async (event, ctx) => {
		if (event.toolName !== "bash") return;
		const cmd = String(event.input.command ?? "");
		if (!cmd.includes("rm -rf")) return;

		if (!ctx.hasUI) return { block: true, reason: "rm -rf blocked (no UI)" };
		const ok = await ctx.ui.confirm("Dangerous command", `Allow: ${cmd}`);
		if (!ok) return { block: true, reason: "user denied command" };
	});
}
"#;
/// The same rule as a command hook.
const HOOK: &str = r#"const event = JSON.parse(require("fs").readFileSync(0, "utf8"));
const cmd = String(event.input.command ?? "");
process.exit(event.toolName === "bash" && cmd.includes("rm -rf") ? 2 : 0);
"#;
const HOST: &str = include_str!("modules.mjs");
const PACKAGE: &str = "@oh-my-pi/pi-coding-agent";

/// The most that each may be.
const DISPATCH: f64 = 10.0;
const LOAD: f64 = 3_000.0;
const MEMORY: f64 = 512.0;
/// How many times less CPU than a node hook.
const LESS: f64 = 1_000.0;
/// Dispatches in one measured turn: one alone is shorter than the clock of CPU time ticks.
const TURN: usize = 200;

/// Every row.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let module = ground.folder.join("guard.ts");
    fs::write(&module, RULE)?;
    let [dispatch, tail, load, memory] = in_a_process_of_its_own(ground, &module)?;
    let tail = format!("99 of 100 within {tail:.1} µs");
    let mut rows = vec![
        limited("a module's handler, loaded / 10 µs", "µs", DISPATCH, dispatch).noting(tail),
        limited("a module's load with its first event / 3 ms", "µs", LOAD, load),
        limited("resident memory of one more loaded module / 0.5 MiB", "KiB", MEMORY, memory),
    ];
    let call = call(&module);
    let action = ModuleAction::new(ScriptSettings::default());
    once(&action, &call)?;
    if present("node") {
        rows.push(against_node(ground, &action, &call)?);
    }
    rows.extend(beside(ground, &module, dispatch)?);
    Ok(rows)
}

/// As the others are: this one has memory of earlier goals to give, and threads behind it.
fn in_a_process_of_its_own(ground: &Ground<'_>, module: &Path) -> anyhow::Result<[f64; 4]> {
    let (count, loads) = if ground.asked.quick { ("2000", "20") } else { ("20000", "100") };
    let mut own = Command::new(std::env::current_exe()?);
    own.args([child::WORD, "module"]).arg(module).args([count, loads]);
    let told = own.stderr(Stdio::inherit()).output()?;
    let told = String::from_utf8(told.stdout)?;
    let figures: Result<Vec<f64>, _> = told.split_whitespace().map(str::parse).collect();
    figures?.try_into().map_err(|_| anyhow::anyhow!("it told {told:?}"))
}

/// In that process: the typical dispatch, the slow ones, the load, and the memory of one more.
pub fn alone(module: &Path, count: usize, loads: usize) -> anyhow::Result<[f64; 4]> {
    let call = call(module);
    let memory = memory(&call)?;
    let action = ModuleAction::new(ScriptSettings::default());
    once(&action, &call)?;
    let times = repeat(count, || once(&action, &call))?;
    let loads = repeat(loads, || once(&ModuleAction::new(ScriptSettings::default()), &call))?;
    Ok([middle(&times, 0.5), middle(&times, 0.99), middle(&loads, 0.5), memory])
}

fn limited(what: &str, unit: &'static str, limit: f64, ours: f64) -> Row {
    Row::counted("12", what, unit, limit, ours).at_most(1.0)
}

fn call(module: &Path) -> Call {
    let event = json!({
        "type": "tool_call", "toolName": "bash", "toolCallId": "1",
        "input": {"command": "rm -rf /"},
    });
    let body = json!({
        "op": "emit", "path": module, "stop": "block", "catch": false,
        "ctx": {"cwd": "/", "hasUI": false}, "event": event,
    });
    Call { body, ..Call::default() }
}

fn once(action: &ModuleAction, call: &Call) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let outcomes = action.run(&[Job { call, record: None }]);
    let took = began.elapsed();
    let answer = outcomes.first().and_then(|outcome| outcome.answer.as_ref());
    let blocks = answer.is_some_and(|answer| answer["results"][0]["block"] == true);
    ensure!(blocks, "the rule does not block: {outcomes:?}");
    Ok(took)
}

fn repeat(
    count: usize,
    mut run: impl FnMut() -> anyhow::Result<Duration>,
) -> anyhow::Result<Vec<f64>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        times.push(run()?.as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// At this share of sorted values.
fn middle(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// What one more module takes, each read, transpiled, imported and asked once.
fn memory(call: &Call) -> anyhow::Result<f64> {
    const MODULES: usize = 64;
    let before = resident()?;
    let mut kept = Vec::new();
    for _ in 0..MODULES {
        let action = ModuleAction::new(ScriptSettings::default());
        once(&action, call)?;
        kept.push(action);
    }
    Ok((resident()? - before) / kept.len() as f64)
}

/// Resident memory in KiB.
fn resident() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no VmRSS")?.parse()?)
}

/// CPU of a dispatch, against a thousandth of what the same rule takes as a hook in node.
fn against_node(ground: &Ground<'_>, action: &ModuleAction, call: &Call) -> anyhow::Result<Row> {
    let script = ground.folder.join("guard.cjs");
    fs::write(&script, HOOK)?;
    let bare = Bare::new(&["/usr/bin/env", "node", &script.display().to_string()], &[])?;
    let event = call.body["event"].to_string().into_bytes();
    let mut candidates = [
        here(|| {
            let code = bare.run(&event)?.code;
            ensure!(code == 2, "the hook in node exited {code}");
            Ok(())
        }),
        here(|| (0..TURN).try_for_each(|_| once(action, call).map(drop))),
    ];
    let measured = interleave(ground.asked.effort(16, 4), &mut candidates)?;
    let (node, ours) = (measured[0].typical(), measured[1].typical() / TURN as f64);
    let what = "CPU of a module's handler / a thousandth of the same rule as a node hook";
    let note = format!("the hook in node: {node:.0} µs CPU, {:.0} times ours", node / ours);
    Ok(limited(what, "µs CPU", node / LESS, ours).noting(note))
}

/// The same rule in processes that stay, where their programs are there.
fn beside(ground: &Ground<'_>, module: &Path, ours: f64) -> anyhow::Result<Vec<Row>> {
    let (host, plain) = (ground.folder.join("modules.mjs"), ground.folder.join("guard.mjs"));
    fs::write(&host, HOST)?;
    let bare = RULE.lines().skip(1).map(|line| line.replace("(pi: HookAPI): void", "(pi)"));
    fs::write(&plain, bare.collect::<Vec<_>>().join("\n"))?;
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/node_modules");
    let bun = [tools.join(".bin/bun"), PathBuf::from("bun")];
    let bun = bun.into_iter().find(|bun| present(&bun.display().to_string()));
    let mut others = vec![];
    if present("node") {
        others.push(("called by node", PathBuf::from("node"), vec![plain.clone()]));
    }
    if let Some(bun) = bun {
        others.push(("called by bun", bun.clone(), vec![plain]));
        let package = tools.join(PACKAGE);
        if package.is_dir() {
            others.push(("in the real HookRunner under bun", bun, vec![module.into(), package]));
        }
    }
    let one = |(name, program, args): &(&str, PathBuf, Vec<PathBuf>)| {
        let (start, nanos) = other(program, &host, args).with_context(|| (*name).to_owned())?;
        let what = format!("a module's handler, loaded / the same {name}");
        let note = format!("that process took {start:.0} ms until its first answer");
        Ok(Row::counted("12", &what, "µs", nanos / 1e3, ours).noting(note))
    };
    others.iter().map(one).collect()
}

/// How long a process takes until it is ready, and what a dispatch takes in it.
fn other(program: &Path, host: &Path, args: &[PathBuf]) -> anyhow::Result<(f64, f64)> {
    let began = Instant::now();
    let mut command = Command::new(program);
    command.arg(host).args(args).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    let ready = lines.next().context("it said nothing")??;
    let start = began.elapsed().as_secs_f64() * 1e3;
    ensure!(ready == "ready", "it said {ready}");
    let nanos = lines.next().context("it told no figure")??.trim().parse()?;
    ensure!(child.wait()?.success(), "it failed");
    Ok((start, nanos))
}
