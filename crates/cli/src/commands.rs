//! `gambrel commands` and `gambrel command`: the slash commands that modules register, and running
//! one. Only modules that may run are loaded: loading one runs its code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use gambrel::model::{Call, Complaint, End, Hook, Limits, Outcome, SourceSpan};
use gambrel::{Gambrel, Loaded, Trust};
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::printer::apart;
use crate::{list, look, printer};

/// How long a module may take to load, and a command to run.
const LOADING: Duration = Duration::from_secs(30);
const RUNNING: Duration = Duration::from_secs(600);

/// `command`.
#[derive(Debug, Args)]
pub struct CommandArgs {
    /// The command's name, with or without the slash.
    pub name: String,
    /// What follows it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<String>,
    /// Everything that the command wanted done, as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Lists every command of every module, in order.
pub fn run(folder: Option<PathBuf>, args: &ListArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, Some(&args.sources))?);
    let loaded = gambrel.load_hooks(None);
    let mut rows = Vec::new();
    let mut broken = false;
    for hook in modules(&gambrel, &loaded) {
        match listed(&gambrel, hook) {
            Ok(commands) => {
                rows.extend(commands.into_iter().map(|c| (c, hook.draft.source.location())))
            }
            Err(why) => {
                broken = true;
                left_out(hook, &why);
            }
        }
    }
    if args.json {
        let shown = |((name, about), place): &((String, String), String)| json!({"name": name, "description": about, "module": place});
        printer::json(&rows.iter().map(shown).collect());
        return Ok(u8::from(broken));
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|((name, about), place)| {
            vec![format!("/{name}"), printer::line(about, 60), place.clone()]
        })
        .collect();
    match cells.is_empty() {
        true => printer::out("no module registers a command here\n"),
        false => printer::out(&printer::table(&["COMMAND", "WHAT", "MODULE"], &cells)),
    }
    Ok(u8::from(broken))
}

/// Runs the command of the first module that has it.
pub fn one(folder: Option<PathBuf>, args: &CommandArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, None)?);
    let loaded = gambrel.load_hooks(None);
    let name = args.name.trim_start_matches('/');
    let modules = modules(&gambrel, &loaded);
    let has = |hook: &&&Hook| match listed(&gambrel, hook) {
        Ok(all) => all.iter().any(|command| command.0 == name),
        Err(why) => {
            left_out(hook, &why);
            false
        }
    };
    let Some(hook) = modules.iter().find(has) else {
        bail!("no module registers `/{name}`: see `gambrel commands`");
    };
    let body = json!({
        "op": "command", "name": name, "args": args.args.join(" "),
        "ctx": context(&gambrel),
    });
    let outcome = asked(&gambrel, hook, body, RUNNING);
    let answer = outcome.answer.clone().unwrap_or_default();
    let failures = failures(&outcome);
    match args.json {
        true => printer::json(&json!({"effects": answer["effects"], "errors": failures})),
        false => show(&answer),
    }
    for why in &failures {
        printer::warn(&format!("gambrel: /{name}: {}", printer::line(why, 300)));
    }
    Ok(u8::from(!failures.is_empty()))
}

fn context(gambrel: &Gambrel) -> Value {
    let ui = gambrel.setup().env.get("GAMBREL_UI").is_some_and(|way| way == "tty" || way == "page");
    json!({"cwd": gambrel.setup().working_dir().display().to_string(), "hasUI": ui})
}

/// Words that the command sent, and everything else it wanted done by name.
fn show(answer: &Value) {
    for effect in answer["effects"].as_array().into_iter().flatten() {
        let kind = effect["type"].as_str().unwrap_or_default();
        match kind {
            "sendMessage" => {
                let content = &effect["message"]["content"];
                let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
                printer::out(&format!("{}\n", printer::clean(&text)));
            }
            "notify" => {
                printer::warn(&printer::clean(effect["message"].as_str().unwrap_or_default()))
            }
            "log" | "setStatus" => {}
            _ => printer::warn(&format!("gambrel: left to a host: {kind}")),
        }
    }
    let statuses = answer["effects"].as_array().into_iter().flatten();
    let texts = statuses.filter(|e| e["type"] == "setStatus").filter_map(|e| e["text"].as_str());
    let line = texts.collect::<Vec<_>>().join(" ");
    if !line.is_empty() {
        printer::warn(&printer::line(&line, 80));
    }
}

fn failures(outcome: &Outcome) -> Vec<String> {
    let answer = outcome.answer.as_ref().unwrap_or(&Value::Null);
    let errors = answer["errors"].as_array().into_iter().flatten();
    let told = errors.filter_map(|error| error["error"].as_str()).map(str::to_owned);
    let ended = match &outcome.end {
        End::FailedToStart(why) => Some(why.clone()),
        End::TimedOut => Some("it did not end in time".to_owned()),
        _ => None,
    };
    told.chain(ended).collect()
}

/// Modules that may run here, in order; of those that may not a person is told.
fn modules<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<&'l Hook> {
    let (may, not): (Vec<_>, Vec<_>) =
        standing(gambrel, loaded).into_iter().partition(|(_, may)| *may);
    for (hook, _) in not {
        left_out(hook, "it is not trusted: run `gambrel trust` to look at it");
    }
    may.into_iter().map(|(hook, _)| hook).collect()
}

/// A module that might have had a command.
fn left_out(hook: &Hook, why: &str) {
    printer::warn(&format!("gambrel: left out: {}: {}", hook.title(), printer::line(why, 200)));
}

/// Modules that count here, in order, and whether they may run.
fn standing<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<(&'l Hook, bool)> {
    let may = |trust: Trust| matches!(trust, Trust::Trusted | Trust::Managed);
    let counts = |hook: &Hook| hook.draft.replaced_by.is_none() && hook.draft.disabled.is_none();
    let standing = list::standing(gambrel, loaded).into_iter();
    let modules = standing.filter(|(hook, _)| hook.draft.action == "module" && counts(hook));
    modules.map(|(hook, trust)| (hook, may(trust))).collect()
}

/// Names and descriptions of a module's commands.
fn listed(gambrel: &Gambrel, hook: &Hook) -> Result<Vec<(String, String)>, String> {
    let outcome = asked(gambrel, hook, json!({"op": "commands"}), LOADING);
    if let Some(why) = failures(&outcome).into_iter().next() {
        return Err(why);
    }
    let answer = outcome.answer.unwrap_or_default();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let commands = answer["commands"].as_array().into_iter().flatten();
    Ok(commands.map(|command| (text(command, "name"), text(command, "description"))).collect())
}

fn asked(gambrel: &Gambrel, hook: &Hook, mut body: Value, timeout: Duration) -> Outcome {
    body["path"] = hook.draft.config["path"].clone();
    let pace = Limits { timeout, ..Limits::default() };
    let call = Call { body, cwd: gambrel.setup().working_dir(), limits: pace, ..Call::default() };
    apart(|| gambrel.run_call(&hook.draft.action, &call))
}

/// What keeps modules from being loaded, and handlers that nothing will call, for `check`.
pub fn complaints(gambrel: &Gambrel, loaded: &Loaded) -> Vec<Complaint> {
    let broken = |(hook, may): (&Hook, bool)| {
        // What is not trusted is looked at, and nothing of it runs.
        let op = if may { "load" } else { "read" };
        let outcome = asked(gambrel, hook, json!({"op": op}), LOADING);
        let why = match outcome.end {
            End::FailedToStart(why) => why,
            End::TimedOut => format!("Failed to load hook: {}", outcome.remarks.join("; ")),
            _ => {
                let answer = outcome.answer.unwrap_or_default();
                let mut all = unknown_events(hook, &answer);
                all.extend(warnings(hook, &answer));
                return all;
            }
        };
        let (message, spot) = placed(&why, &hook.draft.source.spot.path);
        vec![
            Complaint::error(spot, message)
                .with_help("the module is left out until this is put right"),
        ]
    };
    standing(gambrel, loaded).into_iter().flat_map(broken).collect()
}

/// A load error without the place at its end, `(file)`, `(file:line)` or `(file:line:column)`, and
/// that place: the module's own file or one that it imports.
fn placed(why: &str, module: &Path) -> (String, SourceSpan) {
    let ending = why.strip_suffix(')').and_then(|why| why.rsplit_once(" ("));
    let Some((message, at)) = ending.filter(|(_, at)| at.starts_with('/')) else {
        return (why.to_owned(), SourceSpan::of_file(module));
    };
    let last = |at: &'_ str| {
        let (rest, number) = at.rsplit_once(':')?;
        Some((rest.to_owned(), number.parse::<usize>().ok()?))
    };
    let spot = match last(at).map(|(rest, number)| (last(&rest), rest, number)) {
        Some((Some((file, line)), _, column)) => line_of(Path::new(&file), line, Some(column)),
        Some((None, file, line)) => line_of(Path::new(&file), line, None),
        None => SourceSpan::of_file(Path::new(at)),
    };
    (message.to_owned(), spot)
}

/// The text on one line of a file, from a column on if one is known.
fn line_of(path: &Path, line: usize, column: Option<usize>) -> SourceSpan {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let whole = text[before..].lines().next().unwrap_or_default();
    let letters =
        column.map(|column| whole.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum());
    let start = letters.unwrap_or_else(|| whole.len() - whole.trim_start().len());
    let end = whole.trim_end().len().max(start);
    SourceSpan::of_range(path, &text, before + start, before + end)
}

/// Events of a name that the table does not have: a note, since a later caller may know them.
fn unknown_events(hook: &Hook, answer: &Value) -> Vec<Complaint> {
    let known = |name: &str| hook.dialect.events().iter().any(|row| row.name == name);
    let names = answer["events"].as_array().into_iter().flatten();
    let names = names.filter_map(|event| event["name"].as_str()).filter(|name| !known(name));
    let note = |name: &str| {
        let spot = SourceSpan::of_file(&hook.draft.source.spot.path);
        Complaint::warning(spot, format!("registers for `{name}`, an event that is not known here"))
            .with_help("its handler is called only if a caller fires an event of that name")
    };
    names.map(note).collect()
}

/// What a module was warned of while it was loaded.
fn warnings(hook: &Hook, answer: &Value) -> Vec<Complaint> {
    let effects = answer["effects"].as_array().into_iter().flatten();
    let told = effects.filter(|effect| effect["type"] == "warning");
    let warning = |message: &str| {
        Complaint::warning(SourceSpan::of_file(&hook.draft.source.spot.path), message)
            .with_help("the module's handlers run all the same")
    };
    told.filter_map(|effect| effect["message"].as_str()).map(warning).collect()
}
