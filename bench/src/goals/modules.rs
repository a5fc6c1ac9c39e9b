//! Goal 12: a module handler in the embedded engine, against fixed limits, and compared with the
//! same rule in node, in bun and in oh-my-pi's own runner under bun.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gambrel_model::{Action, Call, Job};
use gambrel_script::{ModuleAction, ScriptSettings};
use serde_json::json;

use super::GoalContext;
use crate::child;
use crate::floor::BareProgram;
use crate::meter::{in_process, interleave};
use crate::programs::{can_measure, is_installed};
use crate::report::Row;

/// The first example of oh-my-pi's hook documentation.
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
const COMPARISON_SCRIPT: &str = include_str!("modules.mjs");
const PACKAGE: &str = "@oh-my-pi/pi-coding-agent";

/// Limits of dispatch and load in µs, and of memory in KiB.
const MAX_DISPATCH_MICROS: f64 = 5.0;
const MAX_LOAD_MICROS: f64 = 3_000.0;
const MAX_MEMORY_KIB: f64 = 512.0;
/// A dispatch must take this many times less CPU than a node hook.
const NODE_FACTOR: f64 = 1_000.0;
/// Dispatches per measured turn, because one is shorter than a tick of the CPU clock.
const DISPATCHES_PER_TURN: usize = 200;

/// Measures all rows of this goal.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let module = context.folder.join("guard.ts");
    fs::write(&module, RULE)?;
    let [dispatch, tail, load, memory] = measure_in_child(context, &module)?;
    let tail = format!("99 of 100 within {tail:.1} µs");
    let mut rows = vec![
        row_with_limit("a module's handler, loaded / 5 µs", "µs", MAX_DISPATCH_MICROS, dispatch)
            .with_note(tail),
        row_with_limit("a module's load with its first event / 3 ms", "µs", MAX_LOAD_MICROS, load),
        row_with_limit(
            "resident memory of one more loaded module / 0.5 MiB",
            "KiB",
            MAX_MEMORY_KIB,
            memory,
        ),
    ];
    let call = tool_call(&module);
    let action = ModuleAction::new(ScriptSettings::default());
    dispatch_once(&action, &call)?;
    if can_measure("the same rule as a node hook", is_installed("node")) {
        rows.push(compare_with_node(context, &action, &call)?);
    }
    rows.extend(compare_with_runtimes(context, &module, dispatch)?);
    Ok(rows)
}

/// Measures in a child process: this process has memory and threads of earlier goals.
fn measure_in_child(context: &GoalContext<'_>, module: &Path) -> anyhow::Result<[f64; 4]> {
    let (count, loads) = if context.options.quick { ("2000", "20") } else { ("20000", "100") };
    let mut own = Command::new(std::env::current_exe()?);
    own.args([child::CHILD_ARG, "module"]).arg(module).args([count, loads]);
    let output = own.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    figures?.try_into().map_err(|_| anyhow::anyhow!("the child printed {text:?}"))
}

/// Runs in the child process: median dispatch, 99th percentile, load time, memory of one more
/// module.
pub fn measure_module(module: &Path, count: usize, loads: usize) -> anyhow::Result<[f64; 4]> {
    let call = tool_call(module);
    let memory = measure_memory(&call)?;
    let action = ModuleAction::new(ScriptSettings::default());
    dispatch_once(&action, &call)?;
    let times = repeat_timed(count, || dispatch_once(&action, &call))?;
    let loads = repeat_timed(loads, || {
        dispatch_once(&ModuleAction::new(ScriptSettings::default()), &call)
    })?;
    Ok([
        value_at_share(&times, 0.5),
        value_at_share(&times, 0.99),
        value_at_share(&loads, 0.5),
        memory,
    ])
}

fn row_with_limit(what: &str, unit: &'static str, limit: f64, ours: f64) -> Row {
    Row::compare_counts("12", what, unit, limit, ours).with_limit(1.0)
}

fn tool_call(module: &Path) -> Call {
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

fn dispatch_once(action: &ModuleAction, call: &Call) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let outcomes = action.run(&[Job { call, record: None }]);
    let took = began.elapsed();
    let answer = outcomes.first().and_then(|outcome| outcome.answer.as_ref());
    let blocks = answer.is_some_and(|answer| answer["results"][0]["block"] == true);
    ensure!(blocks, "the rule does not block: {outcomes:?}");
    Ok(took)
}

fn repeat_timed(
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

/// The value at this share of the sorted values.
fn value_at_share(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Memory of one more module that was loaded and called once.
fn measure_memory(call: &Call) -> anyhow::Result<f64> {
    const MODULES: usize = 64;
    let before = resident_kib()?;
    let mut kept = Vec::new();
    for _ in 0..MODULES {
        let action = ModuleAction::new(ScriptSettings::default());
        dispatch_once(&action, call)?;
        kept.push(action);
    }
    Ok((resident_kib()? - before) / kept.len() as f64)
}

/// Resident memory in KiB.
fn resident_kib() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no VmRSS")?.parse()?)
}

/// CPU of a dispatch, against a thousandth of the same rule as a node hook.
fn compare_with_node(
    context: &GoalContext<'_>,
    action: &ModuleAction,
    call: &Call,
) -> anyhow::Result<Row> {
    let script = context.folder.join("guard.cjs");
    fs::write(&script, HOOK)?;
    let bare = BareProgram::new(&["/usr/bin/env", "node", &script.display().to_string()], &[])?;
    let event = call.body["event"].to_string().into_bytes();
    let mut candidates = [
        in_process(|| {
            let code = bare.run(&event)?.code;
            ensure!(code == 2, "the hook in node exited {code}");
            Ok(())
        }),
        in_process(|| {
            (0..DISPATCHES_PER_TURN).try_for_each(|_| dispatch_once(action, call).map(drop))
        }),
    ];

    let measured = interleave(context.options.effort(16, 4), &mut candidates)?;
    let (node, ours) =
        (measured[0].median_cpu(), measured[1].median_cpu() / DISPATCHES_PER_TURN as f64);
    let what = "CPU of a module's handler / a thousandth of the same rule as a node hook";
    let note = format!("the hook in node: {node:.0} µs CPU, {:.0} times ours", node / ours);
    Ok(row_with_limit(what, "µs CPU", node / NODE_FACTOR, ours).with_note(note))
}

/// Measures the same rule in node and bun processes, and names those that are not installed.
fn compare_with_runtimes(
    context: &GoalContext<'_>,
    module: &Path,
    ours: f64,
) -> anyhow::Result<Vec<Row>> {
    let (host, plain) = (context.folder.join("modules.mjs"), context.folder.join("guard.mjs"));
    fs::write(&host, COMPARISON_SCRIPT)?;
    let bare = RULE.lines().skip(1).map(|line| line.replace("(pi: HookAPI): void", "(pi)"));
    fs::write(&plain, bare.collect::<Vec<_>>().join("\n"))?;

    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/node_modules");
    let bun = [tools.join(".bin/bun"), PathBuf::from("bun")];
    let bun = bun.into_iter().find(|bun| is_installed(&bun.display().to_string()));
    let package = Some(tools.join(PACKAGE)).filter(|package| package.is_dir());
    let node = is_installed("node").then(|| PathBuf::from("node"));
    let in_runner = package.map(|package| vec![module.into(), package]);
    let ways = [
        ("called by node", node, Some(vec![plain.clone()])),
        ("called by bun", bun.clone(), Some(vec![plain])),
        ("in the real HookRunner under bun", bun, in_runner),
    ];
    let mut others = vec![];
    for (name, program, args) in ways {
        let found = program.zip(args);
        can_measure(&format!("a module's handler {name}"), found.is_some());
        others.extend(found.map(|(program, args)| (name, program, args)));
    }

    let one = |(name, program, args): &(&str, PathBuf, Vec<PathBuf>)| {
        let (start, nanos) =
            run_comparison(program, &host, args).with_context(|| (*name).to_owned())?;
        let what = format!("a module's handler, loaded / the same {name}");
        let note = format!("that process took {start:.0} ms until its first answer");
        Ok(Row::compare_counts("12", &what, "µs", nanos / 1e3, ours).with_note(note))
    };
    others.iter().map(one).collect()
}

/// Runs a comparison process: milliseconds until it is ready, and nanoseconds per dispatch.
fn run_comparison(program: &Path, host: &Path, args: &[PathBuf]) -> anyhow::Result<(f64, f64)> {
    let began = Instant::now();
    let mut command = Command::new(program);
    command.arg(host).args(args).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();

    let ready = lines.next().context("it printed nothing")??;
    let start = began.elapsed().as_secs_f64() * 1e3;
    ensure!(ready == "ready", "it printed {ready}");
    let nanos = lines.next().context("it printed no figure")??.trim().parse()?;
    ensure!(child.wait()?.success(), "it failed");
    Ok((start, nanos))
}
