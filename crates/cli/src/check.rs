//! `gambrel check`: everything that is wrong, drawn under the source text, with a remedy.

use std::path::{Path, PathBuf};

use gambrel::model::{Complaint, Severity, Spot};
use gambrel::{Gambrel, Setup};
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::{commands, look, printer, snippet};

/// Checks what is used here, or the named files.
pub fn run(folder: Option<PathBuf>, args: &CheckArgs) -> anyhow::Result<u8> {
    let (mut hooks, mut complaints) = (0, Vec::new());
    match args.paths.is_empty() {
        true => (hooks, complaints) = whole(look::setup(folder, Some(&args.sources))?),
        false => {
            for path in &args.paths {
                let (found, wrong) = check_path(folder.clone(), path, args)?;
                hooks += found;
                complaints.extend(wrong);
            }
        }
    }
    show(&complaints, hooks, args.json);
    Ok(u8::from(!complaints.is_empty()))
}

/// By one of these a folder is known as a plugin of Claude Code's.
const PLUGIN: [&str; 2] = [".claude-plugin", "hooks/hooks.json"];

/// All that is used in a folder: how many hooks, and what is wrong with them.
fn whole(setup: Setup) -> (usize, Vec<Complaint>) {
    let gambrel = Gambrel::open(setup);
    let loaded = gambrel.load(None);
    let mut complaints = loaded.complaints.clone();
    complaints.extend(commands::complaints(&gambrel, &loaded));
    (loaded.hooks.len(), complaints)
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
            setup.named.push(("plugin".into(), path.clone()));
        }
        setup.folder = Some(path);
        return Ok(whole(setup));
    }
    if !path.exists() {
        let complaint = Complaint::error(Spot::file(&path), "no such file");
        return Ok((0, vec![complaint]));
    }
    if !path.is_file() {
        let complaint = Complaint::error(Spot::file(&path), "is of no known kind");
        return Ok((0, vec![complaint.help("hooks are read from a plain file here")]));
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let word = match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => "settings",
        Some("ts" | "js" | "mjs") => "hook",
        _ => "pipeline",
    };
    match name.as_str() {
        ".iteratr.hooks.yml" => setup.folder = path.parent().map(Path::to_owned),
        _ => setup.named.push((word.into(), path.clone())),
    }
    let gambrel = Gambrel::open(setup);
    let loaded = gambrel.load(None);
    // A file may be named in more ways than one.
    let real = std::fs::canonicalize(&path).ok();
    let same = |other: &Path| real.is_some() && std::fs::canonicalize(other).ok() == real;
    let here = |spot: &Spot| spot.path == path || same(&spot.path);
    let hooks = loaded.hooks.iter().filter(|hook| here(&hook.draft.source.spot)).count();
    let mut wrong = loaded.complaints.clone();
    if word == "hook" {
        wrong.extend(commands::complaints(&gambrel, &loaded));
    }
    wrong.retain(|complaint| here(&complaint.spot));
    Ok((hooks, wrong))
}

fn show(complaints: &[Complaint], hooks: usize, as_json: bool) {
    if as_json {
        let list: Vec<Value> =
            complaints.iter().map(gambrel::model::decision::complaint_json).collect();
        printer::json(&json!({"hooks": hooks, "complaints": list}));
        return;
    }
    for complaint in complaints {
        printer::out(&snippet::draw(complaint));
    }
    let errors = complaints.iter().filter(|c| c.severity == Severity::Error).count();
    let warnings = complaints.len() - errors;
    match complaints.is_empty() {
        true => printer::out(&format!("{hooks} hooks, nothing to complain of\n")),
        false => printer::out(&format!("{hooks} hooks, {errors} errors, {warnings} warnings\n")),
    }
}
