//! sh is sh, bash is bash, and a script without its first line is a shell script.

use gambrel_model::{End, Program, Shell};

use crate::stand::{Stand, text};

#[test]
fn runs_in_the_shell_that_was_asked_for() {
    let stand = Stand::new();
    let run = |shell| {
        let text = "echo ${BASH_VERSION:+bash}; exit 5".to_owned();
        stand.run(&stand.call(Program::Shell { shell, text }))
    };
    let outcome = run(Shell::Sh);
    assert_eq!(outcome.command[..2], ["/bin/sh", "-c"]);
    assert_eq!(outcome.end, End::Exited(5));
    let outcome = run(Shell::BashOrSh);
    assert_eq!(outcome.end, End::Exited(5));
    if outcome.command[0].ends_with("/bash") {
        assert_eq!(text(&outcome), "bash\n");
        assert_eq!(text(&run(Shell::Bash)), "bash\n");
    } else {
        eprintln!("SKIPPED a part: bash is not installed");
    }
    stand.nobody_is_left();
}

#[test]
fn falls_back_to_sh_without_bash() {
    let stand = Stand::new();
    let text = "echo a$((1 + 1))".to_owned();
    let mut call = stand.call(Program::Shell { shell: Shell::BashOrSh, text });
    call.env.push(("PATH".to_owned(), stand.path("empty").display().to_string()));
    let outcome = stand.run(&call);
    assert_eq!((outcome.command[0].as_str(), outcome.stdout.text().as_str()), ("/bin/sh", "a2\n"));
    stand.nobody_is_left();
}

#[test]
fn executes_a_script_without_its_first_line() {
    let stand = Stand::new();
    stand.script("plain script", "echo \"got $1\"\n");
    let outcome = stand.run(&stand.exec(&["./plain script", "a b"]));
    assert_eq!(text(&outcome), "got a b\n", "{outcome:?}");
    assert_eq!(outcome.command, ["/bin/sh", "./plain script", "a b"]);
    stand.nobody_is_left();
}
