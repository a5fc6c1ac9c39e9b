//! A pseudo-terminal of a given size with a program in it, and what its screen shows.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::test_project::TestProject;

/// Longer than any test waits for its screen.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(30);

/// A byte that no program writes. The screen ignores it.
const END_MARK: u8 = 0;

/// A program in a pseudo-terminal.
pub struct TerminalProgram {
    pub child: Child,
    master: File,
    terminal: File,
    screen: Arc<Mutex<Screen>>,
}

impl TerminalProgram {
    /// Starts gambrel in a terminal of this size.
    pub fn start(project: &TestProject, args: &[&str], (columns, rows): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap());
        let terminal = terminal.unwrap();
        set_size(&terminal, columns, rows);

        let mut command = Command::new("setsid");
        command.args(["-c", crate::test_project::program()]).args(args);
        command.env_clear().envs(project.env.clone()).env("TERM", "xterm-256color");
        let stream = || terminal.try_clone().unwrap();
        command.stdin(stream()).stdout(stream()).stderr(stream()).current_dir(&project.root);
        let child = command.spawn().unwrap();

        let master = File::from(master);
        let screen = Arc::new(Mutex::new(Screen::new(columns.into(), rows.into())));
        let (mut source, target) = (master.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails when the last program has closed the terminal.
            while let Ok(count @ 1..) = source.read(&mut bytes) {
                target.lock().unwrap().write(&bytes[..count]);
            }
        });
        Self { child, master, terminal, screen }
    }

    /// The lines of the screen, without blanks at their ends.
    pub fn lines(&self) -> Vec<String> {
        self.screen.lock().unwrap().lines()
    }

    /// Everything that was written.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap().written).into_owned()
    }

    /// The longest time without any output.
    pub fn longest_pause(&self) -> Duration {
        self.screen.lock().unwrap().longest_pause
    }

    /// Waits until a line of the screen contains these words, and returns it.
    pub fn wait_for(&self, words: &str) -> String {
        let end = Instant::now() + SCREEN_TIMEOUT;
        loop {
            let lines = self.lines();
            if let Some(line) = lines.iter().find(|line| line.contains(words)) {
                return line.clone();
            }
            assert!(Instant::now() < end, "never on the screen: {words}\n{}", lines.join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Changes the size of the window.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.screen.lock().unwrap().resize(columns.into(), rows.into());
        set_size(&self.terminal, columns, rows);
    }

    /// The mode of the terminal.
    pub fn mode(&self) -> Termios {
        tcgetattr(&self.terminal).unwrap()
    }

    /// Types into the terminal.
    pub fn type_text(&mut self, text: &str) {
        std::io::Write::write_all(&mut self.master, text.as_bytes()).unwrap();
    }

    /// Waits for the end of the program.
    pub fn wait(&mut self) -> ExitStatus {
        let end = Instant::now() + SCREEN_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.wait_for_output(end);
                return status;
            }
            assert!(Instant::now() < end, "it does not end:\n{}", self.lines().join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl TerminalProgram {
    /// Waits until all that was written is on the screen: a mark after it comes last.
    fn wait_for_output(&mut self, end: Instant) {
        std::io::Write::write_all(&mut self.terminal, &[END_MARK]).unwrap();
        while !self.screen.lock().unwrap().written.contains(&END_MARK) {
            assert!(Instant::now() < end, "the output does not end:\n{}", self.lines().join("\n"));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for TerminalProgram {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

fn set_size(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// One row, and whether the next one continues it.
#[derive(Clone, Default)]
struct Row {
    cells: Vec<char>,
    continues: bool,
}

/// The screen of a terminal that wraps lines anew when its width changes.
struct Screen {
    columns: usize,
    rows: usize,
    /// All rows, also those that have scrolled away.
    all: Vec<Row>,
    /// The cursor: row among all, and column.
    cursor: (usize, usize),
    pending: Vec<u8>,
    written: Vec<u8>,
    last_output: Option<Instant>,
    longest_pause: Duration,
}

impl Screen {
    fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            all: vec![Row::default()],
            cursor: (0, 0),
            pending: Vec::new(),
            written: Vec::new(),
            last_output: None,
            longest_pause: Duration::ZERO,
        }
    }

    fn lines(&self) -> Vec<String> {
        let first = self.all.len().saturating_sub(self.rows);
        let text = |row: &Row| row.cells.iter().collect::<String>().trim_end().to_owned();
        self.all[first..].iter().map(text).collect()
    }

    fn write(&mut self, bytes: &[u8]) {
        let now = Instant::now();
        if let Some(last) = self.last_output.replace(now) {
            self.longest_pause = self.longest_pause.max(now - last);
        }
        self.written.extend_from_slice(bytes);
        self.pending.extend_from_slice(bytes);
        // A sequence or a character may be cut in two.
        while let Some(length) = self.take_one() {
            self.pending.drain(..length);
        }
    }

    /// Handles the first character or sequence, and returns its length if it is whole.
    fn take_one(&mut self) -> Option<usize> {
        let first = *self.pending.first()?;
        match first {
            b'\r' => self.cursor.1 = 0,
            b'\n' => self.move_down(),
            0x1b => return self.take_sequence(),
            _ if first < 0x20 => {}
            _ => {
                let length = match first {
                    0xf0.. => 4,
                    0xe0.. => 3,
                    0xc0.. => 2,
                    _ => 1,
                };
                let c = std::str::from_utf8(self.pending.get(..length)?).unwrap().chars().next();
                self.put(c.unwrap());
                return Some(length);
            }
        }
        Some(1)
    }

    fn take_sequence(&mut self) -> Option<usize> {
        assert_eq!(*self.pending.get(1)?, b'[', "an unknown sequence");
        let end = 2 + self.pending[2..].iter().position(|byte| byte.is_ascii_alphabetic())?;
        let digits = String::from_utf8_lossy(&self.pending[2..end]).into_owned();
        match self.pending[end] {
            b'A' => self.cursor.0 = self.cursor.0.saturating_sub(digits.parse().unwrap_or(1)),
            b'J' => {
                self.all.truncate(self.cursor.0 + 1);
                self.all[self.cursor.0].cells.truncate(self.cursor.1);
                self.all[self.cursor.0].continues = false;
            }
            b'm' => {}
            other => panic!("an unknown sequence: [{digits}{}", char::from(other)),
        }
        Some(end + 1)
    }

    fn move_down(&mut self) {
        self.cursor.0 += 1;
        if self.cursor.0 == self.all.len() {
            self.all.push(Row::default());
        }
    }

    fn put(&mut self, c: char) {
        if self.cursor.1 == self.columns {
            self.all[self.cursor.0].continues = true;
            self.cursor.1 = 0;
            self.move_down();
        }
        let (row, column) = self.cursor;
        let cells = &mut self.all[row].cells;
        if cells.len() <= column {
            cells.resize(column + 1, ' ');
        }
        cells[column] = c;
        self.cursor.1 += 1;
    }

    /// Wraps every line anew.
    fn resize(&mut self, columns: usize, rows: usize) {
        let mut all = Vec::new();
        let mut cursor = self.cursor;
        let mut line: Vec<char> = Vec::new();
        let mut cursor_in_line = None;
        for (index, row) in self.all.iter().enumerate() {
            if index == self.cursor.0 {
                cursor_in_line = Some(line.len() + self.cursor.1);
            }
            line.extend(&row.cells);
            if row.continues {
                continue;
            }
            let first = all.len();
            let parts: Vec<&[char]> = line.chunks(columns).collect();
            let count = parts.len().max(1);
            for part in 0..count {
                let cells = parts.get(part).map(|part| part.to_vec()).unwrap_or_default();
                all.push(Row { cells, continues: part + 1 < count });
            }
            if let Some(at) = cursor_in_line.take() {
                let row = (at / columns).min(count - 1);
                cursor = (first + row, at - row * columns);
            }
            line.clear();
        }
        (self.all, self.cursor, self.columns, self.rows) = (all, cursor, columns, rows);
    }
}
