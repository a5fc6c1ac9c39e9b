//! `pi.exec`: arguments are data, no shell, no stdin, a timeout that kills the whole group.

use std::time::Duration;

use serde_json::json;

use crate::stand::Stand;

#[test]
fn arguments_are_data() {
    let stand = Stand::new();
    let outcome = stand.handler("return pi.exec('printf', ['%s|', 'a b', '$(id)', \"'\"]);");
    let expected = json!({"stdout": "a b|$(id)|'|", "stderr": "", "code": 0, "killed": false});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn streams_codes_folder_and_an_empty_stdin() {
    let stand = Stand::new();
    let outcome = stand.handler(
        "return pi.exec('sh', ['-c', 'cat; pwd; echo err >&2; exit 3'], { cwd: '/usr' });",
    );
    let expected = json!({"stdout": "/usr\n", "stderr": "err\n", "code": 3, "killed": false});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn a_program_that_is_not_there_rejects() {
    let stand = Stand::new();
    let outcome = stand.handler(
        "try { await pi.exec('no-such-program-here', []); } catch (e) { return { code: e.code, error: e instanceof Error, syscall: e.syscall }; }",
    );
    let expected =
        json!({"code": "ENOENT", "error": true, "syscall": "spawn no-such-program-here"});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn a_timeout_and_an_abort_kill() {
    let stand = Stand::new();
    for how in [
        "return pi.exec('sh', ['-c', 'sleep 600 & sleep 600'], { timeout: 50 });",
        "const c = new AbortController(); setTimeout(() => c.abort(), 30); return pi.exec('sleep', ['600'], { signal: c.signal });",
        "return pi.exec('sleep', ['600'], { signal: AbortSignal.abort() });",
    ] {
        let outcome = stand.handler(how);
        assert!(outcome.elapsed < Duration::from_secs(4), "{:?}", outcome.elapsed);
        let result = outcome.answer.unwrap()["results"][0].clone();
        assert_eq!((&result["killed"], &result["code"]), (&json!(true), &json!(0)), "{how}");
    }
}

#[test]
fn a_death_by_somebody_elses_signal_is_code_0_and_killed() {
    let stand = Stand::new();
    let outcome = stand.handler("return pi.exec('sh', ['-c', 'echo begun; kill -SEGV $$']);");
    let expected = json!({"stdout": "begun\n", "stderr": "", "code": 0, "killed": true});
    assert_eq!(outcome.answer.unwrap()["results"][0], expected);
}

#[test]
fn a_gigabyte_of_output_is_capped() {
    let stand = Stand::new();
    let outcome = stand.handler("const r = await pi.exec('sh', ['-c', 'head -c 200000000 /dev/zero']); return { n: r.stdout.length };");
    assert_eq!(outcome.answer.unwrap()["results"][0], json!({"n": 4 << 20}));
}

#[test]
fn what_a_late_module_started_ends_with_it() {
    let stand = Stand { timeout: Duration::from_millis(1500), ..Stand::new() };
    let mark = stand.path("pid");
    let code = format!(
        "await pi.exec('sh', ['-c', 'echo $$ > \"$1\"; exec sleep 600', 'sh', {}]);",
        json!(mark)
    );
    stand.handler(&code);
    ends(&mark);
}

#[test]
fn what_a_module_left_running_ends_when_the_action_closes() {
    let stand = Stand::new();
    let mark = stand.path("pid");
    let code = format!(
        "pi.exec('sh', ['-c', 'echo $$ > \"$1\"; exec sleep 600', 'sh', {}]); await pi.exec('sh', ['-c', 'until test -s \"$1\"; do sleep 0.01; done', 'sh', {}]);",
        json!(mark),
        json!(mark)
    );
    assert_eq!(stand.handler(&code).answer.unwrap()["errors"], json!([]));
    stand.action.close();
    ends(&mark);
}

/// Waits until the process whose number is in the file has gone.
fn ends(mark: &std::path::Path) {
    let pid: i32 = std::fs::read_to_string(mark).unwrap().trim().parse().unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(5);
    while std::path::Path::new(&format!("/proc/{pid}")).exists() && cfg!(target_os = "linux") {
        assert!(std::time::Instant::now() < until, "the program is still there");
        std::thread::yield_now();
    }
}

#[test]
fn a_thousand_failures_at_once_are_all_told() {
    let stand = Stand::new();
    let code = "const all = await Promise.allSettled(Array.from({ length: 1000 }, () => pi.exec('no-such-program-here'))); return { n: all.filter(x => x.status === 'rejected').length };";
    assert_eq!(stand.handler(code).answer.unwrap()["results"][0], json!({"n": 1000}));
}
