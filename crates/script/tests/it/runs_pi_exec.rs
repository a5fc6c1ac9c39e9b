//! `pi.exec`: arguments are data, no shell, no stdin, a timeout that kills the whole group.

use std::time::Duration;

use serde_json::json;

use crate::module_dir::ModuleDir;

#[test]
fn passes_arguments_without_a_shell() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler("return pi.exec('printf', ['%s|', 'a b', '$(id)', \"'\"]);");
    let expected = json!({"stdout": "a b|$(id)|'|", "stderr": "", "code": 0, "killed": false});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn returns_streams_and_exit_code() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler(
        "return pi.exec('sh', ['-c', 'cat; pwd; echo err >&2; exit 3'], { cwd: '/usr' });",
    );
    let expected = json!({"stdout": "/usr\n", "stderr": "err\n", "code": 3, "killed": false});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn rejects_a_missing_program() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler(
        "try { await pi.exec('no-such-program-here', []); } catch (e) { return { code: e.code, error: e instanceof Error, syscall: e.syscall }; }",
    );
    let expected =
        json!({"code": "ENOENT", "error": true, "syscall": "spawn no-such-program-here"});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn kills_on_timeout_and_abort() {
    let dir = ModuleDir::new();
    for how in [
        "return pi.exec('sh', ['-c', 'sleep 600 & sleep 600'], { timeout: 50 });",
        "const c = new AbortController(); setTimeout(() => c.abort(), 30); return pi.exec('sleep', ['600'], { signal: c.signal });",
        "return pi.exec('sleep', ['600'], { signal: AbortSignal.abort() });",
    ] {
        let outcome = dir.run_handler(how);
        assert!(outcome.elapsed < Duration::from_secs(4), "{:?}", outcome.elapsed);
        let result = outcome.answer.unwrap()["results"][0].clone();
        assert_eq!((&result["killed"], &result["code"]), (&json!(true), &json!(0)), "{how}");
    }
}

#[test]
fn a_foreign_signal_is_code_0_and_killed() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler("return pi.exec('sh', ['-c', 'echo begun; kill -SEGV $$']);");
    let expected = json!({"stdout": "begun\n", "stderr": "", "code": 0, "killed": true});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn limits_the_output() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler("const r = await pi.exec('sh', ['-c', 'head -c 200000000 /dev/zero']); return { n: r.stdout.length };");
    assert_eq!(outcome.answer.unwrap()["results"][0], json!({"n": 4 << 20}));
}

#[test]
fn kills_programs_of_a_module_that_timed_out() {
    let dir = ModuleDir { timeout: Duration::from_millis(1500), ..ModuleDir::new() };
    let mark = dir.path("pid");
    let code = format!(
        "await pi.exec('sh', ['-c', 'echo $$ > \"$1\"; exec sleep 600', 'sh', {}]);",
        json!(mark)
    );
    dir.run_handler(&code);
    wait_until_gone(&mark);
}

#[test]
fn close_kills_programs_left_running() {
    let dir = ModuleDir::new();
    let mark = dir.path("pid");
    let code = format!(
        "pi.exec('sh', ['-c', 'echo $$ > \"$1\"; exec sleep 600', 'sh', {}]); await pi.exec('sh', ['-c', 'until test -s \"$1\"; do sleep 0.01; done', 'sh', {}]);",
        json!(mark),
        json!(mark)
    );
    assert_eq!(dir.run_handler(&code).answer.unwrap()["errors"], json!([]));
    dir.action.close();
    wait_until_gone(&mark);
}

/// Waits until the process whose id is in the file has ended.
fn wait_until_gone(mark: &std::path::Path) {
    let pid: i32 = std::fs::read_to_string(mark).unwrap().trim().parse().unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(5);
    while std::path::Path::new(&format!("/proc/{pid}")).exists() && cfg!(target_os = "linux") {
        assert!(std::time::Instant::now() < until, "the program is still there");
        std::thread::yield_now();
    }
}

#[test]
fn reports_a_thousand_failures_at_once() {
    let dir = ModuleDir::new();
    let code = "const all = await Promise.allSettled(Array.from({ length: 1000 }, () => pi.exec('no-such-program-here'))); return { n: all.filter(x => x.status === 'rejected').length };";
    assert_eq!(dir.run_handler(code).answer.unwrap()["results"][0], json!({"n": 1000}));
}
