//! A kernel timer that ends this process before the agent's own timeout, which is read from
//! gambrel's entry in the settings. After its timeout the agent would let the tool run. If a signal
//! ends gambrel, the shell of the entry blocks the tool.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
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

/// Sets the timer if an agent calls for a known event. Returns the `timeout` of gambrel's entry,
/// which becomes the budget of the firing.
pub fn arm_timer(folder: Option<&Path>, args: &FireArgs) -> Option<Duration> {
    let event = args.event.as_deref().filter(|_| args.hosted && args.from == CLAUDE.name)?;
    let began = Instant::now();
    gambrel_actions::end_process_after(SETTINGS_TIMEOUT);

    let files = entry_files(folder);
    let timeouts = files
        .iter()
        .filter_map(|file| self_reference::entry_timeout(&read_small_file(file)?, event));
    let found = timeouts.min();

    let host_timeout = found.unwrap_or(DEFAULT_TIMEOUT);
    let lead = (host_timeout / 20).min(MAX_LEAD_WINDOW);
    let left = (host_timeout - lead).saturating_sub(began.elapsed());
    gambrel_actions::end_process_after(left);
    found
}

/// Settings files that may have the entry that called gambrel.
fn entry_files(folder: Option<&Path>) -> Vec<PathBuf> {
    let setup = Setup { folder: folder.map(Path::to_owned), ..Setup::from_env() };
    settings_files::entry_files(&setup.env, setup.home(), &setup.search_roots(None).project)
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
