//! A person at a terminal, who is asked one thing at a time. A question that was given up stops
//! reading, so that nobody's answer goes to another question. Knows no module and no engine.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use gambrel_model::text::remove_controls;
use gambrel_script::{Question, QuestionHandle, QuestionKind};
use rustix::fs::OFlags;
use rustix::termios::{QueueSelector, tcflush};
use serde_json::{Value, json};

const TERMINAL: &str = "/dev/tty";
/// Between two looks at the keys.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How often a number may be mistyped.
const MAX_ATTEMPTS: usize = 3;

/// The terminal, and whose turn it is.
#[derive(Default)]
pub struct Terminal {
    turn: Mutex<()>,
}

impl Terminal {
    /// Asks when it is this question's turn; nothing if the person cancels or the question is over.
    pub fn ask_user(&self, ask: &Question) -> Option<Value> {
        let _mine = self.wait_for_turn(&ask.handle)?;
        let mut talk = TerminalDialog::open(&ask.handle)?;
        talk.print_text(&question_text(ask))?;
        match ask.kind {
            QuestionKind::Confirm => {
                Some(json!(matches!(talk.read_line()?.trim(), "y" | "Y" | "yes")))
            }
            QuestionKind::Select => talk.read_choice(&ask.options),
            QuestionKind::Input => talk.read_line().map(|line| json!(line)),
            QuestionKind::Editor => talk.read_text(ask.placeholder.as_deref().unwrap_or_default()),
        }
    }

    fn wait_for_turn(&self, handle: &QuestionHandle) -> Option<MutexGuard<'_, ()>> {
        while !handle.is_over() {
            if handle.is_next() {
                match self.turn.try_lock() {
                    Ok(mine) => return Some(mine),
                    Err(TryLockError::Poisoned(left)) => return Some(left.into_inner()),
                    Err(TryLockError::WouldBlock) => {}
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        None
    }
}

/// One question at the terminal itself: stdin is the event's, stdout the reply's.
struct TerminalDialog<'a> {
    screen: File,
    keys: File,
    handle: &'a QuestionHandle,
}

impl<'a> TerminalDialog<'a> {
    fn open(handle: &'a QuestionHandle) -> Option<Self> {
        let calm = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
        let screen = OpenOptions::new().write(true).open(TERMINAL).ok()?;
        let keys = OpenOptions::new().read(true).custom_flags(calm).open(TERMINAL).ok()?;
        Some(Self { screen, keys, handle })
    }

    fn print_text(&mut self, text: &str) -> Option<()> {
        self.screen.write_all(text.as_bytes()).ok()
    }

    /// The next line; byte by byte, because what follows it is for the next question.
    fn read_line(&mut self) -> Option<String> {
        let mut typed = Vec::new();
        loop {
            let mut key = [0];
            match self.keys.read(&mut key) {
                Ok(0) => return None,
                Ok(_) if key == *b"\n" => break,
                Ok(_) => typed.extend(key),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => return None,
                Err(_) if self.handle.is_over() => return self.give_up(),
                Err(_) => std::thread::sleep(POLL_INTERVAL),
            }
        }
        Some(String::from_utf8_lossy(&typed).trim_end_matches('\r').to_owned())
    }

    /// What was typed for a question that is over answers no other.
    fn give_up<T>(&mut self) -> Option<T> {
        let _ = tcflush(&self.keys, QueueSelector::IFlush);
        self.print_text("\n(no answer is waited for any more)\n")?;
        None
    }

    fn read_choice(&mut self, options: &[String]) -> Option<Value> {
        for _ in 0..MAX_ATTEMPTS {
            let typed = self.read_line()?;
            let typed = typed.trim();
            if typed.is_empty() {
                return None;
            }
            let nth = typed.parse::<usize>().ok().and_then(|nth| nth.checked_sub(1));
            if let Some(chosen) = nth.and_then(|nth| options.get(nth)) {
                return Some(json!(chosen));
            }
            self.print_text(&format!("a number from 1 to {}, or nothing: ", options.len()))?;
        }
        None
    }

    /// Lines up to one with a dot; what was there if there are none.
    fn read_text(&mut self, there: &str) -> Option<Value> {
        let mut typed = Vec::new();
        while let Some(line) = self.read_line().filter(|line| line != ".") {
            typed.push(line);
        }
        if self.handle.is_over() {
            return None;
        }
        Some(json!(if typed.is_empty() { there.to_owned() } else { typed.join("\n") }))
    }
}

fn question_text(ask: &Question) -> String {
    let message = ask.message.as_deref().unwrap_or_default();
    let mut text = format!(
        "\n{} asks: {}\n{}\n",
        ask.module,
        remove_controls(&ask.title),
        remove_controls(message)
    );
    for (nth, option) in ask.options.iter().enumerate() {
        text += &format!("  {}) {}\n", nth + 1, remove_controls(option));
    }
    let there = ask.placeholder.as_deref().unwrap_or_default();
    if !there.is_empty() {
        text += &format!("{}\n", remove_controls(there));
    }
    text + match ask.kind {
        QuestionKind::Confirm => "[y/N] ",
        QuestionKind::Select => "number: ",
        QuestionKind::Input => "> ",
        QuestionKind::Editor => {
            "(end with a line of one dot; that line alone leaves the text as it is)\n"
        }
    }
}
