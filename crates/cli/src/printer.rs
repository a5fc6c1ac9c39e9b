//! All output of the program. Data goes to stdout, messages for the user to stderr. Control
//! characters in text from hooks are replaced before printing.

mod capture_stdout;
pub mod decision_table;
pub mod diagnostic;
pub mod status_block;
pub mod style;

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
pub use gambrel_model::text::replace_controls;
use gambrel_model::text::{join_lines, truncate_chars};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr, write};
use rustix::termios::tcgetwinsize;
use serde_json::Value;

use crate::args::Color;
use crate::args::entry::stdout_was_closed;
pub use capture_stdout::with_stdout_redirected;

/// Sets the choice of colour for all output.
pub fn choose_color(color: Color) {
    let choice = match color {
        Color::Auto => return,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// The first error of writing data.
static WRITE_ERROR: OnceLock<String> = OnceLock::new();

/// Prints data. A closed pipe is no failure; other errors are kept for [`lost`].
pub fn print(text: &str) {
    let _gone = try_print(text);
}

/// Prints data. Returns false if it could not be written.
pub fn try_print(text: &str) -> bool {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != ErrorKind::BrokenPipe {
                record_write_error(&error);
            }
            false
        }
    }
}

fn record_write_error(error: &std::io::Error) {
    WRITE_ERROR.get_or_init(|| error.to_string());
}

/// The first error of writing data, if any.
pub fn write_error() -> Option<&'static str> {
    WRITE_ERROR.get().map(String::as_str)
}

/// Waits, and returns whether the reader of stdout closed the pipe meanwhile.
pub fn wait_for_reader_exit(wait: Duration) -> bool {
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    let seen = poll(&mut fds, Some(&timeout)).unwrap_or(0);
    seen > 0 && fds[0].revents().intersects(PollFlags::ERR | PollFlags::NVAL)
}

/// Writes the bytes of a reply unchanged. Does not use std, which treats a write to a closed
/// descriptor as a success.
pub fn write_reply(mut bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if let Some(why) = write_error() {
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

/// Writes one JSON value and a newline as a reply.
pub fn write_json_reply(value: &Value) -> std::io::Result<()> {
    write_reply(format!("{value}\n").as_bytes())
}

/// Prints one JSON value and a newline.
pub fn print_json(value: &Value) {
    print(&format!("{value}\n"));
}

/// Prints text on stderr, unchanged; above the lines of a live view.
pub fn print_stderr(text: &str) {
    if !text.is_empty() {
        status_block::print_above(text);
    }
}

/// Prints one line on stderr, without control characters.
pub fn warn(text: &str) {
    print_stderr(&format!("{}\n", replace_controls(text)));
}

/// Puts text on one line and replaces control characters.
pub fn single_line(text: &str) -> String {
    replace_controls(text).replace(['\n', '\t'], " ")
}

/// Puts text on one line, replaces control characters and cuts it to a width.
pub fn truncate_line(text: &str, width: usize) -> String {
    truncate_chars(&join_lines(&replace_controls(text)), width, "…")
}

/// The width of the terminal on stdout, if it is one.
pub fn stdout_width() -> Option<usize> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// The colour of a ruling. Where colour is off, nothing of it is printed.
pub fn ruling_style(ruling: &str) -> Style {
    let color = match ruling {
        "deny" | "halt" => AnsiColor::Red,
        "ask" | "defer" => AnsiColor::Yellow,
        "allow" => AnsiColor::Green,
        _ => return Style::new(),
    };
    Style::new().fg_color(Some(color.into())).bold()
}

/// A text on one line of at most `width` characters, with its mark if it was cut.
pub fn fit_line(text: &str, width: usize) -> String {
    match truncate_line(text, width) {
        whole if whole.chars().count() <= width => whole,
        _ => truncate_line(text, width.saturating_sub(1)),
    }
}

/// A number with its noun: `1 line`, `2 lines`.
pub fn format_quantity<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// Formats rows in aligned columns. Line breaks in a cell become blanks.
pub fn format_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let clean_row = |row: &Vec<String>| row.iter().map(|cell| single_line(cell)).collect();
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
