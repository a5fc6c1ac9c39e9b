//! `gambrel commands` and `gambrel command`: lists the slash commands that modules register, and
//! runs one. Only trusted modules are loaded, because loading a module runs its code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use gambrel::{Gambrel, Loaded, Trust};
use gambrel_model::complaint::nearest_word;
use gambrel_model::{Call, Complaint, End, Hook, Limits, Outcome, SourceSpan};
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::printer::with_stdout_redirected;
use crate::{list, open, printer};

/// Time limits for loading a module and for running a command.
const LOAD_TIMEOUT: Duration = Duration::from_secs(30);
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// Arguments of `command`.
#[derive(Debug, Args)]
pub struct CommandArgs {
    /// Run the command of this name, with or without the slash.
    pub name: String,
    /// Pass these arguments to the command.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
    /// Print the command's effects and errors as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Lists the commands of all modules, in configured order.
pub fn run(folder: Option<PathBuf>, args: &ListArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, Some(&args.sources))?);
    let loaded = gambrel.load_hooks(None);

    let mut rows = Vec::new();
    let mut broken = false;
    for hook in runnable_modules(&gambrel, &loaded) {
        match list_commands(&gambrel, hook) {
            Ok(commands) => {
                rows.extend(commands.into_iter().map(|c| (c, hook.draft.source.location())))
            }
            Err(why) => {
                broken = true;
                warn_skipped(hook, &why.to_string());
            }
        }
    }

    if args.json {
        let shown = |((name, about), place): &((String, String), String)| json!({"name": name, "description": about, "module": place});
        printer::print_json(&rows.iter().map(shown).collect());
        return Ok(u8::from(broken));
    }

    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|((name, about), place)| {
            vec![format!("/{name}"), printer::truncate_line(about, 60), place.clone()]
        })
        .collect();

    match cells.is_empty() {
        true => printer::print("no module registers a command here\n"),
        false => {
            printer::print(&printer::format_table(&["COMMAND", "DESCRIPTION", "MODULE"], &cells))
        }
    }
    Ok(u8::from(broken))
}

/// Runs a command of the first module that registers it.
pub fn run_command(folder: Option<PathBuf>, args: &CommandArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, None)?);
    let loaded = gambrel.load_hooks(None);
    let name = args.name.trim_start_matches('/');
    let modules = runnable_modules(&gambrel, &loaded);

    let has = |hook: &&&Hook| match list_commands(&gambrel, hook) {
        Ok(all) => all.iter().any(|command| command.0 == name),
        Err(why) => {
            warn_skipped(hook, &why.to_string());
            false
        }
    };
    let Some(hook) = modules.iter().find(has) else {
        bail!("no module registers `/{name}`: see `gambrel commands`");
    };

    let body = json!({
        "op": "command", "name": name, "args": args.args.join(" "),
        "ctx": command_context(&gambrel),
    });
    let outcome = call_module(&gambrel, hook, body, COMMAND_TIMEOUT);
    let answer = outcome.answer.clone().unwrap_or_default();
    let failures = collect_failures(&outcome);

    match args.json {
        true => printer::print_json(&json!({"effects": answer["effects"], "errors": failures})),
        false => print_effects(&answer),
    }

    for why in &failures {
        printer::warn(&format!("gambrel: /{name}: {}", printer::truncate_line(why, 300)));
    }
    Ok(u8::from(!failures.is_empty()))
}

fn command_context(gambrel: &Gambrel) -> Value {
    let ui = gambrel.setup().env.get("GAMBREL_UI").is_some_and(|way| way == "tty" || way == "page");
    json!({"cwd": gambrel.setup().working_dir().display().to_string(), "hasUI": ui})
}

/// Prints messages of the command. Other effects need a running agent; they are only named.
fn print_effects(answer: &Value) {
    for effect in answer["effects"].as_array().into_iter().flatten() {
        let kind = effect["type"].as_str().unwrap_or_default();
        match kind {
            "sendMessage" => {
                let content = &effect["message"]["content"];
                let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
                printer::print(&format!("{}\n", printer::replace_controls(&text)));
            }
            "notify" => printer::warn(&printer::replace_controls(
                effect["message"].as_str().unwrap_or_default(),
            )),
            "log" | "setStatus" => {}
            _ => printer::warn(&format!("gambrel: ignored `{kind}`: it needs a running agent")),
        }
    }

    let statuses = answer["effects"].as_array().into_iter().flatten();
    let texts = statuses.filter(|e| e["type"] == "setStatus").filter_map(|e| e["text"].as_str());
    let line = texts.collect::<Vec<_>>().join(" ");
    if !line.is_empty() {
        printer::warn(&printer::truncate_line(&line, 80));
    }
}

fn collect_failures(outcome: &Outcome) -> Vec<String> {
    let answer = outcome.answer.as_ref().unwrap_or(&Value::Null);
    let errors = answer["errors"].as_array().into_iter().flatten();
    let messages = errors.filter_map(|error| error["error"].as_str()).map(str::to_owned);
    let ended = match &outcome.end {
        End::FailedToStart(why) => Some(why.clone()),
        End::TimedOut => Some("it timed out".to_owned()),
        _ => None,
    };
    messages.chain(ended).collect()
}

/// Modules that may run here, in order. Warns about the untrusted ones.
fn runnable_modules<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<&'l Hook> {
    let (may, not): (Vec<_>, Vec<_>) =
        modules_with_trust(gambrel, loaded).into_iter().partition(|(_, may)| *may);
    for (hook, _) in not {
        warn_skipped(hook, "it is not trusted: review it with `gambrel trust`");
    }
    may.into_iter().map(|(hook, _)| hook).collect()
}

/// Warns that a module was skipped; it may register commands.
fn warn_skipped(hook: &Hook, why: &str) {
    printer::warn(&format!(
        "gambrel: skipped {}: {}",
        hook.title(),
        printer::truncate_line(why, 200)
    ));
}

/// Enabled modules in order, and whether they may run.
fn modules_with_trust<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<(&'l Hook, bool)> {
    let may = |trust: Trust| matches!(trust, Trust::Trusted | Trust::Managed);
    let counts = |hook: &Hook| hook.draft.replaced_by.is_none() && hook.draft.disabled.is_none();
    let states = list::trust_states(gambrel, loaded).into_iter();
    let modules = states.filter(|(hook, _)| hook.draft.action == "module" && counts(hook));
    modules.map(|(hook, trust)| (hook, may(trust))).collect()
}

/// Loads a module; returns names and descriptions of its commands.
fn list_commands(gambrel: &Gambrel, hook: &Hook) -> anyhow::Result<Vec<(String, String)>> {
    let outcome = call_module(gambrel, hook, json!({"op": "commands"}), LOAD_TIMEOUT);
    if let Some(why) = collect_failures(&outcome).into_iter().next() {
        bail!(why);
    }
    let answer = outcome.answer.unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let commands = answer["commands"].as_array().into_iter().flatten();
    Ok(commands.map(|command| (text(command, "name"), text(command, "description"))).collect())
}

fn call_module(gambrel: &Gambrel, hook: &Hook, mut body: Value, timeout: Duration) -> Outcome {
    body["path"] = hook.draft.config["path"].clone();
    let limits = Limits { timeout, ..Limits::default() };
    let call = Call { body, cwd: gambrel.setup().working_dir(), limits, ..Call::default() };
    with_stdout_redirected(|| gambrel.run_call(&hook.draft.action, &call))
}

/// What is known of a module after it was loaded or read.
pub struct ModuleState {
    /// The id of its hook.
    pub hook: String,
    /// Why it cannot be loaded.
    pub load_error: Option<String>,
    /// The events that it registers for, if they are known.
    pub events: Option<Vec<String>>,
}

/// Loads the trusted modules and reads the others.
pub fn read_modules(gambrel: &Gambrel, loaded: &Loaded) -> Vec<ModuleState> {
    let read = |(hook, may_run): (&Hook, bool)| {
        let (load_error, answer) = match load_module(gambrel, hook, may_run) {
            Ok(answer) => (None, answer),
            Err(why) => (Some(why.to_string()), Value::Null),
        };
        let names = |events: &Vec<Value>| {
            let names = events.iter().filter_map(|event| event["name"].as_str());
            names.map(str::to_owned).collect()
        };
        let events = answer["events"].as_array().map(names);
        ModuleState { hook: hook.id.clone(), load_error, events }
    };
    modules_with_trust(gambrel, loaded).into_iter().map(read).collect()
}

/// Loads a module. An untrusted module is parsed only; none of its code runs.
fn load_module(gambrel: &Gambrel, hook: &Hook, may_run: bool) -> anyhow::Result<Value> {
    let op = if may_run { "load" } else { "read" };
    let outcome = call_module(gambrel, hook, json!({"op": op}), LOAD_TIMEOUT);
    match outcome.end {
        End::FailedToStart(why) => bail!(why),
        End::TimedOut if outcome.remarks.is_empty() => bail!("Failed to load hook: it timed out"),
        End::TimedOut => bail!("Failed to load hook: {}", outcome.remarks.join("; ")),
        _ => Ok(outcome.answer.unwrap_or_default()),
    }
}

/// Load errors of modules, and handlers for unknown events, for `check`.
pub fn check_modules(gambrel: &Gambrel, loaded: &Loaded) -> Vec<Complaint> {
    let check = |(hook, may_run): (&Hook, bool)| match load_module(gambrel, hook, may_run) {
        Ok(answer) => {
            let mut all = warn_unknown_events(hook, &answer);
            all.extend(load_warnings(hook, &answer));
            all
        }
        Err(why) => {
            let (message, spot) = split_position(&why.to_string(), &hook.draft.source.spot.path);
            let help = "the module is skipped until this is fixed";
            vec![Complaint::error(spot, message).with_help(help)]
        }
    };
    modules_with_trust(gambrel, loaded).into_iter().flat_map(check).collect()
}

/// Splits a load error into its message and the position at its end: `(file)`, `(file:line)` or
/// `(file:line:column)`. The file is the module or one that it imports.
fn split_position(why: &str, module: &Path) -> (String, SourceSpan) {
    let ending = why.strip_suffix(')').and_then(|why| why.rsplit_once(" ("));
    let Some((message, at)) = ending.filter(|(_, at)| at.starts_with('/')) else {
        return (why.to_owned(), SourceSpan::of_file(module));
    };

    let last = |at: &'_ str| {
        let (rest, number) = at.rsplit_once(':')?;
        Some((rest.to_owned(), number.parse::<usize>().ok()?))
    };

    let spot = match last(at).map(|(rest, number)| (last(&rest), rest, number)) {
        Some((Some((file, line)), _, column)) => line_span(Path::new(&file), line, Some(column)),
        Some((None, file, line)) => line_span(Path::new(&file), line, None),
        None => SourceSpan::of_file(Path::new(at)),
    };
    (message.to_owned(), spot)
}

/// The span of one line of a file, starting at `column` if it is known.
fn line_span(path: &Path, line: usize, column: Option<usize>) -> SourceSpan {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let whole = text[before..].lines().next().unwrap_or_default();
    let letters =
        column.map(|column| whole.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum());
    let start = letters.unwrap_or_else(|| whole.len() - whole.trim_start().len());
    let end = whole.trim_end().len().max(start);
    SourceSpan::of_range(path, &text, before + start, before + end)
}

/// Warns about event names that are not in the dialect's table. A newer caller may know them.
fn warn_unknown_events(hook: &Hook, answer: &Value) -> Vec<Complaint> {
    let known = |name: &str| hook.dialect.events().iter().any(|row| row.name == name);
    let names = answer["events"].as_array().into_iter().flatten();
    let names = names.filter_map(|event| event["name"].as_str()).filter(|name| !known(name));
    let note = |name: &str| {
        let spot = SourceSpan::of_file(&hook.draft.source.spot.path);
        let known = hook.dialect.events().iter().map(|row| row.name);
        let near = nearest_word(name, known).map(|near| format!("; did you mean `{near}`?"));
        let help = "its handler runs only if a caller fires an event of that name";
        Complaint::warning(spot, format!("registers for `{name}`, an unknown event"))
            .with_help(format!("{help}{}", near.unwrap_or_default()))
    };
    names.map(note).collect()
}

/// Warnings from loading a module.
fn load_warnings(hook: &Hook, answer: &Value) -> Vec<Complaint> {
    let effects = answer["effects"].as_array().into_iter().flatten();
    let warning_effects = effects.filter(|effect| effect["type"] == "warning");
    let warning = |message: &str| {
        Complaint::warning(SourceSpan::of_file(&hook.draft.source.spot.path), message)
            .with_help("the module's handlers still run")
    };
    warning_effects.filter_map(|effect| effect["message"].as_str()).map(warning).collect()
}
