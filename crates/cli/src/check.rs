//! `gambrel check`: shows configuration mistakes under the source text, with help.

mod first_command;
mod fold;
mod foreign_files;
mod programs;

use std::path::{Path, PathBuf};

use gambrel::{DIALECTS, Gambrel, Loaded, Setup};
use gambrel_dialects::claude::settings_files::PLUGIN_FILES;
use gambrel_engine::describe_uncovered;
use gambrel_model::{Complaint, Dialect, Hook, Severity, SourceSpan};
use gambrel_runner::is_plan_text;
use serde_json::{Value, json};

use crate::args::CheckArgs;
use crate::printer;
use crate::{commands, open, trust};

/// Checks all configuration used here, or the named files.
pub fn run(folder: Option<PathBuf>, args: &CheckArgs) -> anyhow::Result<u8> {
    let (mut hooks, mut complaints, mut waiting) = (0, Vec::new(), 0);
    match args.paths.is_empty() {
        true => {
            let setup = open::build_setup(folder, Some(&args.sources))?;
            let gambrel = Gambrel::new(Setup { notes: true, ..setup });
            let loaded = gambrel.load_hooks(None);
            (hooks, complaints) = check_all(&gambrel, &loaded);
            waiting = trust::count_waiting(&gambrel, &loaded);
        }
        false => {
            for path in &args.paths {
                let (found, wrong) = check_path(folder.clone(), path, args)?;
                hooks += found;
                complaints.extend(wrong);
            }
        }
    }

    print_complaints(&complaints, hooks, waiting, args.json);
    if args.paths.is_empty() && hooks == 0 && complaints.is_empty() && !args.json {
        printer::print("`gambrel list` says where to begin\n");
    }
    Ok(u8::from(complaints.iter().any(|complaint| complaint.severity > Severity::Note)))
}

/// Counts the hooks of a folder and collects all complaints.
fn check_all(gambrel: &Gambrel, loaded: &Loaded) -> (usize, Vec<Complaint>) {
    let mut complaints = loaded.complaints.clone();
    complaints.extend(check_patterns(loaded));
    complaints.extend(commands::check_modules(gambrel, loaded));
    complaints.extend(warn_uncovered(loaded));
    complaints.extend(programs::check_programs(gambrel, loaded));
    complaints.extend(note_opaque(gambrel, loaded));
    complaints.extend(gambrel.check_named_plans());
    complaints.extend(foreign_files::note_foreign_files(&loaded.roots.project));
    (loaded.hooks.len(), fold::without_repeats(complaints))
}

/// Mistakes in regular expressions. `fire` compiles them only for hooks that may run.
fn check_patterns(loaded: &Loaded) -> Vec<Complaint> {
    let of_hook = |hook: &Hook| [hook.matcher_complaint(), hook.pattern_complaint()];
    loaded.hooks.iter().flat_map(|hook| of_hook(hook)).flatten().collect()
}

/// Events that hooks use but the agent does not report to gambrel.
fn warn_uncovered(loaded: &Loaded) -> Vec<Complaint> {
    let describe_host = |host: &&'static Dialect| {
        let mut entries = loaded.host_entries.iter();
        let (_, first) = entries.find(|(dialect, _)| dialect.name == host.name)?;
        let text = describe_uncovered(loaded, host)?;
        Some(Complaint::warning(first.source.spot.clone(), text))
    };
    DIALECTS.iter().filter_map(describe_host).collect()
}

/// Project hooks that run files gambrel cannot see.
fn note_opaque(gambrel: &Gambrel, loaded: &Loaded) -> Vec<Complaint> {
    let runs = |hook: &&Hook| !hook.draft.source.scope.is_own() && hook.draft.disabled.is_none();
    let hooks: Vec<&Hook> = loaded.hooks.iter().map(|hook| &**hook).filter(runs).collect();
    let covered = gambrel.find_coverage(&hooks);
    let noted = hooks.iter().zip(covered).filter_map(|(hook, covered)| {
        let text = trust::opaque_text(&covered.opaque)?;
        let complaint =
            Complaint::note(hook.draft.source.spot.clone(), format!("this hook {text}"));
        Some(complaint.with_help("list these files under `trust_files`, so that trust covers them"))
    });
    noted.collect()
}

/// Checks a folder as a project, and as a plugin if it is one; or a file.
fn check_path(
    folder: Option<PathBuf>,
    path: &Path,
    args: &CheckArgs,
) -> anyhow::Result<(usize, Vec<Complaint>)> {
    let mut setup = open::build_setup(folder, Some(&args.sources))?;
    let path = setup.cwd.join(setup.folder.clone().unwrap_or_default()).join(path);
    if path.is_dir() {
        if PLUGIN_FILES.iter().any(|file| path.join(file).exists()) {
            setup.extra_sources.push(("plugin".into(), path.clone()));
        }
        setup.folder = Some(path);
        let gambrel = Gambrel::new(Setup { notes: true, ..setup });
        let loaded = gambrel.load_hooks(None);
        return Ok(check_all(&gambrel, &loaded));
    }

    if !path.exists() {
        let complaint = Complaint::error(SourceSpan::of_file(&path), "no such file");
        return Ok((0, vec![complaint]));
    }
    if !path.is_file() {
        let complaint = Complaint::error(SourceSpan::of_file(&path), "is not a file");
        return Ok((0, vec![complaint.with_help("name a regular file or a folder")]));
    }

    match foreign_files::note_foreign_file(&path) {
        Some(note) => Ok((0, vec![note])),
        None => Ok(check_file(setup, &path)),
    }
}

/// Checks a file by its name. Counts its hooks.
fn check_file(mut setup: Setup, path: &Path) -> (usize, Vec<Complaint>) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let word = match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => "settings",
        Some("ts" | "js" | "mjs") => "hook",
        _ => "pipeline",
    };
    match name.as_str() {
        name if is_marker(name) => setup.folder = path.parent().map(Path::to_owned),
        _ => setup.extra_sources.push((word.into(), path.to_owned())),
    }
    let gambrel = Gambrel::new(Setup { notes: true, ..setup });
    let loaded = gambrel.load_hooks(None);

    // Different paths may lead to the same file.
    let real = std::fs::canonicalize(path).ok();
    let same = |other: &Path| real.is_some() && std::fs::canonicalize(other).ok() == real;
    let here = |spot: &SourceSpan| spot.path == *path || same(&spot.path);
    let hooks = loaded.hooks.iter().filter(|hook| here(&hook.draft.source.spot)).count();

    let mut wrong = loaded.complaints.clone();
    wrong.extend(check_patterns(&loaded));
    wrong.extend(programs::check_programs(&gambrel, &loaded));
    if word == "hook" {
        wrong.extend(commands::check_modules(&gambrel, &loaded));
    }
    wrong.retain(|complaint| here(&complaint.spot));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    if word == "pipeline" && is_plan_text(&text) {
        wrong.extend(gambrel.check_plan(path));
    }
    (hooks, fold::without_repeats(wrong))
}

/// Whether a file marks the folder of a project, so that its hooks are found from there.
fn is_marker(name: &str) -> bool {
    DIALECTS.iter().any(|dialect| dialect.properties.project_markers.contains(&name))
}

fn print_complaints(complaints: &[Complaint], hooks: usize, waiting: usize, as_json: bool) {
    if as_json {
        let list: Vec<Value> =
            complaints.iter().map(gambrel_model::decision::complaint_json).collect();
        let found = json!({"hooks": hooks, "complaints": list, "waiting_for_trust": waiting});
        printer::print_json(&found);
        return;
    }

    for group in fold::group_equal(complaints) {
        printer::print(&fold::draw_group(&group));
    }
    printer::print(&format_summary(complaints, hooks));
    printer::print(&trust::waiting_line(waiting));
}

/// The last line: the number of hooks, and of complaints of each severity.
fn format_summary(complaints: &[Complaint], hooks: usize) -> String {
    let hooks = format!("{hooks} hook{}", if hooks == 1 { "" } else { "s" });
    if complaints.is_empty() {
        return format!("{hooks}, no complaints\n");
    }
    let counted =
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")].map(
            |(severity, word)| {
                let count = complaints.iter().filter(|c| c.severity == severity).count();
                format!("{count} {word}{}", if count == 1 { "" } else { "s" })
            },
        );
    format!("{hooks}, {}\n", counted.join(", "))
}
