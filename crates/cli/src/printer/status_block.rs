//! Lines at the bottom of the terminal that are drawn again and again, below everything that the
//! program prints on stderr. They are plain text with cursor movements: the terminal keeps its mode,
//! so that nothing has to be restored when the program ends in any way.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::termios::tcgetwinsize;
use unicode_width::UnicodeWidthChar;

use super::style;

/// The size where the terminal does not say it.
const DEFAULT_SIZE: (usize, usize) = (80, 24);
/// A block leaves some of what was printed above it in view.
const MIN_ROWS_ABOVE: usize = 2;

static BLOCK: Mutex<StatusBlock> = Mutex::new(StatusBlock {
    is_open: false,
    suspend_count: 0,
    lines: Vec::new(),
    drawn: Vec::new(),
});

/// The lines of the block.
struct StatusBlock {
    is_open: bool,
    /// How many others use the terminal at the moment.
    suspend_count: usize,
    lines: Vec<StatusLine>,
    /// The widths of the lines that are on the terminal.
    drawn: Vec<usize>,
}

/// One line: texts with their colours. A text has no control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusLine(Vec<(&'static str, String)>);

impl StatusLine {
    /// Adds a text in a colour; an empty colour is that of the terminal.
    #[must_use]
    pub fn with(mut self, color: &'static str, text: impl Into<String>) -> Self {
        self.0.push((color, text.into()));
        self
    }

    /// The text of at most `columns` columns, and its width.
    fn render(&self, columns: usize, has_color: bool) -> (String, usize) {
        let (mut text, mut width) = (String::new(), 0);
        for (color, part) in self.0.iter().filter(|(_, part)| !part.is_empty()) {
            let is_colored = has_color && !color.is_empty();
            text.push_str(if is_colored { color } else { "" });
            for c in part.chars() {
                let c_width = c.width().unwrap_or(0);
                if width + c_width > columns {
                    break;
                }
                text.push(c);
                width += c_width;
            }
            text.push_str(if is_colored { style::RESET } else { "" });
        }
        (text, width)
    }
}

/// Keeps the block open; dropping it removes the block from the terminal.
pub struct StatusGuard;

impl Drop for StatusGuard {
    fn drop(&mut self) {
        let mut block = lock_block();
        let erase = block.erase();
        write_stderr(&erase);
        block.is_open = false;
        block.lines.clear();
    }
}

/// Opens the block, which has no lines at first.
pub fn open_block() -> StatusGuard {
    lock_block().is_open = true;
    StatusGuard
}

/// Draws these lines in place of the earlier ones.
pub fn show_lines(lines: Vec<StatusLine>) {
    let mut block = lock_block();
    block.lines = lines;
    if block.is_open && block.suspend_count == 0 {
        let text = block.redraw("");
        write_stderr(&text);
    }
}

/// Removes the block while somebody else uses the terminal, and draws it again afterwards.
pub fn suspend_block(is_suspended: bool) {
    let mut block = lock_block();
    if is_suspended {
        block.suspend_count += 1;
        let erase = block.erase();
        write_stderr(&erase);
    } else {
        block.suspend_count = block.suspend_count.saturating_sub(1);
    }
}

/// Prints a text on stderr, above the block where there is one.
pub(super) fn print_above(text: &str) {
    let mut block = lock_block();
    if !block.is_open || block.suspend_count > 0 {
        let mut stderr = anstream::stderr().lock();
        let _gone = stderr.write_all(text.as_bytes());
        return;
    }
    let text =
        if has_color() { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() };
    let text = block.redraw(&text);
    write_stderr(&text);
}

fn lock_block() -> MutexGuard<'static, StatusBlock> {
    BLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StatusBlock {
    /// Removes what is drawn. A terminal that has become narrower has wrapped the lines.
    fn erase(&mut self) -> String {
        let (columns, _) = terminal_size();
        let rows: usize = self.drawn.iter().map(|width| width.div_ceil(columns).max(1)).sum();
        self.drawn.clear();
        match rows {
            0 => String::new(),
            1 => "\r\x1b[J".to_owned(),
            rows => format!("\r\x1b[{}A\x1b[J", rows - 1),
        }
    }

    /// Removes what is drawn, prints a text, and draws the lines below it.
    fn redraw(&mut self, above: &str) -> String {
        let (columns, rows) = terminal_size();
        let mut text = self.erase() + &above.replace('\n', "\r\n");
        if !above.is_empty() && !above.ends_with('\n') {
            text.push_str("\r\n");
        }
        let has_color = has_color();
        let count = self.lines.len().min(rows.saturating_sub(MIN_ROWS_ABOVE));
        // A line that fills the last column would wrap on some terminals.
        let lines = self.lines.iter().take(count);
        let rendered: Vec<_> =
            lines.map(|line| line.render(columns.saturating_sub(1), has_color)).collect();
        for (index, (line, width)) in rendered.into_iter().enumerate() {
            text.push_str(if index > 0 { "\r\n" } else { "" });
            text.push_str(&line);
            self.drawn.push(width);
        }
        text
    }
}

/// Columns and rows.
pub fn terminal_size() -> (usize, usize) {
    let size = tcgetwinsize(std::io::stderr()).ok();
    let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    size.map_or(DEFAULT_SIZE, |size| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

fn has_color() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Writes movements of the cursor as they are. A terminal that is gone is no failure.
fn write_stderr(text: &str) {
    if !text.is_empty() {
        let mut stderr = std::io::stderr().lock();
        let _gone = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::{StatusLine, style};

    #[test]
    fn cuts_lines_by_their_width() {
        let line = StatusLine::default().with(style::RED, "ab").with("", "中文字");
        assert_eq!(line.render(5, false), ("ab中".to_owned(), 4));
        assert_eq!(line.render(2, false), ("ab".to_owned(), 2));
        assert_eq!(line.render(3, true).0, format!("{}ab{}", style::RED, style::RESET));
    }
}
