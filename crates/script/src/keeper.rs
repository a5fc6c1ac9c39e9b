//! Who ends the programs of a module when we are ended ourselves and cannot: a shell that is told
//! which groups of processes run and what mark they carry, and kills them when the pipe ends that
//! only we hold. Those that a call which ended well has left running may go on for a time of their
//! own. Knows numbers and marks, not what they stand for.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::strays;

/// A line is `mark group time`: what carries the mark may live so many seconds longer than we do.
/// `$0` is the variable that holds it. Group 0 is about to be born, or has ended and may have left something; a mark alone is over.
const KEEP: &str = r#"kept=" "
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
      # It may not have been born yet: there is a second look.
      [ "$id" = 0 ] && [ "$past" = 0 ] && kept="$kept ${one%:*}:1"
    elif { [ "$id" != 0 ] && kill -s 0 -- "-$id"; } ||
      grep -qs "$0=${one%%:*}" /proc/[0-9]*/environ; then
      kept="$kept $one"
    fi
  done
  if [ "$1" ]; then
    # Those that left their group.
    for one in $(grep -ls "$@" /proc/[0-9]*/environ); do
      one=${one#/proc/}
      kill -s KILL "${one%/environ}"
    done
  fi
  [ "$kept" ] || exit 0
  sleep 1 || past=86400
  past=$((past + 1))
done"#;

/// Keeps the groups of one module.
#[derive(Clone, Default)]
pub struct Keeper(Arc<Kept>);

#[derive(Default)]
struct Kept(Mutex<Books>);

#[derive(Default)]
struct Books {
    shell: Option<Child>,
    groups: BTreeMap<u32, Entry>,
    /// The marks of what has ended by itself: it may have left something outside of its group.
    ended: Vec<String>,
    /// The same of calls that ended well.
    past: VecDeque<String>,
}

/// How long a program may be open for writing before it counts as one that cannot be executed.
const BUSY: Duration = Duration::from_millis(100);
/// Between two tries to execute it.
const BUSY_PAUSE: Duration = Duration::from_millis(2);
/// So many of the latter are remembered.
const PAST: usize = 64;

struct Entry {
    /// What it and all that it starts carries.
    mark: String,
    /// Whether all that carries it was killed.
    swept: bool,
    /// Nothing for what the module itself runs in.
    name: Option<String>,
    /// Until when it may go on without its module.
    until: Option<Instant>,
}

/// A group that is kept until this is dropped, which must be before its leader is reaped: later
/// the number may be somebody else's.
pub struct Held {
    keeper: Keeper,
    group: u32,
}

impl Keeper {
    /// Starts a child that leads a group, and ties the group to the life of this process; a child
    /// that cannot be kept is not left running. `name` is that of a program, not of the module's
    /// own host.
    pub fn start(&self, command: &mut Command, name: Option<&str>) -> io::Result<(Child, Held)> {
        let mark = strays::mark();
        // Before its birth: whenever we are killed, somebody knows of it.
        self.books().expect(&mark)?;
        let born = spawn(command.env(strays::VARIABLE, &mark)).and_then(|mut child| {
            let held = self.hold(child.id(), &mark, name).inspect_err(|_| {
                let _ = child.kill().and_then(|()| child.wait());
            })?;
            Ok((child, held))
        });
        born.inspect_err(|_| _ = self.books().say(&mark))
    }

    /// After a call that ended well: what still runs may go on for this long when we have gone.
    /// The names of the programs that were not left before.
    pub fn part(&self, time: Duration) -> Vec<String> {
        let mut books = self.books();
        let until = Instant::now().checked_add(time);
        let mut told = Vec::new();
        let mut names = Vec::new();
        for (group, entry) in &mut books.groups {
            if entry.name.is_some() && entry.until.is_some() {
                continue;
            }
            entry.until = until;
            told.push(format!("{} {group} {}", entry.mark, time.as_secs()));
            names.extend(entry.name.clone());
        }
        let ended = std::mem::take(&mut books.ended);
        told.extend(ended.iter().map(|mark| format!("{mark} 0 {}", time.as_secs())));
        books.past.extend(ended);
        let over = books.past.len().saturating_sub(PAST);
        told.extend(books.past.drain(..over));
        // A shell that has gone ends nothing any more.
        told.iter().for_each(|line| _ = books.say(line));
        names
    }

    /// Everything ends with its module again, also what was left running.
    pub fn recall(&self) {
        let mut books = self.books();
        books.groups.values_mut().for_each(|entry| entry.until = None);
        let told = books.groups.iter().map(|(group, entry)| format!("{} {group} 0", entry.mark));
        let told: Vec<String> = told.collect();
        told.iter().for_each(|line| _ = books.say(line));
    }

    /// Until when a group may go on without its module, if it may.
    pub fn until(&self, group: u32) -> Option<Instant> {
        self.books().groups.get(&group)?.until
    }

    /// Kills what left a group: a signal to the group does not reach it.
    pub fn sweep(&self, group: u32) {
        self.mark(group).iter().for_each(|mark| strays::kill(mark));
        self.books().groups.entry(group).and_modify(|entry| entry.swept = true);
    }

    fn mark(&self, group: u32) -> Option<String> {
        self.books().groups.get(&group).map(|entry| entry.mark.clone())
    }

    fn hold(&self, group: u32, mark: &str, name: Option<&str>) -> io::Result<Held> {
        let mut books = self.books();
        books.say(&format!("{mark} {group} 0"))?;
        let (mark, name) = (mark.to_owned(), name.map(str::to_owned));
        let entry = Entry { mark, swept: false, name, until: None };
        books.groups.insert(group, entry);
        drop(books);
        Ok(Held { keeper: self.clone(), group })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    /// Tells of a program that is about to be started. The shell is started with the first.
    fn expect(&mut self, mark: &str) -> io::Result<()> {
        if self.shell.is_none() {
            self.shell = Some(start()?);
        }
        self.say(&format!("{mark} 0 0"))
    }

    /// What has ended by itself: what it left ends with us, unless its call ends well.
    fn remember(&mut self, entry: Entry) -> io::Result<()> {
        let left = entry.until.map(|until| until.saturating_duration_since(Instant::now()));
        let told = self.say(&format!("{} 0 {}", entry.mark, left.unwrap_or_default().as_secs()));
        match left {
            Some(_) => self.past.push_back(entry.mark),
            None => self.ended.push(entry.mark),
        }
        told
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let pipe = self.shell.as_mut().and_then(|shell| shell.stdin.as_mut());
        let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
        // In one piece: half a line is no line.
        pipe.write_all(format!("{line}\n").as_bytes())
    }
}

impl Held {
    /// Ties the group to our life again.
    pub fn recall(&self) {
        let mut books = self.keeper.books();
        if let Some(entry) = books.groups.get_mut(&self.group)
            && entry.until.take().is_some()
        {
            let told = format!("{} {} 0", entry.mark, self.group);
            let _ = books.say(&told);
        }
    }

    /// Kills what left the group.
    pub fn sweep(&self) {
        self.keeper.sweep(self.group);
    }

    /// Whether anything that was started in the group still runs, there or elsewhere.
    pub fn any_left(&self) -> bool {
        self.keeper.mark(self.group).is_some_and(|mark| strays::any(&mark))
    }

    /// Until when the group may go on without its module, if it may.
    pub fn until(&self) -> Option<Instant> {
        self.keeper.until(self.group)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut books = self.keeper.books();
        if let Some(entry) = books.groups.remove(&self.group) {
            // A shell that has gone holds nothing any more.
            let _ = match entry.swept {
                true => books.say(&entry.mark),
                false => books.remember(entry),
            };
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Nothing is held any more: whoever holds something holds this.
        let books = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(mut shell) = books.shell.take() else { return };
        if books.ended.is_empty() && books.past.is_empty() {
            let _ = shell.kill().and_then(|()| shell.wait());
            return;
        }
        // It looks after what was left, and goes when there is nothing.
        drop(shell.stdin.take());
        let named = std::thread::Builder::new().name("gambrel-keeper".into());
        let _ = named.spawn(move || shell.wait());
    }
}

/// A program that somebody has open for writing is tried again for a moment: whoever wrote it may
/// be about to close it.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let begun = Instant::now();
    loop {
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && begun.elapsed() < BUSY =>
            {
                std::thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
}

fn start() -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", KEEP, strays::VARIABLE]).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // What is sent to our own group must not end it before us.
    command.process_group(0).spawn()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn sleeper(keeper: &Keeper) -> (Child, Held) {
        let mut command = Command::new("sleep");
        keeper.start(command.arg("600").process_group(0), Some("sleep")).unwrap()
    }

    #[test]
    fn what_is_still_held_or_was_left_is_killed_and_nothing_else() {
        let keeper = Keeper::default();
        let (sleepers, mut held): (Vec<Child>, Vec<Held>) =
            (0..4).map(|_| sleeper(&keeper)).unzip();
        // As if they had ended, and something with their mark had not.
        drop(held.remove(2));
        drop(held.remove(0));
        let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
        let mut shell = keeper.books().shell.take().unwrap();
        // As if we had gone: the pipe ends, and nobody says another word.
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
    fn a_program_that_is_being_written_is_waited_for() {
        let folder = std::env::temp_dir().join(format!("gambrel-busy-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("program");
        std::fs::copy("/bin/true", &program).unwrap();
        let writer = std::fs::OpenOptions::new().append(true).open(&program).unwrap();
        let holder = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            drop(writer);
        });
        let (mut child, _held) =
            Keeper::default().start(Command::new(&program).process_group(0), None).unwrap();
        assert!(child.wait().unwrap().success());
        holder.join().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_was_left_running_outlives_us_for_its_time() {
        let keeper = Keeper::default();
        let mut sleepers = Vec::new();
        let hold = |sleepers: &mut Vec<Child>| {
            let (child, held) = sleeper(&keeper);
            sleepers.push(child);
            held
        };
        let _short = hold(&mut sleepers);
        assert_eq!(keeper.part(Duration::from_secs(1)), ["sleep"]);
        let ended = hold(&mut sleepers);
        assert_eq!(keeper.part(Duration::from_secs(3600)), ["sleep"]);
        let recalled = hold(&mut sleepers);
        assert_eq!(keeper.part(Duration::from_secs(3600)), ["sleep"]);
        recalled.recall();
        let _held = hold(&mut sleepers);
        drop(ended);
        let mut shell = keeper.books().shell.take().unwrap();
        drop(shell.stdin.take());
        for killed in [2, 3, 0] {
            assert_eq!(sleepers[killed].wait().unwrap().signal(), Some(9));
        }
        // It is looked after, and then there is nothing left to do.
        assert_eq!(sleepers[1].try_wait().unwrap(), None);
        sleepers[1].kill().unwrap();
        sleepers[1].wait().unwrap();
        shell.wait().unwrap();
    }
}
