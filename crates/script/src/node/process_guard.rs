//! A helper process that kills a module's process groups if gambrel is killed. It is a shell that
//! reads groups and tags from a pipe; EOF means that gambrel is gone. Groups that a successful call
//! left running may live on for a limited time.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::tagged_processes;

/// Each input line is `tag group seconds`: processes with the tag may outlive gambrel by that many
/// seconds. `$0` is the environment variable with the tag. Group 0 has not started yet, or has
/// ended and may have left processes. A tag alone removes its entry.
const WATCHDOG_SH: &str = r#"kept=" "
while read -r mark id time; do
  was=$kept
  kept=" "
  for one in $was; do [ "${one%%:*}" = "$mark" ] || kept="$kept$one "; done
  [ "$id" ] && kept="$kept$mark:$id:$time "
done
past=0
while [ "$kept" ]; do
  was=$kept
  kept=
  set --
  for one in $was; do
    rest=${one#*:}
    id=${rest%%:*}
    if [ "$past" -ge "${rest#*:}" ]; then
      set -- "$@" -e "$0=${one%%:*}"
      [ "$id" = 0 ] || kill -s KILL -- "-$id"
      # It may not have started yet: check it once more.
      [ "$id" = 0 ] && [ "$past" = 0 ] && kept="$kept ${one%:*}:1"
    elif { [ "$id" != 0 ] && kill -s 0 -- "-$id"; } ||
      grep -qs "$0=${one%%:*}" /proc/[0-9]*/environ; then
      kept="$kept $one"
    fi
  done
  if [ "$1" ]; then
    # Processes that left their group.
    for one in $(grep -ls "$@" /proc/[0-9]*/environ); do
      one=${one#/proc/}
      kill -s KILL "${one%/environ}"
    done
  fi
  [ "$kept" ] || exit 0
  sleep 1 || past=86400
  past=$((past + 1))
done"#;

/// Guards the process groups of one module.
#[derive(Clone, Default)]
pub struct ProcessGuard(Arc<GuardRecord>);

#[derive(Default)]
struct GuardRecord(Mutex<GuardState>);

#[derive(Default)]
struct GuardState {
    shell: Option<Child>,
    groups: BTreeMap<u32, GuardEntry>,
    /// Tags of programs that ended by themselves and may have left processes outside their group.
    ended: Vec<String>,
    /// The same for programs of successful calls.
    finished: VecDeque<String>,
}

/// How long to retry a program that another process has open for writing.
const BUSY_FILE_TIMEOUT: Duration = Duration::from_millis(100);
/// Between two tries.
const BUSY_RETRY_DELAY: Duration = Duration::from_millis(2);
/// How many tags of successful calls are kept.
const MAX_FINISHED_GROUPS: usize = 64;

struct GuardEntry {
    /// The tag of the program and its descendants.
    tag: String,
    /// Whether all processes with the tag were killed.
    swept: bool,
    /// The program's name; `None` for a sidecar.
    name: Option<String>,
    /// How long the group may outlive its module.
    leftover_deadline: Option<Instant>,
}

/// Guards a group until it is dropped. Drop it before the leader is reaped: afterwards the number
/// may belong to another group.
pub struct GuardedGroup {
    guard: ProcessGuard,
    group: u32,
}

impl ProcessGuard {
    /// Starts a child that leads a group, and guards the group. Kills the child if the group cannot
    /// be guarded. `name` is `None` for a sidecar.
    pub fn spawn_guarded(
        &self,
        command: &mut Command,
        name: Option<&str>,
    ) -> io::Result<(Child, GuardedGroup)> {
        let tag = tagged_processes::new_tag();
        // Before the start, so that a kill at any moment is covered.
        self.lock_state().announce_program(&tag)?;

        let started =
            spawn_with_retry(command.env(tagged_processes::TAG_VAR, &tag)).and_then(|mut child| {
                let group = self.guard_group(child.id(), &tag, name).inspect_err(|_| {
                    let _ = child.kill().and_then(|()| child.wait());
                })?;
                Ok((child, group))
            });
        started.inspect_err(|_| _ = self.lock_state().send_line(&tag))
    }

    /// After a successful call: running groups may outlive gambrel for this long. Returns the names
    /// of the programs that are left running for the first time.
    pub fn allow_leftovers(&self, duration: Duration) -> Vec<String> {
        let mut state = self.lock_state();

        let until = Instant::now().checked_add(duration);
        let mut lines = Vec::new();
        let mut names = Vec::new();
        for (group, entry) in &mut state.groups {
            if entry.name.is_some() && entry.leftover_deadline.is_some() {
                continue;
            }
            entry.leftover_deadline = until;
            lines.push(format!("{} {group} {}", entry.tag, duration.as_secs()));
            names.extend(entry.name.clone());
        }

        let ended = std::mem::take(&mut state.ended);
        lines.extend(ended.iter().map(|mark| format!("{mark} 0 {}", duration.as_secs())));
        state.finished.extend(ended);
        let surplus = state.finished.len().saturating_sub(MAX_FINISHED_GROUPS);
        lines.extend(state.finished.drain(..surplus));
        // Without the shell there is no guard to update.
        lines.iter().for_each(|line| _ = state.send_line(line));
        names
    }

    /// Ties all groups to the life of gambrel again, also those left running.
    pub fn revoke(&self) {
        let mut state = self.lock_state();
        state.groups.values_mut().for_each(|entry| entry.leftover_deadline = None);
        let lines = state.groups.iter().map(|(group, entry)| format!("{} {group} 0", entry.tag));
        let lines: Vec<String> = lines.collect();
        lines.iter().for_each(|line| _ = state.send_line(line));
    }

    /// When a group that was left running must end.
    pub fn leftover_deadline(&self, group: u32) -> Option<Instant> {
        self.lock_state().groups.get(&group)?.leftover_deadline
    }

    /// Kills processes that left the group; a signal to the group does not reach them.
    pub fn sweep_group(&self, group: u32) {
        self.tag_of(group).iter().for_each(|tag| tagged_processes::kill_tagged(tag));
        self.lock_state().groups.entry(group).and_modify(|entry| entry.swept = true);
    }

    fn tag_of(&self, group: u32) -> Option<String> {
        self.lock_state().groups.get(&group).map(|entry| entry.tag.clone())
    }

    fn guard_group(&self, group: u32, tag: &str, name: Option<&str>) -> io::Result<GuardedGroup> {
        let mut state = self.lock_state();
        state.send_line(&format!("{tag} {group} 0"))?;

        let (tag, name) = (tag.to_owned(), name.map(str::to_owned));
        let entry = GuardEntry { tag, swept: false, name, leftover_deadline: None };
        state.groups.insert(group, entry);
        drop(state);
        Ok(GuardedGroup { guard: self.clone(), group })
    }

    fn lock_state(&self) -> MutexGuard<'_, GuardState> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GuardState {
    /// Announces a program before its start. The first one starts the shell.
    fn announce_program(&mut self, tag: &str) -> io::Result<()> {
        if self.shell.is_none() {
            self.shell = Some(start_shell()?);
        }
        self.send_line(&format!("{tag} 0 0"))
    }

    /// Records a program that ended by itself. Its leftovers end with gambrel, unless its call
    /// succeeds.
    fn record_ended(&mut self, entry: GuardEntry) -> io::Result<()> {
        let left =
            entry.leftover_deadline.map(|until| until.saturating_duration_since(Instant::now()));
        let sent =
            self.send_line(&format!("{} 0 {}", entry.tag, left.unwrap_or_default().as_secs()));
        match left {
            Some(_) => self.finished.push_back(entry.tag),
            None => self.ended.push(entry.tag),
        }
        sent
    }

    fn send_line(&mut self, line: &str) -> io::Result<()> {
        let pipe = self.shell.as_mut().and_then(|shell| shell.stdin.as_mut());
        let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
        // One write, so that the shell never reads half a line.
        pipe.write_all(format!("{line}\n").as_bytes())
    }
}

impl GuardedGroup {
    /// Ties the group to the life of gambrel again.
    pub fn revoke(&self) {
        let mut state = self.guard.lock_state();
        if let Some(entry) = state.groups.get_mut(&self.group)
            && entry.leftover_deadline.take().is_some()
        {
            let line = format!("{} {} 0", entry.tag, self.group);
            let _ = state.send_line(&line);
        }
    }

    /// Kills processes that left the group.
    pub fn sweep_group(&self) {
        self.guard.sweep_group(self.group);
    }

    /// Whether a process of the group still runs, inside or outside it.
    pub fn has_processes(&self) -> bool {
        self.guard.tag_of(self.group).is_some_and(|tag| tagged_processes::any_tagged(&tag))
    }

    /// When the group must end, if it was left running.
    pub fn leftover_deadline(&self) -> Option<Instant> {
        self.guard.leftover_deadline(self.group)
    }
}

impl Drop for GuardedGroup {
    fn drop(&mut self) {
        let mut state = self.guard.lock_state();
        if let Some(entry) = state.groups.remove(&self.group) {
            // Without the shell there is no guard to update.
            let _ = match entry.swept {
                true => state.send_line(&entry.tag),
                false => state.record_ended(entry),
            };
        }
    }
}

impl Drop for GuardRecord {
    fn drop(&mut self) {
        // No guarded group is left, because each of them has a reference to this.
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(mut shell) = state.shell.take() else { return };
        if state.ended.is_empty() && state.finished.is_empty() {
            let _ = shell.kill().and_then(|()| shell.wait());
            return;
        }
        // The shell watches the leftovers and exits when none is left.
        drop(shell.stdin.take());
        let named = std::thread::Builder::new().name("gambrel-guard".into());
        let _ = named.spawn(move || shell.wait());
    }
}

/// Retries for a moment while another process has the program open for writing.
fn spawn_with_retry(command: &mut Command) -> io::Result<Child> {
    let begun = Instant::now();
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && begun.elapsed() < BUSY_FILE_TIMEOUT =>
            {
                std::thread::sleep(BUSY_RETRY_DELAY);
            }
            done => return done,
        }
    }
}

fn start_shell() -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", WATCHDOG_SH, tagged_processes::TAG_VAR]).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // A signal to gambrel's group must not end the shell first.
    command.process_group(0).spawn()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn start_sleeper(guard: &ProcessGuard) -> (Child, GuardedGroup) {
        let mut command = Command::new("sleep");
        guard.spawn_guarded(command.arg("600").process_group(0), Some("sleep")).unwrap()
    }

    #[test]
    fn kills_guarded_groups_and_leftovers_only() {
        let guard = ProcessGuard::default();
        let (sleepers, mut held): (Vec<Child>, Vec<GuardedGroup>) =
            (0..4).map(|_| start_sleeper(&guard)).unzip();
        // As if two programs had ended and left a process with their tag.
        drop(held.remove(2));
        drop(held.remove(0));

        let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
        let mut shell = guard.lock_state().shell.take().unwrap();
        // As if gambrel had been killed: the pipe ends.
        drop(shell.stdin.take());
        shell.wait().unwrap();

        for mut sleeper in sleepers {
            assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
        }
        assert_eq!(stranger.try_wait().unwrap(), None);
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn waits_for_a_program_that_is_being_written() {
        let folder = std::env::temp_dir().join(format!("gambrel-busy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("program");
        std::fs::copy("/bin/true", &program).unwrap();

        let writer = std::fs::OpenOptions::new().append(true).open(&program).unwrap();
        let holder = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            drop(writer);
        });

        let (mut child, _held) = ProcessGuard::default()
            .spawn_guarded(Command::new(&program).process_group(0), None)
            .unwrap();
        assert!(child.wait().unwrap().success());
        holder.join().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn leftovers_outlive_gambrel_for_a_limited_time() {
        let guard = ProcessGuard::default();
        let mut sleepers = Vec::new();
        let hold = |sleepers: &mut Vec<Child>| {
            let (child, group) = start_sleeper(&guard);
            sleepers.push(child);
            group
        };

        let _short = hold(&mut sleepers);
        assert_eq!(guard.allow_leftovers(Duration::from_secs(1)), ["sleep"]);

        let ended = hold(&mut sleepers);
        assert_eq!(guard.allow_leftovers(Duration::from_secs(3600)), ["sleep"]);
        let recalled = hold(&mut sleepers);
        assert_eq!(guard.allow_leftovers(Duration::from_secs(3600)), ["sleep"]);
        recalled.revoke();
        let _held = hold(&mut sleepers);
        drop(ended);
        let mut shell = guard.lock_state().shell.take().unwrap();
        drop(shell.stdin.take());

        for killed in [2, 3, 0] {
            assert_eq!(sleepers[killed].wait().unwrap().signal(), Some(9));
        }
        // The shell waits for the remaining leftover, then exits.
        assert_eq!(sleepers[1].try_wait().unwrap(), None);
        sleepers[1].kill().unwrap();
        sleepers[1].wait().unwrap();
        shell.wait().unwrap();
    }
}
