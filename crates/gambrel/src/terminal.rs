//! A person at a terminal, who is asked one thing at a time. A question that was given up stops
//! reading, so that nobody's answer goes to another question. Knows no module and no engine.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use gambrel_script::{Ask, AskKind, Standing};
use rustix::fs::OFlags;
use rustix::termios::{QueueSelector, tcflush};
use serde_json::{Value, json};

const TERMINAL: &str = "/dev/tty";
/// Between two looks at the keys.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a number may be mistyped.
const TRIES: usize = 3;

/// The terminal, and whose turn it is.
#[derive(Default)]
pub struct Terminal {
    turn: Mutex<()>,
}

impl Terminal {
    /// Asks when it is this question's turn; nothing if the person cancels or the question is over.
    pub fn ask(&self, ask: &Ask) -> Option<Value> {
        let _mine = self.turn(&ask.standing)?;
        let mut talk = Talk::open(&ask.standing)?;
        talk.say(&question(ask))?;
        match ask.kind {
            AskKind::Confirm => Some(json!(matches!(talk.line()?.trim(), "y" | "Y" | "yes"))),
            AskKind::Select => talk.choice(&ask.options),
            AskKind::Input => talk.line().map(|line| json!(line)),
            AskKind::Editor => talk.text(ask.placeholder.as_deref().unwrap_or_default()),
        }
    }

    fn turn(&self, standing: &Standing) -> Option<MutexGuard<'_, ()>> {
        while !standing.is_over() {
            if standing.is_next() {
                match self.turn.try_lock() {
                    Ok(mine) => return Some(mine),
                    Err(TryLockError::Poisoned(left)) => return Some(left.into_inner()),
                    Err(TryLockError::WouldBlock) => {}
                }
            }
            std::thread::sleep(PAUSE);
        }
        None
    }
}

/// One question at the terminal itself: stdin is the event's, stdout the reply's.
struct Talk<'a> {
    screen: File,
    keys: File,
    standing: &'a Standing,
}

impl<'a> Talk<'a> {
    fn open(standing: &'a Standing) -> Option<Self> {
        let calm = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
        let screen = OpenOptions::new().write(true).open(TERMINAL).ok()?;
        let keys = OpenOptions::new().read(true).custom_flags(calm).open(TERMINAL).ok()?;
        Some(Self { screen, keys, standing })
    }

    fn say(&mut self, text: &str) -> Option<()> {
        self.screen.write_all(text.as_bytes()).ok()
    }

    /// The next line; byte by byte, because what follows it is for the next question.
    fn line(&mut self) -> Option<String> {
        let mut typed = Vec::new();
        loop {
            let mut key = [0];
            match self.keys.read(&mut key) {
                Ok(0) => return None,
                Ok(_) if key == *b"\n" => break,
                Ok(_) => typed.extend(key),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => return None,
                Err(_) if self.standing.is_over() => return self.give_up(),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        Some(String::from_utf8_lossy(&typed).trim_end_matches('\r').to_owned())
    }

    /// What was typed for a question that is over answers no other.
    fn give_up<T>(&mut self) -> Option<T> {
        let _ = tcflush(&self.keys, QueueSelector::IFlush);
        self.say("\n(no answer is waited for any more)\n")?;
        None
    }

    fn choice(&mut self, options: &[String]) -> Option<Value> {
        for _ in 0..TRIES {
            let typed = self.line()?;
            let typed = typed.trim();
            if typed.is_empty() {
                return None;
            }
            let nth = typed.parse::<usize>().ok().and_then(|nth| nth.checked_sub(1));
            if let Some(chosen) = nth.and_then(|nth| options.get(nth)) {
                return Some(json!(chosen));
            }
            self.say(&format!("a number from 1 to {}, or nothing: ", options.len()))?;
        }
        None
    }

    /// Lines up to one with a dot; what was there if there are none.
    fn text(&mut self, there: &str) -> Option<Value> {
        let mut typed = Vec::new();
        while let Some(line) = self.line().filter(|line| line != ".") {
            typed.push(line);
        }
        if self.standing.is_over() {
            return None;
        }
        Some(json!(if typed.is_empty() { there.to_owned() } else { typed.join("\n") }))
    }
}

fn question(ask: &Ask) -> String {
    let message = ask.message.as_deref().unwrap_or_default();
    let mut text = format!("\n{} asks: {}\n{}\n", ask.module, plain(&ask.title), plain(message));
    for (nth, option) in ask.options.iter().enumerate() {
        text += &format!("  {}) {}\n", nth + 1, plain(option));
    }
    let there = ask.placeholder.as_deref().unwrap_or_default();
    if !there.is_empty() {
        text += &format!("{}\n", plain(there));
    }
    text + match ask.kind {
        AskKind::Confirm => "[y/N] ",
        AskKind::Select => "number: ",
        AskKind::Input => "> ",
        AskKind::Editor => {
            "(end with a line of one dot; that line alone leaves the text as it is)\n"
        }
    }
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n').collect()
}
