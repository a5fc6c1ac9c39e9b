//! The real run of a case: scripts on disk, the built binary, its own home and state folder.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::case::{Behaviour, Case, Fire};
use super::check::{HookInput, Observed, differences};
use super::receiver::{self, is_path};
use super::{run as commands, tools};

/// The folders of a case. The project's path contains a space.
pub struct CaseProject {
    _temp: tempfile::TempDir,
    pub base: PathBuf,
    pub root: PathBuf,
    pub home: PathBuf,
    /// Port of the receiver, or 0 without one.
    pub port: u16,
}

impl CaseProject {
    pub fn create(case: &Case) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(temp.path()).unwrap();
        let (root, home) = (base.join("the project"), base.join("home"));
        let given = base.join("given");
        let paths = case.hooks.iter().filter(|(name, _)| is_path(name));
        let paths: BTreeMap<_, _> = paths.map(|(n, b)| (n.clone(), b.clone())).collect();
        let port = if paths.is_empty() { 0 } else { receiver::listen(paths, given) };
        for folder in [&root, &home, &base.join("given"), &base.join("tmp")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let project = Self { _temp: temp, base, root, home, port };
        for (path, text) in &case.files {
            project.write(path, &project.substitute(text));
        }
        project
    }

    pub fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.root.join(path),
        }
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn substitute(&self, text: &str) -> String {
        text.replace("@ROOT@", &self.root.to_string_lossy())
            .replace("@HOME@", &self.home.to_string_lossy())
            .replace("@PORT@", &self.port.to_string())
            .replace("@GAMBREL@", crate::test_project::program())
    }

    pub fn substitute_json(&self, value: &Value) -> Value {
        serde_json::from_str(&self.substitute(&value.to_string())).unwrap()
    }

    pub fn env(&self, case: &Case) -> BTreeMap<String, String> {
        let mut env = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
            ("HOME".to_owned(), self.home.to_string_lossy().into_owned()),
            (
                "GAMBREL_STATE_DIR".to_owned(),
                self.base.join("state").to_string_lossy().into_owned(),
            ),
            ("TMPDIR".to_owned(), self.base.join("tmp").to_string_lossy().into_owned()),
            (
                "GAMBREL_CLAUDE_MANAGED".to_owned(),
                self.base.join("managed.json").to_string_lossy().into_owned(),
            ),
        ]);
        env.extend(case.env.iter().map(|(name, value)| (name.clone(), self.substitute(value))));
        env
    }
}

/// File name under which a hook's input is recorded.
pub fn record_name(name: &str) -> String {
    name.replace(['/', '~', ':'], "_")
}

/// Whether a hook's name is a script of the project and not an inline command.
pub fn is_script(name: &str) -> bool {
    let elsewhere = is_path(name) || tools::is_tool(name);
    !elsewhere
        && !name.contains(' ')
        && (name.contains('/') || name.contains('.') || name.starts_with("on_"))
}

/// Who reads the words of `gambrel fire`.
#[derive(Clone, Copy, PartialEq)]
enum WordReader {
    /// The reader of usual lines. The firing has its memory from a region.
    Usual,
    /// clap: options stand before the command. The firing has its memory from the system.
    Clap,
}

/// Whether the program under test was built with all features.
const HAS_ALL_FEATURES: bool = cfg!(all(feature = "http", feature = "js", feature = "mcp"));

/// Runs a case as agents start `gambrel fire`.
pub fn run(case: &Case) -> Vec<String> {
    run_case(case, WordReader::Usual)
}

/// Runs a case with options before `fire`, if it fires an event.
pub fn run_with_clap(case: &Case) -> Vec<String> {
    let fires = case.all_steps().iter().any(|step| step.fire.is_some());
    if fires { run_case(case, WordReader::Clap) } else { Vec::new() }
}

fn run_case(case: &Case, reader: WordReader) -> Vec<String> {
    if let Some(only) = case.only.as_ref().filter(|only| only.way != "real") {
        eprintln!("{}: {}: not run for real: {}", case.file, case.name, only.because);
        return Vec::new();
    }
    let project = CaseProject::create(case);
    tools::write_servers(&project, &case.hooks);
    for (name, behaviour) in case.hooks.iter().filter(|(name, b)| is_script(name) && !b.missing) {
        write_script(&project, name, behaviour);
    }
    let mut wrong = Vec::new();
    for (n, step) in case.all_steps().iter().enumerate() {
        let observed = match (&step.fire, &step.run) {
            (Some(event), None) => fire(&project, case, event, reader),
            (None, Some(command)) => run_step(&project, case, command),
            _ => panic!("a step needs either `fire` or `run`"),
        };
        if !HAS_ALL_FEATURES && observed.lacks_action() {
            eprintln!("{}: {}: not run: an action is not built in", case.file, case.name);
            return Vec::new();
        }
        let expect: super::case::Expect = step.expect.clone();
        let expect = substitute_expect(&project, expect);
        let mut found = differences(&expect, &observed, &project.root);
        if step.run.is_some() {
            let expected = expect.run.unwrap_or_default();
            found.extend(commands::differences(&project, &expected, &observed));
        }
        wrong.extend(found.into_iter().map(|w| format!("real, step {}: {w}", n + 1)));
    }
    wrong
}

/// Runs a command once.
fn run_step(project: &CaseProject, case: &Case, command: &commands::CommandStep) -> Observed {
    let before = read_all_inputs(project, case);
    let observed = commands::run_command(project, case, command);
    Observed { given: runs_since(&before, read_all_inputs(project, case)), ..observed }
}

/// Fills in the case's folders in expectations.
pub fn substitute_expect(
    project: &CaseProject,
    mut expect: super::case::Expect,
) -> super::case::Expect {
    let fill =
        |value: &mut Option<Value>| *value = value.take().map(|v| project.substitute_json(&v));
    for given in expect.given.values_mut() {
        fill(&mut given.stdin);
        given.env.values_mut().for_each(|v| *v = project.substitute(v));
        given.env_json.values_mut().for_each(|v| *v = project.substitute_json(v));
        for args in given.args.iter_mut().flatten() {
            *args = project.substitute(args);
        }
    }
    expect.files.values_mut().for_each(|part| *part = project.substitute(part));
    expect.skipped.values_mut().for_each(|part| *part = project.substitute(part));
    fill(&mut expect.decision);
    if let Some(reply) = &mut expect.reply {
        fill(&mut reply.json);
        fill(&mut reply.like);
        reply.text = reply.text.as_ref().map(|t| project.substitute(t));
    }
    expect
}

/// Writes a script that records its input and then behaves as the case describes.
fn write_script(project: &CaseProject, name: &str, behaviour: &Behaviour) {
    let path = project.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let given = project.base.join("given").join(record_name(name));
    let beside = |ending: &str| PathBuf::from(format!("{}.{ending}", given.to_string_lossy()));
    let (out, err) = (beside("out"), beside("err"));
    std::fs::write(&out, project.substitute(&behaviour.stdout)).unwrap();
    std::fs::write(&err, project.substitute(&behaviour.stderr)).unwrap();
    let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"));
    let left = beside("left");
    let child = match &behaviour.output {
        Some(output) => {
            std::fs::write(&left, output.to_string()).unwrap();
            let copy = format!("cp {} \"$s/output.json\"", quoted(&left));
            format!("p=; for a; do [ \"$p\" = --session-dir ] && s=$a; p=$a; done; {copy}\n")
        }
        None => String::new(),
    };
    let last = match (behaviour.hangs, behaviour.signal) {
        (true, _) => "sleep 600 & wait".to_owned(),
        (_, Some(signal)) => format!("kill -{signal} $$; sleep 5"),
        _ => format!("exit {}", behaviour.exit),
    };
    let text = format!(
        "#!/bin/sh\nn=1; while ! mkdir {g}.$n 2>/dev/null; do [ -e {g}.$n ] || exit 99; n=$((n+1)); done\nd={g}.$n\ncat > \"$d/stdin\"\nenv -0 > \"$d/env\" 2>/dev/null || env > \"$d/env\"\n: > \"$d/args\"; for a; do printf '%s\\0' \"$a\" >> \"$d/args\"; done\nif [ $n -le {first} ]; then echo 'not yet' >&2; exit 9; fi\n{child}cat {o}\ncat {e} >&2\n{last}\n",
        g = quoted(&given),
        o = quoted(&out),
        e = quoted(&err),
        first = behaviour.fails_first,
        child = child,
    );
    let text = if name.ends_with("js") { node_script(&given, behaviour, project) } else { text };
    std::fs::write(&path, text).unwrap();
    let mode = if behaviour.plain_file { 0o644 } else { 0o755 };
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The same in JavaScript, for contracts that run modules with node.
fn node_script(given: &Path, behaviour: &Behaviour, project: &CaseProject) -> String {
    let text = |value: &str| serde_json::to_string(&project.substitute(value)).unwrap();
    let import =
        "const fs = process.getBuiltinModule ? process.getBuiltinModule('fs') : require('fs');";
    format!(
        "{import}\nconst d = {} + '.1'; fs.mkdirSync(d);\nfs.writeFileSync(d + '/stdin', '');\nfs.writeFileSync(d + '/env', Object.entries(process.env).map(([k, v]) => k + '=' + v).join('\\0'));\nfs.writeFileSync(d + '/args', '');\nprocess.stdout.write({});\nprocess.stderr.write({});\nprocess.exitCode = {};\n",
        text(&given.to_string_lossy()),
        text(&behaviour.stdout),
        text(&behaviour.stderr),
        behaviour.exit,
    )
}

/// Fires twice from the same session state: once for the reply, once for the decision.
fn fire(project: &CaseProject, case: &Case, fire: &Fire, reader: WordReader) -> Observed {
    let before = read_all_inputs(project, case);
    let event = project.substitute(&fire.event.to_string());
    let run = |json: bool| {
        let mut command = Command::new(crate::test_project::program());
        let folder = ["-C".as_ref(), project.root.as_os_str()];
        match reader {
            WordReader::Usual => command.arg("fire").args(folder),
            WordReader::Clap => command.args(folder).arg("fire"),
        };
        command.args(["--from", &fire.from]);
        command.args(fire.args.iter().map(|a| project.substitute(a)));
        // Trust by an option, which no reply mentions, unless the case is about trust.
        let named = fire.args.iter().any(|word| word == "--trust");
        if !named && !case.env.contains_key("GAMBREL_TRUST") {
            command.args(["--trust", "all"]);
        }
        if json {
            command.arg("--json");
        }
        command.env_clear().envs(project.env(case)).current_dir(&project.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that refuses its arguments does not read.
        let _unread = stdin.write_all(event.as_bytes());
        drop(stdin);
        child.wait_with_output().unwrap()
    };
    // The earlier state is restored in between, so that both firings see the same session state.
    let kept = project.base.join("kept");
    copy_tree(&project.base.join("state"), &kept);
    let replied = run(false);
    let given = read_all_inputs(project, case);
    let given = runs_since(&before, given);
    replace_tree(&kept, &project.base.join("state"));
    clear_given(project, &before);
    let decided = run(true);
    Observed {
        decision: serde_json::from_slice(&decided.stdout).unwrap_or(Value::Null),
        stdout: String::from_utf8_lossy(&replied.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&replied.stderr).into_owned(),
        exit: replied.status.code().unwrap_or(-1),
        given,
    }
}

fn copy_tree(from: &Path, to: &Path) {
    let _absent = std::fs::remove_dir_all(to);
    if !from.exists() {
        return;
    }
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().filter_map(Result::ok) {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target)),
        }
    }
}

fn replace_tree(from: &Path, to: &Path) {
    let _absent = std::fs::remove_dir_all(to);
    copy_tree(from, to);
    if to.exists() {
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(to, private).unwrap();
    }
}

type ByHook = BTreeMap<String, Vec<HookInput>>;

fn read_all_inputs(project: &CaseProject, case: &Case) -> ByHook {
    let is_recorded = |name: &&String| is_script(name) || is_path(name) || tools::is_tool(name);
    let scripts = case.hooks.keys().filter(is_recorded);
    scripts.map(|name| (name.clone(), read_inputs(project, name))).collect()
}

fn read_inputs(project: &CaseProject, name: &str) -> Vec<HookInput> {
    let base = project.base.join("given").join(record_name(name));
    let mut runs = Vec::new();
    for n in 1.. {
        let folder = PathBuf::from(format!("{}.{n}", base.to_string_lossy()));
        let Ok(stdin) = std::fs::read(folder.join("stdin")) else { break };
        let env = std::fs::read(folder.join("env")).unwrap_or_default();
        let args = std::fs::read(folder.join("args")).unwrap_or_default();
        runs.push(HookInput {
            stdin: String::from_utf8_lossy(&stdin).into_owned(),
            env: split(&env)
                .iter()
                .filter_map(|e| e.split_once('='))
                .map(|(k, v)| (k.into(), v.into()))
                .collect(),
            args: split(&args),
        });
    }
    runs
}

fn split(bytes: &[u8]) -> Vec<String> {
    let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

fn runs_since(before: &ByHook, now: ByHook) -> ByHook {
    now.into_iter()
        .map(|(name, runs)| {
            let old = before.get(&name).map_or(0, Vec::len);
            (name, runs.into_iter().skip(old).collect())
        })
        .collect()
}

/// Removes the records of the first firing, so that hooks that count runs see the same state.
fn clear_given(project: &CaseProject, before: &ByHook) {
    for (name, runs) in before {
        let base = project.base.join("given").join(record_name(name));
        for n in runs.len() + 1.. {
            if std::fs::remove_dir_all(format!("{}.{n}", base.to_string_lossy())).is_err() {
                break;
            }
        }
    }
}
