//! Runs the calls of one batch, each with its action. Only here does a firing wait. A panic becomes
//! the failed outcome of its hook.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gambrel_model::{Action, Call, Job, Outcome};

/// A call with its action's name and the record for a supervisor.
pub struct BatchItem<'t> {
    pub action: String,
    pub call: Call,
    pub record: Box<dyn Fn() -> String + Sync + 't>,
}

/// Outcomes in the order of the items.
pub fn run_batch(actions: &[&dyn Action], turns: &[BatchItem<'_>]) -> Vec<Outcome> {
    let mut words: Vec<&str> = turns.iter().map(|turn| turn.action.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    if let [word] = words.as_slice() {
        return run_with_action(actions, word, turns.iter().collect());
    }
    let mut outcomes: Vec<Option<Outcome>> = turns.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = words
            .iter()
            .map(|word| {
                let mine = |(_, turn): &(usize, &BatchItem<'_>)| turn.action == *word;
                let (places, own): (Vec<usize>, Vec<&BatchItem<'_>>) =
                    turns.iter().enumerate().filter(mine).unzip();
                (places, scope.spawn(move || run_with_action(actions, word, own)))
            })
            .collect();
        for (places, handle) in running {
            let ended = handle.join().unwrap_or_default();
            for (at, outcome) in places.into_iter().zip(ended) {
                outcomes[at] = Some(outcome);
            }
        }
    });
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost_outcome)).collect()
}

fn run_with_action(
    actions: &[&dyn Action],
    word: &str,
    turns: Vec<&BatchItem<'_>>,
) -> Vec<Outcome> {
    let Some(action) = actions.iter().find(|action| action.name() == word) else {
        let why = format!("no action `{word}` is built in");
        return turns.iter().map(|_| Outcome::failed_to_start(&why)).collect();
    };
    let jobs: Vec<Job<'_>> =
        turns.iter().map(|turn| Job { call: &turn.call, record: Some(&*turn.record) }).collect();
    catch_unwind(AssertUnwindSafe(|| action.run(&jobs)))
        .ok()
        .filter(|outcomes| outcomes.len() == jobs.len())
        .unwrap_or_else(|| jobs.iter().map(|_| panicked_outcome("the action panicked")).collect())
}

/// The outcome of a call without a result.
pub fn lost_outcome() -> Outcome {
    panicked_outcome("it did not report")
}

fn panicked_outcome(why: &str) -> Outcome {
    Outcome::failed_to_start(format!("an internal error of gambrel: {why}"))
}
