//! No program outlives its timeout, the call that waits for it, or the engine; none is waited for
//! without a limit, and none fills the memory.

use std::time::{Duration, Instant};

use gambrel_model::End;
use serde_json::{Value, json};

use crate::stand::{Stand, bash};

/// A handler with every program function at hand.
fn handler(stand: &Stand, code: &str) -> gambrel_model::Outcome {
    stand.write(
        "m.ts",
        &format!(
        "import {{ spawnSync, execSync, spawn, exec }} from 'child_process'; import fs from 'fs';
export default (pi: any) => {{ pi.on('tool_call', async (event: any) => {{\n{code}\n}}); }};"
    ),
    );
    stand.call("m.ts", bash("ls"))
}

fn result(stand: &Stand, code: &str) -> Value {
    let answer = handler(stand, code).answer.unwrap();
    assert_eq!(answer["errors"], json!([]));
    answer["results"][0].clone()
}

/// Waits until the process whose number a program wrote into a file is gone.
fn gone(stand: &Stand, mark: &str) {
    let until = Instant::now() + Duration::from_secs(10);
    let pid = loop {
        let text = std::fs::read_to_string(stand.path(mark)).unwrap_or_default();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(Instant::now() < until, "the program never said its number");
        std::thread::yield_now();
    };
    while cfg!(target_os = "linux") && alive(&pid) {
        assert!(Instant::now() < until, "{pid} is still there");
        std::thread::yield_now();
    }
}

/// One that has ended and that nobody has asked about yet does not run.
fn alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// A program that starts another, says its number, and stays.
fn parent(stand: &Stand, mark: &str) -> String {
    let path = json!(stand.path(mark));
    format!("'sh', ['-c', 'sleep 600 & echo $! > \"$1\"; sleep 600', 'sh', {path}]")
}

#[test]
fn a_timeout_takes_what_the_program_started_with_it() {
    let stand = Stand::new();
    let code = format!(
        "const r = spawnSync({}, {{ timeout: 500 }}); return {{ code: r.error.code, signal: r.signal, status: r.status }};",
        parent(&stand, "sync")
    );
    let expected = json!({"code": "ETIMEDOUT", "signal": "SIGTERM", "status": null});
    assert_eq!(result(&stand, &code), expected);
    gone(&stand, "sync");
    let code = format!(
        "const c = spawn({}, {{ timeout: 500 }}); return await new Promise((r) => c.on('close', (code, signal) => r({{ code, signal, killed: c.killed }})));",
        parent(&stand, "beside")
    );
    assert_eq!(result(&stand, &code), json!({"code": null, "signal": "SIGTERM", "killed": true}));
    gone(&stand, "beside");
}

#[test]
fn what_made_a_session_of_its_own_ends_as_well() {
    let hermit =
        |stand: &Stand, mark: &str| parent(stand, mark).replacen("sleep", "setsid sleep", 1);
    let stand = Stand::new();
    let ways = [
        ("sync", "spawnSync(PROGRAM, { timeout: 500 });"),
        (
            "beside",
            "const c = spawn(PROGRAM, { timeout: 500 }); await new Promise((r) => c.on('close', r));",
        ),
        ("exec", "await pi.exec(PROGRAM, { timeout: 500 });"),
    ];
    for (mark, code) in ways {
        let code = code.replace("PROGRAM", &hermit(&stand, mark));
        assert_eq!(
            result(&stand, &format!("{code} return {{ mark: '{mark}' }};")),
            json!({"mark": mark})
        );
        gone(&stand, mark);
    }
    let stand = Stand { timeout: Duration::from_secs(3), ..Stand::new() };
    for (mark, call) in [("late", "spawn"), ("late exec", "pi.exec")] {
        let program = hermit(&stand, mark);
        let code = format!("{call}({program}); await new Promise((r) => setTimeout(r, 1e9));");
        assert_eq!(handler(&stand, &code).end, End::TimedOut);
        gone(&stand, mark);
    }
}

#[test]
fn a_program_that_ignores_the_signal_is_killed() {
    let stand = Stand::new();
    let outcome = handler(
        &stand,
        "const r = spawnSync('sh', ['-c', 'trap \"\" TERM; while :; do sleep 0.05; done'], { timeout: 200 }); return { code: r.error.code, signal: r.signal };",
    );
    assert!(outcome.elapsed < Duration::from_secs(15), "{:?}", outcome.elapsed);
    let expected = json!({"code": "ETIMEDOUT", "signal": "SIGKILL"});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn what_a_late_module_started_ends_with_it() {
    let stand = Stand { timeout: Duration::from_millis(800), ..Stand::new() };
    let path = json!(stand.path("late"));
    let code = format!(
        "const c = spawn({}, {{ detached: true, stdio: 'ignore' }}); c.unref(); while (!fs.existsSync({path})) await new Promise((r) => setTimeout(r, 5)); await new Promise(() => {{ setInterval(() => {{}}, 50); }});",
        parent(&stand, "late")
    );
    assert_eq!(handler(&stand, &code).end, End::TimedOut);
    gone(&stand, "late");
}

#[test]
fn whoever_waits_on_the_spot_past_the_deadline_is_late_whatever_it_says_then() {
    let codes = [
        "spawnSync('sleep', ['600']);",
        "try { execSync('sleep 600') } catch {} return { fine: true };",
        "await null; spawnSync('sleep', ['600']); return { fine: true };",
        "await new Promise((r) => setTimeout(() => { spawnSync('sleep', ['600']); r(0); }, 1));",
    ];
    for asks in [false, true] {
        let ask = |_: &gambrel_script::Ask| None;
        let ask = asks.then(|| std::sync::Arc::new(ask) as gambrel_script::Asker);
        let settings = gambrel_script::ScriptSettings { ask, ..Default::default() };
        let stand = Stand { timeout: Duration::from_millis(300), ..Stand::with(settings) };
        for code in codes {
            let outcome = handler(&stand, code);
            assert_eq!(outcome.end, End::TimedOut, "{code}");
            assert!(outcome.elapsed < Duration::from_secs(20), "{code}");
        }
        let sync =
            "pi.on('tool_call', () => { require('child_process').spawnSync('sleep', ['600']) });";
        assert_eq!(stand.body(sync).end, End::TimedOut);
    }
}

#[test]
fn what_still_runs_ends_with_the_engine() {
    let stand = Stand::new();
    let path = json!(stand.path("kept"));
    let code = format!(
        "spawn({}, {{ detached: true, stdio: 'ignore' }}).unref(); while (!fs.existsSync({path})) await new Promise((r) => setTimeout(r, 5)); return {{ fine: true }};",
        parent(&stand, "kept")
    );
    assert_eq!(result(&stand, &code), json!({"fine": true}));
    stand.action.close();
    gone(&stand, "kept");
}

#[test]
fn a_stream_that_somebody_else_holds_is_not_waited_for() {
    let stand = Stand::new();
    let outcome = handler(
        &stand,
        "const a = spawnSync('sh', ['-c', 'sleep 600 & echo hi'], { encoding: 'utf8' });
         const c = spawn('sh', ['-c', 'sleep 600 & echo ho']); let out = ''; c.stdout.on('data', (d) => (out += d));
         await new Promise((r) => c.on('close', r)); return { a: a.stdout, status: a.status, out };",
    );
    assert!(outcome.elapsed < Duration::from_secs(15), "{:?}", outcome.elapsed);
    let expected = json!({"a": "hi\n", "status": 0, "out": "ho\n"});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn output_without_end_meets_a_cap() {
    let stand = Stand::new();
    let result = result(
        &stand,
        "const r = spawnSync('yes', { maxBuffer: Infinity }); const s = spawnSync('yes');
         const e: any = await new Promise((r) => exec('yes', (err) => r(err)));
         return { n: r.stdout.length, code: r.error.code, m: s.stdout.length, small: s.error.code, e: e.code };",
    );
    let expected = json!({"n": 16 << 20, "code": "ENOBUFS", "m": 1 << 20, "small": "ENOBUFS",
                          "e": "ERR_CHILD_PROCESS_STDIO_MAXBUFFER"});
    assert_eq!(result, expected);
}

#[test]
fn what_is_inherited_becomes_a_log_and_input_is_empty() {
    let stand = Stand::new();
    let outcome = handler(
        &stand,
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
