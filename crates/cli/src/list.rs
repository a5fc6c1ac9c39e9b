//! `gambrel list`: every hook found, effective or shadowed, trusted or not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gambrel::model::Hook;
use gambrel::{Coverage, DIALECTS, Gambrel, Loaded, Trust};
use gambrel_engine::{CoveredFile, describe_uncovered};
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::{deed, look, printer, snippet, trust};

/// Lists.
pub fn run(folder: Option<PathBuf>, args: &ListArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(look::setup(folder, Some(&args.sources))?);
    let loaded = gambrel.load_hooks(None);
    let rows = standing(&gambrel, &loaded);
    let trusts_all_by = gambrel.setup().options.trusts_all_by;
    let covered = covered(&gambrel, &rows);
    if args.json {
        let shown = |(hook, trust): &(&Hook, Trust)| {
            let mut shown = to_json(hook, *trust, covered.get(hook.id.as_str()));
            let by = shadow(hook, &rows);
            shown["runs"] = json!(hook.draft.disabled.is_none() && by.is_none());
            shown["shadowed_by"] = json!(by);
            if let Some(by) = trusts_all_by.filter(|_| !hook.draft.source.scope.is_own()) {
                shown["trusted_by"] = json!(by);
            }
            shown
        };
        printer::json(&rows.iter().map(shown).collect());
        return Ok(0);
    }
    let cells = rows.iter().map(|(hook, trust)| row(hook, *trust, shadow(hook, &rows)));
    let cells: Vec<Vec<String>> = cells.collect();
    match cells.is_empty() {
        true => printer::out("no hooks are configured here\n"),
        false => printer::out(&printer::table(
            &["ID", "DIALECT", "EVENT", "MATCHER", "ACTION", "TRUST", "WHAT", "SOURCE"],
            &cells,
        )),
    }
    for complaint in &loaded.complaints {
        printer::warn(&snippet::short(complaint));
    }
    let of_project = |hook: &Arc<Hook>| !hook.draft.source.scope.is_own();
    if trusts_all_by == Some(look::TRUST_VARIABLE) && loaded.hooks.iter().any(of_project) {
        printer::out(&format!("{}\n", look::TRUSTS_ALL));
    }
    for (hook, _) in &rows {
        let opaque = covered.get(hook.id.as_str()).and_then(|c| trust::opaque_text(&c.opaque));
        if let Some(text) = opaque {
            printer::warn(&format!("{} {text}", hook.id));
        }
    }
    for text in DIALECTS.iter().filter_map(|host| describe_uncovered(&loaded, *host)) {
        printer::warn(&text);
    }
    Ok(0)
}

/// Every hook and how it stands.
pub fn standing<'l>(gambrel: &Gambrel, loaded: &'l Loaded) -> Vec<(&'l Hook, Trust)> {
    let entries = gambrel.ledger().trust().unwrap_or_else(|error| {
        printer::warn(&format!("gambrel: {error}"));
        BTreeMap::new()
    });
    let mode = gambrel.setup().options.trust;
    let stands = |hook: &'l Arc<Hook>| (&**hook, Trust::for_hook(hook, loaded, &entries, mode));
    loaded.hooks.iter().map(stands).collect()
}

/// What each hook of the project is made of, by its id.
pub fn covered<'l>(gambrel: &Gambrel, rows: &[(&'l Hook, Trust)]) -> BTreeMap<&'l str, Coverage> {
    let project = rows.iter().map(|(hook, _)| *hook);
    let project: Vec<&Hook> = project.filter(|hook| !hook.draft.source.scope.is_own()).collect();
    let covered = gambrel.coverage(&project);
    project.into_iter().map(|hook| hook.id.as_str()).zip(covered).collect()
}

/// What takes a hook's place: for good, or at every event because it is the same again.
fn shadow<'l>(hook: &'l Hook, hooks: &'l [(&'l Hook, Trust)]) -> Option<&'l str> {
    let same = |other: &Hook| {
        let (a, b) = (&other.draft, &hook.draft);
        let covers = a.matcher == b.matcher || other.matcher.matches_all();
        a.dedup_key == b.dedup_key && a.event == b.event && covers
    };
    // Only what runs itself takes another's place.
    let runs = |(other, trust): &&(&Hook, Trust)| {
        other.draft.disabled.is_none() && matches!(trust, Trust::Trusted | Trust::Managed)
    };
    let standing = hooks.iter().filter(runs).map(|(other, _)| *other);
    let earlier = standing.take_while(|other| other.id != hook.id);
    let mut twins = earlier.clone().filter(|other| hook.draft.dedup_key.is_some() && same(other));
    let by = hook.draft.replaced_by.as_deref();
    by.filter(|by| earlier.clone().any(|other| other.draft.source.location() == *by))
        .or_else(|| twins.next().map(|twin| twin.id.as_str()))
}

/// The fixed shape of a hook in lists, with the files that it is made of.
pub fn to_json(hook: &Hook, trust: Trust, covered: Option<&Coverage>) -> Value {
    let draft = &hook.draft;
    let file = |file: &CoveredFile| json!({"path": file.path, "there": !file.is_absent()});
    let files: Vec<Value> = covered.iter().flat_map(|c| c.files.iter().map(file)).collect();
    let opaque: &[String] = covered.map(|c| c.opaque.as_slice()).unwrap_or_default();
    json!({
        "id": hook.id,
        "dialect": hook.dialect.name(),
        "event": draft.event,
        "moment": hook.moment(),
        "matcher": draft.matcher.words(),
        "when": draft.when.as_ref().map(|when| &when.text),
        "action": draft.action,
        "source": draft.source.location(),
        "scope": draft.source.scope,
        "trust": trust.word(),
        "shadowed_by": draft.replaced_by,
        "runs": draft.disabled.is_none() && draft.replaced_by.is_none(),
        "idle": draft.disabled,
        "title": hook.title(),
        "does": deed::what(hook),
        "status": draft.status,
        "config": draft.config,
        "files": files,
        "opaque": opaque,
    })
}

fn row(hook: &Hook, trust: Trust, shadow: Option<&str>) -> Vec<String> {
    let draft = &hook.draft;
    let does = deed::line(hook, 60);
    let state = match (&draft.disabled, shadow, &draft.status) {
        // The reason first: what does not fit is cut off at the end.
        (Some(why), ..) => format!("does not run: {why}: {does}"),
        (None, Some(by), _) => format!("{does} (shadowed by {by})"),
        (None, None, Some(status)) => format!("{status}: {does}"),
        (None, None, None) => does,
    };
    vec![
        hook.id.clone(),
        hook.dialect.name().to_owned(),
        draft.event.clone(),
        printer::line(&draft.matcher.words().unwrap_or_else(|| "*".into()), 24),
        draft.action.clone(),
        trust.word().to_owned(),
        printer::line(&state, 90),
        draft.source.location(),
    ]
}
