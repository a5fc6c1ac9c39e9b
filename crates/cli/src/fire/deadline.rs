//! A kernel timer that ends this process before the agent's own timeout, which is read from
//! gambrel's entry in the settings. After its timeout the agent would let the tool run. If a signal
//! ends gambrel, the shell of the entry blocks the tool.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use gambrel::Setup;
use gambrel_dialects::claude::{CLAUDE, DEFAULT_TIMEOUT, self_reference, settings_files};

use crate::args::FireArgs;

/// Time limit for reading the settings.
const SETTINGS_TIMEOUT: Duration = Duration::from_secs(2);
/// The timer fires at most this much before the agent's timeout, which started earlier.
const MAX_LEAD_WINDOW: Duration = Duration::from_millis(200);
/// Larger settings files are not read here.
const MAX_SETTINGS_BYTES: u64 = 8 * 1024 * 1024;

/// The timer of a firing that an agent called for a known event.
pub struct HostTimer<'a> {
    event: &'a str,
    began: Instant,
}

impl<'a> HostTimer<'a> {
    /// Starts the timer with the limit for reading the settings, before any file is looked for.
    /// `None` if no such agent called.
    pub fn start(args: &'a FireArgs) -> Option<Self> {
        let event = args.event.as_deref().filter(|_| args.hosted && args.from == CLAUDE.name)?;
        let began = Instant::now();
        gambrel_actions::end_process_after(SETTINGS_TIMEOUT);
        Some(Self { event, began })
    }

    /// Sets the timer to shortly before the agent's own timeout. Returns the `timeout` of gambrel's entry,
    /// which becomes the budget of the firing.
    pub fn set_to_entry(&self, setup: &Setup) -> Option<Duration> {
        let files =
            settings_files::entry_files(&setup.env, setup.home(), &setup.find_working_project());
        let timeouts = files
            .iter()
            .filter_map(|file| self_reference::entry_timeout(&read_small_file(file)?, self.event));
        let found = timeouts.min();

        let host_timeout = found.unwrap_or(DEFAULT_TIMEOUT);
        let lead = (host_timeout / 20).min(MAX_LEAD_WINDOW);
        let left = (host_timeout - lead).saturating_sub(self.began.elapsed());
        gambrel_actions::end_process_after(left);
        found
    }
}

/// The text of a regular file. A pipe is opened without waiting for a writer, and is not read.
fn read_small_file(path: &Path) -> Option<String> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = file.open(path).ok()?;
    let known = file.metadata().ok()?;
    if !known.is_file() || known.len() > MAX_SETTINGS_BYTES {
        return None;
    }

    let mut text = String::new();
    file.take(MAX_SETTINGS_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
