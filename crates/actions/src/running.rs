//! The file in which every process that runs hooks is entered while it does. If it is killed, the
//! next start finds the entry of a process that has ended, and has everything killed that carries
//! the marks of its hooks. One file with slots and not a file each: an entry costs two
//! small writes, where a file that comes and goes costs ten times as much. It knows no hook.

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

use crate::guard;
use crate::settings::Settings;
use crate::tree::{self, Kin, Snapshot};

/// One entry: process, its namespace, time and mark as a line, filled up with zeros. The first slot
/// is the time of the last sweep.
const SLOT: usize = 96;
/// More processes than this at once are not entered; the watchdog knows their hooks soon.
const COUNT: usize = 128;
/// Among so many slots a process looks first, so that the file is short and read at once.
const USUAL: usize = 16;
/// The least time between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);
/// How often one sweep looks again.
const ROUNDS: usize = 10;
/// An entry of a namespace that cannot be seen from here is overwritten when it is a day old, in the
/// kernel's ticks.
const FOREIGN_AGE: u64 = 24 * 3600 * 100;

/// An entry of this process, until it is dropped.
pub(crate) struct Running {
    file: File,
    slot: usize,
}

/// An entry as it was read.
struct Entry {
    slot: usize,
    text: Vec<u8>,
    pid: i32,
    /// Process numbers mean nothing outside of their namespace: folders may be shared with a
    /// container.
    namespace: u64,
    /// When it was made, in the kernel's ticks.
    ticks: u64,
    /// The mark of its hook, or what the marks of all its hooks begin with.
    mark: String,
}

impl Running {
    /// Enters this process for hooks whose marks begin so. `None` where nothing is kept, or nothing
    /// can be: then only the watchdog knows of them.
    pub fn enter(settings: &Settings, mark: &str) -> Option<Self> {
        let path = settings.running_file.as_deref()?;
        let file = open(path, true).or_else(|| {
            create_dir_all(path.parent()?).ok()?;
            open(path, true)
        })?;
        let bytes = read(&file)?;
        let pid = std::process::id();
        // Processes that start at the same time mostly have numbers next to each other, so that two
        // of them seldom want the same slot.
        let first = 1 + pid as usize % (USUAL - 1);
        let mut slots = (first..COUNT).chain(1..first);
        let own = namespace();
        let slot = slots.find(|slot| is_free(&bytes, *slot, own))?;
        let text = format!("{pid} {own} {} {mark}\n", tree::ticks_now());
        write_slot(&file, slot, text.as_bytes())?;
        Some(Self { file, slot })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        write_slot(&self.file, self.slot, b"");
    }
}

/// Has everything killed that hooks of killed processes left running, by a process of its own and
/// at most once a second. `file` is [`Settings::running_file`], `program` is [`Settings::supervisor`].
pub fn end_orphans(file: &Path, program: &Path) {
    // Mostly there is no such file, or nobody dead in it.
    let Some((opened, bytes)) = open(file, false).and_then(|opened| {
        let bytes = read(&opened)?;
        Some((opened, bytes))
    }) else {
        return;
    };
    if dead(&bytes).next().is_none() || was_swept_lately(&bytes) {
        return;
    }
    stamp(&opened);
    if let Ok(pipe) = guard::start(program) {
        order_sweep(&pipe, file);
    }
}

/// The order is short, and the pipe empty.
fn order_sweep(pipe: &OwnedFd, file: &Path) {
    let hex: String = file.as_os_str().as_bytes().iter().map(|b| format!("{b:02x}")).collect();
    let line = format!("sweep {hex}\n");
    let _ = rustix::io::retry_on_intr(|| write(pipe, line.as_bytes()));
}

/// A path as [`order_sweep`] writes it.
pub(crate) fn path_from_hex(hex: &str) -> Option<PathBuf> {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes = (0..hex.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?;
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// Kills what is entered for processes that have ended, and strikes out their entries. Looks again
/// after a pause, because starts in between have left it to us.
pub(crate) fn sweep(path: &Path, kill: fn(Vec<Kin>)) {
    let Some(file) = open(path, false) else { return };
    for _ in 0..ROUNDS {
        let Some(bytes) = read(&file) else { return };
        let dead: Vec<Entry> = dead(&bytes).collect();
        if dead.is_empty() {
            return;
        }
        stamp(&file);
        kill(dead.iter().map(Entry::kin).collect());
        let table = Snapshot::take();
        for entry in dead.iter().filter(|entry| table.members(&entry.kin()).is_empty()) {
            entry.strike_out(&file);
        }
        thread::sleep(SWEEP_PAUSE);
    }
}

impl Entry {
    fn read(slot: usize, bytes: &[u8]) -> Option<Self> {
        let line = bytes.split(|byte| *byte == b'\n').next()?;
        let mut words = std::str::from_utf8(line).ok()?.split(' ');
        let (pid, namespace) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let ticks = words.next()?.parse().ok()?;
        let mark = words.next().filter(|mark| !mark.is_empty())?.to_owned();
        Some(Self { slot, text: bytes.to_vec(), pid, namespace, ticks, mark })
    }

    /// Its time may be of an earlier run of the machine.
    fn is_dead(&self) -> bool {
        self.ticks > tree::ticks_now() || tree::ended_since(self.pid, self.ticks)
    }

    fn kin(&self) -> Kin {
        let prefix = self.mark.ends_with('-');
        Kin { mark: self.mark.clone(), prefix, ..Kin::default() }
    }

    /// Unless somebody else has taken the slot.
    fn strike_out(&self, file: &File) {
        let mut now = [0; SLOT];
        let same = file.read_at(&mut now, (self.slot * SLOT) as u64).is_ok();
        if same && now.as_slice() == self.text.as_slice() {
            write_slot(file, self.slot, b"");
        }
    }
}

/// Entries of processes that have ended, of those that would be seen here.
fn dead(bytes: &[u8]) -> impl Iterator<Item = Entry> {
    let slots = bytes.chunks_exact(SLOT).enumerate().skip(1);
    let entries = slots.filter(|(_, text)| text.first() != Some(&0));
    let dead = entries.filter_map(|(slot, text)| Entry::read(slot, text)).filter(Entry::is_dead);
    dead.filter(|entry| entry.namespace == namespace())
}

/// Whether a slot is empty, or its entry of a container that has gone.
fn is_free(bytes: &[u8], slot: usize, own: u64) -> bool {
    let text = bytes.get(slot * SLOT..(slot + 1) * SLOT).filter(|text| text.first() != Some(&0));
    let Some(text) = text else { return true };
    Entry::read(slot, text).is_none_or(|entry| {
        let age = tree::ticks_now().checked_sub(entry.ticks);
        entry.namespace != own && age.is_none_or(|age| age > FOREIGN_AGE)
    })
}

/// The namespace of our process numbers; 0 where it cannot be seen.
fn namespace() -> u64 {
    // `pid:[4026531836]`. Its link is cheaper to read than its inode.
    let link = rustix::fs::readlink("/proc/self/ns/pid", Vec::with_capacity(SLOT)).ok();
    let text = link.as_ref().and_then(|link| link.to_str().ok());
    let number = text.and_then(|text| text.strip_prefix("pid:[")?.strip_suffix(']'));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn was_swept_lately(bytes: &[u8]) -> bool {
    let text = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let at: Option<u64> = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    at.and_then(|at| now_ms().checked_sub(at))
        .is_some_and(|ago| ago < SWEEP_PAUSE.as_millis() as u64)
}

fn stamp(file: &File) {
    write_slot(file, 0, format!("{}\n", now_ms()).as_bytes());
}

/// Milliseconds since the machine started.
fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Whatever stands at the path, this does not wait.
fn open(path: &Path, create: bool) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).mode(0o600).custom_flags(libc::O_NONBLOCK);
    options.open(path).ok()
}

fn read(file: &File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < SLOT * COUNT {
        let (from, part) = (bytes.len(), SLOT * USUAL);
        bytes.resize(from + part, 0);
        let room = bytes.get_mut(from..)?;
        let got = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *room, from as u64));
        let got = got.ok()?;
        bytes.truncate(from + got);
        if got < part {
            break;
        }
    }
    Some(bytes)
}

/// `None` if it does not fit or could not be written.
fn write_slot(file: &File, slot: usize, text: &[u8]) -> Option<()> {
    let mut bytes = [0; SLOT];
    bytes.get_mut(..text.len())?.copy_from_slice(text);
    file.write_all_at(&bytes, (slot * SLOT) as u64).ok()
}
