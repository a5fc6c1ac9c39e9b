//! Goals 1 and 2: one command hook through the whole engine, with its journal, against the same
//! program started bare: directly, and through a shell.

use std::path::Path;

use anyhow::ensure;
use gambrel::Ruling;

use super::Ground;
use crate::floor::Bare;
use crate::meter::{Effort, Measured, here, interleave};
use crate::report::Row;
use crate::scene::{Scene, command, fire, hook};

/// Executed directly.
pub fn direct(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let program = ground.programs.hook.display().to_string();
    let (started, measured) = against_bare(ground.folder, &program, ground.asked.effort(80, 40))?;
    ensure!(started == [program], "started as {started:?}");
    let what = "one hook, direct exec, journalled / bare posix_spawn of it";
    Ok(vec![Row::of("1", what, &measured[0], &measured[1]).at_most(1.15)])
}

/// Through a shell, because its text needs one.
pub fn shell(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let text = "read -r event && exit 2";
    let (started, measured) = against_bare(ground.folder, text, ground.asked.effort(80, 40))?;
    ensure!(started.last().is_some_and(|last| last == text), "started as {started:?}");
    ensure!(started.len() == 3, "not by a shell: {started:?}");
    let what = "one `sh -c` hook, journalled / bare posix_spawn of that shell";
    Ok(vec![Row::of("2", what, &measured[0], &measured[1]).at_most(1.10)])
}

/// One hook fired, against what it was started as, started bare: that, and the two figures.
pub(super) fn against_bare(
    folder: &Path,
    text: &str,
    effort: Effort,
) -> anyhow::Result<(Vec<String>, Vec<Measured>)> {
    let scene = Scene::with(folder, &[hook("Write", text)])?;
    let gambrel = scene.journalled();
    let loaded = gambrel.load_hooks(None);
    let event = scene.event("Write", "bench", 1_000);
    let started = command(&fire(&gambrel, &loaded, &event, Ruling::Deny)?)?;
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
    let measured = interleave(effort, &mut candidates)?;
    Ok((started, measured))
}
