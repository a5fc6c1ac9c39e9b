//! Goal 4: the cost of a fire must not depend on the memory of its process, and there is no plain
//! fork.

use std::process::{Command, Stdio};

use gambrel::Ruling;

use super::GoalContext;
use crate::child;
use crate::fixture::{Fixture, fire_and_check, hook_group};
use crate::meter::{Candidate, ChildCandidate, interleave};
use crate::programs::is_installed;
use crate::report::Row;

/// Measures two processes in turns.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let command = context.programs.hook.display().to_string();
    let fixture = Fixture::with_hooks(context.folder, &[hook_group("Write", &command)])?;
    let gambrel = fixture.engine_with_journal();
    fire_and_check(
        &gambrel,
        &gambrel.load_hooks(None),
        &fixture.tool_event("Write", "s", 1_000),
        Ruling::Deny,
    )?;
    let folder = fixture.folder().display().to_string();
    let program = std::env::current_exe()?;
    let start = |size: &str| {
        ChildCandidate::start(&program, &[child::CHILD_ARG, "resident", &folder, size])
    };

    let (mut small, mut large) = (start("10")?, start("1024")?);
    let mut candidates: [Candidate<'_>; 2] =
        [Box::new(|fires| small.run_round(fires)), Box::new(|fires| large.run_round(fires))];
    let measured = interleave(context.options.effort(30, 40), &mut candidates)?;
    let what = "one fire at 1 GB resident / at 10 MB";
    let row = Row::compare("4", what, &measured[0], &measured[1]).with_limit(1.2);
    Ok(vec![row.with_note(count_forks(&folder)?)])
}

/// Counts process starts and plain forks with strace.
fn count_forks(folder: &str) -> anyhow::Result<String> {
    if !is_installed("strace") {
        return Ok("no strace here: forks not counted".into());
    }
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", "trace=fork,vfork,clone,clone3", "-e", "signal=none", "--"]);
    strace.arg(std::env::current_exe()?).args([child::CHILD_ARG, "resident", folder, "10"]);
    strace.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());

    let mut running = strace.spawn()?;
    if let Some(mut stdin) = running.stdin.take() {
        std::io::Write::write_all(&mut stdin, b"5\n")?;
    }
    let stderr = running.wait_with_output()?.stderr;
    let trace = String::from_utf8_lossy(&stderr);

    let starts: Vec<&str> =
        trace.lines().filter(|line| line.contains("fork(") || line.contains("clone")).collect();
    let shares = |line: &&str| line.contains("CLONE_VM") || line.contains("vfork(");
    let plain = starts.iter().filter(|line| !shares(line)).count();
    Ok(format!("strace: {} starts, {plain} plain forks", starts.len()))
}
