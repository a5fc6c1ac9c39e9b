//! `gambrel list`: lists all hooks, with source, trust and whether they run.

pub mod describe;
mod rows;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gambrel::{Coverage, DIALECTS, Gambrel, Loaded, Trust};
use gambrel_engine::{CoveredFile, describe_uncovered};
use gambrel_model::Hook;
use serde_json::{Value, json};

use self::state::HookState;
use crate::args::ListArgs;
use crate::printer::{self, diagnostic};
use crate::{open, trust};

/// What to do where there are no hooks.
const WHERE_TO_BEGIN: &str = "no hooks are configured here
  start:       gambrel init hooks, which writes .gambrel/hooks.yaml
  then:        gambrel check, gambrel trust
  an example:  gambrel demo
";

/// Lists all hooks.
pub fn run(folder: Option<PathBuf>, args: &ListArgs) -> anyhow::Result<u8> {
    let gambrel = Gambrel::new(open::build_setup(folder, Some(&args.sources))?);
    let loaded = gambrel.load_hooks(None);
    let rows = trust_states(&gambrel, &loaded);
    let trusts_all_by = gambrel.setup().options.trusts_all_by;
    let covered = project_coverage(&gambrel, &rows);

    let states = state::hook_states(&gambrel, &loaded, &rows);

    if args.json {
        let shown = |state: &HookState<'_>| {
            let hook = state.hook;
            let mut shown = to_json(hook, state.trust, covered.get(hook.id.as_str()));
            shown["runs"] = json!(state.can_run());
            shown["shadowed_by"] = json!(state.replaced_by);
            shown["events"] = json!(state.registered);
            shown["load_error"] = json!(state.load_error);
            if let Some(by) = trusts_all_by.filter(|_| !hook.draft.source.scope.is_own()) {
                shown["trusted_by"] = json!(by);
            }
            shown
        };
        printer::print_json(&states.iter().map(shown).collect());
        return Ok(0);
    }

    let setup = gambrel.setup();
    match states.is_empty() {
        true => printer::print(WHERE_TO_BEGIN),
        false => {
            let project = &loaded.roots.project;
            let text = rows::format_hooks(&states, project, setup.home().as_deref());
            printer::print(&text);
            printer::print(&trust::waiting_line(trust::count_waiting(&gambrel, &loaded)));
        }
    }

    let below_project = format!("{}/", loaded.roots.project.display());
    for complaint in &loaded.complaints {
        printer::warn(&diagnostic::short_line(complaint).replace(&below_project, ""));
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
        "action": hook.kind(),
        "timeout": draft.policy.limits.timeout.as_secs_f64(),
        "async": !draft.policy.limits.blocking,
        "if": hook.describe().condition,
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
