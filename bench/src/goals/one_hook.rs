//! Goals 1 and 2: one command hook through the whole engine, with its journal, against the same
//! program started bare: directly, and through a shell.

use anyhow::ensure;
use gambrel::Ruling;

use super::Ground;
use crate::floor::Bare;
use crate::meter::{here, interleave};
use crate::report::Row;
use crate::scene::{Scene, command, fire, hook};

/// Executed directly.
pub fn direct(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let program = ground.programs.hook.display().to_string();
    let what = "one hook, direct exec, journalled / bare posix_spawn of it";
    Ok(vec![against_bare(ground, &program, "1", what)?.at_most(1.15)])
}

/// Through a shell, because its text needs one.
pub fn shell(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let what = "one `sh -c` hook, journalled / bare posix_spawn of that shell";
    let text = "read -r event && exit 2";
    Ok(vec![against_bare(ground, text, "2", what)?.at_most(1.10)])
}

fn against_bare(
    ground: &Ground<'_>,
    text: &str,
    goal: &'static str,
    what: &str,
) -> anyhow::Result<Row> {
    let scene = Scene::with(ground.folder, &[hook("Write", text)])?;
    let gambrel = scene.journalled();
    let loaded = gambrel.load(None);
    let event = scene.event("Write", "bench", 1_000);
    let started = command(&fire(&gambrel, &loaded, &event, Ruling::Deny)?)?;
    let direct = started == [text];
    ensure!(direct == (goal == "1"), "started as {started:?}");
    let bare = Bare::new(&started, &[])?;
    let line = [event.as_slice(), b"\n"].concat();
    let mut candidates = [
        here(|| {
            let code = bare.run(&line)?.code;
            ensure!(code == 2, "the floor's hook exited {code}");
            Ok(())
        }),
        here(|| fire(&gambrel, &loaded, &event, Ruling::Deny).map(drop)),
    ];
    let measured = interleave(ground.asked.effort(80, 40), &mut candidates)?;
    Ok(Row::of(goal, what, &measured[0], &measured[1]))
}
