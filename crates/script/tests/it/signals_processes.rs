//! `process.kill` signals a process or a group, or tests for it. Errors match Node's, and no signal
//! reaches the host.

use serde_json::json;

use crate::module_dir::ModuleDir;
use crate::node_oracle::{probe, probe_embedded};

#[test]
fn kills_a_group_by_its_negative_id() {
    let result = probe(
        "import { spawn } from 'node:child_process';
export const probe = async () => {
  const c = spawn('sh', ['-c', 'sleep 600 & wait'], { detached: true, stdio: 'ignore' });
  const there = process.kill(-c.pid, 0);
  const sent = process.kill(-c.pid, 'SIGTERM');
  const ended = await new Promise((done) => c.on('close', (...how) => done(how)));
  return [there, sent, ended, process.kill(process.pid, 0), process.kill(`${process.pid}`, 0), process.kill(0, 0)];
};",
    );
    assert_eq!(result, json!([true, true, [null, "SIGTERM"], true, true, true]));
}

#[test]
fn invalid_targets_fail_as_in_node() {
    let result = probe(
        "const of = (...args) => { try { return process.kill(...args); } catch (e) { return [e.name, e.message, e.code, e.errno, e.syscall, Object.keys(e).includes('path')]; } };
export const probe = () => [
  of(2 ** 30), of(-(2 ** 30)), of(2 ** 30, 0), of(-(2 ** 31), 0), of(2 ** 31 - 1, 'SIGKILL'),
  of('x'), of(undefined), of(null), of({}), of(NaN), of(1.5), of(2 ** 40), of(-(2 ** 40)), of(Infinity),
  of(2 ** 30, 'SIGNOTHING'), of(process.pid, 12345), of(process.pid, -1), of(2 ** 30, 'SIGWINCH'),
];",
    );
    let nobody = json!(["Error", "kill ESRCH", "ESRCH", -3, "kill", false]);
    assert_eq!((&result[0], &result[1], &result[3]), (&nobody, &nobody, &nobody));
    assert_eq!(result[5][2], "ERR_INVALID_ARG_TYPE");
    assert_eq!(result[14][2], "ERR_UNKNOWN_SIGNAL");
}

#[test]
fn cannot_kill_the_host() {
    let result = probe_embedded(
        "const of = (...args) => { try { return process.kill(...args); } catch (e) { return e.message; } };
export const probe = () => [of(process.pid), of(0, 'SIGKILL'), of(0), of(-1, 'SIGTERM'), of(-process.pid)];",
    );
    assert_eq!(result, json!(vec!["a hook may not end its host"; 5]));
}

#[test]
fn ignores_unrepresentable_timeouts() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler(
        "return Promise.all([1e300, -1e300, 1e16, NaN, -0].map((timeout) => pi.exec('printf', ['x'], { timeout }).then((r) => r.stdout)));",
    );
    assert_eq!(outcome.answer.unwrap()["results"][0], json!(["x", "x", "x", "x", "x"]));
}
