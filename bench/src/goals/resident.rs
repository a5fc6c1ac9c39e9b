//! Goal 4: what a fire costs must not depend on how much memory its host has; and no plain fork.

use std::process::{Command, Stdio};

use gambrel::Ruling;

use super::Ground;
use crate::child;
use crate::meter::{Candidate, Held, interleave};
use crate::programs::present;
use crate::report::Row;
use crate::scene::{Scene, fire, hook};

/// Two held processes in turns.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let command = ground.programs.hook.display().to_string();
    let scene = Scene::with(ground.folder, &[hook("Write", &command)])?;
    let gambrel = scene.journalled();
    fire(&gambrel, &gambrel.load_hooks(None), &scene.event("Write", "s", 1_000), Ruling::Deny)?;
    let folder = scene.folder().display().to_string();
    let program = std::env::current_exe()?;
    let start = |size: &str| Held::start(&program, &[child::WORD, "resident", &folder, size]);
    let (mut small, mut large) = (start("10")?, start("1024")?);
    let mut candidates: [Candidate<'_>; 2] =
        [Box::new(|fires| small.round(fires)), Box::new(|fires| large.round(fires))];
    let measured = interleave(ground.asked.effort(30, 40), &mut candidates)?;
    let what = "one fire at 1 GB resident / at 10 MB";
    let row = Row::of("4", what, &measured[0], &measured[1]).at_most(1.2);
    Ok(vec![row.noting(forks(&folder)?)])
}

/// What strace saw of starting processes.
fn forks(folder: &str) -> anyhow::Result<String> {
    if !present("strace") {
        return Ok("no strace here: forks not looked for".into());
    }
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=fork,vfork,clone,clone3", "-e", "signal=none", "--"]);
    strace.arg(std::env::current_exe()?).args([child::WORD, "resident", folder, "10"]);
    strace.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = strace.spawn()?;
    if let Some(mut stdin) = running.stdin.take() {
        std::io::Write::write_all(&mut stdin, b"5\n")?;
    }
    let told = running.wait_with_output()?.stderr;
    let told = String::from_utf8_lossy(&told);
    let starts: Vec<&str> =
        told.lines().filter(|line| line.contains("fork(") || line.contains("clone")).collect();
    let shares = |line: &&str| line.contains("CLONE_VM") || line.contains("vfork(");
    let plain = starts.iter().filter(|line| !shares(line)).count();
    Ok(format!("strace: {} starts, {plain} plain forks", starts.len()))
}
