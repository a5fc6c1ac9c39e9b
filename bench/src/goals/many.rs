//! Goal 5: hooks that do not match must cost nothing, at any number.

use std::sync::Arc;

use anyhow::ensure;
use gambrel::{Gambrel, Loaded, Options, Ruling};
use gambrel_actions::{Settings, ShellAction};
use gambrel_engine::Engine;
use gambrel_model::Action;

use super::GoalContext;
use crate::fixture::{Fixture, fire_and_check, hook_group};
use crate::meter::{Candidate, Effort, in_process, interleave};
use crate::report::Row;

/// CPU time of a whole fire that meets no hook.
const MAX_MICROS: f64 = 10.0;

/// Many hooks, of which only the last one matches `Write`.
struct HookSet {
    fixture: Fixture,
    gambrel: Gambrel,
    loaded: Arc<Loaded>,
}

impl HookSet {
    fn new(
        context: &GoalContext<'_>,
        name: &str,
        count: usize,
        matcher: fn(usize) -> String,
    ) -> anyhow::Result<Self> {
        let command = context.programs.hook.display().to_string();
        let other = |at: usize| hook_group(&matcher(at), &format!("{command} {at}"));
        let mut hooks: Vec<_> = (1..count).map(other).collect();
        hooks.push(hook_group("Write", &command));
        let fixture = Fixture::with_hooks(context.folder.join(name), &hooks)?;
        let gambrel = fixture.engine_with_journal();
        let loaded = gambrel.load_hooks(None);
        ensure!(loaded.hooks.len() == count, "{} hooks loaded", loaded.hooks.len());
        Ok(Self { fixture, gambrel, loaded })
    }

    fn candidate(&self) -> Candidate<'_> {
        let event = self.fixture.tool_event("Write", "bench", 1_000);
        in_process(move || {
            let decision = fire_and_check(&self.gambrel, &self.loaded, &event, Ruling::Deny)?;
            ensure!(decision.trail.len() == 1, "{} hooks considered", decision.trail.len());
            Ok(())
        })
    }
}

fn tool_name(at: usize) -> String {
    format!("Tool{at}")
}

fn tool_pattern(at: usize) -> String {
    format!("mcp__server{at}__.*")
}

/// Measures one match among many hooks, then none.
pub fn measure(context: &GoalContext<'_>) -> anyhow::Result<Vec<Row>> {
    let counts = [1, 10, 1_000, 10_000];
    let hook_set = |count: &usize| HookSet::new(context, &count.to_string(), *count, tool_name);
    let mut hook_sets = counts.iter().map(hook_set).collect::<anyhow::Result<Vec<_>>>()?;
    hook_sets.push(HookSet::new(context, "patterns", 1_000, tool_pattern)?);
    let mut candidates: Vec<Candidate<'_>> = hook_sets.iter().map(HookSet::candidate).collect();
    let measured = interleave(context.options.effort(30, 30), &mut candidates)?;
    drop(candidates);

    let against_one = |at: usize, what: &str| {
        let what = format!("1 met of {what} / 1 of 1");
        Row::compare("5", &what, &measured[0], &measured[at]).with_limit(1.1)
    };
    let mut rows = vec![
        against_one(1, "10"),
        against_one(2, "1,000"),
        against_one(3, "10,000"),
        against_one(4, "1,000 (999 are patterns)"),
    ];
    rows.extend(measure_no_match(context, &hook_sets)?);
    Ok(rows)
}

/// Measures the decision alone: a parsed event and no journal.
fn measure_no_match(context: &GoalContext<'_>, hook_sets: &[HookSet]) -> anyhow::Result<Vec<Row>> {
    let action = ShellAction::new(Settings::default());
    let actions: [&dyn Action; 1] = [&action];
    let quiet = hook_sets[0].fixture.engine_without_journal();

    let mut candidates = Vec::new();
    for hook_set in [&hook_sets[1], &hook_sets[2], &hook_sets[3], &hook_sets[4]] {
        let received =
            quiet.receive("claude", &hook_set.fixture.tool_event("Other", "bench", 1_000));
        let received = received.map_err(|complaint| anyhow::anyhow!(complaint.message))?;
        let loaded = Arc::clone(&hook_set.loaded);
        let options = Options::default();
        let engine = Engine {
            loaded,
            actions: &actions,
            ledger: quiet.ledger(),
            trust_store: quiet.trust_store(),
            redact: &|_| (),
            options,
        };
        let event = engine.open_event(received);
        candidates.push(in_process(move || {
            let decision = engine.fire(&event).decision;
            ensure!(
                decision.merged.ruling == Ruling::Silent && decision.trail.is_empty(),
                "a hook matched"
            );
            Ok(())
        }));
    }
    let hook_set = &hook_sets[2];
    let event = hook_set.fixture.tool_event("Other", "bench", 1_000);
    candidates.push(in_process(move || {
        fire_and_check(&hook_set.gambrel, &hook_set.loaded, &event, Ruling::Silent).map(drop)
    }));

    let fires = if context.options.quick { 500 } else { 2_000 };
    let measured = interleave(Effort { rounds: 15, fires }, &mut candidates)?;

    let limited = |at: usize, what: &str| {
        Row::compare_counts("5", what, "µs CPU", MAX_MICROS, measured[at].median_cpu())
            .with_note(format!("wall at best {:.2} µs", measured[at].wall))
    };
    Ok(vec![
        limited(4, "none met of 1,000, received, journalled, replied / 10 µs").with_limit(1.0),
        limited(1, "none met of 1,000, deciding and replying alone / 10 µs"),
        limited(3, "none met of 1,000 patterns, deciding and replying alone / 10 µs"),
        Row::compare("5", "none met of 10,000 / of 10", &measured[0], &measured[2]).with_limit(1.1),
    ])
}
