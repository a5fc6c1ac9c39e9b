//! Programs that run a script which they are given: shells, Python, Node and others.

use std::path::PathBuf;

use gambrel_model::row_setters;

use super::collector::Naming;
use super::program::base_name;
use super::script::Language;
use super::shell::{Command, Input, ShellReader};
use super::value::Text;
use super::{javascript, python, script};

/// How a program is told what to run.
struct Interpreter {
    names: &'static [&'static str],
    language: Language,
    /// Options whose value is a word of its own.
    valued: &'static [&'static str],
    /// Options whose value is code.
    inline: &'static [&'static str],
    /// Options whose value is a file or module that is loaded first.
    loads: &'static [&'static str],
    /// Words before the script, such as `run`.
    verbs: &'static [&'static str],
}

/// An interpreter without options.
const fn interpreter(names: &'static [&'static str], language: Language) -> Interpreter {
    Interpreter { names, language, valued: &[], inline: &[], loads: &[], verbs: &[] }
}

impl Interpreter {
    row_setters! {
        valued(options: &'static [&'static str]) { valued = options }
        inline(options: &'static [&'static str]) { inline = options }
        loads(options: &'static [&'static str]) { loads = options }
        verbs(words: &'static [&'static str]) { verbs = words }
    }
}

const NODE_LOADS: &[&str] = &["-r", "--require", "--import", "--loader", "--experimental-loader"];

const INTERPRETERS: [Interpreter; 11] = [
    interpreter(&["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"], Language::Shell)
        .valued(&["-o", "+o", "-O", "+O"])
        .inline(&["-c"])
        .loads(&["--rcfile", "--init-file"]),
    interpreter(&["python", "python2", "python3", "pypy", "pypy3"], Language::Python)
        .valued(&["-W", "-X", "-Q"])
        .inline(&["-c"]),
    interpreter(&["node", "nodejs"], Language::JavaScript)
        .valued(&["--env-file", "-C", "--conditions", "--input-type", "--stack-size"])
        .inline(&["-e", "--eval", "-p", "--print", "-pe"])
        .loads(NODE_LOADS),
    interpreter(&["tsx", "ts-node", "swc-node", "jiti", "zx"], Language::JavaScript)
        .valued(&["--tsconfig", "-P", "--project"])
        .inline(&["-e", "--eval"])
        .loads(NODE_LOADS)
        .verbs(&["watch"]),
    interpreter(&["deno"], Language::JavaScript)
        .valued(&["--config", "-c", "--import-map", "--lock", "--cert"])
        .loads(&["--preload"])
        .verbs(&["run", "eval", "test"]),
    interpreter(&["ruby", "jruby"], Language::Other)
        .valued(&["-I", "-E", "-C"])
        .inline(&["-e"])
        .loads(&["-r"]),
    interpreter(&["perl"], Language::Other)
        .valued(&["-I"])
        .inline(&["-e", "-E", "-ne", "-pe", "-lne", "-nle"]),
    interpreter(&["php"], Language::Other).valued(&["-c", "-d", "-t", "-z"]).inline(&["-r"]),
    interpreter(&["awk", "gawk", "mawk", "nawk"], Language::Awk)
        .valued(&["-F", "-v"])
        .loads(&["-f", "--file"]),
    interpreter(
        &["lua", "luajit", "Rscript", "julia", "tclsh", "osascript", "elixir", "groovy"],
        Language::Other,
    )
    .inline(&["-e"])
    .loads(&["-l", "-L"]),
    interpreter(
        &["pwsh", "powershell", "fish", "nu", "guile", "racket", "scala", "kotlin", "swift"],
        Language::Other,
    )
    .valued(&["-ExecutionPolicy"])
    .inline(&["-c", "-Command"])
    .loads(&["-File"]),
];

/// The language of a program's scripts.
pub(super) fn language_of(name: &str) -> Option<Language> {
    find_interpreter(name).map(|interpreter| interpreter.language)
}

/// `python3.12` is `python3`.
fn find_interpreter(name: &str) -> Option<&'static Interpreter> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_named = |i: &&Interpreter| i.names.contains(&name) || i.names.contains(&plain);
    INTERPRETERS.iter().find(is_named)
}

/// What the words of an interpreter name.
#[derive(Default)]
struct Asked {
    inline: Option<Text>,
    module: Option<Text>,
    script: Option<Text>,
    loads: Vec<Text>,
    args: Vec<Text>,
    reads_input: bool,
}

impl ShellReader<'_, '_> {
    /// Takes note of what an interpreter runs. False when the program is none.
    pub fn run_interpreter(&mut self, name: &str, command: &Command) -> bool {
        let Some(interpreter) = find_interpreter(name) else { return false };
        if command.words.first().and_then(Text::as_known).is_some_and(|word| !word.contains('/')) {
            self.look_up(name);
        }
        let asked = parse_arguments(interpreter, &command.words[1..]);
        for file in &asked.loads {
            self.follow_preload(interpreter.language, file, command);
        }
        self.load_from_environment(interpreter.language, command);
        if let Some(text) = &asked.inline {
            self.follow_inline_code(interpreter.language, text, &asked.args, command);
        } else if let Some(module) = &asked.module {
            python::run_module(self, module, command);
        } else if let Some(script) = asked.script.clone().filter(|_| !asked.reads_input) {
            if interpreter.language != Language::Awk {
                self.run_file(interpreter.language, &script, &asked.args, command);
            } else if asked.loads.is_empty() {
                self.follow_inline_code(interpreter.language, &script, &[], command);
            }
        } else if asked.loads.is_empty() || interpreter.language != Language::Awk {
            self.run_input(interpreter.language, &asked, command);
        }
        for word in &asked.args {
            self.add_argument(word);
        }
        true
    }

    /// A file that is loaded before the script.
    fn follow_preload(&mut self, language: Language, file: &Text, command: &Command) {
        match language {
            Language::JavaScript => javascript::follow_preload(self, file, command),
            _ => self.run_file(language, file, &[], command),
        }
    }

    /// Variables by which an interpreter is made to load a file.
    fn load_from_environment(&mut self, language: Language, command: &Command) {
        let names: &[&str] = match language {
            Language::Shell => &["BASH_ENV", "ENV"],
            Language::Python => &["PYTHONSTARTUP"],
            _ => &[],
        };
        for name in names {
            for value in self.state.vars.get(*name).cloned().into_iter().flatten().flatten() {
                self.run_file(language, &value, &[], command);
            }
        }
        if language == Language::JavaScript && self.state.vars.contains_key("NODE_OPTIONS") {
            self.collector.cannot_see(&format!("`{}`: NODE_OPTIONS may load files", command.raw));
        }
    }

    fn run_file(&mut self, language: Language, file: &Text, args: &[Text], command: &Command) {
        if file.to_pattern().is_none() {
            self.collector.cannot_see(&format!("`{}`: the script's name is computed", command.raw));
        }
        for path in self.resolve_script(language, file) {
            script::run(self, &path, language, args);
        }
    }

    /// The files that a script's name leads to, in the way of its language.
    fn resolve_script(&mut self, language: Language, file: &Text) -> Vec<PathBuf> {
        match (language, file.as_known().map(str::to_owned)) {
            (Language::JavaScript, Some(known)) => javascript::resolve_from_folders(self, &known),
            (Language::Python, Some(known)) => python::resolve_script(self, &known),
            (Language::Shell, Some(known)) if !known.contains('/') => {
                let mut files = self.add_named(file, Naming::Code);
                if files.is_empty() {
                    files = self.find_in_path(&known);
                }
                files
            }
            _ => self.add_named(file, Naming::Code),
        }
    }

    /// Code that stands in the command itself.
    fn follow_inline_code(
        &mut self,
        language: Language,
        text: &Text,
        args: &[Text],
        command: &Command,
    ) {
        let Some(text) = text.as_known().map(str::to_owned) else {
            return self.collector.cannot_see(&format!("`{}`: the code is computed", command.raw));
        };
        script::read_text(self, language, &text, args);
    }

    /// Code that is read from the standard input.
    fn run_input(&mut self, language: Language, asked: &Asked, command: &Command) {
        if command.words[1..]
            .iter()
            .any(|word| matches!(word.as_known(), Some("--version" | "-V" | "--help")))
        {
            return;
        }
        match &command.input {
            Input::Text(text) => script::read_text(self, language, text, &asked.args),
            Input::Files(files) => {
                for file in files.clone() {
                    self.run_file(language, &file, &asked.args, command);
                }
            }
            Input::Pipe(from) => {
                let name = base_name(command.words[0].as_known().unwrap_or_default());
                self.collector.cannot_see(&format!("`{name}` runs the output of `{from}`"));
            }
            Input::Inherited => {
                self.collector.cannot_see(&format!("`{}` runs what it reads", command.raw));
            }
        }
    }
}

fn parse_arguments(interpreter: &Interpreter, words: &[Text]) -> Asked {
    let mut asked = Asked::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.as_known().unwrap_or_default();
        let value = || words.get(at + 1).cloned().unwrap_or_default();
        let (option, joined) = match text.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, Some(value)),
            _ => (text, None),
        };
        if is_inline(interpreter, option) {
            asked.inline = Some(joined.map_or_else(value, Text::literal));
            asked.args = words.get(at + 2..).unwrap_or_default().to_vec();
            return asked;
        }
        if interpreter.language == Language::Python && (text == "-m" || ends_with_m(text)) {
            asked.module = Some(value());
            asked.args = words.get(at + 2..).unwrap_or_default().to_vec();
            return asked;
        }
        if interpreter.loads.contains(&option) {
            asked.loads.push(joined.map_or_else(value, Text::literal));
            at += if joined.is_some() { 1 } else { 2 };
        } else if interpreter.valued.contains(&text) {
            at += 2;
        } else if matches!(text, "-" | "-s" | "/dev/stdin") {
            asked.reads_input = true;
            at += 1;
        } else if (text.starts_with(['-', '+']) && text.len() > 1)
            || (asked.script.is_none() && interpreter.verbs.contains(&text))
        {
            at += 1;
        } else {
            asked.script = Some(word.clone());
            asked.args = words.get(at + 1..).unwrap_or_default().to_vec();
            return asked;
        }
    }
    asked
}

/// `-c`, and for shells and Python also `-ec` or `-lc`.
fn is_inline(interpreter: &Interpreter, option: &str) -> bool {
    let short = option.starts_with('-') && !option.starts_with("--") && option.len() > 2;
    let letters = matches!(interpreter.language, Language::Shell | Language::Python);
    interpreter.inline.contains(&option)
        || (short && letters && option.ends_with('c') && option.len() < 8)
}

/// `-Im`
fn ends_with_m(option: &str) -> bool {
    option.starts_with('-')
        && !option.starts_with("--")
        && option.len() < 6
        && option.ends_with('m')
}
