//! Runs as pictures, for pages and reports.

use gambrel::Gambrel;
#[cfg(feature = "http")]
use gambrel::model::RunSummary;
use gambrel::model::{RunTimeline, TimelineHook};
use gambrel::runner::{RunState, build_timeline, is_session_name, read_log};

use super::counts_view::describe_counts;
use super::status;

/// All runs of the project, newest first.
#[cfg(feature = "http")]
pub fn list_summaries(gambrel: &Gambrel) -> Vec<RunSummary> {
    let mut runs = status::summarize_runs(gambrel);
    runs.sort_by(|a, b| (b.began, &b.session).cmp(&(a.began, &a.session)));
    runs
}

/// The picture of a run; `None` for an unknown one.
pub fn read_timeline(gambrel: &Gambrel, session: &str) -> anyhow::Result<Option<RunTimeline>> {
    // A run that was moved away has a number after its name.
    let name = session.rsplit_once('.').map_or(session, |(name, number)| {
        if number.bytes().all(|byte| byte.is_ascii_digit()) { name } else { session }
    });
    if !is_session_name(name) {
        return Ok(None);
    }
    let folder = status::run_folder(gambrel, session);
    let Some((plan, lines)) = read_log(gambrel.ledger(), &folder)? else { return Ok(None) };
    let state = RunState::fold(&plan, &lines);
    let is_live = status::find_owner(gambrel, &folder).is_some();
    let mut timeline = build_timeline(&plan, &lines, status::status_word(&state, is_live));
    timeline.summary.session = session.to_owned();
    timeline.counts = describe_counts(&state.totals.run);
    for stage in &mut timeline.stages {
        let of_iterations = stage.iterations.iter_mut().flat_map(|it| &mut it.hooks);
        stage.hooks.iter_mut().chain(of_iterations).for_each(name_product_of);
    }
    Ok(Some(timeline))
}

/// The product of a dialect, for people.
pub fn name_product(dialect: &str) -> String {
    let known = Gambrel::dialect_by_name(dialect);
    known.map_or_else(|| dialect.to_owned(), |dialect| dialect.product().to_owned())
}

fn name_product_of(hook: &mut TimelineHook) {
    hook.product = name_product(&hook.product);
}
