//! Each shell is the requested one, and a script without a `#!` line runs in `/bin/sh`.

use gambrel_model::{End, Program, Shell};

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn runs_in_the_requested_shell() {
    let fixture = HookFixture::new();
    let run = |shell| {
        let text = "echo ${BASH_VERSION:+bash}; exit 5".to_owned();
        fixture.run(&fixture.call(Program::Shell { shell, text }))
    };
    let outcome = run(Shell::Sh);
    assert_eq!(outcome.command[..2], ["/bin/sh", "-c"]);
    assert_eq!(outcome.end, End::Exited(5));
    let outcome = run(Shell::BashOrSh);
    assert_eq!(outcome.end, End::Exited(5));
    if outcome.command[0].ends_with("/bash") {
        assert_eq!(stdout_text(&outcome), "bash\n");
        assert_eq!(stdout_text(&run(Shell::Bash)), "bash\n");
    } else {
        eprintln!("SKIPPED a part: bash is not installed");
    }
    fixture.assert_no_processes_left();
}

#[test]
fn falls_back_to_sh_without_bash() {
    let fixture = HookFixture::new();
    let text = "echo a$((1 + 1))".to_owned();
    let mut call = fixture.call(Program::Shell { shell: Shell::BashOrSh, text });
    call.env.push(("PATH".to_owned(), fixture.path("empty").display().to_string()));
    let outcome = fixture.run(&call);
    assert_eq!(
        (outcome.command[0].as_str(), outcome.stdout.to_text().as_str()),
        ("/bin/sh", "a2\n")
    );
    fixture.assert_no_processes_left();
}

#[test]
fn runs_a_script_without_a_shebang() {
    let fixture = HookFixture::new();
    fixture.write_script("plain script", "echo \"got $1\"\n");
    let outcome = fixture.run(&fixture.exec_call(&["./plain script", "a b"]));
    assert_eq!(stdout_text(&outcome), "got a b\n", "{outcome:?}");
    assert_eq!(outcome.command, ["/bin/sh", "./plain script", "a b"]);
    fixture.assert_no_processes_left();
}
