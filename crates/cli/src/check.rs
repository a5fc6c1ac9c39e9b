//! `gambrel check`: everything that is wrong, drawn under the source text, with a remedy.

use std::path::{Path, PathBuf};

use gambrel::Gambrel;
use gambrel::model::{Complaint, Severity, Spot};
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::{commands, look, printer, snippet};

/// Checks what is used here, or the named files.
pub fn run(folder: Option<PathBuf>, args: &CheckArgs) -> anyhow::Result<u8> {
    let mut complaints = Vec::new();
    let mut hooks = 0;
    match args.paths.is_empty() {
        true => {
            let gambrel = Gambrel::open(look::setup(folder, Some(&args.sources))?);
            let loaded = gambrel.load(None);
            hooks = loaded.hooks.len();
            complaints.extend(loaded.complaints.iter().cloned());
            complaints.extend(commands::complaints(&gambrel, &loaded));
        }
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

/// A folder is checked as a project; a file as what its name says it is.
fn check_path(
    folder: Option<PathBuf>,
    path: &Path,
    args: &CheckArgs,
) -> anyhow::Result<(usize, Vec<Complaint>)> {
    let mut setup = look::setup(folder, Some(&args.sources))?;
    let path = setup.cwd.join(setup.folder.clone().unwrap_or_default()).join(path);
    if path.is_dir() {
        setup.folder = Some(path);
        let loaded = Gambrel::open(setup).load(None);
        return Ok((loaded.hooks.len(), loaded.complaints.clone()));
    }
    if !path.exists() {
        let complaint = Complaint::error(Spot::file(&path), "no such file");
        return Ok((0, vec![complaint]));
    }
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let json = path.extension().is_some_and(|ending| ending == "json");
    if name == ".iteratr.hooks.yml" {
        setup.folder = path.parent().map(Path::to_owned);
    } else {
        let word = if json { "settings" } else { "pipeline" };
        setup.named.push((word.into(), path.clone()));
    }
    let loaded = Gambrel::open(setup).load(None);
    let here = |spot: &Spot| spot.path == path;
    let hooks = loaded.hooks.iter().filter(|hook| here(&hook.draft.source.spot)).count();
    let wrong = loaded.complaints.iter().filter(|c| here(&c.spot)).cloned().collect();
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
