//! Finds the script of each event: the first candidate by name that can run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_model::{
    Complaint, ConfigPath, DirEntry, Disabled, Draft, Expect, HookPolicy, Limits, LoadedDrafts,
    LoadedFile, QualityGatePolicy, Scope, SearchRoots, Source, SourceSpan,
};
use serde_json::{Value, json};

use super::policy::{failure_verdict, read_policy};

/// Endings of file names after `on_<event>`, in the order of precedence.
const ENDINGS: [&str; 4] = ["", ".sh", ".js", ".mjs"];
/// The default timeout. `PI_TEAMS_HOOK_TIMEOUT_MS` replaces it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The time between SIGTERM and SIGKILL.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// The variable that enables hooks if it is exactly 1.
const ENABLED_VARIABLE: &str = "PI_TEAMS_HOOKS_ENABLED";

/// The option word of a source that names the folder of a team.
pub const TEAM_SOURCE: &str = "team";

/// The folder of the scripts and the configuration of a named team. The folder is read even if hooks
/// are disabled, so that they are listed.
pub fn config_paths(roots: &SearchRoots) -> Vec<ConfigPath> {
    let place = |path, expect, tag| ConfigPath { path, scope: Scope::User, expect, tag };
    let hooks = hooks_dir(roots).map(|path| place(path, Expect::Dir, "hooks"));
    let teams = roots.sources_for(TEAM_SOURCE);
    let configs = teams.map(|dir| place(dir.join("config.json"), Expect::File, TEAM_SOURCE));
    hooks.into_iter().chain(configs).collect()
}

/// `PI_TEAMS_HOOKS_DIR`, absolute or below the teams' root; else `_hooks` below it. A team that is
/// named by its folder is in its root.
fn hooks_dir(roots: &SearchRoots) -> Option<PathBuf> {
    let named = || roots.sources_for(TEAM_SOURCE).next()?.parent().map(Path::to_owned);
    let root = match roots.env_var("PI_TEAMS_ROOT_DIR") {
        Some(_) => teams_root(&roots.env),
        None => named().or_else(|| teams_root(&roots.env)),
    };
    let under = |dir: &str| Some(root?.join(dir));
    match roots.env_var("PI_TEAMS_HOOKS_DIR") {
        Some(dir) if Path::new(dir).is_absolute() => Some(dir.into()),
        Some(dir) => under(dir),
        None => under("_hooks"),
    }
}

/// `PI_TEAMS_ROOT_DIR`, absolute or below the agent's folder; else `teams` in that folder.
pub fn teams_root(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let var = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let agent_dir = || {
        let home = || var("HOME").filter(|home| home.is_absolute());
        var("PI_CODING_AGENT_DIR").or_else(|| Some(home()?.join(".pi/agent")))
    };
    match var("PI_TEAMS_ROOT_DIR") {
        Some(dir) if dir.is_absolute() => Some(dir),
        Some(dir) => agent_dir().map(|base| base.join(dir)),
        None => agent_dir().map(|base| base.join("teams")),
    }
}

/// Reads one draft for each event with a script.
pub fn load_drafts(found: &[LoadedFile], roots: &SearchRoots) -> LoadedDrafts {
    let mut drafts = Vec::new();
    let mut complaints = Vec::new();
    let policy = read_policy(roots, &team_policy(found, &mut complaints));
    for folder in found.iter().filter(|folder| folder.place.tag != TEAM_SOURCE) {
        for row in super::EVENTS {
            if let Some(draft) = find_script(folder, row.name, (roots, policy), &mut complaints) {
                drafts.push(draft);
            }
        }
        complaints
            .extend(folder.entries.iter().filter(|entry| entry.is_file).filter_map(warn_misnamed));
    }
    if roots.env.get(ENABLED_VARIABLE).map(String::as_str) != Some("1") {
        let off = Disabled::off(format!("disabled: {ENABLED_VARIABLE} is not 1"));
        drafts.iter_mut().for_each(|draft| draft.disabled = Some(off.clone()));
        complaints.clear();
    }
    (drafts, complaints)
}

/// `hooks` of the team's configuration.
fn team_policy(found: &[LoadedFile], complaints: &mut Vec<Complaint>) -> Value {
    let Some(config) = found.iter().find(|file| file.place.tag == TEAM_SOURCE) else {
        return Value::Null;
    };
    match serde_json::from_str::<Value>(&config.text) {
        Ok(mut value) => value["hooks"].take(),
        Err(error) => {
            let message = format!("the policy of this team is not used: {error}");
            let spot = SourceSpan::of_file(&config.place.path);
            complaints.push(Complaint::warning(spot, message));
            Value::Null
        }
    }
}

fn find_script(
    folder: &LoadedFile,
    event: &str,
    settings: (&SearchRoots, QualityGatePolicy),
    complaints: &mut Vec<Complaint>,
) -> Option<Draft> {
    for ending in ENDINGS {
        let name = format!("on_{event}{ending}");
        let named = |entry: &&DirEntry| entry.is_file && entry.name == name;
        let Some(entry) = folder.entries.iter().find(named) else { continue };
        // A name without an ending must be executable; else the next candidate is tried.
        if ending.is_empty() && !entry.executable {
            let message = format!("`{name}` is not executable, so it is skipped");
            let help = format!("chmod +x {}", entry.path.display());
            complaints.push(
                Complaint::warning(SourceSpan::of_file(&entry.path), message).with_help(help),
            );
            continue;
        }
        return Some(build_draft(folder, entry, event, settings));
    }
    None
}

fn build_draft(
    folder: &LoadedFile,
    entry: &DirEntry,
    event: &str,
    (roots, policy): (&SearchRoots, QualityGatePolicy),
) -> Draft {
    let path = entry.path.display().to_string();
    let command = match entry.path.extension().and_then(|e| e.to_str()) {
        Some("sh") => vec!["bash".to_owned(), path.clone()],
        Some("js" | "mjs") => vec!["node".to_owned(), path.clone()],
        _ => vec![path.clone()],
    };
    let failed = failure_verdict(policy.action, event);
    Draft {
        event: event.to_owned(),
        source: Source {
            base: folder.place.path.clone(),
            ..folder.source_at(SourceSpan::of_file(&entry.path))
        },
        name: Some(format!("on_{event}")),
        action: "shell".into(),
        config: json!({"argv": command, "path": path, "policy": policy}),
        policy: HookPolicy {
            limits: Limits {
                timeout: read_timeout(roots),
                kill_grace: KILL_GRACE,
                ..Limits::default()
            },
            on_timeout: failed.clone().into(),
            on_failure: failed.into(),
            max_refusals_in_row: Some(policy.max_reopens),
            ..HookPolicy::default()
        },
        ..Draft::default()
    }
}

fn read_timeout(roots: &SearchRoots) -> Duration {
    let written = roots.env_var("PI_TEAMS_HOOK_TIMEOUT_MS");
    let milliseconds = written.and_then(|text| text.trim().parse::<f64>().ok());
    milliseconds
        .filter(|ms| ms.is_finite() && *ms > 0.0 && *ms < 1e12)
        .map_or(DEFAULT_TIMEOUT, |ms| Duration::from_millis(ms as u64))
}

/// Warns of a file that is named like a hook but matches no event.
fn warn_misnamed(entry: &DirEntry) -> Option<Complaint> {
    let stem = entry.name.strip_prefix("on_")?;
    let known = super::EVENTS
        .iter()
        .any(|row| ENDINGS.iter().any(|ending| stem == format!("{}{ending}", row.name)));
    if known {
        return None;
    }
    let names: Vec<String> = super::EVENTS.iter().map(|row| format!("on_{}", row.name)).collect();
    let message = format!("`{}` names no event, so it never runs", entry.name);
    let help = format!("hooks are {} with no ending, .sh, .js or .mjs", names.join(", "));
    Some(Complaint::warning(SourceSpan::of_file(&entry.path), message).with_help(help))
}
