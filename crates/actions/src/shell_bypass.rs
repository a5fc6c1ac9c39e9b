//! Decides whether shell text can run without a shell, and splits it into words. Strict: text that
//! could differ in a shell is left to the shell.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gambrel_process::command::ExecMode;
use gambrel_process::environ::Environ;
use gambrel_process::path_lookup;

/// Names that a shell runs itself or reads as syntax, sorted.
#[rustfmt::skip]
const SHELL_WORDS: &[&str] = &[
    "alias", "autoload", "bg", "bind", "bindkey", "break", "builtin", "caller", "case", "cd",
    "chdir", "command", "compgen", "complete", "compopt", "continue", "coproc", "declare", "dirs",
    "disown", "do", "done", "echo", "elif", "else", "enable", "esac", "eval", "exec", "exit",
    "export", "false", "fc", "fg", "fi", "float", "for", "foreach", "function", "getopts", "hash",
    "help", "history", "if", "in", "integer", "jobs", "kill", "let", "local", "logout", "mapfile",
    "nameref", "namespace", "newgrp", "noglob", "popd", "print", "printf", "pushd", "pwd", "read",
    "readarray", "readonly", "repeat", "return", "select", "set", "shift", "shopt", "source",
    "stop", "suspend", "test", "then", "time", "times", "trap", "true", "type", "typeset", "ulimit",
    "umask", "unalias", "unfunction", "unset", "until", "wait", "whence", "where", "which", "while",
];

/// Variables that a shell sets itself, so that the inherited value is not the one it would use.
#[rustfmt::skip]
const SHELL_VARIABLES: &[&str] = &[
    "COLUMNS", "DIRSTACK", "ENV", "EUID", "FUNCNAME", "FUNCNEST", "GROUPS", "HISTCMD", "HOSTNAME",
    "HOSTTYPE", "IFS", "LINENO", "LINES", "MACHTYPE", "MAPFILE", "OLDPWD", "OPTARG", "OPTERR",
    "OPTIND", "OSTYPE", "PIPESTATUS", "PPID", "PS1", "PS2", "PS3", "PS4", "PWD", "RANDOM", "REPLY",
    "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SRANDOM", "TERM", "UID", "_",
];

/// The program of a text, if it needs no shell: as written if it has a slash, else found along the
/// PATH. Its arguments are the words as the shell would have split them.
pub(crate) fn bypass_shell(text: &str, environ: &Environ, cwd: &Path) -> Option<ExecMode> {
    if environ.names().any(steers_shells) {
        return None;
    }

    let argv = split_words(text, environ)?;
    let name = argv.first().filter(|name| !name.is_empty() && !name.contains(&b'='))?;
    if name.contains(&b'/') {
        let path = PathBuf::from(OsStr::from_bytes(name));
        return path_lookup::is_executable(&cwd.join(&path)).then_some(ExecMode { path, argv });
    }
    if name.starts_with(b"-") || name.starts_with(b".") || is_shell_word(name) {
        return None;
    }
    let path = path_lookup::find_on_path(name, Some(environ.value_of(b"PATH")?), cwd)?;
    Some(ExecMode { path, argv })
}

/// Whether a variable makes a shell do something before or instead of the text.
fn steers_shells(name: &[u8]) -> bool {
    matches!(name, b"BASH_ENV" | b"SHELLOPTS" | b"BASHOPTS" | b"POSIXLY_CORRECT")
        || name.starts_with(b"BASH_FUNC_")
}

fn is_shell_word(name: &[u8]) -> bool {
    SHELL_WORDS.binary_search_by(|word| word.as_bytes().cmp(name)).is_ok()
}

fn split_words(text: &str, environ: &Environ) -> Option<Vec<Vec<u8>>> {
    let mut reader =
        CommandReader { rest: text.trim_matches([' ', '\t', '\n']).as_bytes(), environ };
    let mut words = Vec::new();
    loop {
        while matches!(reader.rest, [b' ' | b'\t', ..]) {
            reader.advance(1);
        }
        if reader.rest.is_empty() {
            return Some(words);
        }
        words.push(reader.read_word()?);
    }
}

struct CommandReader<'a> {
    rest: &'a [u8],
    environ: &'a Environ,
}

impl<'a> CommandReader<'a> {
    fn advance(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn read_word(&mut self) -> Option<Vec<u8>> {
        let mut word = Vec::new();
        loop {
            match self.rest {
                [] | [b' ' | b'\t', ..] => return Some(word),
                [b'\'', ..] => word.extend_from_slice(self.read_single_quoted()?),
                [b'"', ..] => self.read_double_quoted(&mut word)?,
                [b'$', ..] => {
                    let value = self.read_variable()?;
                    if value.is_empty() || !value.iter().all(|byte| is_literal_byte(*byte)) {
                        return None;
                    }
                    word.extend_from_slice(value);
                }
                [byte, ..] if is_literal_byte(*byte) => {
                    word.push(*byte);
                    self.advance(1);
                }
                _ => return None,
            }
        }
    }

    fn read_single_quoted(&mut self) -> Option<&'a [u8]> {
        self.advance(1);
        let end = self.rest.iter().position(|byte| *byte == b'\'')?;
        let inside = self.rest.get(..end).filter(|inside| !inside.contains(&0))?;
        self.advance(end + 1);
        Some(inside)
    }

    fn read_double_quoted(&mut self, word: &mut Vec<u8>) -> Option<()> {
        self.advance(1);
        loop {
            match self.rest {
                [b'"', ..] => {
                    self.advance(1);
                    return Some(());
                }
                [b'$', ..] => word.extend_from_slice(self.read_variable()?),
                [] | [b'`' | b'\\' | 0, ..] => return None,
                [byte, ..] => {
                    word.push(*byte);
                    self.advance(1);
                }
            }
        }
    }

    /// The value of `$NAME` or `${NAME}` in the child's environment.
    fn read_variable(&mut self) -> Option<&'a [u8]> {
        self.advance(1);
        let braced = matches!(self.rest, [b'{', ..]);
        if braced {
            self.advance(1);
        }
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = self.rest.iter().position(|byte| !is_name(byte)).unwrap_or(self.rest.len());

        let name = self.rest.get(..end).filter(|name| is_stable_variable(name))?;
        self.advance(end);
        if braced {
            if !matches!(self.rest, [b'}', ..]) {
                return None;
            }
            self.advance(1);
        }
        self.environ.value_of(name)
    }
}

/// Whether every shell takes this variable from its environment unchanged.
fn is_stable_variable(name: &[u8]) -> bool {
    let shells_own = ["BASH", "COMP", "EPOCH", "HIST", "READLINE", "ZSH", "KSH"];
    name.first().is_some_and(|byte| !byte.is_ascii_digit())
        && !shells_own.iter().any(|start| name.starts_with(start.as_bytes()))
        && SHELL_VARIABLES.binary_search_by(|own| own.as_bytes().cmp(name)).is_err()
}

/// Whether a character is literal outside quotes, anywhere in a word.
fn is_literal_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:,+@%=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{SHELL_VARIABLES, SHELL_WORDS};

    #[test]
    fn keeps_tables_sorted_for_binary_search() {
        assert!(SHELL_WORDS.is_sorted() && SHELL_VARIABLES.is_sorted());
    }
}
