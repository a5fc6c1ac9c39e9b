//! Goal 6: a large event, from bytes to decision, against a C program that pushes as many bytes
//! through a pipe to the same hook.

use gambrel::Ruling;

use super::Ground;
use crate::meter::{Candidate, Held, here, interleave};
use crate::report::Row;
use crate::scene::{Scene, fire, hook};

const LENGTH: usize = 5_000_000;

/// In turns.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let command = ground.programs.hook.display().to_string();
    let scene = Scene::with(ground.folder, &[hook("Write", &command)])?;
    let gambrel = scene.journalled();
    let loaded = gambrel.load_hooks(None);
    let event = scene.event("Write", "bench", LENGTH);
    let file = ground.folder.join("event.json");
    std::fs::write(&file, &event)?;
    let file = file.display().to_string();
    let mut push = Held::start(&ground.programs.push, &[&command, &file])?;
    let mut candidates: [Candidate<'_>; 2] = [
        Box::new(|fires| push.round(fires)),
        here(|| fire(&gambrel, &loaded, &event, Ruling::Deny).map(drop)),
    ];
    let measured = interleave(ground.asked.effort(30, 10), &mut candidates)?;
    let what = "a 5 MB event, received and fired / pushed through a pipe by C";
    Ok(vec![Row::of("6", what, &measured[0], &measured[1]).at_most(1.3)])
}
