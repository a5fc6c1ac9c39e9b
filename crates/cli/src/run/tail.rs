//! `gambrel tail`: prints what the agent of a run has written, and with `-f` what it writes until the
//! run ends.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use gambrel::Gambrel;
use gambrel_runner::{Plan, RunFolder, RunState, RunStatus, read_state};
use serde_json::json;

use super::output_file::GrowingFile;
use super::{TailArgs, status};
use crate::{open, printer};

/// How often the files are read.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(200);

/// Prints the output.
pub fn show_output(folder: Option<PathBuf>, args: &TailArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let folder = RunFolder::new(status::run_folder(&gambrel, &args.session));
    let Some((plan, state)) = read_state(gambrel.ledger(), &folder.path)? else {
        bail!(status::unknown_run(&gambrel, &args.session));
    };
    let mut reader = OutputReader { plan: &plan, folder: &folder, args, part: None };
    let known = written_iterations(&state);
    let newest = known.iter().rev().find(|place| reader.has_output(**place));
    let Some(newest) = newest.or(known.last()) else {
        return follow(&gambrel, &mut reader, &state);
    };
    reader.print_end(*newest);
    follow(&gambrel, &mut reader, &state)
}

/// Prints what is appended, until the run ends or the reader of stdout is gone.
fn follow(
    gambrel: &Gambrel,
    reader: &mut OutputReader<'_>,
    state: &RunState,
) -> anyhow::Result<u8> {
    if !reader.args.follow {
        return Ok(0);
    }
    let mut is_live = is_running(gambrel, reader.folder, state);
    loop {
        // Read after the run was seen to have ended: nothing can follow.
        let is_last = !is_live;
        let state = read_state(gambrel.ledger(), &reader.folder.path)?.map(|(_, state)| state);
        for place in state.iter().flat_map(written_iterations) {
            if !reader.print_more(place) {
                return Ok(0);
            }
        }
        if is_last {
            return Ok(0);
        }
        if printer::wait_for_reader_exit(FOLLOW_INTERVAL) {
            return Ok(0);
        }
        is_live = state.is_some_and(|state| is_running(gambrel, reader.folder, &state));
    }
}

fn is_running(gambrel: &Gambrel, folder: &RunFolder, state: &RunState) -> bool {
    let is_open = matches!(state.status, RunStatus::Running | RunStatus::Paused);
    is_open && status::find_owner(gambrel, &folder.path).is_some()
}

/// The iterations that have begun, oldest first: index of the node, and number.
fn written_iterations(state: &RunState) -> Vec<(usize, u32)> {
    let index_of = |stage: &str| state.stages.iter().find(|known| known.name == stage);
    let ended = state
        .history
        .iter()
        .filter_map(|entry| Some((index_of(&entry.stage)?.index, entry.iteration)));
    let current = (state.cursor.node(), state.cursor.iteration);
    let mut all: Vec<(usize, u32)> = ended.collect();
    if current.1 > 0 && !all.contains(&current) {
        all.push(current);
    }
    all
}

/// Prints the outputs of iterations, one after the other.
struct OutputReader<'r> {
    plan: &'r Plan,
    folder: &'r RunFolder,
    args: &'r TailArgs,
    /// The iteration that was printed last, and its file.
    part: Option<((usize, u32), GrowingFile)>,
}

impl OutputReader<'_> {
    /// The file with what the agent prints. An agent may write `output.md` itself.
    fn path_of(&self, (node, iteration): (usize, u32)) -> PathBuf {
        let files = self.folder.iteration_files(self.plan, node, iteration);
        if files.output_log.exists() { files.output_log } else { files.output }
    }

    fn has_output(&self, place: (usize, u32)) -> bool {
        std::fs::metadata(self.path_of(place)).is_ok_and(|known| known.len() > 0)
    }

    /// Prints the last lines of an iteration.
    fn print_end(&mut self, place: (usize, u32)) {
        let mut file = GrowingFile::new(self.path_of(place));
        let mut text = String::new();
        loop {
            let more = file.read_more();
            if more.is_empty() {
                break;
            }
            text.push_str(&more);
            text = keep_last_lines(&text, self.args.lines).to_owned();
        }
        self.print_heading(place);
        self.print_part(place, &text);
        self.part = Some((place, file));
    }

    /// Prints what an iteration has written since. Earlier iterations are done. Returns false if
    /// nobody reads any more.
    fn print_more(&mut self, place: (usize, u32)) -> bool {
        let is_earlier = |part: &((usize, u32), GrowingFile)| place < part.0;
        if self.part.as_ref().is_some_and(is_earlier) {
            return true;
        }
        let is_new = self.part.as_ref().is_none_or(|part| part.0 != place);
        if is_new {
            if !self.has_output(place) {
                return true;
            }
            self.print_heading(place);
            self.part = Some((place, GrowingFile::new(self.path_of(place))));
        }
        while let Some((_, file)) = &mut self.part {
            let text = file.read_more();
            if text.is_empty() {
                return true;
            }
            if !self.print_part(place, &text) {
                return false;
            }
        }
        true
    }

    /// Names the iteration, on stderr: stdout has only what the agent wrote.
    fn print_heading(&self, (node, iteration): (usize, u32)) {
        if !self.args.json {
            let stage = self.plan.nodes.get(node).map(|node| node.id.as_str()).unwrap_or_default();
            printer::warn(&format!("== {stage}, iteration {iteration} =="));
        }
    }

    fn print_part(&self, (node, iteration): (usize, u32), text: &str) -> bool {
        if text.is_empty() {
            return true;
        }
        if !self.args.json {
            return printer::try_print(&printer::replace_controls(text));
        }
        let stage = self.plan.nodes.get(node).map(|node| node.id.as_str()).unwrap_or_default();
        let part = json!({"stage": stage, "iteration": iteration, "text": text});
        printer::try_print(&format!("{part}\n"))
    }
}

/// The last lines of a text.
fn keep_last_lines(text: &str, count: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let mut ends = body.rmatch_indices('\n').map(|(at, _)| at + 1);
    match count {
        0 => "",
        count => ends.nth(count - 1).map_or(text, |start| &text[start..]),
    }
}

#[cfg(test)]
mod tests {
    use super::keep_last_lines;

    #[test]
    fn keeps_whole_lines() {
        assert_eq!(keep_last_lines("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(keep_last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(keep_last_lines("a\nb\n", 5), "a\nb\n");
        assert_eq!(keep_last_lines("a\nb\n", 0), "");
        assert_eq!(keep_last_lines("", 3), "");
    }
}
