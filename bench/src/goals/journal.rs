//! Goal 11: the journal's share of a fire.

use gambrel::Ruling;

use super::Ground;
use crate::meter::{here, interleave};
use crate::report::Row;
use crate::scene::{Scene, fire, hook};

/// With a ledger on disk, and with one that does nothing.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let command = ground.programs.hook.display().to_string();
    let scene = Scene::with(ground.folder, &[hook("Write", &command)])?;
    let (kept, unkept) = (scene.journalled(), scene.unjournalled());
    let loaded = kept.load_hooks(None);
    let event = scene.event("Write", "bench", 1_000);
    let mut candidates = [
        here(|| fire(&unkept, &loaded, &event, Ruling::Deny).map(drop)),
        here(|| fire(&kept, &loaded, &event, Ruling::Deny).map(drop)),
    ];
    let measured = interleave(ground.asked.effort(80, 40), &mut candidates)?;
    let what = "one hook, journalled / unjournalled";
    let row = Row::of("11", what, &measured[0], &measured[1]).at_most(1.1);
    Ok(vec![row.noting("synced in the daemon: not built yet, not measured")])
}
