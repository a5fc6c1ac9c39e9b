//! `process.kill`: one process, a group, or only the question whether somebody is there; in Node's
//! words when it fails, and never a signal that reaches the host.

use serde_json::json;

use crate::stand::Stand;
use crate::twin::{embedded, probe};

#[test]
fn a_group_is_ended_by_the_number_of_its_leader() {
    let told = probe(
        "import { spawn } from 'node:child_process';
export const probe = async () => {
  const c = spawn('sh', ['-c', 'sleep 600 & wait'], { detached: true, stdio: 'ignore' });
  const there = process.kill(-c.pid, 0);
  const sent = process.kill(-c.pid, 'SIGTERM');
  const ended = await new Promise((done) => c.on('close', (...how) => done(how)));
  return [there, sent, ended, process.kill(process.pid, 0), process.kill(`${process.pid}`, 0), process.kill(0, 0)];
};",
    );
    assert_eq!(told, json!([true, true, [null, "SIGTERM"], true, true, true]));
}

#[test]
fn what_is_no_process_or_signal_is_told_as_node_tells_it() {
    let told = probe(
        "const of = (...args) => { try { return process.kill(...args); } catch (e) { return [e.name, e.message, e.code, e.errno, e.syscall, Object.keys(e).includes('path')]; } };
export const probe = () => [
  of(2 ** 30), of(-(2 ** 30)), of(2 ** 30, 0), of(-(2 ** 31), 0), of(2 ** 31 - 1, 'SIGKILL'),
  of('x'), of(undefined), of(null), of({}), of(NaN), of(1.5), of(2 ** 40), of(-(2 ** 40)), of(Infinity),
  of(2 ** 30, 'SIGNOTHING'), of(process.pid, 12345), of(process.pid, -1), of(2 ** 30, 'SIGWINCH'),
];",
    );
    let nobody = json!(["Error", "kill ESRCH", "ESRCH", -3, "kill", false]);
    assert_eq!((&told[0], &told[1], &told[3]), (&nobody, &nobody, &nobody));
    assert_eq!(told[5][2], "ERR_INVALID_ARG_TYPE");
    assert_eq!(told[14][2], "ERR_UNKNOWN_SIGNAL");
}

#[test]
fn the_host_is_out_of_reach() {
    let told = embedded(
        "const of = (...args) => { try { return process.kill(...args); } catch (e) { return e.message; } };
export const probe = () => [of(process.pid), of(0, 'SIGKILL'), of(0), of(-1, 'SIGTERM'), of(-process.pid)];",
    );
    assert_eq!(told, json!(vec!["a hook may not end its host"; 5]));
}

#[test]
fn a_timeout_beyond_all_clocks_is_none() {
    let stand = Stand::new();
    let outcome = stand.handler(
        "return Promise.all([1e300, -1e300, 1e16, NaN, -0].map((timeout) => pi.exec('printf', ['x'], { timeout }).then((r) => r.stdout)));",
    );
    assert_eq!(outcome.answer.unwrap()["results"][0], json!(["x", "x", "x", "x", "x"]));
}
