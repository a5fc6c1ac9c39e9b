//! Who ends the programs of a module when we are ended ourselves and cannot: a shell that is told
//! which groups of processes run, and kills them when the pipe ends that only we hold. Those that a
//! call which ended well has left running may go on for a time of their own. Knows numbers of
//! groups, not what they are.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// `+ number`: ends with us; `= number seconds`: so long after us; `- number`: has ended.
const KEEP: &str = r#"held=" "
left=" "
forget() {
  case $held in *" $1 "*) held="${held%%" $1 "*} ${held#*" $1 "}" ;; esac
  kept=" "
  for one in $left; do [ "${one%%:*}" = "$1" ] || kept="$kept$one "; done
  left=$kept
}
while read -r how id time; do
  forget "$id"
  case $how in
    +) held="$held$id " ;;
    =) left="$left$id:$time " ;;
  esac
done
for id in $held; do kill -s KILL -- "-$id"; done
past=0
while :; do
  kept=
  for one in $left; do
    id=${one%%:*}
    kill -s 0 -- "-$id" || continue
    if [ "$past" -ge "${one#*:}" ]; then kill -s KILL -- "-$id"; else kept="$kept $one"; fi
  done
  left=$kept
  [ "$left" ] || exit 0
  sleep 1 || past=86400
  past=$((past + 1))
done"#;

/// Keeps the groups of one module. The shell is started with the first of them.
#[derive(Clone, Default)]
pub struct Keeper(Arc<Kept>);

#[derive(Default)]
struct Kept(Mutex<Books>);

#[derive(Default)]
struct Books {
    shell: Option<Child>,
    groups: BTreeMap<u32, Entry>,
}

struct Entry {
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
        // The shell first: from the birth of the child on it takes one write to have it kept.
        self.books().wake()?;
        let mut child = command.spawn()?;
        let held = self.hold(child.id(), name).inspect_err(|_| {
            let _ = child.kill().and_then(|()| child.wait());
        })?;
        Ok((child, held))
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
            told.push(format!("= {group} {}", time.as_secs()));
            names.extend(entry.name.clone());
        }
        // A shell that has gone ends nothing any more.
        told.iter().for_each(|line| _ = books.say(line));
        names
    }

    /// Everything ends with its module again, also what was left running.
    pub fn recall(&self) {
        let mut books = self.books();
        books.groups.values_mut().for_each(|entry| entry.until = None);
        let groups: Vec<u32> = books.groups.keys().copied().collect();
        groups.iter().for_each(|group| _ = books.say(&format!("+ {group}")));
    }

    /// Until when a group may go on without its module, if it may.
    pub fn until(&self, group: u32) -> Option<Instant> {
        self.books().groups.get(&group)?.until
    }

    fn hold(&self, group: u32, name: Option<&str>) -> io::Result<Held> {
        let mut books = self.books();
        books.say(&format!("+ {group}"))?;
        let entry = Entry { name: name.map(str::to_owned), until: None };
        books.groups.insert(group, entry);
        drop(books);
        Ok(Held { keeper: self.clone(), group })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn wake(&mut self) -> io::Result<()> {
        if self.shell.is_none() {
            self.shell = Some(start()?);
        }
        Ok(())
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
            let _ = books.say(&format!("+ {}", self.group));
        }
    }

    /// Until when the group may go on without its module, if it may.
    pub fn until(&self) -> Option<Instant> {
        self.keeper.until(self.group)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut books = self.keeper.books();
        books.groups.remove(&self.group);
        // A shell that has gone holds nothing any more.
        let _ = books.say(&format!("- {}", self.group));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Nothing is held any more: whoever holds something holds this.
        let books = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(shell) = &mut books.shell {
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }
}

fn start() -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", KEEP]).env_clear();
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
    fn what_is_still_held_at_the_end_is_killed_and_nothing_else() {
        let keeper = Keeper::default();
        let (mut sleepers, mut held): (Vec<Child>, Vec<Held>) =
            (0..4).map(|_| sleeper(&keeper)).unzip();
        drop(held.remove(2));
        drop(held.remove(0));
        let mut shell = keeper.books().shell.take().unwrap();
        // As if we had gone: the pipe ends, and nobody says another word.
        drop(shell.stdin.take());
        shell.wait().unwrap();
        for kept in [1, 3] {
            assert_eq!(sleepers[kept].wait().unwrap().signal(), Some(9));
        }
        for released in [0, 2] {
            assert_eq!(sleepers[released].try_wait().unwrap(), None);
            sleepers[released].kill().unwrap();
            sleepers[released].wait().unwrap();
        }
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
        shell.wait().unwrap();
        assert_eq!(sleepers[1].try_wait().unwrap(), None);
        sleepers[1].kill().unwrap();
        sleepers[1].wait().unwrap();
    }
}
