//! Chooses the firings that `log` lists. Filters that the journal does not have are applied here.

use gambrel_model::Ledger;
use gambrel_model::ledger::{FiringQuery, FiringRecord, RecordedFiring};

use super::local_time;
use crate::args::LogArgs;

/// How many firings are listed without `-n` and `--since`.
const DEFAULT_COUNT: usize = 20;
/// How many more firings are read each time while a filter finds too few.
const READ_FACTOR: usize = 8;

/// Which firings to list.
#[derive(Debug)]
pub struct FiringFilter {
    /// How many, the newest.
    pub count: usize,
    /// Only those of this session.
    pub session: Option<String>,
    is_denied: bool,
    tool: Option<String>,
    since: u64,
}

impl FiringFilter {
    /// The filter of a command line.
    pub fn new(args: &LogArgs) -> anyhow::Result<Self> {
        let since = args.since.as_deref().map(local_time::parse_since).transpose()?;
        let default = if since.is_some() { usize::MAX } else { DEFAULT_COUNT };
        Ok(Self {
            count: args.count.unwrap_or(default),
            session: args.session.clone(),
            is_denied: args.denied,
            tool: args.tool.clone(),
            since: since.unwrap_or_default(),
        })
    }

    /// Whether it filters by more than the journal can.
    pub fn is_fine(&self) -> bool {
        self.is_denied || self.tool.is_some() || self.since > 0
    }

    /// Whether it filters at all.
    pub fn is_filter(&self) -> bool {
        self.is_fine() || self.session.is_some()
    }

    /// The query for the newest firings.
    pub fn newest(&self, limit: usize) -> FiringQuery {
        FiringQuery { session: self.session.clone(), limit, after: None }
    }

    /// Whether it lets a firing pass.
    pub fn accepts(&self, firing: &FiringRecord) -> bool {
        let recorded = RecordedFiring::new(firing);
        let is_denied = || matches!(recorded.text("ruling"), "deny" | "halt");
        let tool = || recorded.text("tool").to_lowercase();
        firing.at >= self.since
            && (!self.is_denied || is_denied())
            && self.tool.as_ref().is_none_or(|wanted| tool() == wanted.to_lowercase())
    }

    /// The newest firings that it lets pass, oldest first.
    pub fn list(&self, ledger: &dyn Ledger) -> anyhow::Result<Vec<FiringRecord>> {
        let mut limit = self.count;
        loop {
            let mut firings = ledger.firings(&self.newest(limit))?;
            let is_all = firings.len() < limit || limit == usize::MAX;
            let reaches_since = firings.first().is_none_or(|first| first.at < self.since);
            firings.retain(|firing| self.accepts(firing));
            if firings.len() >= self.count || is_all || (reaches_since && self.since > 0) {
                firings.drain(..firings.len().saturating_sub(self.count));
                return Ok(firings);
            }
            limit = limit.saturating_mul(READ_FACTOR).max(DEFAULT_COUNT);
        }
    }
}
