//! The live view of a run on a terminal: stages, iterations, running hooks, the agent's last words,
//! blocked calls and open questions, drawn several times a second below what the run prints.

mod lines;
mod state;

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gambrel::{FiringObserver, Gambrel, Setup, TerminalUse, now_ms};
use gambrel_model::Ticket;
use gambrel_runner::{Plan, RunFolder, RunUpdate};

use self::lines::format_lines;
use self::state::LiveState;
use crate::printer::status_block;

/// How often the view is drawn.
const DRAW_INTERVAL: Duration = Duration::from_millis(250);
/// Answers are looked for at every fourth drawing.
const DRAWS_PER_LOOK: u32 = 4;

/// What the view shows, for the threads that change and draw it.
#[derive(Clone, Default)]
pub struct LiveView {
    state: Arc<Mutex<LiveState>>,
}

impl LiveView {
    /// Has hooks, questions and prompts reported to the view.
    pub fn observe(&self, setup: &mut Setup) {
        let view = self.clone();
        setup.options.observer =
            Some(FiringObserver::new(move |progress| view.lock().observe(progress)));
        let view = self.clone();
        setup.on_question = Some(gambrel::QuestionNotice::new(move |ticket: &Ticket, _| {
            view.lock().add_question(ticket);
        }));
        setup.on_terminal = Some(TerminalUse::new(status_block::suspend_block));
    }

    /// Shows the view while the run works.
    pub fn show_during<T>(
        &self,
        gambrel: &Gambrel,
        (plan, folder): (&Plan, &RunFolder),
        work: impl FnOnce() -> T,
    ) -> T {
        let earlier = gambrel_runner::read_state(gambrel.ledger(), &folder.path).ok().flatten();
        self.lock().begin(plan, earlier.map(|(_, state)| state).as_ref());
        let _open = status_block::open_block();
        let (stop, stopped) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut count = 0_u32;
                loop {
                    self.draw(gambrel, (plan, folder), count.is_multiple_of(DRAWS_PER_LOOK));
                    count = count.wrapping_add(1);
                    if stopped.recv_timeout(DRAW_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                }
            });
            let result = work();
            drop(stop);
            result
        })
    }

    /// Takes over what the run reports.
    pub fn apply(&self, update: &RunUpdate<'_>) {
        self.lock().apply(update);
    }

    fn draw(&self, gambrel: &Gambrel, (plan, folder): (&Plan, &RunFolder), looks: bool) {
        let (place, open, is_delivering) = {
            let state = self.lock();
            (state.place(), state.question_ids(), state.is_delivering)
        };
        let words_of = |(node, iteration)| {
            let files = folder.iteration_files(plan, node, iteration);
            read_last_words(&files.output_log).or_else(|| read_last_words(&files.output))
        };
        let words = match is_delivering {
            true => read_last_words(&folder.path.join("delivery.md")),
            false => place.and_then(words_of),
        };
        let closed = if looks { find_closed(gambrel, open) } else { Vec::new() };
        let mut state = self.lock();
        state.words = words.unwrap_or_default();
        state.remove_questions(&closed);
        let (columns, _) = status_block::terminal_size();
        let lines = format_lines(&state, columns);
        drop(state);
        status_block::show_lines(lines);
    }

    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Questions that no longer wait.
fn find_closed(gambrel: &Gambrel, ids: Vec<String>) -> Vec<String> {
    let now = now_ms();
    let is_closed = |id: &String| {
        let ticket = gambrel.ledger().find_ticket(id).ok().flatten();
        ticket.is_none_or(|ticket| ticket.state_at(now) != gambrel_model::TicketState::Open)
    };
    ids.into_iter().filter(is_closed).collect()
}

/// The last line of an output, which may be long.
fn read_last_words(path: &Path) -> Option<String> {
    let text = super::output_file::read_end(path)?;
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}
