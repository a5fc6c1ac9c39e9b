//! The words of one simple command, read as far as they are needed and never twice: a command with
//! a hundred thousand quotes asks about them at every quote.

/// The words of a command up to where its current word begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandWords {
    /// Where the current word begins.
    pub(super) end: usize,
    read: usize,
    /// The word that is being read, and the one before it.
    current: Option<usize>,
    last: Option<(usize, usize)>,
    evaluates: bool,
    /// Whether a word before `last` names a shell.
    names_shell: bool,
}

impl CommandWords {
    /// Of a command that begins here.
    pub(super) fn from(start: usize) -> Self {
        Self { end: start, read: start, ..Self::default() }
    }

    /// Whether the next word is the text of a second shell: `eval …`, `sh -c …`.
    pub(super) fn take_script(&mut self, text: &str) -> bool {
        for (at, c) in text[self.read..self.end].char_indices() {
            let at = self.read + at;
            match (c.is_whitespace(), self.current) {
                (true, Some(start)) => self.finish_word(text, start, at),
                (false, None) => self.current = Some(at),
                _ => {}
            }
        }
        self.read = self.end;
        // What touches the current word without a space (`>`) may still grow.
        let mut seen = *self;
        if let Some(start) = seen.current {
            seen.finish_word(text, start, seen.end);
        }
        let Some((start, end)) = seen.last else { return false };
        let word = &text[start..end];
        let takes = word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
        seen.evaluates || (takes && seen.names_shell)
    }

    fn finish_word(&mut self, text: &str, start: usize, end: usize) {
        if let Some((start, end)) = self.last {
            self.names_shell |= is_shell(&text[start..end]);
        }
        self.last = Some((start, end));
        self.evaluates |= &text[start..end] == "eval";
        self.current = None;
    }
}

fn is_shell(word: &str) -> bool {
    word.ends_with("sh") || word == "su" || word.ends_with("/su")
}
