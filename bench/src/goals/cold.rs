//! Goal 8: a cold start of `gambrel fire` with ten hooks, of which one runs, against a static
//! program that does nothing. Measures the static and the dynamic build.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use super::GoalContext;
use crate::callgrind;
use crate::fixture::{Fixture, hook_group};
use crate::floor::BareProgram;
use crate::meter::{Candidate, in_process, interleave};
use crate::programs::is_installed;
use crate::report::Row;

const MAX_RATIO: f64 = 3.0;
const DENIES: &str = r#""permissionDecision":"deny""#;

/// Measures all builds in turns.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let command = context.programs.hook.display().to_string();
    let other = |at: usize| hook_group(&format!("Tool{at}"), &format!("{command} {at}"));
    let mut hooks: Vec<_> = (1..10).map(other).collect();
    hooks.push(hook_group("Write", &command));
    let fixture = Fixture::with_hooks(context.folder, &hooks)?;
    let event = fixture.tool_event("Write", "bench", 1_000);

    let nothing = context.programs.noop.display().to_string();
    let mut builds = vec![("dynamic", context.options.gambrel.clone())];
    builds.extend(static_build(context)?);

    let mut candidates = vec![program_candidate(&fixture, &[&nothing], &event, "")?];
    for (_, program) in &builds {
        let program = program.display().to_string();
        candidates.push(program_candidate(
            &fixture,
            &[&program, "fire", "--from", "claude"],
            &event,
            DENIES,
        )?);
    }
    let measured = interleave(context.options.effort(60, 20), &mut candidates)?;

    let mut rows = Vec::new();
    for ((name, program), own) in builds.iter().zip(&measured[1..]) {
        let what = format!("cold `fire`, 10 hooks, one runs, {name} build / static C true");
        let row = Row::compare("8", &what, &measured[0], own)
            .with_note(describe_instructions(&fixture, program, &event)?);
        rows.push(if *name == "dynamic" { row } else { row.with_limit(MAX_RATIO) });
    }
    Ok(rows)
}

fn program_candidate(
    fixture: &Fixture,
    argv: &[&str],
    event: &[u8],
    expected_output: &'static str,
) -> anyhow::Result<Candidate<'static>> {
    let variables = fixture.variables();
    let set: Vec<(&str, &str)> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let bare = BareProgram::new(argv, &set)?;
    let event = event.to_vec();
    let name = argv[0].to_owned();
    Ok(in_process(move || {
        let ended = bare.run(&event)?;
        let output = String::from_utf8_lossy(&ended.stdout);
        let expected = ended.code == 0 && output.contains(expected_output);
        ensure!(expected, "{name} exited {} and printed {output:?}", ended.code);
        Ok(())
    }))
}

/// Counts the instructions of one fire, without those of the hook.
fn describe_instructions(
    fixture: &Fixture,
    program: &Path,
    event: &[u8],
) -> anyhow::Result<String> {
    if !is_installed("valgrind") {
        return Ok("no valgrind here: instructions not counted".into());
    }
    let file = fixture.folder().join("event.json");
    std::fs::write(&file, event)?;
    let args = ["fire", "--from", "claude"];
    let counted = callgrind::count_instructions(program, &args, &fixture.variables(), Some(&file))?;
    let until =
        if counted.is_complete { "" } else { " until valgrind lost it (at the hook's start)" };
    Ok(format!("{:.0} kinstr{until}", counted.count / 1e3))
}

/// The static build: named on the command line, or built now.
fn static_build(context: &GoalContext<'_>) -> anyhow::Result<Option<(&'static str, PathBuf)>> {
    if let Some(program) = &context.options.static_gambrel {
        return Ok(Some(("static", program.clone())));
    }
    let (target, name) = if has_musl() {
        ("x86_64-unknown-linux-musl", "static musl")
    } else {
        ("x86_64-unknown-linux-gnu", "static glibc")
    };

    let Some(folder) = std::env::current_exe()?.ancestors().nth(2).map(|t| t.join("static")) else {
        return Ok(None);
    };
    let program = folder.join(target).join("dist/gambrel");
    if context.options.quick || !context.options.build_static {
        return Ok(program.exists().then_some(("static (found, not rebuilt)", program)));
    }

    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--profile", "dist", "--package", "gambrel-cli"]);
    cargo.args(["--target", target]).env("CARGO_TARGET_DIR", &folder);
    let built = cargo.env("RUSTFLAGS", "-C target-feature=+crt-static").status();
    Ok(built.is_ok_and(|status| status.success()).then_some((name, program)))
}

/// Whether the toolchain can build for musl.
fn has_musl() -> bool {
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    sysroot.is_ok_and(|root| {
        Path::new(&root).join("lib/rustlib/x86_64-unknown-linux-musl/lib").is_dir()
    })
}
