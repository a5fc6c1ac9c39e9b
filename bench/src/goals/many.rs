//! Goal 5: hooks that are not met must cost nothing, however many there are.

use std::sync::Arc;

use anyhow::ensure;
use gambrel::actions::{Settings, ShellAction};
use gambrel::model::Action;
use gambrel::{Gambrel, Loaded, Options, Ruling};
use gambrel_engine::Engine;

use super::Ground;
use crate::meter::{Candidate, Effort, here, interleave};
use crate::report::Row;
use crate::scene::{Scene, fire, hook};

/// So many hooks of which the last one hears `Write`.
struct Crowd {
    scene: Scene,
    gambrel: Gambrel,
    loaded: Arc<Loaded>,
}

impl Crowd {
    fn new(
        ground: &Ground<'_>,
        name: &str,
        count: usize,
        matcher: fn(usize) -> String,
    ) -> anyhow::Result<Self> {
        let command = ground.programs.hook.display().to_string();
        let other = |at: usize| hook(&matcher(at), &format!("{command} {at}"));
        let mut hooks: Vec<_> = (1..count).map(other).collect();
        hooks.push(hook("Write", &command));
        let scene = Scene::with(ground.folder.join(name), &hooks)?;
        let gambrel = scene.journalled();
        let loaded = gambrel.load_hooks(None);
        ensure!(loaded.hooks.len() == count, "{} hooks loaded", loaded.hooks.len());
        Ok(Self { scene, gambrel, loaded })
    }

    fn fires(&self) -> Candidate<'_> {
        let event = self.scene.event("Write", "bench", 1_000);
        here(move || {
            let decision = fire(&self.gambrel, &self.loaded, &event, Ruling::Deny)?;
            ensure!(decision.trail.len() == 1, "{} hooks considered", decision.trail.len());
            Ok(())
        })
    }
}

fn named(at: usize) -> String {
    format!("Tool{at}")
}

fn pattern(at: usize) -> String {
    format!("mcp__server{at}__.*")
}

/// One that is met among many, then none.
pub fn measure(ground: &Ground<'_>) -> anyhow::Result<Vec<Row>> {
    let counts = [1, 10, 1_000, 10_000];
    let crowd = |count: &usize| Crowd::new(ground, &count.to_string(), *count, named);
    let mut crowds = counts.iter().map(crowd).collect::<anyhow::Result<Vec<_>>>()?;
    crowds.push(Crowd::new(ground, "patterns", 1_000, pattern)?);
    let mut candidates: Vec<Candidate<'_>> = crowds.iter().map(Crowd::fires).collect();
    let measured = interleave(ground.asked.effort(30, 30), &mut candidates)?;
    drop(candidates);
    let against_one = |at: usize, what: &str| {
        let what = format!("1 met of {what} / 1 of 1");
        Row::of("5", &what, &measured[0], &measured[at]).at_most(1.1)
    };
    let mut rows = vec![
        against_one(1, "10"),
        against_one(2, "1,000"),
        against_one(3, "10,000"),
        against_one(4, "1,000 (999 are patterns)"),
    ];
    rows.extend(none_met(ground, &crowds)?);
    Ok(rows)
}

/// Deciding alone: an event that was received, no journal.
fn none_met(ground: &Ground<'_>, crowds: &[Crowd]) -> anyhow::Result<Vec<Row>> {
    let action = ShellAction::new(Settings::default());
    let actions: [&dyn Action; 1] = [&action];
    let quiet = crowds[0].scene.unjournalled();
    let mut candidates = Vec::new();
    for crowd in [&crowds[1], &crowds[2], &crowds[3], &crowds[4]] {
        let received = quiet.receive("claude", &crowd.scene.event("Other", "bench", 1_000));
        let mut event = received.map_err(|complaint| anyhow::anyhow!(complaint.message))?;
        let loaded = Arc::clone(&crowd.loaded);
        let options = Options::default();
        let engine = Engine { loaded, actions: &actions, ledger: quiet.ledger(), options };
        candidates.push(here(move || {
            let decision = engine.fire(&mut event);
            ensure!(decision.merged.ruling == Ruling::Silent && decision.trail.is_empty(), "heard");
            Ok(())
        }));
    }
    let crowd = &crowds[2];
    let event = crowd.scene.event("Other", "bench", 1_000);
    candidates
        .push(here(move || fire(&crowd.gambrel, &crowd.loaded, &event, Ruling::Silent).map(drop)));
    let fires = if ground.asked.quick { 500 } else { 2_000 };
    let measured = interleave(Effort { rounds: 15, fires }, &mut candidates)?;
    let micro = |at: usize, what: &str| {
        Row::counted("5", what, "µs CPU", 1.0, measured[at].typical())
            .noting(format!("wall at best {:.2} µs", measured[at].wall))
    };
    Ok(vec![
        micro(1, "none met of 1,000, deciding alone / 1 µs").at_most(1.0),
        micro(3, "none met of 1,000 patterns, deciding alone / 1 µs").at_most(1.0),
        Row::of("5", "none met of 10,000 / of 10", &measured[0], &measured[2]).at_most(1.1),
        micro(4, "none met of 1,000, received, journalled, replied / 1 µs"),
    ])
}
