//! Commands that start other commands: which words of a command are commands as well, and which
//! are scripts.

use std::collections::BTreeSet;

use super::wild::Cell;
use super::word::Word;

/// Start what follows their options.
const WRAPPERS: [&str; 24] = [
    "env",
    "sudo",
    "doas",
    "timeout",
    "nice",
    "ionice",
    "nohup",
    "xargs",
    "command",
    "builtin",
    "exec",
    "time",
    "stdbuf",
    "setsid",
    "chroot",
    "unshare",
    "flock",
    "watch",
    "parallel",
    "busybox",
    "entr",
    "strace",
    "chronic",
    "caffeinate",
];
/// Add words that they read elsewhere.
const FEEDERS: [&str; 3] = ["xargs", "parallel", "find"];
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh"];
/// Give their text to the shell.
const EVALS: [&str; 2] = ["eval", "trap"];
/// Options of `find` after which a command stands.
const EXECS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// What a simple command starts.
#[derive(Debug, Default)]
pub struct Started {
    /// Where commands begin among its words; always the first word.
    pub at: BTreeSet<usize>,
    /// Scripts that a shell is given; `None` when the text is not known.
    pub scripts: Vec<Option<String>>,
    /// Whether commands after the first get more words than are written.
    pub fed: bool,
}

/// Looks through the words of a simple command.
pub fn started(words: &[Word]) -> Started {
    let mut started = Started::default();
    let mut todo = vec![0];
    while let Some(at) = todo.pop() {
        let rest = &words[at.min(words.len())..];
        let Some(name) = rest.first().filter(|_| started.at.insert(at)).and_then(program) else {
            continue;
        };
        let named = |list: &[&str]| list.contains(&name.as_str());
        started.fed |= named(&FEEDERS);
        if named(&WRAPPERS) {
            todo.extend(wrapped(&rest[1..]).into_iter().map(|after| at + 1 + after));
            started.scripts.extend(split_string(&rest[1..]));
        } else if named(&SHELLS) {
            let fed = || reads_stdin(&rest[1..]).then_some(None);
            started.scripts.extend(script(&rest[1..]).or_else(fed));
        } else if named(&EVALS) {
            let texts: Option<Vec<String>> = rest[1..].iter().map(Word::known).collect();
            started.scripts.push(texts.map(|texts| texts.join(" ")));
        } else if name == "find" {
            let is_exec = |word: &Word| word.known().is_some_and(|w| EXECS.contains(&w.as_str()));
            let execs = (1..rest.len()).filter(|i| is_exec(&rest[*i]));
            todo.extend(execs.map(|i| at + i + 1));
        }
    }
    started
}

/// The name of a command without its folder.
pub fn program(word: &Word) -> Option<String> {
    let known = word.known()?;
    Some(known.rsplit('/').next().unwrap_or(&known).to_owned())
}

/// Where the wrapped command may begin: the first word that is no option, assignment or number;
/// what follows an option may be its value or the command, so it is taken for both.
fn wrapped(words: &[Word]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut after_option = false;
    for (at, word) in words.iter().enumerate() {
        let text = word.known();
        let text = text.as_deref().unwrap_or("?");
        let option = text.starts_with('-') && text != "--";
        let passed = option || text == "--" || is_assignment(text) || is_number(text);
        if !passed {
            found.push(at);
            if !after_option {
                break;
            }
        }
        after_option = option;
    }
    found
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// `5`, `0.5s`, `10m`: how long, how nice.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok()
}

/// The script after `-c`, also where it is one letter of several.
fn script(words: &[Word]) -> Option<Option<String>> {
    let text = |word: &Word| word.known();
    let is_option = |t: &str| t.starts_with(['-', '+']) && t.len() > 1;
    let takes = |t: &str| t.starts_with('-') && !t.starts_with("--") && t.contains('c');
    let at =
        words.iter().position(|word| text(word).is_none_or(|t| takes(&t) || !is_option(&t)))?;
    match text(&words[at]) {
        // A text that begins like a path or a name is no option.
        None if matches!(words[at].cells.first(), Some(Cell::Char(c)) if *c != '-') => None,
        None => Some(None),
        Some(first) if takes(&first) => {
            let after = words[at + 1..].iter();
            let skipped = after.clone().take_while(|w| text(w).is_some_and(|t| is_option(&t)));
            // `-o pipefail` has a value, which may as well be the script.
            let scripts: Vec<_> = after.skip(skipped.count()).take(2).map(text).collect();
            let known: Option<Vec<String>> = scripts.into_iter().collect();
            Some(known.map(|known| known.join("\n")))
        }
        // A value of an option before `-c`, or a file: look on.
        Some(_) => script(&words[at + 1..]),
    }
}

/// Options of a shell that have a value.
const VALUED: [&str; 5] = ["-o", "+o", "-O", "--rcfile", "--init-file"];

/// Whether a shell without `-c` takes its commands from a pipe or a here-document: no file is
/// named, or it is told to.
fn reads_stdin(words: &[Word]) -> bool {
    let mut words = words.iter().map(Word::known);
    while let Some(Some(text)) = words.next() {
        match text.as_str() {
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => return true,
            valued if VALUED.contains(&valued) => drop(words.next()),
            long if long.starts_with("--") => {}
            short if short.starts_with('-') && short.contains('s') => return true,
            option if option.starts_with(['-', '+']) => {}
            _ => return false,
        }
    }
    true
}

/// `env -S 'git push'` is one more way to hide words.
fn split_string(words: &[Word]) -> Option<Option<String>> {
    let is_s = |word: &Word| {
        word.known().is_some_and(|t| t == "-S" || t == "--split-string" || t.starts_with("-S"))
    };
    let at = words.iter().position(is_s)?;
    let rest: Option<Vec<String>> = words[at..].iter().map(Word::known).collect();
    Some(rest.map(|rest| {
        let joined = rest.join(" ");
        let text = joined.strip_prefix("--split-string").or_else(|| joined.strip_prefix("-S"));
        text.unwrap_or_default().to_owned()
    }))
}
