//! Runs as pictures, for pages and reports.

use gambrel::Gambrel;
use gambrel_model::{RunTimeline, TimelineHook};
use gambrel_runner::{RunState, build_timeline, is_session_name, read_log};

#[cfg(feature = "http")]
use {
    gambrel_model::RunSummary,
    std::collections::BTreeMap,
    std::sync::{Mutex, PoisonError},
    std::time::SystemTime,
};

use super::counts_view::describe_counts;
use super::status;

/// Lists the runs of the project, again and again. A run that is over is read once.
#[cfg(feature = "http")]
#[derive(Default)]
pub struct RunLister {
    known: Mutex<BTreeMap<String, KnownSummary>>,
}

/// A run that is over, and the version of its log.
#[cfg(feature = "http")]
struct KnownSummary {
    version: LogVersion,
    summary: RunSummary,
}

/// The length and the time of a log.
#[cfg(feature = "http")]
type LogVersion = (u64, Option<SystemTime>);

#[cfg(feature = "http")]
impl RunLister {
    /// All runs, newest first. One that cannot be read is left out.
    pub fn list(&self, gambrel: &Gambrel) -> Vec<RunSummary> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut runs = Vec::new();
        for name in status::session_names(gambrel) {
            let version = log_version(&status::run_folder(gambrel, &name));
            if let Some(run) = known.get(&name).filter(|run| Some(run.version) == version) {
                runs.push(run.summary.clone());
                continue;
            }
            let Some(summary) = status::summarize_run(gambrel, &name) else { continue };
            let is_over = matches!(summary.status.as_str(), "complete" | "failed");
            if let Some(version) = version.filter(|_| is_over) {
                known.insert(name, KnownSummary { version, summary: summary.clone() });
            }
            runs.push(summary);
        }
        runs.sort_by(|a, b| (b.began, &b.session).cmp(&(a.began, &a.session)));
        runs
    }
}

#[cfg(feature = "http")]
fn log_version(folder: &std::path::Path) -> Option<LogVersion> {
    let known = std::fs::metadata(folder.join("events.jsonl")).ok()?;
    Some((known.len(), known.modified().ok()))
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
