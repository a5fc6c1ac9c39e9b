//! Programs that start another program which they are given: `env`, `timeout`, `xargs`, `find`.

use gambrel_model::text::{contains_word, is_variable_name};

use super::collector::Naming;
use super::shell::{Command, Input, ShellReader};
use super::value::Text;

/// A program that starts the words after its options.
struct Wrapper {
    names: &'static str,
    /// Options whose value is a word of its own.
    valued: &'static [&'static str],
    /// Words of its own before the program's name.
    operands: usize,
}

const fn wrapper(names: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { names, valued, operands }
}

/// Programs whose options have no value of their own.
const PLAIN_WRAPPERS: &str = "\
    nohup command builtin setsid unshare busybox chronic catchsegv cross-env ts rlwrap";

const WRAPPERS: [Wrapper; 22] = [
    wrapper("env", &["-u", "--unset", "-C", "--chdir", "-S", "--split-string"], 0),
    wrapper("sudo", &["-u", "-g", "-C", "-D", "-h", "-p", "-R", "-T", "--user", "--group"], 0),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("timeout gtimeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper(PLAIN_WRAPPERS, &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("time", &["-f", "-o", "--format", "--output"], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("flock", &["-w", "--timeout", "-E"], 1),
    wrapper("watch", &["-n", "--interval"], 0),
    wrapper("strace", &["-o", "-e", "-p"], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("direnv", &[], 2),
    wrapper("ltrace", &["-o"], 0),
    wrapper("chroot pipenv rye mise bundle", &[], 1),
    wrapper("uv", &["--with", "--python", "-p", "--directory", "--project", "--extra"], 1),
    wrapper("poetry", &["-C", "--directory"], 1),
    wrapper("pdm", &["-p", "--project"], 1),
    wrapper("hatch", &["-e", "--env"], 1),
    wrapper("conda", &["-n", "--name", "-p", "--prefix"], 1),
];

/// Options of `find` after which a command stands.
const FIND_EXECS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
/// Options of `xargs` and `parallel` whose value is a word of its own.
const XARGS_VALUED: [&str; 12] =
    ["-a", "--arg-file", "-I", "-i", "-n", "-P", "-L", "-s", "-d", "-E", "-j", "--delimiter"];

/// Takes note of what such a program starts. False when it is none of them.
pub(super) fn run(shell: &mut ShellReader<'_, '_>, name: &str, command: &Command) -> bool {
    match name {
        "xargs" | "parallel" => follow_xargs(shell, command),
        "find" => follow_find(shell, command),
        "command" if looks_up(command) => {}
        _ => match WRAPPERS.iter().find(|wrapper| contains_word(wrapper.names, name)) {
            Some(wrapper) => follow_wrapper(shell, wrapper, command),
            None => return false,
        },
    }
    shell.look_up(name);
    true
}

/// `command -v x` starts nothing.
fn looks_up(command: &Command) -> bool {
    command.words.get(1).and_then(Text::as_known).is_some_and(|word| matches!(word, "-v" | "-V"))
}

fn follow_wrapper(shell: &mut ShellReader<'_, '_>, wrapper: &Wrapper, command: &Command) {
    let before = shell.state.clone();
    let mut operands = wrapper.operands;
    let mut at = 1;
    while let Some(word) = command.words.get(at) {
        let text = word.as_known().unwrap_or_default().to_owned();
        at += 1;
        let value = || command.words.get(at).cloned().unwrap_or_default();
        match (wrapper.names, text.as_str()) {
            // `flock file -c 'text'`
            ("env", "-S" | "--split-string") | ("flock", "-c") => {
                shell.evaluate_text(&value(), command);
                at += 1;
                continue;
            }
            ("env", "-C" | "--chdir") => shell.state.change_folder(&[value()]),
            _ => {}
        }
        if wrapper.valued.contains(&text.as_str()) {
            at += 1;
        } else if text.starts_with('-') && text.len() > 1 {
            // An option without a value.
        } else if is_assignment(word) {
            set_variable(shell, word);
        } else if operands > 0 {
            operands -= 1;
        } else {
            let words = command.words[at - 1..].to_vec();
            shell.run(&Command { words, ..command.clone() });
            break;
        }
    }
    shell.state = before;
}

fn is_assignment(word: &Text) -> bool {
    word.literal_head().split_once('=').is_some_and(|(name, _)| is_variable_name(name))
}

fn set_variable(shell: &mut ShellReader<'_, '_>, word: &Text) {
    if let Some((name, _)) = word.literal_head().split_once('=') {
        shell.state.set_variable(name, vec![vec![word.without_head(name.len() + 1)]]);
        shell.state.exported.insert(name.to_owned());
    }
}

/// `xargs -a LIST PROGRAM`: the words of the list are handed to the program.
fn follow_xargs(shell: &mut ShellReader<'_, '_>, command: &Command) {
    let mut at = 1;
    let mut lists: Option<Vec<Text>> = None;
    let mut placeholder = None;
    while let Some(word) = command.words.get(at) {
        let text = word.as_known().unwrap_or_default();
        let value = || command.words.get(at + 1).cloned().unwrap_or_default();
        if let Some(file) = text.strip_prefix("--arg-file=") {
            lists.get_or_insert_default().push(Text::literal(file));
        } else if matches!(text, "-a" | "--arg-file") {
            lists.get_or_insert_default().push(value());
        } else if text == "-I" {
            placeholder = value().as_known().map(str::to_owned);
        } else if !text.starts_with('-') {
            break;
        }
        at += if XARGS_VALUED.contains(&text) { 2 } else { 1 };
    }
    let input = match &lists {
        Some(lists) => Input::Files(lists.clone()),
        None => command.input.clone(),
    };
    let words = listed_words(shell, &input);
    let program = command.words.get(at..).unwrap_or_default().to_vec();
    if program.is_empty() {
        return;
    }
    for word in words {
        let mut words = program.clone();
        match placeholder.as_deref() {
            Some(mark) => words.iter_mut().for_each(|w| *w = w.replace_mark(mark, &word)),
            None => words.push(word),
        }
        let inner = Command { words, input: Input::Text(String::new()), ..command.clone() };
        shell.run(&inner);
    }
}

/// The words that `xargs` reads, where they are known.
fn listed_words(shell: &mut ShellReader<'_, '_>, input: &Input) -> Vec<Text> {
    const MAX_LISTED_WORDS: usize = 256;
    let split = |text: &str| -> Vec<Text> {
        text.split_whitespace().take(MAX_LISTED_WORDS).map(Text::literal).collect()
    };
    let mut words = match input {
        Input::Text(text) => split(text),
        Input::Files(files) => {
            let mut words = Vec::new();
            for file in files {
                for path in shell.add_named(file, Naming::Code) {
                    let part = shell.collector.find_part(&path);
                    words.extend(part.and_then(|p| Some(split(&p.to_text()?))).unwrap_or_default());
                }
            }
            words
        }
        Input::Inherited | Input::Pipe(_) => vec![Text::unknown()],
    };
    if words.is_empty() {
        words.push(Text::unknown());
    }
    words
}

fn follow_find(shell: &mut ShellReader<'_, '_>, command: &Command) {
    let mut at = 1;
    while at < command.words.len() {
        let is_exec = command.words[at].as_known().is_some_and(|word| FIND_EXECS.contains(&word));
        at += 1;
        if !is_exec {
            continue;
        }
        let rest = &command.words[at..];
        let ends = |word: &Text| matches!(word.as_known(), Some(";" | "+"));
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let words = rest[..end].iter().map(|w| w.replace_mark("{}", &Text::unknown())).collect();
        shell.run(&Command { words, ..command.clone() });
        at += end;
    }
}
