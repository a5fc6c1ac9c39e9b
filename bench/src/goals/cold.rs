//! Goal 8: `gambrel fire` from a cold start, with ten hooks of which one runs, against a static
//! program that does nothing. For the static build, and for the dynamic one beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use super::Ground;
use crate::callgrind;
use crate::floor::Bare;
use crate::meter::{Candidate, here, interleave};
use crate::programs::present;
use crate::report::Row;
use crate::scene::{Scene, hook};

const LIMIT: f64 = 3.0;
const DENIES: &str = r#""permissionDecision":"deny""#;

/// All builds in turns.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let command = ground.programs.hook.display().to_string();
    let other = |at: usize| hook(&format!("Tool{at}"), &format!("{command} {at}"));
    let mut hooks: Vec<_> = (1..10).map(other).collect();
    hooks.push(hook("Write", &command));
    let scene = Scene::with(ground.folder, &hooks)?;
    let event = scene.event("Write", "bench", 1_000);
    let nothing = ground.programs.nothing.display().to_string();
    let mut builds = vec![("dynamic", ground.asked.gambrel.clone())];
    builds.extend(static_build(ground)?);
    let mut candidates = vec![candidate(&scene, &[&nothing], &event, "")?];
    for (_, program) in &builds {
        let program = program.display().to_string();
        candidates.push(candidate(
            &scene,
            &[&program, "fire", "--from", "claude"],
            &event,
            DENIES,
        )?);
    }
    let measured = interleave(ground.asked.effort(60, 20), &mut candidates)?;
    let mut rows = Vec::new();
    for ((name, program), own) in builds.iter().zip(&measured[1..]) {
        let what = format!("cold `fire`, 10 hooks, one runs, {name} build / static C true");
        let row = Row::of("8", &what, &measured[0], own).noting(counted(&scene, program, &event)?);
        rows.push(if *name == "dynamic" { row } else { row.at_most(LIMIT) });
    }
    Ok(rows)
}

fn candidate(
    scene: &Scene,
    argv: &[&str],
    event: &[u8],
    says: &'static str,
) -> anyhow::Result<Candidate<'static>> {
    let variables = scene.variables();
    let set: Vec<(&str, &str)> = variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let bare = Bare::new(argv, &set)?;
    let event = event.to_vec();
    let name = argv[0].to_owned();
    Ok(here(move || {
        let ended = bare.run(&event)?;
        let said = String::from_utf8_lossy(&ended.stdout);
        let expected = ended.code == 0 && said.contains(says);
        ensure!(expected, "{name} exited {} and said {said:?}", ended.code);
        Ok(())
    }))
}

/// Instructions of one fire, the hook's own not counted.
fn counted(scene: &Scene, program: &Path, event: &[u8]) -> anyhow::Result<String> {
    if !present("valgrind") {
        return Ok("no valgrind here: instructions not counted".into());
    }
    let file = scene.folder().join("event.json");
    std::fs::write(&file, event)?;
    let args = ["fire", "--from", "claude"];
    let counted = callgrind::instructions(program, &args, &scene.variables(), Some(&file))?;
    let until = if counted.whole { "" } else { " until valgrind lost it (at the hook's start)" };
    Ok(format!("{:.0} kinstr{until}", counted.count / 1e3))
}

/// The static build: named, or built now beside the dynamic one.
fn static_build(ground: &Ground<'_>) -> anyhow::Result<Option<(&'static str, PathBuf)>> {
    if let Some(program) = &ground.asked.static_gambrel {
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
    if ground.asked.quick || !ground.asked.build_static {
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
