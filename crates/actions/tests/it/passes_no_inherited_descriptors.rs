//! What we or our caller have open is not open in a hook.

use std::fs;
use std::process::{Command, Stdio};

use crate::stand::{Stand, host, text};

/// Builtins only: a shell that starts something has descriptors of its own for a moment.
const LIST: &str =
    "n=0; while [ $n -lt 100 ]; do [ -e /proc/$$/fd/$n ] && printf '%s ' $n; n=$((n + 1)); done";

#[test]
fn passes_no_inherited_descriptors() {
    let stand = Stand::new();
    assert_eq!(text(&stand.run(&stand.sh(LIST))), "0 1 2 ");
    stand.nobody_is_left();
}

#[test]
fn passes_nothing_of_our_caller() {
    let stand = Stand::new();
    let call = stand.path("call.json");
    fs::write(&call, serde_json::to_vec(&stand.sh(LIST)).unwrap()).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" run \"$1\" 5</dev/null 7>/dev/null 9>&1"]);
    command.arg(host()).arg(stand.path("outcome")).env("CALL_FILE", call);
    assert!(command.stdin(Stdio::null()).status().unwrap().success());
    assert_eq!(text(&stand.outcome(&stand.path("outcome"))), "0 1 2 ");
    stand.nobody_is_left();
}

#[test]
fn runs_for_a_caller_without_any_stream() {
    let stand = Stand::new();
    let call = stand.path("call.json");
    let mut wanted = stand.sh(&format!("cat; echo out; echo err >&2; {LIST}"));
    wanted.stdin = Some(b"in\n".to_vec());
    fs::write(&call, serde_json::to_vec(&wanted).unwrap()).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" run \"$1\" <&- >&- 2>&-"]);
    command.arg(host()).arg(stand.path("outcome")).env("CALL_FILE", call);
    assert!(command.status().unwrap().success());
    let outcome = stand.outcome(&stand.path("outcome"));
    assert_eq!(text(&outcome), "in\nout\n0 1 2 ");
    assert_eq!(outcome.stderr.text(), "err\n");
    stand.nobody_is_left();
}
