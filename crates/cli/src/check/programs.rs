//! Programs and scripts of hooks: whether they are there and can be executed. Looks at the call that
//! a sample event would make, and starts nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gambrel::{Gambrel, Loaded};
use gambrel_dialects::sample_event;
use gambrel_model::{Call, Carry, Complaint, Event, Hook, Program, ReceivedEvent};
use gambrel_process::path_lookup::{find_on_path, is_executable};

use super::first_command::first_command;

/// Programs whose first argument without a dash is a script.
const INTERPRETERS: [&str; 12] = [
    "sh", "bash", "dash", "zsh", "ksh", "python", "python3", "node", "bun", "ruby", "perl", "pwsh",
];
/// Words that a shell knows itself.
const SHELL_BUILTINS: [&str; 59] = [
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen",
    "complete", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit",
    "export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let",
    "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readonly", "return",
    "set", "shift", "shopt", "source", "suspend", "test", "times", "trap", "true", "type",
    "typeset", "ulimit", "umask", "unalias", "unset", "wait",
];
/// Scripts are read up to this size.
const MAX_SCRIPT_BYTES: u64 = 256 * 1024;

/// Complaints about the programs of all hooks that can run.
pub fn check_programs(gambrel: &Gambrel, loaded: &Loaded) -> Vec<Complaint> {
    let can_run = |hook: &&std::sync::Arc<Hook>| hook.draft.disabled.is_none();
    let hooks = loaded.hooks.iter().filter(can_run);
    hooks.flat_map(|hook| check_hook(gambrel, loaded, hook)).collect()
}

fn check_hook(gambrel: &Gambrel, loaded: &Loaded, hook: &Hook) -> Vec<Complaint> {
    let call = stage_sample_call(gambrel, loaded, hook).filter(|call| call.cwd.is_dir());
    let Some(call) = call else { return Vec::new() };
    let lookup = CallLookup { call: &call, env: &gambrel.setup().env };
    let words = match &call.program {
        Program::None => None,
        Program::Exec(words) => Some(words.clone()),
        Program::Shell { text, .. } => first_command(text, &|name| lookup.path_variable(name)),
    };
    let words = words.filter(|words| !words.is_empty()).unwrap_or_default();
    let script = find_script(&words).map(|word| call.cwd.join(word));
    let of_text = |text: &str| {
        let why = hook.format.warn_script(text)?;
        Some(Complaint::warning(hook.draft.source.spot.clone(), why))
    };
    let text = match &call.program {
        Program::Shell { text, .. } => Some(text.as_str()),
        _ => None,
    };
    let in_script = script.as_deref().and_then(read_script);
    let doubtful = text.into_iter().chain(in_script.as_deref()).find_map(of_text);
    let missing = find_mistake(&words, text, &call.cwd, &lookup);
    let missing = missing.map(|mistake| mistake.into_complaint(hook, &loaded.roots.project));
    missing.into_iter().chain(doubtful).collect()
}

/// The call that a sample of the hook's event would make.
fn stage_sample_call(gambrel: &Gambrel, loaded: &Loaded, hook: &Hook) -> Option<Call> {
    let spec = hook.specs.first()?;
    let project = loaded.roots.project.clone();
    let sample = sample_event(hook.dialect, spec, &project).to_string();
    let received: ReceivedEvent = gambrel.receive(hook.dialect.name, sample.as_bytes()).ok()?;
    let event = Event::new(received, project);
    Some(hook.format.stage_call(&event, hook, &Carry::default()))
}

/// Variables that a command sees.
struct CallLookup<'c> {
    call: &'c Call,
    env: &'c BTreeMap<String, String>,
}

impl CallLookup<'_> {
    /// A variable of the call itself, or one that names a folder of the user. Other variables of the
    /// environment may be secrets, which must not appear in a complaint.
    fn path_variable(&self, name: &str) -> Option<String> {
        let own = self.call.env.iter().rev().find(|(known, _)| known == name);
        let of_user = || self.env.get(name).filter(|_| matches!(name, "HOME" | "XDG_CONFIG_HOME"));
        own.map(|(_, value)| value).or_else(of_user).cloned()
    }

    fn search_path(&self) -> Option<&str> {
        let own = self.call.env.iter().rev().find(|(known, _)| known == "PATH");
        own.map(|(_, value)| value).or_else(|| self.env.get("PATH")).map(String::as_str)
    }
}

/// The word that names a script: the program itself, or what an interpreter reads.
fn find_script(words: &[String]) -> Option<&String> {
    let program = words.first()?;
    if program.contains('/') && !is_interpreter(program) {
        return Some(program);
    }
    // After `-c` and the like comes code, and a name may be a module.
    let argument = words.get(1).filter(|word| !word.starts_with('-'))?;
    let is_file = argument.contains('/') || argument.contains('.');
    (is_interpreter(program) && is_file).then_some(argument)
}

fn is_interpreter(program: &str) -> bool {
    INTERPRETERS.contains(&program.rsplit('/').next().unwrap_or(program))
}

fn read_script(path: &Path) -> Option<String> {
    let is_small =
        path.metadata().is_ok_and(|file| file.is_file() && file.len() <= MAX_SCRIPT_BYTES);
    if is_small { std::fs::read_to_string(path).ok() } else { None }
}

/// What is wrong with the program of a hook.
enum ProgramMistake {
    NoFile(PathBuf),
    IsFolder(PathBuf),
    NotExecutable(PathBuf),
    NotOnPath(String),
}

fn find_mistake(
    words: &[String],
    text: Option<&str>,
    cwd: &Path,
    lookup: &CallLookup<'_>,
) -> Option<ProgramMistake> {
    let program = words.first()?;
    let script = find_script(words);
    if let Some(word) = script {
        let path = cwd.join(word);
        let name = word.rsplit('/').next().unwrap_or(word);
        // A text that names a file twice probably tests for it.
        let is_tested = text.is_some_and(|text| text.matches(name).count() > 1);
        match path.metadata() {
            Err(_) if is_tested => return None,
            Err(_) => return Some(ProgramMistake::NoFile(path)),
            Ok(file) if file.is_dir() => return Some(ProgramMistake::IsFolder(path)),
            Ok(_) if word == program && !is_executable(&path) && !is_tested => {
                return Some(ProgramMistake::NotExecutable(path));
            }
            Ok(_) => {}
        }
    }
    let is_builtin = text.is_some() && SHELL_BUILTINS.contains(&program.as_str());
    if program.contains('/') || is_builtin {
        return None;
    }
    let found = find_on_path(program.as_bytes(), lookup.search_path().map(str::as_bytes), cwd);
    found.is_none().then(|| ProgramMistake::NotOnPath(program.clone()))
}

impl ProgramMistake {
    fn into_complaint(self, hook: &Hook, project: &Path) -> Complaint {
        let spot = hook.draft.source.spot.clone();
        let show = |path: &Path| {
            // Without `./` inside.
            let path: PathBuf = path.components().collect();
            path.strip_prefix(project).unwrap_or(&path).display().to_string()
        };
        let (message, help) = match &self {
            Self::NoFile(path) => (
                format!("there is no file {}: this hook fails every time", show(path)),
                "write the file, or correct its path".to_owned(),
            ),
            Self::IsFolder(path) => (
                format!("{} is a folder: this hook fails every time", show(path)),
                "name a file in it".to_owned(),
            ),
            Self::NotExecutable(path) => (
                format!("{} is not executable: this hook fails every time", show(path)),
                format!("run `chmod +x {}`, or write its interpreter before it", show(path)),
            ),
            Self::NotOnPath(name) => {
                let help = "install it, or write its full path; the agent's PATH may differ";
                let message = format!("`{name}` is not on the PATH");
                return Complaint::warning(spot, message).with_help(help);
            }
        };
        Complaint::error(spot, message).with_help(help)
    }
}
