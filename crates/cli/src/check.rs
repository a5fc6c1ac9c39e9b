//! `gambrel check`: everything that is wrong, drawn under the source text, with a remedy.

use std::path::{Path, PathBuf};

use gambrel::model::{Complaint, Dialect, Hook, Severity, SourceSpan};
use gambrel::{DIALECTS, Gambrel, Loaded, Setup};
use gambrel_engine::describe_uncovered;
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::{commands, look, printer, snippet, trust};

/// Checks what is used here, or the named files.
pub fn run(folder: Option<PathBuf>, args: &CheckArgs) -> anyhow::Result<u8> {
    let (mut hooks, mut complaints, mut waiting) = (0, Vec::new(), 0);
    match args.paths.is_empty() {
        true => {
            let setup = look::setup(folder, Some(&args.sources))?;
            let gambrel = Gambrel::new(Setup { notes: true, ..setup });
            let loaded = gambrel.load_hooks(None);
            (hooks, complaints) = whole(&gambrel, &loaded);
            waiting = trust::waiting(&gambrel, &loaded);
        }
        false => {
            for path in &args.paths {
                let (found, wrong) = check_path(folder.clone(), path, args)?;
                hooks += found;
                complaints.extend(wrong);
            }
        }
    }
    show(&complaints, hooks, waiting, args.json);
    Ok(u8::from(complaints.iter().any(|complaint| complaint.severity > Severity::Note)))
}

/// By one of these a folder is known as a plugin of Claude Code's.
const PLUGIN: [&str; 2] = [".claude-plugin", "hooks/hooks.json"];

/// All that is used in a folder: how many hooks, and what is wrong with them.
fn whole(gambrel: &Gambrel, loaded: &Loaded) -> (usize, Vec<Complaint>) {
    let mut complaints = loaded.complaints.clone();
    complaints.extend(patterns(loaded));
    complaints.extend(commands::complaints(gambrel, loaded));
    complaints.extend(uncovered(loaded));
    complaints.extend(opaque(gambrel, loaded));
    (loaded.hooks.len(), complaints)
}

/// What is wrong with regular expressions, which `fire` compiles only for hooks that may run.
fn patterns(loaded: &Loaded) -> Vec<Complaint> {
    let of_hook = |hook: &Hook| [hook.matcher_complaint(), hook.pattern_complaint()];
    loaded.hooks.iter().flat_map(|hook| of_hook(hook)).flatten().collect()
}

/// Events that hooks wait for and that a host does not report to gambrel.
fn uncovered(loaded: &Loaded) -> Vec<Complaint> {
    let told = |host: &&'static dyn Dialect| {
        let mut entries = loaded.host_entries.iter();
        let (_, first) = entries.find(|(dialect, _)| dialect.name() == host.name())?;
        let text = describe_uncovered(loaded, *host)?;
        Some(Complaint::warning(first.source.spot.clone(), text))
    };
    DIALECTS.iter().filter_map(told).collect()
}

/// Hooks of the project that run more than their text shows.
fn opaque(gambrel: &Gambrel, loaded: &Loaded) -> Vec<Complaint> {
    let runs = |hook: &&Hook| !hook.draft.source.scope.is_own() && hook.draft.disabled.is_none();
    let hooks: Vec<&Hook> = loaded.hooks.iter().map(|hook| &**hook).filter(runs).collect();
    let covered = gambrel.coverage(&hooks);
    let noted = hooks.iter().zip(covered).filter_map(|(hook, covered)| {
        let text = trust::opaque_text(&covered.opaque)?;
        let complaint =
            Complaint::note(hook.draft.source.spot.clone(), format!("this hook {text}"));
        Some(
            complaint
                .with_help("name such files under `trust_files`: trust then covers them as well"),
        )
    });
    noted.collect()
}

/// A folder is checked as a project, or as a plugin besides; a file as what its name says it is.
fn check_path(
    folder: Option<PathBuf>,
    path: &Path,
    args: &CheckArgs,
) -> anyhow::Result<(usize, Vec<Complaint>)> {
    let mut setup = look::setup(folder, Some(&args.sources))?;
    let path = setup.cwd.join(setup.folder.clone().unwrap_or_default()).join(path);
    if path.is_dir() {
        if PLUGIN.iter().any(|file| path.join(file).exists()) {
            setup.extra_sources.push(("plugin".into(), path.clone()));
        }
        setup.folder = Some(path);
        let gambrel = Gambrel::new(Setup { notes: true, ..setup });
        let loaded = gambrel.load_hooks(None);
        return Ok(whole(&gambrel, &loaded));
    }
    if !path.exists() {
        let complaint = Complaint::error(SourceSpan::of_file(&path), "no such file");
        return Ok((0, vec![complaint]));
    }
    if !path.is_file() {
        let complaint = Complaint::error(SourceSpan::of_file(&path), "is of no known kind");
        return Ok((0, vec![complaint.with_help("hooks are read from a plain file here")]));
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let word = match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => "settings",
        Some("ts" | "js" | "mjs") => "hook",
        _ => "pipeline",
    };
    match name.as_str() {
        ".iteratr.hooks.yml" => setup.folder = path.parent().map(Path::to_owned),
        _ => setup.extra_sources.push((word.into(), path.clone())),
    }
    let gambrel = Gambrel::new(Setup { notes: true, ..setup });
    let loaded = gambrel.load_hooks(None);
    // A file may be named in more ways than one.
    let real = std::fs::canonicalize(&path).ok();
    let same = |other: &Path| real.is_some() && std::fs::canonicalize(other).ok() == real;
    let here = |spot: &SourceSpan| spot.path == path || same(&spot.path);
    let hooks = loaded.hooks.iter().filter(|hook| here(&hook.draft.source.spot)).count();
    let mut wrong = loaded.complaints.clone();
    wrong.extend(patterns(&loaded));
    if word == "hook" {
        wrong.extend(commands::complaints(&gambrel, &loaded));
    }
    wrong.retain(|complaint| here(&complaint.spot));
    Ok((hooks, wrong))
}

fn show(complaints: &[Complaint], hooks: usize, waiting: usize, as_json: bool) {
    if as_json {
        let list: Vec<Value> =
            complaints.iter().map(gambrel::model::decision::complaint_json).collect();
        let found = json!({"hooks": hooks, "complaints": list, "waiting_for_trust": waiting});
        printer::json(&found);
        return;
    }
    for complaint in complaints {
        printer::out(&snippet::draw(complaint));
    }
    printer::out(&summary(complaints, hooks));
    printer::out(&trust::waiting_line(waiting));
}

/// The last line: how many hooks there are, and how many complaints of each severity.
fn summary(complaints: &[Complaint], hooks: usize) -> String {
    if complaints.is_empty() {
        return format!("{hooks} hooks, nothing to complain of\n");
    }
    let counted =
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")].map(
            |(severity, word)| {
                let count = complaints.iter().filter(|c| c.severity == severity).count();
                format!("{count} {word}{}", if count == 1 { "" } else { "s" })
            },
        );
    format!("{hooks} hooks, {}\n", counted.join(", "))
}
