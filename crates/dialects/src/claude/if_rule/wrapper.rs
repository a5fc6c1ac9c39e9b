//! Commands that start other commands: finds the words of a command that are commands or scripts
//! themselves.

use std::collections::BTreeSet;

use gambrel_model::text::contains_word;

use super::wildcard::TextCell;
use super::word::ShellWord;

/// Programs that start the command after their options.
const WRAPPERS: &str = "\
    env sudo doas timeout nice ionice nohup xargs command builtin exec time stdbuf setsid chroot \
    unshare flock watch parallel busybox entr strace chronic caffeinate";
/// Programs that add words from stdin or from file names.
const ARGUMENT_READERS: &str = "xargs parallel find";
const SHELLS: &str = "sh bash dash zsh ksh ash mksh";
/// Programs that run their arguments as a script.
const EVAL_PROGRAMS: &str = "eval trap";
/// Options of `find` before a command.
const EXEC_OPTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// The commands that a simple command starts.
#[derive(Debug, Default)]
pub struct WrappedCommand {
    /// The indexes of words at which commands begin; always includes the first word.
    pub starts: BTreeSet<usize>,
    /// Scripts for a shell; `None` if the text is unknown.
    pub scripts: Vec<Option<String>>,
    /// Whether commands after the first get additional words.
    pub has_added_words: bool,
}

/// Finds the commands that the words of a simple command start.
pub fn find_started_commands(words: &[ShellWord]) -> WrappedCommand {
    let mut started = WrappedCommand::default();
    let mut todo = vec![0];
    while let Some(at) = todo.pop() {
        let rest = &words[at.min(words.len())..];
        let Some(name) = rest.first().filter(|_| started.starts.insert(at)).and_then(program_name)
        else {
            continue;
        };
        let named = |list: &str| contains_word(list, &name);
        started.has_added_words |= named(ARGUMENT_READERS);
        if named(WRAPPERS) {
            todo.extend(wrapped_starts(&rest[1..]).into_iter().map(|after| at + 1 + after));
            started.scripts.extend(env_split_string(&rest[1..]));
        } else if named(SHELLS) {
            let fed = || reads_stdin(&rest[1..]).then_some(None);
            started.scripts.extend(find_script(&rest[1..]).or_else(fed));
        } else if named(EVAL_PROGRAMS) {
            let texts: Option<Vec<String>> = rest[1..].iter().map(ShellWord::known_text).collect();
            started.scripts.push(texts.map(|texts| texts.join(" ")));
        } else if name == "find" {
            let is_exec = |word: &ShellWord| {
                word.known_text().is_some_and(|w| EXEC_OPTIONS.contains(&w.as_str()))
            };
            let execs = (1..rest.len()).filter(|i| is_exec(&rest[*i]));
            todo.extend(execs.map(|i| at + i + 1));
        }
    }
    started
}

/// The name of a command without its folder.
pub fn program_name(word: &ShellWord) -> Option<String> {
    let known = word.known_text()?;
    Some(known.rsplit('/').next().unwrap_or(&known).to_owned())
}

/// The indexes at which the wrapped command may begin: the first word that is not an option, an
/// assignment or a number. A word after an option may be its value or the command, so both count.
fn wrapped_starts(words: &[ShellWord]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut after_option = false;
    for (at, word) in words.iter().enumerate() {
        let text = word.known_text();
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

/// Whether a text is a number or a duration: `5`, `0.5s`, `10m`.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok()
}

/// The script after `-c`, also in combined options like `-lc`.
fn find_script(words: &[ShellWord]) -> Option<Option<String>> {
    let text = |word: &ShellWord| word.known_text();
    let is_option = |t: &str| t.starts_with(['-', '+']) && t.len() > 1;
    let takes = |t: &str| t.starts_with('-') && !t.starts_with("--") && t.contains('c');
    let at =
        words.iter().position(|word| text(word).is_none_or(|t| takes(&t) || !is_option(&t)))?;
    match text(&words[at]) {
        // A text that begins like a path or a name is not an option.
        None if matches!(words[at].cells.first(), Some(TextCell::Char(c)) if *c != '-') => None,
        None => Some(None),
        Some(first) if takes(&first) => {
            let after = words[at + 1..].iter();
            let skipped = after.clone().take_while(|w| text(w).is_some_and(|t| is_option(&t)));
            // `-o pipefail` has a value, which could also be the script.
            let scripts: Vec<_> = after.skip(skipped.count()).take(2).map(text).collect();
            let known: Option<Vec<String>> = scripts.into_iter().collect();
            Some(known.map(|known| known.join("\n")))
        }
        // The value of an option before `-c`, or a file.
        Some(_) => find_script(&words[at + 1..]),
    }
}

/// Options of a shell with a value.
const VALUED_OPTIONS: [&str; 5] = ["-o", "+o", "-O", "--rcfile", "--init-file"];

/// Whether a shell without `-c` reads its commands from stdin: it has no file argument, or an
/// option requests it.
fn reads_stdin(words: &[ShellWord]) -> bool {
    let mut words = words.iter().map(ShellWord::known_text);
    while let Some(Some(text)) = words.next() {
        match text.as_str() {
            "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => return true,
            valued if VALUED_OPTIONS.contains(&valued) => drop(words.next()),
            long if long.starts_with("--") => {}
            short if short.starts_with('-') && short.contains('s') => return true,
            option if option.starts_with(['-', '+']) => {}
            _ => return false,
        }
    }
    true
}

/// The script of `env -S 'git push'`.
fn env_split_string(words: &[ShellWord]) -> Option<Option<String>> {
    let is_s = |word: &ShellWord| {
        word.known_text().is_some_and(|t| t == "-S" || t == "--split-string" || t.starts_with("-S"))
    };
    let at = words.iter().position(is_s)?;
    let rest: Option<Vec<String>> = words[at..].iter().map(ShellWord::known_text).collect();
    Some(rest.map(|rest| {
        let joined = rest.join(" ");
        let text = joined.strip_prefix("--split-string").or_else(|| joined.strip_prefix("-S"));
        text.unwrap_or_default().to_owned()
    }))
}
