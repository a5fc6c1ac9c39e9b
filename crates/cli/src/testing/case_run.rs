//! Fires the events of a case with the built program, in the folders of the case.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use gambrel::{DIALECTS, Gambrel, Setup};
use gambrel_dialects::sample_event;
use gambrel_model::Hook;
use serde_json::{Map, Value};

use super::case_file::{CaseStep, HookCase};
use super::case_folder::CaseFolder;
use super::sample::{find_dialect, find_event};

/// Variables that every case gets.
const PASSED_VARIABLES: [&str; 4] = ["PATH", "LANG", "LC_ALL", "TERM"];
/// How often a firing is looked at while it runs.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How much of each stream of a firing is kept.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// What one firing left.
#[derive(Debug, Default)]
pub struct Observation {
    /// The neutral decision.
    pub decision: Value,
    /// The native reply.
    pub stdout: String,
    /// Text for the user.
    pub stderr: String,
    /// The exit code of the reply.
    pub exit: i32,
}

/// Files and folders of a project that belong to its hooks: where hooks are configured, and what
/// they run.
pub fn files_of_hooks(project: &Path) -> Vec<PathBuf> {
    let gambrel = Gambrel::new(Setup::in_memory(project));
    let loaded = gambrel.load_hooks(None);
    let is_own = |hook: &&Hook| !hook.draft.source.scope.is_own();
    let hooks: Vec<&Hook> = loaded.hooks.iter().map(|hook| &**hook).filter(is_own).collect();
    let covered = gambrel.find_coverage(&hooks);
    let run = covered.iter().flat_map(|coverage| &coverage.files).map(|file| file.path.clone());
    let markers = DIALECTS.iter().flat_map(|dialect| dialect.properties.project_markers);
    let configured = markers.map(|marker| project.join(marker));
    let mut paths: Vec<PathBuf> = configured.chain(run).filter(|path| path.exists()).collect();
    paths.retain(|path| path.starts_with(project));
    paths.sort();
    paths.dedup();
    paths
}

/// Fires the event of one step.
pub fn run_step(
    case: &HookCase,
    step: &CaseStep,
    folder: &CaseFolder,
    timeout: Duration,
) -> anyhow::Result<Observation> {
    let event = build_event(step, folder)?.to_string();
    let fire = |flags: &[&str]| {
        let child = fire_command(case, step, folder, flags)?.spawn()?;
        run_with_deadline(child, event.clone().into_bytes(), timeout)
    };
    let mut observed = read_observation(&fire(&["--json"])?)?;
    // An event that could not be read has no id, and its reply is not part of the JSON.
    if observed.decision["id"].is_null() {
        let output = fire(&[])?;
        observed.stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        observed.stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        observed.exit = output.code;
    }
    Ok(observed)
}

fn fire_command(
    case: &HookCase,
    step: &CaseStep,
    folder: &CaseFolder,
    flags: &[&str],
) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("-C").arg(&folder.root).args(["fire", "--from", &step.from]).args(flags);
    command.args(step.args.iter().map(|word| folder.substitute(word)));
    // The hooks of a case run because its author says so.
    let names_trust = step.args.iter().any(|word| word.starts_with("--trust"));
    if !names_trust && !case.env.contains_key("GAMBREL_TRUST") {
        command.args(["--trust", "all"]);
    }
    command.env_clear().envs(case_env(case, folder)).current_dir(&folder.root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// The event of a step: as written, or a sample with changes.
fn build_event(step: &CaseStep, folder: &CaseFolder) -> anyhow::Result<Value> {
    let Some(name) = step.event.as_str() else {
        return Ok(folder.substitute_value(&step.event));
    };
    let dialect = find_dialect(&step.from)?;
    let mut event = sample_event(dialect, find_event(dialect, name)?, &folder.root);
    merge_fields(&mut event, &folder.substitute_value(&step.with));
    Ok(event)
}

/// Puts the fields of one object into another. Objects inside are merged; null removes a field.
fn merge_fields(value: &mut Value, with: &Value) {
    match (value, with) {
        (Value::Object(fields), Value::Object(with)) => {
            for (key, new) in with {
                match fields.get_mut(key) {
                    _ if new.is_null() => drop(fields.remove(key)),
                    Some(old) if old.is_object() && new.is_object() => merge_fields(old, new),
                    _ => drop(fields.insert(key.clone(), new.clone())),
                }
            }
        }
        (_, Value::Null) => {}
        (value, with) => *value = with.clone(),
    }
}

fn case_env(case: &HookCase, folder: &CaseFolder) -> BTreeMap<String, String> {
    let passed = PASSED_VARIABLES.into_iter().chain(case.pass_env.iter().map(String::as_str));
    let mut env: BTreeMap<String, String> =
        passed.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    env.insert("HOME".into(), text(&folder.home));
    env.insert("TMPDIR".into(), text(&folder.tmp_dir()));
    env.insert("GAMBREL_STATE_DIR".into(), text(&folder.state_dir()));
    // The administrator's hooks are not tested.
    env.insert("GAMBREL_CLAUDE_MANAGED".into(), text(&folder.absent_file()));
    env.extend(case.env.iter().map(|(name, value)| (name.clone(), folder.substitute(value))));
    env
}

struct FireOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    code: i32,
}

/// Feeds a child and reads its output. A child that takes too long is killed.
fn run_with_deadline(
    mut child: Child,
    input: Vec<u8>,
    timeout: Duration,
) -> anyhow::Result<FireOutput> {
    let mut stdin = child.stdin.take().context("no pipe to the firing")?;
    // A program that refuses its arguments does not read.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let stdout = read_in_thread(child.stdout.take());
    let stderr = read_in_thread(child.stderr.take());
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > timeout {
            child.kill()?;
            child.wait()?;
            bail!("the firing took longer than {} s", timeout.as_secs());
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    let join = |reader: JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    let _written = writer.join();
    Ok(FireOutput { stdout: join(stdout), stderr: join(stderr), code: status.code().unwrap_or(-1) })
}

fn read_in_thread(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What was read so far is shown.
            let _partial = pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
        }
        bytes
    })
}

fn read_observation(output: &FireOutput) -> anyhow::Result<Observation> {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let decision = serde_json::from_slice::<Map<String, Value>>(&output.stdout);
    let mut decision = match decision {
        Ok(decision) if output.code == 0 => decision,
        _ => bail!("the event was not fired: {}", stderr.trim()),
    };
    let reply = decision.remove("reply").unwrap_or_default();
    let text = |key: &str| reply[key].as_str().unwrap_or_default().to_owned();
    Ok(Observation {
        stdout: text("stdout"),
        stderr: text("stderr") + &stderr,
        exit: reply["exit"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or_default(),
        decision: Value::Object(decision),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge_fields;

    #[test]
    fn merges_changes_into_a_sample() {
        let mut event = json!({"a": {"b": 1, "c": 2}, "d": [1], "e": 1});
        merge_fields(&mut event, &json!({"a": {"b": 5}, "d": [2], "e": null, "f": 0}));
        assert_eq!(event, json!({"a": {"b": 5, "c": 2}, "d": [2], "f": 0}));
    }
}
