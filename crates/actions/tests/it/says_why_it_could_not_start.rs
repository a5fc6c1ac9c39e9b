//! What cannot be started is never taken for a hook that said something.

use gambrel_model::{End, Program, Shell};

use crate::stand::{Stand, unstarted};

#[test]
fn a_program_that_is_missing() {
    let stand = Stand::new();
    let outcome = stand.run(&stand.exec(&["no-such-program-anywhere", "x"]));
    assert!(unstarted(&outcome).contains("no-such-program-anywhere was not found on the PATH"));
    let outcome = stand.run(&stand.exec(&["./not-there"]));
    assert!(unstarted(&outcome).contains("./not-there"), "{outcome:?}");
    assert_eq!(stand.run(&stand.exec(&[])).attempts, 1);
    let outcome = stand.run(&stand.call(Program::None));
    assert!(unstarted(&outcome).contains("nothing to start"));
    stand.nobody_is_left();
}

#[test]
fn a_file_that_is_not_executable() {
    let stand = Stand::new();
    std::fs::write(stand.path("plain"), "echo hi").unwrap();
    let outcome = stand.run(&stand.exec(&["./plain"]));
    assert!(unstarted(&outcome).contains("ermission denied"), "{outcome:?}");
    // A shell says it in its own way.
    assert_eq!(stand.run(&stand.sh("./plain")).end, End::Exited(126));
    assert_eq!(stand.run(&stand.sh("./absent")).end, End::Exited(127));
    stand.nobody_is_left();
}

#[test]
fn a_script_whose_interpreter_is_missing() {
    let stand = Stand::new();
    stand.script("odd", "#!/no/such/interpreter\n");
    let outcome = stand.run(&stand.exec(&["./odd"]));
    assert!(unstarted(&outcome).contains("its interpreter was not found"), "{outcome:?}");
    stand.nobody_is_left();
}

#[test]
fn a_folder_that_does_not_exist() {
    let stand = Stand::new();
    for mut call in [stand.sh("echo a | cat"), stand.sh("ls"), stand.exec(&["ls"])] {
        call.cwd = stand.path("nowhere");
        let outcome = stand.run(&call);
        assert!(unstarted(&outcome).contains("nowhere to run in does not exist"), "{outcome:?}");
    }
    stand.nobody_is_left();
}

#[test]
fn a_variable_that_the_kernel_refuses() {
    let stand = Stand::new();
    for (value, reason) in [
        ("x".repeat(131_072), "the variable LARGE is too long"),
        ("x".repeat(131_066), "the variable LARGE is too long"),
        ("a\0b".to_owned(), "the variable LARGE contains a NUL"),
    ] {
        let mut call = stand.sh("true");
        call.env.push(("LARGE".to_owned(), value));
        let outcome = stand.run(&call);
        assert!(unstarted(&outcome).starts_with(reason), "{outcome:?}");
    }
    let mut call = stand.sh("printf %s \"$LARGE\" | wc -c");
    call.env.push(("LARGE".to_owned(), "x".repeat(131_065)));
    assert_eq!(stand.run(&call).stdout.text().trim(), "131065");
    let mut call = stand.sh("true");
    call.env.extend((0..40).map(|index| (format!("V{index}"), "x".repeat(131_000))));
    let outcome = stand.run(&call);
    assert!(unstarted(&outcome).contains("together are too long"), "{outcome:?}");
    stand.nobody_is_left();
}

#[test]
fn a_shell_that_is_not_installed() {
    let stand = Stand::new();
    for shell in [Shell::Bash, Shell::PowerShell] {
        let mut call = stand.call(Program::Shell { shell, text: "echo 'a' | cat".to_owned() });
        call.env.push(("PATH".to_owned(), stand.path("empty").display().to_string()));
        let outcome = stand.run(&call);
        assert!(unstarted(&outcome).starts_with("the hook asks for "), "{outcome:?}");
    }
    stand.nobody_is_left();
}
