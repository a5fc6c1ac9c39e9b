//! A case for real: scripts on disk, the built binary, its own home and state folder.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::case::{Behaviour, Case, Fire};
use super::check::{Handed, Seen, differences};
use super::receiver::{self, is_path};
use super::tools;

/// A case's folders; the project's path has a space in it, as people's paths do.
pub struct Ground {
    _temp: tempfile::TempDir,
    pub base: PathBuf,
    pub root: PathBuf,
    pub home: PathBuf,
    /// Where the receiver listens; 0 where nobody does.
    pub port: u16,
}

impl Ground {
    pub fn lay(case: &Case) -> Self {
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
        let ground = Self { _temp: temp, base, root, home, port };
        for (path, text) in &case.files {
            ground.write(path, &ground.filled(text));
        }
        ground
    }

    pub fn path(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => self.root.join(path),
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn filled(&self, text: &str) -> String {
        text.replace("@ROOT@", &self.root.to_string_lossy())
            .replace("@HOME@", &self.home.to_string_lossy())
            .replace("@PORT@", &self.port.to_string())
    }

    pub fn filled_json(&self, value: &Value) -> Value {
        serde_json::from_str(&self.filled(&value.to_string())).unwrap()
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
        env.extend(case.env.iter().map(|(name, value)| (name.clone(), self.filled(value))));
        env
    }
}

/// What a hook was given is written down under this name.
pub fn file_of(name: &str) -> String {
    name.replace(['/', '~', ':'], "_")
}

/// Whether a hook's name is a script of the project, not an inline command.
pub fn is_script(name: &str) -> bool {
    let elsewhere = is_path(name) || tools::is_tool(name);
    !elsewhere
        && !name.contains(' ')
        && (name.contains('/') || name.contains('.') || name.starts_with("on_"))
}

pub fn run(case: &Case) -> Vec<String> {
    if let Some(only) = case.only.as_ref().filter(|only| only.way != "real") {
        eprintln!("{}: {}: not run for real: {}", case.file, case.name, only.because);
        return Vec::new();
    }
    let ground = Ground::lay(case);
    tools::lay(&ground, &case.hooks);
    for (name, behaviour) in case.hooks.iter().filter(|(name, b)| is_script(name) && !b.missing) {
        script(&ground, name, behaviour);
    }
    let mut wrong = Vec::new();
    for (n, step) in case.all_steps().iter().enumerate() {
        let seen = fire(&ground, case, &step.fire);
        let expect: super::case::Expect = step.expect.clone();
        let expect = filled_expect(&ground, expect);
        wrong.extend(
            differences(&expect, &seen, &ground.root)
                .into_iter()
                .map(|w| format!("real, step {}: {w}", n + 1)),
        );
    }
    wrong
}

/// Expectations may name the case's folders too.
pub fn filled_expect(ground: &Ground, mut expect: super::case::Expect) -> super::case::Expect {
    let fill = |value: &mut Option<Value>| *value = value.take().map(|v| ground.filled_json(&v));
    for given in expect.given.values_mut() {
        fill(&mut given.stdin);
        given.env.values_mut().for_each(|v| *v = ground.filled(v));
        given.env_json.values_mut().for_each(|v| *v = ground.filled_json(v));
        for args in given.args.iter_mut().flatten() {
            *args = ground.filled(args);
        }
    }
    expect.files.values_mut().for_each(|part| *part = ground.filled(part));
    expect.skipped.values_mut().for_each(|part| *part = ground.filled(part));
    fill(&mut expect.decision);
    if let Some(reply) = &mut expect.reply {
        fill(&mut reply.json);
        fill(&mut reply.like);
        reply.text = reply.text.as_ref().map(|t| ground.filled(t));
    }
    expect
}

/// A script that writes down what it was given and then does what the case says.
fn script(ground: &Ground, name: &str, behaviour: &Behaviour) {
    let path = ground.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let given = ground.base.join("given").join(file_of(name));
    let beside = |ending: &str| PathBuf::from(format!("{}.{ending}", given.to_string_lossy()));
    let (out, err) = (beside("out"), beside("err"));
    std::fs::write(&out, ground.filled(&behaviour.stdout)).unwrap();
    std::fs::write(&err, ground.filled(&behaviour.stderr)).unwrap();
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
    let text = if name.ends_with("js") { node_script(&given, behaviour, ground) } else { text };
    std::fs::write(&path, text).unwrap();
    let mode = if behaviour.plain_file { 0o644 } else { 0o755 };
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// The same in JavaScript, for contracts that run modules with node.
fn node_script(given: &Path, behaviour: &Behaviour, ground: &Ground) -> String {
    let text = |value: &str| serde_json::to_string(&ground.filled(value)).unwrap();
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

/// Fires twice, from the same memory: once for the reply and once for the decision behind it.
fn fire(ground: &Ground, case: &Case, fire: &Fire) -> Seen {
    let before = handed_by_hook(ground, case);
    let event = ground.filled(&fire.event.to_string());
    let run = |json: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gambrel"));
        command.args(["-C".as_ref(), ground.root.as_os_str()]).args(["fire", "--from", &fire.from]);
        command.args(fire.args.iter().map(|a| ground.filled(a)));
        // By an option, which no reply mentions, unless the case is about trust.
        let named = fire.args.iter().any(|word| word == "--trust");
        if !named && !case.env.contains_key("GAMBREL_TRUST") {
            command.args(["--trust", "all"]);
        }
        if json {
            command.arg("--json");
        }
        command.env_clear().envs(ground.env(case)).current_dir(&ground.root);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A program that refuses its arguments does not read.
        let _unread = stdin.write_all(event.as_bytes());
        drop(stdin);
        child.wait_with_output().unwrap()
    };
    // The state before is put back between the two, so that both see the same memory.
    let kept = ground.base.join("kept");
    copy_tree(&ground.base.join("state"), &kept);
    let told = run(false);
    let given = handed_by_hook(ground, case);
    let given = newer(&before, given);
    replace_tree(&kept, &ground.base.join("state"));
    clear_given(ground, &before);
    let decided = run(true);
    Seen {
        decision: serde_json::from_slice(&decided.stdout).unwrap_or(Value::Null),
        stdout: String::from_utf8_lossy(&told.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&told.stderr).into_owned(),
        exit: told.status.code().unwrap_or(-1),
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

type ByHook = BTreeMap<String, Vec<Handed>>;

fn handed_by_hook(ground: &Ground, case: &Case) -> ByHook {
    let told = |name: &&String| is_script(name) || is_path(name) || tools::is_tool(name);
    let scripts = case.hooks.keys().filter(told);
    scripts.map(|name| (name.clone(), handed(ground, name))).collect()
}

fn handed(ground: &Ground, name: &str) -> Vec<Handed> {
    let base = ground.base.join("given").join(file_of(name));
    let mut runs = Vec::new();
    for n in 1.. {
        let folder = PathBuf::from(format!("{}.{n}", base.to_string_lossy()));
        let Ok(stdin) = std::fs::read(folder.join("stdin")) else { break };
        let env = std::fs::read(folder.join("env")).unwrap_or_default();
        let args = std::fs::read(folder.join("args")).unwrap_or_default();
        runs.push(Handed {
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

fn newer(before: &ByHook, now: ByHook) -> ByHook {
    now.into_iter()
        .map(|(name, runs)| {
            let old = before.get(&name).map_or(0, Vec::len);
            (name, runs.into_iter().skip(old).collect())
        })
        .collect()
}

/// Forgets the runs of the first firing, so that hooks that count see the same again.
fn clear_given(ground: &Ground, before: &ByHook) {
    for (name, runs) in before {
        let base = ground.base.join("given").join(file_of(name));
        for n in runs.len() + 1.. {
            if std::fs::remove_dir_all(format!("{}.{n}", base.to_string_lossy())).is_err() {
                break;
            }
        }
    }
}
