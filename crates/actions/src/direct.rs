//! Decides whether shell text can be executed without a shell, and into which words it falls.
//! Strict: what is not plainly the same either way is left to the shell. It starts nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::environ::Environ;
use crate::lookup;

/// Names that some shell answers itself or reads as syntax, sorted.
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

/// Variables that a shell sets itself, so that ours is not the value it would use.
#[rustfmt::skip]
const SHELL_VARIABLES: &[&str] = &[
    "COLUMNS", "DIRSTACK", "ENV", "EUID", "FUNCNAME", "FUNCNEST", "GROUPS", "HISTCMD", "HOSTNAME",
    "HOSTTYPE", "IFS", "LINENO", "LINES", "MACHTYPE", "MAPFILE", "OLDPWD", "OPTARG", "OPTERR",
    "OPTIND", "OSTYPE", "PIPESTATUS", "PPID", "PS1", "PS2", "PS3", "PS4", "PWD", "RANDOM", "REPLY",
    "SECONDS", "SHELL", "SHELLOPTS", "SHLVL", "SRANDOM", "TERM", "UID", "_",
];

/// A program that the shell would only have passed on to.
pub(crate) struct Direct {
    /// What to execute: as written if it has a slash, else found along the PATH.
    pub path: PathBuf,
    /// The words, as the shell would have made them.
    pub argv: Vec<Vec<u8>>,
}

/// The program of a text, if no shell is needed to run it.
pub(crate) fn read(text: &str, environ: &Environ, cwd: &Path) -> Option<Direct> {
    if environ.names().any(steers_shells) {
        return None;
    }
    let argv = words(text, environ)?;
    let name = argv.first().filter(|name| !name.is_empty() && !name.contains(&b'='))?;
    if name.contains(&b'/') {
        let path = PathBuf::from(OsStr::from_bytes(name));
        return lookup::runnable(&cwd.join(&path)).then_some(Direct { path, argv });
    }
    if name.starts_with(b"-") || name.starts_with(b".") || is_shell_word(name) {
        return None;
    }
    let path = lookup::on_path(name, Some(environ.value(b"PATH")?), cwd)?;
    Some(Direct { path, argv })
}

/// Variables by which a shell is made to do something else before or instead.
fn steers_shells(name: &[u8]) -> bool {
    matches!(name, b"BASH_ENV" | b"SHELLOPTS" | b"BASHOPTS" | b"POSIXLY_CORRECT")
        || name.starts_with(b"BASH_FUNC_")
}

fn is_shell_word(name: &[u8]) -> bool {
    SHELL_WORDS.binary_search_by(|word| word.as_bytes().cmp(name)).is_ok()
}

fn words(text: &str, environ: &Environ) -> Option<Vec<Vec<u8>>> {
    let mut reader = Reader { rest: text.trim_matches([' ', '\t', '\n']).as_bytes(), environ };
    let mut words = Vec::new();
    loop {
        while matches!(reader.rest, [b' ' | b'\t', ..]) {
            reader.bump(1);
        }
        if reader.rest.is_empty() {
            return Some(words);
        }
        words.push(reader.word()?);
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    environ: &'a Environ,
}

impl<'a> Reader<'a> {
    fn bump(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn word(&mut self) -> Option<Vec<u8>> {
        let mut word = Vec::new();
        loop {
            match self.rest {
                [] | [b' ' | b'\t', ..] => return Some(word),
                [b'\'', ..] => word.extend_from_slice(self.single()?),
                [b'"', ..] => self.double(&mut word)?,
                [b'$', ..] => {
                    let value = self.variable()?;
                    if value.is_empty() || !value.iter().all(|byte| is_plain(*byte)) {
                        return None;
                    }
                    word.extend_from_slice(value);
                }
                [byte, ..] if is_plain(*byte) => {
                    word.push(*byte);
                    self.bump(1);
                }
                _ => return None,
            }
        }
    }

    fn single(&mut self) -> Option<&'a [u8]> {
        self.bump(1);
        let end = self.rest.iter().position(|byte| *byte == b'\'')?;
        let inside = self.rest.get(..end).filter(|inside| !inside.contains(&0))?;
        self.bump(end + 1);
        Some(inside)
    }

    fn double(&mut self, word: &mut Vec<u8>) -> Option<()> {
        self.bump(1);
        loop {
            match self.rest {
                [b'"', ..] => {
                    self.bump(1);
                    return Some(());
                }
                [b'$', ..] => word.extend_from_slice(self.variable()?),
                [] | [b'`' | b'\\' | 0, ..] => return None,
                [byte, ..] => {
                    word.push(*byte);
                    self.bump(1);
                }
            }
        }
    }

    /// The value of `$NAME` or `${NAME}` in the child's environment.
    fn variable(&mut self) -> Option<&'a [u8]> {
        self.bump(1);
        let braced = matches!(self.rest, [b'{', ..]);
        if braced {
            self.bump(1);
        }
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = self.rest.iter().position(|byte| !is_name(byte)).unwrap_or(self.rest.len());
        let name = self.rest.get(..end).filter(|name| is_stable(name))?;
        self.bump(end);
        if braced {
            if !matches!(self.rest, [b'}', ..]) {
                return None;
            }
            self.bump(1);
        }
        self.environ.value(name)
    }
}

/// Whether a name is a variable that every shell takes from its environment unchanged.
fn is_stable(name: &[u8]) -> bool {
    let shells_own = ["BASH", "COMP", "EPOCH", "HIST", "READLINE", "ZSH", "KSH"];
    name.first().is_some_and(|byte| !byte.is_ascii_digit())
        && !shells_own.iter().any(|start| name.starts_with(start.as_bytes()))
        && SHELL_VARIABLES.binary_search_by(|own| own.as_bytes().cmp(name)).is_err()
}

/// Characters that mean themselves outside quotes, in any place of a word.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:,+@%=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::{SHELL_VARIABLES, SHELL_WORDS};

    #[test]
    fn the_tables_can_be_searched() {
        assert!(SHELL_WORDS.is_sorted() && SHELL_VARIABLES.is_sorted());
    }
}
