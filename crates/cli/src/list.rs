//! `gambrel list`: lists all hooks, with source, trust and whether they run.

pub mod describe;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gambrel::model::Hook;
use gambrel::{Coverage, DIALECTS, Gambrel, Loaded, Trust};
use gambrel_engine::{CoveredFile, describe_uncovered};
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::printer::{self, diagnostic};
use crate::{open, trust};

/// Lists all hooks.
pub fn run(folder: Option<PathBuf>, args: &ListArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, Some(&args.sources))?);
    let loaded = gambrel.load_hooks(None);
    let rows = trust_states(&gambrel, &loaded);
    let trusts_all_by = gambrel.setup().options.trusts_all_by;
    let covered = project_coverage(&gambrel, &rows);

    if args.json {
        let shown = |(hook, trust): &(&Hook, Trust)| {
            let mut shown = to_json(hook, *trust, covered.get(hook.id.as_str()));
            let by = find_replacement(hook, &rows);
            shown["runs"] = json!(hook.draft.disabled.is_none() && by.is_none());
            shown["shadowed_by"] = json!(by);
            if let Some(by) = trusts_all_by.filter(|_| !hook.draft.source.scope.is_own()) {
                shown["trusted_by"] = json!(by);
            }
            shown
        };
        printer::print_json(&rows.iter().map(shown).collect());
        return Ok(0);
    }

    let cells =
        rows.iter().map(|(hook, trust)| format_row(hook, *trust, find_replacement(hook, &rows)));
    let cells: Vec<Vec<String>> = cells.collect();
    match cells.is_empty() {
        true => printer::print("no hooks are configured here\n"),
        false => printer::print(&printer::format_table(
            &["ID", "DIALECT", "EVENT", "MATCHER", "ACTION", "TRUST", "DESCRIPTION", "SOURCE"],
            &cells,
        )),
    }

    for complaint in &loaded.complaints {
        printer::warn(&diagnostic::short_line(complaint));
    }

    let of_project = |hook: &Arc<Hook>| !hook.draft.source.scope.is_own();
    if trusts_all_by == Some(open::TRUST_VARIABLE) && loaded.hooks.iter().any(of_project) {
        printer::print(&format!("{}\n", open::TRUSTS_ALL_WARNING));
    }

    for (hook, _) in &rows {
        let opaque = covered.get(hook.id.as_str()).and_then(|c| trust::opaque_text(&c.opaque));
        if let Some(text) = opaque {
            printer::warn(&format!("{}: {} {text}", hook.draft.source.location(), hook.title()));
        }
    }

    for text in DIALECTS.iter().filter_map(|host| describe_uncovered(&loaded, host)) {
        printer::warn(&text);
    }
    Ok(0)
}

/// All hooks with their trust.
pub fn trust_states<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<(&'l Hook, Trust)> {
    let entries = gambrel.trust_store().trust_entries().unwrap_or_else(|error| {
        printer::warn(&format!("gambrel: {error}"));
        BTreeMap::new()
    });
    let mode = gambrel.setup().options.trust;
    let with_trust = |hook: &'l Arc<Hook>| (&**hook, Trust::for_hook(hook, loaded, &entries, mode));
    loaded.hooks.iter().map(with_trust).collect()
}

/// The files that each project hook consists of, by hook id.
pub fn project_coverage<'l>(
    gambrel: &Gambrel,
    rows: &[(&'l Hook, Trust)],
) -> BTreeMap<&'l str, Coverage> {
    let project = rows.iter().map(|(hook, _)| *hook);
    let project: Vec<&Hook> = project.filter(|hook| !hook.draft.source.scope.is_own()).collect();
    let covered = gambrel.find_coverage(&project);
    project.into_iter().map(|hook| hook.id.as_str()).zip(covered).collect()
}

/// The hook that replaces this one: by name, or as an earlier duplicate.
fn find_replacement<'l>(hook: &'l Hook, hooks: &'l [(&'l Hook, Trust)]) -> Option<&'l str> {
    let same = |other: &Hook| {
        let (a, b) = (&other.draft, &hook.draft);
        let covers = a.matcher == b.matcher || other.matcher.matches_all();
        a.dedup_key == b.dedup_key && a.event == b.event && covers
    };
    // Only a hook that runs can replace another.
    let runs = |(other, trust): &&(&Hook, Trust)| {
        other.draft.disabled.is_none() && matches!(trust, Trust::Trusted | Trust::Managed)
    };

    let running_hooks = hooks.iter().filter(runs).map(|(other, _)| *other);
    let earlier = running_hooks.take_while(|other| other.id != hook.id);
    let mut twins = earlier.clone().filter(|other| hook.draft.dedup_key.is_some() && same(other));
    let by = hook.draft.replaced_by.as_deref();
    by.filter(|by| earlier.clone().any(|other| other.draft.source.location() == *by))
        .or_else(|| twins.next().map(|twin| twin.id.as_str()))
}

/// A hook as JSON, with the files that it consists of.
pub fn to_json(hook: &Hook, trust: Trust, covered: Option<&Coverage>) -> Value {
    let draft = &hook.draft;
    let file = |file: &CoveredFile| json!({"path": file.path, "there": !file.is_absent()});
    let files: Vec<Value> = covered.iter().flat_map(|c| c.files.iter().map(file)).collect();
    let opaque: &[String] = covered.map(|c| c.opaque.as_slice()).unwrap_or_default();
    json!({
        "id": hook.id,
        "dialect": hook.dialect.name,
        "event": draft.event,
        "moment": hook.moment_name(),
        "matcher": draft.matcher.to_text(),
        "when": draft.when.as_ref().map(|when| &when.text),
        "action": draft.action,
        "source": draft.source.location(),
        "scope": draft.source.scope,
        "trust": trust.as_str(),
        "shadowed_by": draft.replaced_by,
        "runs": draft.disabled.is_none() && draft.replaced_by.is_none(),
        "idle": draft.disabled.as_ref().map(|disabled| &disabled.why),
        "title": hook.title(),
        "does": hook.describe().summary,
        "status": draft.status,
        "config": draft.config,
        "files": files,
        "opaque": opaque,
    })
}

fn format_row(hook: &Hook, trust: Trust, shadow: Option<&str>) -> Vec<String> {
    let draft = &hook.draft;
    let does = describe::summary_line(hook, 60);
    let state = match (&draft.disabled, shadow, &draft.status) {
        // The reason comes first, because long text is cut at the end.
        (Some(disabled), ..) => format!("skip: {}: {does}", disabled.why),
        (None, Some(by), _) => format!("{does} (shadowed by {by})"),
        (None, None, Some(status)) => format!("{status}: {does}"),
        (None, None, None) => does,
    };

    vec![
        hook.id.clone(),
        hook.dialect.name.to_owned(),
        draft.event.clone(),
        printer::truncate_line(&draft.matcher.to_text().unwrap_or_else(|| "*".into()), 24),
        draft.action.clone(),
        trust.as_str().to_owned(),
        printer::truncate_line(&state, 90),
        draft.source.location(),
    ]
}
