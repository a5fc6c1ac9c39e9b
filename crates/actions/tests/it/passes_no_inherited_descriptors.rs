//! Open files of this process and its caller are not open in a hook.

use std::fs;
use std::process::{Command, Stdio};

use crate::hook_fixture::{HookFixture, host_program, stdout_text};

/// Builtins only: a shell that starts a program briefly has other descriptors.
const LIST: &str =
    "n=0; while [ $n -lt 100 ]; do [ -e /proc/$$/fd/$n ] && printf '%s ' $n; n=$((n + 1)); done";

#[test]
fn passes_no_inherited_descriptors() {
    let fixture = HookFixture::new();
    assert_eq!(stdout_text(&fixture.run(&fixture.sh_call(LIST))), "0 1 2 ");
    fixture.assert_no_processes_left();
}

#[test]
fn passes_no_descriptors_of_the_caller() {
    let fixture = HookFixture::new();
    let call = fixture.path("call.json");
    fs::write(&call, serde_json::to_vec(&fixture.sh_call(LIST)).unwrap()).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" run \"$1\" 5</dev/null 7>/dev/null 9>&1"]);
    command.arg(host_program()).arg(fixture.path("outcome")).env("CALL_FILE", call);
    assert!(command.stdin(Stdio::null()).status().unwrap().success());
    assert_eq!(stdout_text(&fixture.wait_for_outcome(&fixture.path("outcome"))), "0 1 2 ");
    fixture.assert_no_processes_left();
}

#[test]
fn runs_for_a_caller_without_stdio() {
    let fixture = HookFixture::new();
    let call = fixture.path("call.json");
    let mut wanted = fixture.sh_call(&format!("cat; echo out; echo err >&2; {LIST}"));
    wanted.stdin = Some(b"in\n".to_vec().into());
    fs::write(&call, serde_json::to_vec(&wanted).unwrap()).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" run \"$1\" <&- >&- 2>&-"]);
    command.arg(host_program()).arg(fixture.path("outcome")).env("CALL_FILE", call);
    assert!(command.status().unwrap().success());
    let outcome = fixture.wait_for_outcome(&fixture.path("outcome"));
    assert_eq!(stdout_text(&outcome), "in\nout\n0 1 2 ");
    assert_eq!(outcome.stderr.to_text(), "err\n");
    fixture.assert_no_processes_left();
}
