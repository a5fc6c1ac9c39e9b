//! The one printer. Data goes to stdout, words for people to stderr. Text that came from a hook is
//! cleaned of control characters before a terminal sees it.

mod apart;

use std::io::{ErrorKind, Write};
use std::sync::OnceLock;
use std::time::Duration;

use gambrel::actions::stdout_was_closed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr, write};
use serde_json::Value;

use crate::args::Color;
pub use apart::apart;

/// Takes the person's choice of colour.
pub fn choose_color(color: Color) {
    let choice = match color {
        Color::Auto => return,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Why data could not be written, the first time that it could not.
static LOST: OnceLock<String> = OnceLock::new();

/// Data. A reader that went away is no fault of the command's; for all else see [`lost`].
pub fn out(text: &str) {
    let _gone = try_out(text);
}

/// Data; false when it could not be written.
pub fn try_out(text: &str) -> bool {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != ErrorKind::BrokenPipe {
                note_lost(&error);
            }
            false
        }
    }
}

fn note_lost(error: &std::io::Error) {
    LOST.get_or_init(|| error.to_string());
}

/// Why some of the data is missing where it should have gone, if it is.
pub fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Waits, and tells whether whoever reads our data went away meanwhile.
pub fn reader_left(wait: Duration) -> bool {
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    let seen = poll(&mut fds, Some(&timeout)).unwrap_or(0);
    seen > 0 && fds[0].revents().intersects(PollFlags::ERR | PollFlags::NVAL)
}

/// Data as it is: a reply belongs to its caller, byte by byte. Not through std, which takes a write
/// to a closed descriptor for a success.
pub fn raw(mut bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if let Some(why) = lost() {
        return Err(std::io::Error::other(why));
    }
    if stdout_was_closed() {
        return Err(Errno::BADF.into());
    }
    let stdout = std::io::stdout();
    while !bytes.is_empty() {
        match retry_on_intr(|| write(&stdout, bytes))? {
            0 => return Err(ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// One JSON value and a newline.
pub fn json(value: &Value) {
    out(&format!("{value}\n"));
}

/// Words for people, as they are.
pub fn err(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _gone = stderr.write_all(text.as_bytes());
}

/// One line for people, cleaned.
pub fn warn(text: &str) {
    err(&format!("{}\n", clean(text)));
}

/// Text without control characters, but for line breaks and tabs.
pub fn clean(text: &str) -> String {
    let keep = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    let hidden = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if keep(c) && !hidden(c) { c } else { '\u{fffd}' }).collect()
}

/// Text on one line, cleaned, otherwise as it is.
pub fn flat(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

/// Text on one line, cleaned, cut to a width.
pub fn line(text: &str, width: usize) -> String {
    let flat = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(width) {
        Some((at, _)) => format!("{}…", &flat[..at]),
        None => flat,
    }
}

/// Rows in columns; the last column is as long as it is. Whatever a cell holds stays in its row.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let clean_row = |row: &Vec<String>| row.iter().map(|cell| flat(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(clean_row).collect();
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let lines = std::iter::once(&head).chain(&rows).map(|row| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    });
    lines.collect()
}
