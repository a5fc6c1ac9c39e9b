//! The file that lists every process that runs hooks. If such a process is killed, the next start
//! finds its entry and has every process with its hooks' tags killed. One file with slots instead
//! of a file per process: an entry costs two small writes, a new file ten times as much.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, create_dir_all};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::io::write;
use rustix::time::{ClockId, clock_gettime};

use crate::process_table::{self, ProcessSet, ProcessTable};
use crate::settings::Settings;
use crate::watchdog_client;

/// One entry: process id, PID namespace, time and tag as a line, padded with zeros. The first slot
/// holds the time of the last sweep.
const SLOT_BYTES: usize = 96;
/// Slots in the file. Further processes are not listed; only the watchdog knows their hooks.
const MAX_SLOT_COUNT: usize = 128;
/// Slots that a process tries first, so that the file stays short and one read is enough.
const USUAL_SLOT_COUNT: usize = 16;
/// The shortest time between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// How often one sweep repeats.
const MAX_SWEEP_ROUNDS: usize = 10;
/// An entry of an unknown namespace is overwritten after a day, in the kernel's ticks.
const MAX_FOREIGN_AGE_TICKS: u64 = 24 * 3600 * 100;

/// This process's entry, removed on drop.
pub struct RunningEntry {
    file: File,
    slot: usize,
}

/// An entry as read from the file.
struct StoredEntry {
    slot: usize,
    text: Vec<u8>,
    pid: i32,
    /// Process ids are valid only in their namespace, and a container may share the directory.
    namespace: u64,
    /// When it was written, in the kernel's ticks.
    ticks: u64,
    /// The tag of its hook, or the beginning of the tags of all its hooks.
    tag: String,
}

impl RunningEntry {
    /// Lists this process for hooks whose tags begin with `tag`. `None` if the settings have no
    /// file or the entry cannot be written: then only the watchdog knows them.
    pub fn register_process(settings: &Settings, tag: &str) -> Option<Self> {
        let path = settings.running_file.as_deref()?;
        let file = open_file(path, true).or_else(|| {
            create_dir_all(path.parent()?).ok()?;
            open_file(path, true)
        })?;
        let bytes = read_slots(&file)?;

        let pid = std::process::id();
        // Processes that start at the same time mostly have adjacent ids, so two of them seldom
        // want the same slot.
        let first = 1 + pid as usize % (USUAL_SLOT_COUNT - 1);
        let mut slots = (first..MAX_SLOT_COUNT).chain(1..first);

        let own_namespace = pid_namespace();
        let slot = slots.find(|slot| is_slot_free(&bytes, *slot, own_namespace))?;
        let text = format!("{pid} {own_namespace} {} {tag}\n", process_table::ticks_now());
        write_slot(&file, slot, text.as_bytes())?;
        Some(Self { file, slot })
    }
}

impl Drop for RunningEntry {
    fn drop(&mut self) {
        write_slot(&self.file, self.slot, b"");
    }
}

/// Has all processes killed that hooks of killed processes left, by a separate process and at most
/// once a second. `file` is [`Settings::running_file`], `program` is [`Settings::supervisor`].
pub fn end_orphans(file: &Path, program: &Path) {
    // Usually there is no such file, or no dead process in it.
    let Some((opened, bytes)) = open_file(file, false).and_then(|opened| {
        let bytes = read_slots(&opened)?;
        Some((opened, bytes))
    }) else {
        return;
    };

    if find_dead(&bytes).next().is_none() || was_swept_recently(&bytes) {
        return;
    }
    write_sweep_time(&opened);
    if let Ok(pipe) = watchdog_client::start_watchdog(program) {
        send_sweep_order(&pipe, file);
    }
}

/// Sends the order in one write: it is short, and the pipe is empty.
fn send_sweep_order(pipe: &OwnedFd, file: &Path) {
    let hex: String = file.as_os_str().as_bytes().iter().map(|b| format!("{b:02x}")).collect();
    let line = format!("sweep {hex}\n");
    let _ = rustix::io::retry_on_intr(|| write(pipe, line.as_bytes()));
}

/// A path as [`send_sweep_order`] writes it.
pub fn path_from_hex(hex: &str) -> Option<PathBuf> {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes = (0..hex.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// Kills the hooks of dead processes and clears their entries. Repeats after an interval, because
/// starts in between leave the sweep to this process.
pub fn sweep_dead_entries(path: &Path, kill: fn(Vec<ProcessSet>)) {
    let Some(file) = open_file(path, false) else { return };
    for _ in 0..MAX_SWEEP_ROUNDS {
        let Some(bytes) = read_slots(&file) else { return };
        let dead_entries: Vec<StoredEntry> = find_dead(&bytes).collect();
        if dead_entries.is_empty() {
            return;
        }

        write_sweep_time(&file);
        kill(dead_entries.iter().map(StoredEntry::process_set).collect());
        let table = ProcessTable::read_proc();
        for entry in
            dead_entries.iter().filter(|entry| table.find_members(&entry.process_set()).is_empty())
        {
            entry.clear_slot(&file);
        }
        thread::sleep(SWEEP_INTERVAL);
    }
}

impl StoredEntry {
    fn parse_slot(slot: usize, bytes: &[u8]) -> Option<Self> {
        let line = bytes.split(|byte| *byte == b'\n').next()?;
        let mut words = std::str::from_utf8(line).ok()?.split(' ');
        let (pid, namespace) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let ticks = words.next()?.parse().ok()?;
        let tag = words.next().filter(|mark| !mark.is_empty())?.to_owned();
        Some(Self { slot, text: bytes.to_vec(), pid, namespace, ticks, tag })
    }

    /// Whether its process has ended. A time in the future is from before the last boot.
    fn is_dead(&self) -> bool {
        self.ticks > process_table::ticks_now() || process_table::ended_since(self.pid, self.ticks)
    }

    fn process_set(&self) -> ProcessSet {
        let prefix = self.tag.ends_with('-');
        ProcessSet { tag: self.tag.clone(), prefix, ..ProcessSet::default() }
    }

    /// Clears its slot, unless another process has taken it.
    fn clear_slot(&self, file: &File) {
        let mut now = [0; SLOT_BYTES];
        let same = file.read_at(&mut now, (self.slot * SLOT_BYTES) as u64).is_ok();
        if same && now.as_slice() == self.text.as_slice() {
            write_slot(file, self.slot, b"");
        }
    }
}

/// Entries of dead processes in this PID namespace.
fn find_dead(bytes: &[u8]) -> impl Iterator<Item = StoredEntry> {
    let slots = bytes.chunks_exact(SLOT_BYTES).enumerate().skip(1);
    let entries = slots.filter(|(_, text)| text.first() != Some(&0));
    let dead = entries
        .filter_map(|(slot, text)| StoredEntry::parse_slot(slot, text))
        .filter(StoredEntry::is_dead);
    dead.filter(|entry| entry.namespace == pid_namespace())
}

/// Whether a slot is empty, or holds an old entry of another namespace.
fn is_slot_free(bytes: &[u8], slot: usize, own_namespace: u64) -> bool {
    let text = bytes
        .get(slot * SLOT_BYTES..(slot + 1) * SLOT_BYTES)
        .filter(|text| text.first() != Some(&0));
    let Some(text) = text else { return true };
    StoredEntry::parse_slot(slot, text).is_none_or(|entry| {
        let age = process_table::ticks_now().checked_sub(entry.ticks);
        entry.namespace != own_namespace && age.is_none_or(|age| age > MAX_FOREIGN_AGE_TICKS)
    })
}

/// The id of this PID namespace; 0 if it cannot be read.
fn pid_namespace() -> u64 {
    // `pid:[4026531836]`. Reading the link is cheaper than reading the inode.
    let link = rustix::fs::readlink("/proc/self/ns/pid", Vec::with_capacity(SLOT_BYTES)).ok();
    let text = link.as_ref().and_then(|link| link.to_str().ok());
    let number = text.and_then(|text| text.strip_prefix("pid:[")?.strip_suffix(']'));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn was_swept_recently(bytes: &[u8]) -> bool {
    let text = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let at: Option<u64> = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    at.and_then(|at| boot_time_ms().checked_sub(at))
        .is_some_and(|ago| ago < SWEEP_INTERVAL.as_millis() as u64)
}

fn write_sweep_time(file: &File) {
    write_slot(file, 0, format!("{}\n", boot_time_ms()).as_bytes());
}

/// Milliseconds since the machine booted.
fn boot_time_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Opens the file without blocking, whatever kind of file it is.
fn open_file(path: &Path, create: bool) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(0o600).custom_flags(libc::O_NONBLOCK);
    options.open(path).ok()
}

fn read_slots(file: &File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < SLOT_BYTES * MAX_SLOT_COUNT {
        let (from, part) = (bytes.len(), SLOT_BYTES * USUAL_SLOT_COUNT);
        bytes.resize(from + part, 0);
        let buffer = bytes.get_mut(from..)?;
        let got = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *buffer, from as u64));
        let got = got.ok()?;
        bytes.truncate(from + got);
        if got < part {
            break;
        }
    }
    Some(bytes)
}

/// Writes a slot; `None` if the text does not fit or the write failed.
fn write_slot(file: &File, slot: usize, text: &[u8]) -> Option<()> {
    let mut bytes = [0; SLOT_BYTES];
    bytes.get_mut(..text.len())?.copy_from_slice(text);
    file.write_all_at(&bytes, (slot * SLOT_BYTES) as u64).ok()
}
