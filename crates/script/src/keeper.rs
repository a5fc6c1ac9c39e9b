//! Who ends the programs of a module when we are ended ourselves and cannot: a shell that is told
//! which groups of processes run, and kills them when the pipe ends that only we hold. Knows
//! numbers of groups, not what they are.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// `+ number` and `- number` as groups come and go; what is left at the end is killed.
const KEEP: &str = r#"held=" "
while read -r how id; do
  case $how in
    +) held="$held$id " ;;
    -) case $held in *" $id "*) held="${held%%" $id "*} ${held#*" $id "}" ;; esac ;;
  esac
done
for id in $held; do kill -s KILL -- "-$id"; done"#;

/// Keeps the groups of one module. The shell is started with the first of them.
#[derive(Clone, Default)]
pub struct Keeper(Arc<Kept>);

#[derive(Default)]
struct Kept(Mutex<Option<Child>>);

/// A group that is kept until this is dropped, which must be before its leader is reaped: later
/// the number may be somebody else's.
pub struct Held {
    keeper: Keeper,
    group: u32,
}

impl Keeper {
    /// Ties a group to the life of this process.
    fn hold(&self, group: u32) -> io::Result<Held> {
        let mut shell = self.shell();
        if shell.is_none() {
            *shell = Some(start()?);
        }
        drop(shell);
        self.say('+', group)?;
        Ok(Held { keeper: self.clone(), group })
    }

    /// The same for a child that leads its group; one that cannot be kept is not left running.
    pub fn take_in(&self, child: &mut Child) -> io::Result<Held> {
        self.hold(child.id()).inspect_err(|_| {
            let _ = child.kill().and_then(|()| child.wait());
        })
    }

    fn say(&self, how: char, group: u32) -> io::Result<()> {
        let mut shell = self.shell();
        let pipe = shell.as_mut().and_then(|shell| shell.stdin.as_mut());
        let pipe = pipe.ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(pipe, "{how} {group}")
    }

    fn shell(&self) -> MutexGuard<'_, Option<Child>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A shell that has gone holds nothing any more.
        let _ = self.keeper.say('-', self.group);
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(shell) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
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

    fn sleeper() -> Child {
        Command::new("sleep").arg("600").process_group(0).spawn().unwrap()
    }

    #[test]
    fn what_is_still_held_at_the_end_is_killed_and_nothing_else() {
        let keeper = Keeper::default();
        let mut sleepers: Vec<Child> = (0..4).map(|_| sleeper()).collect();
        let mut held: Vec<Held> =
            sleepers.iter_mut().map(|child| keeper.take_in(child).unwrap()).collect();
        drop(held.remove(2));
        drop(held.remove(0));
        let mut shell = keeper.shell().take().unwrap();
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
}
