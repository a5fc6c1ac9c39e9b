//! No program outlives its timeout, the call that waits for it, or the engine. Every wait and every
//! output has a limit.

use std::time::{Duration, Instant};

use gambrel_model::End;
use serde_json::{Value, json};

use crate::module_dir::{ModuleDir, bash_body};

/// Runs a handler that has all functions of `child_process`.
fn run_with_child_process(dir: &ModuleDir, code: &str) -> gambrel_model::Outcome {
    dir.write_file(
        "m.ts",
        &format!(
        "import {{ spawnSync, execSync, spawn, exec }} from 'child_process'; import fs from 'fs';
export default (pi: any) => {{ pi.on('tool_call', async (event: any) => {{\n{code}\n}}); }};"
    ),
    );
    dir.call("m.ts", bash_body("ls"))
}

fn first_result(dir: &ModuleDir, code: &str) -> Value {
    let answer = run_with_child_process(dir, code).answer.unwrap();
    assert_eq!(answer["errors"], json!([]));
    answer["results"][0].clone()
}

/// Waits until the process whose id a program wrote to a file has ended.
fn wait_until_gone(dir: &ModuleDir, mark: &str) {
    let until = Instant::now() + Duration::from_secs(10);
    let pid = loop {
        let text = std::fs::read_to_string(dir.path(mark)).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(Instant::now() < until, "the program never wrote its id");
        std::thread::yield_now();
    };
    while cfg!(target_os = "linux") && is_alive(&pid) {
        assert!(Instant::now() < until, "{pid} is still there");
        std::thread::yield_now();
    }
}

/// Whether a process runs. A zombie does not.
fn is_alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// Arguments of a program that starts another, writes its id to a file, and keeps running.
fn parent_args(dir: &ModuleDir, mark: &str) -> String {
    let path = json!(dir.path(mark));
    format!("'sh', ['-c', 'sleep 600 & echo $! > \"$1\"; sleep 600', 'sh', {path}]")
}

#[test]
fn kills_grandchildren_on_timeout() {
    let dir = ModuleDir::new();
    let code = format!(
        "const r = spawnSync({}, {{ timeout: 500 }}); return {{ code: r.error.code, signal: r.signal, status: r.status }};",
        parent_args(&dir, "sync")
    );
    let expected = json!({"code": "ETIMEDOUT", "signal": "SIGTERM", "status": null});
    assert_eq!(first_result(&dir, &code), expected);
    wait_until_gone(&dir, "sync");
    let code = format!(
        "const c = spawn({}, {{ timeout: 500 }}); return await new Promise((r) => c.on('close', (code, signal) => r({{ code, signal, killed: c.killed }})));",
        parent_args(&dir, "beside")
    );
    assert_eq!(
        first_result(&dir, &code),
        json!({"code": null, "signal": "SIGTERM", "killed": true})
    );
    wait_until_gone(&dir, "beside");
}

#[test]
fn kills_processes_in_their_own_session() {
    let hermit =
        |dir: &ModuleDir, mark: &str| parent_args(dir, mark).replacen("sleep", "setsid sleep", 1);
    let dir = ModuleDir::new();
    let ways = [
        ("sync", "spawnSync(PROGRAM, { timeout: 500 });"),
        (
            "beside",
            "const c = spawn(PROGRAM, { timeout: 500 }); await new Promise((r) => c.on('close', r));",
        ),
        ("exec", "await pi.exec(PROGRAM, { timeout: 500 });"),
    ];
    for (mark, code) in ways {
        let code = code.replace("PROGRAM", &hermit(&dir, mark));
        assert_eq!(
            first_result(&dir, &format!("{code} return {{ mark: '{mark}' }};")),
            json!({"mark": mark})
        );
        wait_until_gone(&dir, mark);
    }
    let dir = ModuleDir { timeout: Duration::from_secs(3), ..ModuleDir::new() };
    for (mark, call) in [("late", "spawn"), ("late exec", "pi.exec")] {
        let program = hermit(&dir, mark);
        let code = format!("{call}({program}); await new Promise((r) => setTimeout(r, 1e9));");
        assert_eq!(run_with_child_process(&dir, &code).end, End::TimedOut);
        wait_until_gone(&dir, mark);
    }
}

#[test]
fn kills_a_program_that_ignores_the_signal() {
    let dir = ModuleDir::new();
    let outcome = run_with_child_process(
        &dir,
        "const r = spawnSync('sh', ['-c', 'trap \"\" TERM; while :; do sleep 0.05; done'], { timeout: 200 }); return { code: r.error.code, signal: r.signal };",
    );
    assert!(outcome.elapsed < Duration::from_secs(15), "{:?}", outcome.elapsed);
    let expected = json!({"code": "ETIMEDOUT", "signal": "SIGKILL"});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn kills_programs_of_a_module_that_timed_out() {
    let dir = ModuleDir { timeout: Duration::from_millis(800), ..ModuleDir::new() };
    let path = json!(dir.path("late"));
    let code = format!(
        "const c = spawn({}, {{ detached: true, stdio: 'ignore' }}); c.unref(); while (!fs.existsSync({path})) await new Promise((r) => setTimeout(r, 5)); await new Promise(() => {{ setInterval(() => {{}}, 50); }});",
        parent_args(&dir, "late")
    );
    assert_eq!(run_with_child_process(&dir, &code).end, End::TimedOut);
    wait_until_gone(&dir, "late");
}

#[test]
fn synchronous_waits_time_out_at_the_deadline() {
    let codes = [
        "spawnSync('sleep', ['600']);",
        "try { execSync('sleep 600') } catch {} return { fine: true };",
        "await null; spawnSync('sleep', ['600']); return { fine: true };",
        "await new Promise((r) => setTimeout(() => { spawnSync('sleep', ['600']); r(0); }, 1));",
    ];
    for asks in [false, true] {
        let ask = |_: &gambrel_script::Question| None;
        let ask = asks.then(|| std::sync::Arc::new(ask) as gambrel_script::AskFn);
        let settings = gambrel_script::ScriptSettings { ask, ..Default::default() };
        let dir =
            ModuleDir { timeout: Duration::from_millis(300), ..ModuleDir::with_settings(settings) };
        for code in codes {
            let outcome = run_with_child_process(&dir, code);
            assert_eq!(outcome.end, End::TimedOut, "{code}");
            assert!(outcome.elapsed < Duration::from_secs(20), "{code}");
        }
        let sync =
            "pi.on('tool_call', () => { require('child_process').spawnSync('sleep', ['600']) });";
        assert_eq!(dir.run_factory(sync).end, End::TimedOut);
    }
}

#[test]
fn close_kills_running_programs() {
    let dir = ModuleDir::new();
    let path = json!(dir.path("kept"));
    let code = format!(
        "spawn({}, {{ detached: true, stdio: 'ignore' }}).unref(); while (!fs.existsSync({path})) await new Promise((r) => setTimeout(r, 5)); return {{ fine: true }};",
        parent_args(&dir, "kept")
    );
    assert_eq!(first_result(&dir, &code), json!({"fine": true}));
    dir.action.close();
    wait_until_gone(&dir, "kept");
}

#[test]
fn does_not_wait_for_streams_kept_open() {
    let dir = ModuleDir::new();
    let outcome = run_with_child_process(
        &dir,
        "const a = spawnSync('sh', ['-c', 'sleep 600 & echo hi'], { encoding: 'utf8' });
         const c = spawn('sh', ['-c', 'sleep 600 & echo ho']); let out = ''; c.stdout.on('data', (d) => (out += d));
         await new Promise((r) => c.on('close', r)); return { a: a.stdout, status: a.status, out };",
    );
    assert!(outcome.elapsed < Duration::from_secs(15), "{:?}", outcome.elapsed);
    let expected = json!({"a": "hi\n", "status": 0, "out": "ho\n"});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn limits_the_output() {
    let dir = ModuleDir::new();
    let result = first_result(
        &dir,
        "const r = spawnSync('yes', { maxBuffer: Infinity }); const s = spawnSync('yes');
         const e: any = await new Promise((r) => exec('yes', (err) => r(err)));
         return { n: r.stdout.length, code: r.error.code, m: s.stdout.length, small: s.error.code, e: e.code };",
    );
    let expected = json!({"n": 16 << 20, "code": "ENOBUFS", "m": 1 << 20, "small": "ENOBUFS",
                          "e": "ERR_CHILD_PROCESS_STDIO_MAXBUFFER"});
    assert_eq!(result, expected);
}

#[test]
fn logs_inherited_output() {
    let dir = ModuleDir::new();
    let outcome = run_with_child_process(
        &dir,
        "const r = spawnSync('sh', ['-c', 'cat; echo out; echo err >&2'], { stdio: 'inherit' }); execSync('echo complaint >&2');
         const c = spawn('sh', ['-c', 'cat; echo beside'], { stdio: 'inherit' }); await new Promise((r) => c.on('close', r));
         return { none: r.stdout, in: fs.readFileSync(0, 'utf8'), dev: fs.readFileSync('/dev/stdin', 'utf8') };",
    );
    let answer = outcome.answer.unwrap();
    assert_eq!(answer["results"][0], json!({"none": null, "in": "", "dev": ""}), "{answer}");
    let logs = answer["effects"].as_array().unwrap().iter();
    let logs: Vec<_> = logs.map(|e| (e["level"].as_str(), e["message"].as_str())).collect();
    let expected = [("info", "out"), ("error", "err"), ("error", "complaint"), ("info", "beside")];
    assert_eq!(logs, expected.map(|(level, message)| (Some(level), Some(message))));
}
