//! Goal 3: one hook in a running process, against the ways in which other products start theirs.
//! Every figure is what a candidate costs beside the bare start of the same hook.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;
use gambrel::Ruling;

use super::GoalContext;
use crate::fixture::{Fixture, fire_and_check, hook_group};
use crate::floor::BareProgram;
use crate::meter::{Candidate, Effort, ForeignCandidate, Measured, in_process, interleave};
use crate::programs::{can_measure, is_installed, peers_folder};
use crate::report::Row;

/// Fires per turn: the kernel reports the CPU time of other processes in ticks of 10 ms.
const FIRE_COUNT: usize = 250;
const GEMINI_PACKAGE: &str = "gemini/node_modules/@google/gemini-cli-core";

/// Another product's way to start a hook.
struct Peer {
    name: &'static str,
    /// Our overhead may be at most this part of the peer's.
    max_share: f64,
    program: PathBuf,
    args: Vec<String>,
}

/// Measures every peer that is installed, and names the others.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let command = context.programs.hook.display().to_string();
    let fixture = Fixture::with_hooks(context.folder, &[hook_group("Write", &command)])?;
    let gambrel = fixture.engine_with_journal();
    let loaded = gambrel.load_hooks(None);
    let event = fixture.tool_event("Write", "bench", 1_000);
    let bare = BareProgram::new(&[&command], &[])?;

    let peers = find_peers(context, &fixture)?;
    let mut started = Vec::new();
    for peer in &peers {
        let args: Vec<&str> = peer.args.iter().map(String::as_str).collect();
        started.push(ForeignCandidate::start(&peer.program, &args)?);
    }
    let mut candidates: Vec<Candidate<'_>> = vec![
        in_process(|| {
            let code = bare.run(&event)?.code;
            ensure!(code == 2, "the floor's hook exited {code}");
            Ok(())
        }),
        in_process(|| fire_and_check(&gambrel, &loaded, &event, Ruling::Deny).map(drop)),
    ];
    for peer in &mut started {
        candidates.push(Box::new(|fires| peer.run_round(fires)));
    }
    let rounds = context.options.effort(16, FIRE_COUNT).rounds;
    let measured = interleave(Effort { rounds, fires: FIRE_COUNT }, &mut candidates)?;
    let above_bare: Vec<Measured> =
        measured[1..].iter().map(|own| own.without(&measured[0])).collect();
    let compare = |(peer, other): (&Peer, &Measured)| {
        let what = format!("one hook, above its bare start / {}", peer.name);
        Row::compare("3", &what, other, &above_bare[0]).with_limit(peer.max_share)
    };
    Ok(peers.iter().zip(&above_bare[1..]).map(compare).collect())
}

/// The peers whose programs are installed. `cargo xtask bench --peers` installs them.
fn find_peers(context: &GoalContext<'_>, fixture: &Fixture) -> anyhow::Result<Vec<Peer>> {
    let hook = context.programs.hook.display().to_string();
    let usual = vec![hook, fixture.project().display().to_string()];
    let mut peers = Vec::new();
    let name = "a Go program that starts hooks like iteratr";
    let go = compile_go(context)?;
    can_measure(name, go.is_some());
    if let Some(program) = go {
        peers.push(Peer { name, max_share: 1.0 / 12.0, program, args: usual.clone() });
    }
    let has_node = is_installed("node");
    let name = "a node program that starts hooks like pi-agent-teams";
    if can_measure(name, has_node) {
        let script =
            write_script(context, "pi-teams.mjs", include_str!("../../peers/pi-teams.mjs"))?;
        let args = [&[script], usual.as_slice()].concat();
        peers.push(Peer { name, max_share: 1.0 / 12.0, program: "node".into(), args });
    }
    let package = peers_folder().join(GEMINI_PACKAGE);
    let name = "the HookRunner of gemini-cli-core";
    if can_measure(name, has_node && package.is_dir()) {
        let script = write_script(context, "gemini.mjs", include_str!("../../peers/gemini.mjs"))?;
        let args = [&[script], usual.as_slice(), &[package.display().to_string()]].concat();
        peers.push(Peer { name, max_share: 1.0 / 30.0, program: "node".into(), args });
    }
    Ok(peers)
}

fn write_script(context: &GoalContext<'_>, name: &str, text: &str) -> anyhow::Result<String> {
    let file = context.folder.join(name);
    fs::write(&file, text)?;
    Ok(file.display().to_string())
}

fn compile_go(context: &GoalContext<'_>) -> anyhow::Result<Option<PathBuf>> {
    if !Command::new("go").arg("version").output().is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    let (source, program) = (context.folder.join("iteratr.go"), context.folder.join("iteratr"));
    fs::write(&source, include_str!("../../peers/iteratr.go"))?;
    let status = Command::new("go").args(["build", "-o"]).arg(&program).arg(&source).status()?;
    ensure!(status.success(), "go could not compile the peer");
    Ok(Some(program))
}
