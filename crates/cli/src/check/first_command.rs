//! The first command of a shell text, where it is plain to see. It runs nothing, and gives up where
//! the text has to be evaluated.

use gambrel_model::shell_quotes::{QuoteReader, ShellChar, ShellSign};

/// Words that begin no simple command.
const KEYWORDS: [&str; 14] = [
    "if", "while", "until", "for", "case", "select", "function", "{", "}", "!", "[[", "((", "then",
    "do",
];
/// Programs and builtins that run the words after them.
const PREFIXES: [&str; 5] = ["exec", "command", "nohup", "env", "time"];

/// The words of the first command, without assignments before it. `None` if it is not a simple
/// command or a word has to be evaluated. `lookup` gives the value of a variable.
pub fn first_command(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let words = WordReader { lookup, words: Vec::new(), word: None }.read(text)?;
    let is_assignment = |word: &&String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    // With another PATH, a program cannot be looked for.
    if words.iter().take_while(is_assignment).any(|word| word.starts_with("PATH=")) {
        return None;
    }
    let skipped = |word: &&String| is_assignment(word) || PREFIXES.contains(&word.as_str());
    let command: Vec<String> = words.iter().skip_while(skipped).cloned().collect();
    let first = command.first()?;
    let is_simple = !KEYWORDS.contains(&first.as_str()) && !first.starts_with('-');
    is_simple.then_some(command)
}

struct WordReader<'l> {
    lookup: &'l dyn Fn(&str) -> Option<String>,
    words: Vec<String>,
    word: Option<String>,
}

impl WordReader<'_> {
    fn read(mut self, text: &str) -> Option<Vec<String>> {
        let mut chars = QuoteReader::new(text);
        while let Some(ShellChar { quote, sign, .. }) = chars.next() {
            match (sign, quote) {
                (ShellSign::Open, _) => drop(self.word.get_or_insert_default()),
                (ShellSign::Close, _) => {}
                (ShellSign::Escaped('\n'), _) => {}
                (ShellSign::Escaped(c), _) => self.push(c),
                (ShellSign::Backslashed(c), _) => {
                    self.push('\\');
                    self.push(c);
                }
                (ShellSign::Plain('`'), None | Some('"')) => return None,
                (ShellSign::Plain('$'), None | Some('"')) => {
                    let (value, length) = self.expand(chars.rest())?;
                    self.word.get_or_insert_default().push_str(&value);
                    // The sign after the last one of the name comes next.
                    chars.by_ref().take(length).for_each(drop);
                }
                (ShellSign::Plain(c), None) if c == ' ' || c == '\t' => self.end_word(),
                (ShellSign::Plain('#'), None) if self.word.is_none() => break,
                (ShellSign::Plain(';' | '&' | '|' | '\n' | '<' | '>'), None) => break,
                (ShellSign::Plain('(' | ')'), None) => return None,
                (ShellSign::Plain('~'), None) if self.word.is_none() => {
                    let home = (self.lookup)("HOME")?;
                    self.word = Some(home);
                }
                (ShellSign::Plain(c), _) => self.push(c),
            }
        }
        self.end_word();
        Some(self.words)
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    /// The value of the variable whose name comes next, and how many characters its name has.
    fn expand(&self, rest: &str) -> Option<(String, usize)> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, length) = match rest.strip_prefix('{') {
            Some(inside) => {
                let name = inside.split('}').next()?;
                (name, name.chars().count() + 2)
            }
            None => {
                let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        let is_name = !name.is_empty() && name.chars().all(is_part);
        if is_name { Some(((self.lookup)(name)?, length)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::first_command;

    fn words(text: &str) -> Option<String> {
        let lookup = |name: &str| match name {
            "DIR" => Some("/srv/my project".to_owned()),
            "HOME" => Some("/home/ada".to_owned()),
            _ => None,
        };
        first_command(text, &lookup).map(|words| words.join("|"))
    }

    #[test]
    fn reads_the_words_of_the_first_command() {
        for (text, expected) in [
            ("./guard.sh --strict", "./guard.sh|--strict"),
            ("sh \"$DIR\"/.claude/guard.sh", "sh|/srv/my project/.claude/guard.sh"),
            ("\"${DIR}/a b.sh\" x && rm y", "/srv/my project/a b.sh|x"),
            ("A=1 B='2 3' exec env C=4 ./run", "./run"),
            ("~/bin/x | tee log", "/home/ada/bin/x"),
            ("jq -e '.tool_input | length' > /dev/null", "jq|-e|.tool_input | length"),
            ("echo a\\ b # comment", "echo|a b"),
        ] {
            assert_eq!(words(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn gives_up_where_a_text_must_be_evaluated() {
        for text in [
            "$UNKNOWN/x.sh",
            "$(which x)",
            "`x`",
            "if true; then ./a.sh; fi",
            "(cd x && ./a.sh)",
            "${DIR:-x}/a.sh",
            "PATH=./bin:$PATH tool",
            "{ ./a.sh; }",
            "",
        ] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
