//! What a word of a shell text stands for, as far as the text shows it: literal stretches, glob
//! signs, and stretches that only the running shell knows. It knows no files.

/// A stretch of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Exactly this.
    Text(String),
    /// Glob syntax, such as `*` or `[a-z]`.
    Glob(String),
    /// Any text at all.
    Unknown,
}

/// One word after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text(Vec<Piece>);

/// The words that one written word becomes.
pub(super) type Fields = Vec<Text>;

impl Text {
    pub fn literal(text: &str) -> Self {
        let mut made = Self::default();
        made.push_text(text);
        made
    }

    pub fn unknown() -> Self {
        Self(vec![Piece::Unknown])
    }

    pub fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    pub fn push_glob(&mut self, glob: &str) {
        self.0.push(Piece::Glob(glob.to_owned()));
    }

    pub fn append(&mut self, other: &Self) {
        for piece in &other.0 {
            match piece {
                Piece::Text(text) => self.push_text(text),
                other => self.0.push(other.clone()),
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, when all of it is known.
    pub fn as_known(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub fn has_unknown(&self) -> bool {
        self.0.contains(&Piece::Unknown)
    }

    /// The word as a glob pattern, when nothing of it is unknown. Literal glob signs are escaped.
    pub fn to_pattern(&self) -> Option<String> {
        let mut pattern = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => pattern.push_str(&escape_glob(text)),
                Piece::Glob(glob) => pattern.push_str(glob),
                Piece::Unknown => return None,
            }
        }
        Some(pattern)
    }

    /// The literal text that the word begins with.
    pub fn literal_head(&self) -> &str {
        match self.0.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// The word without so many bytes of its literal beginning.
    pub fn without_head(&self, length: usize) -> Self {
        let mut rest = self.0.clone();
        if let Some(Piece::Text(text)) = rest.first_mut() {
            *text = text.get(length..).unwrap_or_default().to_owned();
        }
        let mut made = Self::default();
        made.append(&Self(rest));
        made
    }

    /// The word with another in the place of every `mark`.
    pub fn replace_mark(&self, mark: &str, other: &Self) -> Self {
        let mut made = Self::default();
        for piece in &self.0 {
            let Piece::Text(text) = piece else {
                made.0.push(piece.clone());
                continue;
            };
            for (at, part) in text.split(mark).enumerate() {
                if at > 0 {
                    made.append(other);
                }
                made.push_text(part);
            }
        }
        made
    }

    /// The path behind the last unknown stretch, when it begins with a slash.
    pub fn tail_path(&self) -> Option<&str> {
        match self.0.as_slice() {
            [.., Piece::Unknown, Piece::Text(tail)] => {
                let tail = tail.strip_prefix('/')?.trim_start_matches('/');
                (!tail.is_empty()).then_some(tail)
            }
            _ => None,
        }
    }

    /// The word as one text, with a mark for every stretch that is not literal.
    pub fn with_marks(&self, mark: char) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Glob(_) | Piece::Unknown => mark.to_string(),
        };
        self.0.iter().map(piece).collect()
    }

    /// The word with its unquoted glob signs as such: what a shell makes of a variable without
    /// quotes.
    pub fn with_globs(&self) -> Self {
        let mut made = Self::default();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => push_globs(&mut made, text),
                other => made.0.push(other.clone()),
            }
        }
        made
    }

    /// The words that a variable without quotes becomes.
    pub fn split_words(&self) -> Fields {
        let mut fields = vec![Self::default()];
        for piece in &self.0 {
            let Piece::Text(text) = piece else {
                if let Some(last) = fields.last_mut() {
                    last.0.push(piece.clone());
                }
                continue;
            };
            for (at, part) in text.split(char::is_whitespace).enumerate() {
                if at > 0 {
                    fields.push(Self::default());
                }
                if let Some(last) = fields.last_mut() {
                    last.push_text(part);
                }
            }
        }
        fields.retain(|field| !field.is_empty());
        fields
    }
}

pub(super) fn escape_glob(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn push_globs(made: &mut Text, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['*', '?', '[']) {
        made.push_text(&rest[..at]);
        let length = glob_length(&rest[at..]);
        match length {
            0 => made.push_text("["),
            _ => made.push_glob(&rest[at..at + length]),
        }
        rest = &rest[at + length.max(1)..];
    }
    made.push_text(rest);
}

/// The length of the glob sign that a text begins with; 0 for a bracket that nothing closes.
pub(super) fn glob_length(text: &str) -> usize {
    if !text.starts_with('[') {
        return 1;
    }
    let inside = text[1..].strip_prefix(['!', '^']).unwrap_or(&text[1..]);
    let opened = text.len() - inside.len();
    let first = inside.chars().next().map_or(0, char::len_utf8);
    match inside.get(first..).and_then(|rest| rest.find([']', '/', ' '])) {
        Some(at) if inside[first + at..].starts_with(']') => opened + first + at + 1,
        _ => 0,
    }
}

/// Every choice of one item from each list, or `None` when there are more than `most`.
pub(super) fn combine_choices(lists: Vec<Vec<Fields>>, most: usize) -> Option<Vec<Fields>> {
    let mut all: Vec<Fields> = vec![Vec::new()];
    for list in lists {
        if all.len().saturating_mul(list.len()) > most {
            return None;
        }
        all = all
            .iter()
            .flat_map(|head| list.iter().map(move |tail| [head.as_slice(), tail].concat()))
            .collect();
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_words_and_keeps_globs() {
        let text = Text::literal("sh  ./lib*.sh");
        let fields = text.with_globs().split_words();
        assert_eq!(fields.len(), 2);
        assert_eq!(fields[1].to_pattern().as_deref(), Some("./lib*.sh"));
        assert_eq!(fields[1].as_known(), None);
    }

    #[test]
    fn finds_the_end_of_a_class() {
        for (text, length) in [("[a-z]x", 5), ("[!a]", 4), ("[]a]", 4), ("[ -f", 0), ("*", 1)] {
            assert_eq!(glob_length(text), length, "{text}");
        }
    }
}
