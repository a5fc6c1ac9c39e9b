//! Runs the calls of one turn, each by its action: at once where there are several. The only
//! place where a firing waits. A panic inside becomes that hook's failed outcome.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gambrel_model::{Action, Call, End, Job, Outcome};

/// A call with its action's word, and what a supervisor would need.
pub struct Turn<'t> {
    pub action: String,
    pub call: Call,
    pub errand: Box<dyn Fn() -> String + Sync + 't>,
}

/// Outcomes in the order of the turns.
pub fn run(actions: &[&dyn Action], turns: &[Turn<'_>]) -> Vec<Outcome> {
    let mut words: Vec<&str> = turns.iter().map(|turn| turn.action.as_str()).collect();
    words.sort_unstable();
    words.dedup();
    if let [word] = words.as_slice() {
        return by_one(actions, word, turns.iter().collect());
    }
    let mut outcomes: Vec<Option<Outcome>> = turns.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let running: Vec<_> = words
            .iter()
            .map(|word| {
                let mine = |(_, turn): &(usize, &Turn<'_>)| turn.action == *word;
                let (places, own): (Vec<usize>, Vec<&Turn<'_>>) =
                    turns.iter().enumerate().filter(mine).unzip();
                (places, scope.spawn(move || by_one(actions, word, own)))
            })
            .collect();
        for (places, handle) in running {
            let ended = handle.join().unwrap_or_default();
            for (at, outcome) in places.into_iter().zip(ended) {
                outcomes[at] = Some(outcome);
            }
        }
    });
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect()
}

fn by_one(actions: &[&dyn Action], word: &str, turns: Vec<&Turn<'_>>) -> Vec<Outcome> {
    let Some(action) = actions.iter().find(|action| action.name() == word) else {
        let why = format!("no action `{word}` is built in");
        return turns.iter().map(|_| Outcome::of(End::Unstarted(why.clone()))).collect();
    };
    let jobs: Vec<Job<'_>> =
        turns.iter().map(|turn| Job { call: &turn.call, errand: Some(&*turn.errand) }).collect();
    catch_unwind(AssertUnwindSafe(|| action.run(&jobs)))
        .ok()
        .filter(|outcomes| outcomes.len() == jobs.len())
        .unwrap_or_else(|| jobs.iter().map(|_| broken("the action panicked")).collect())
}

/// The outcome of a call of which nobody reported.
pub fn lost() -> Outcome {
    broken("it did not report")
}

fn broken(why: &str) -> Outcome {
    Outcome::of(End::Unstarted(format!("a fault of gambrel's own: {why}")))
}
