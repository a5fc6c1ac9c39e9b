//! A failed start is reported with its reason, never as a hook's answer.

use gambrel_model::{End, Program, Shell};

use crate::hook_fixture::{HookFixture, start_failure};

#[test]
fn reports_a_missing_program() {
    let fixture = HookFixture::new();
    let outcome = fixture.run(&fixture.exec_call(&["no-such-program-anywhere", "x"]));
    assert!(
        start_failure(&outcome).contains("`no-such-program-anywhere` was not found on the PATH")
    );
    let outcome = fixture.run(&fixture.exec_call(&["./not-there"]));
    assert!(start_failure(&outcome).contains("./not-there"), "{outcome:?}");
    assert_eq!(fixture.run(&fixture.exec_call(&[])).attempts, 1);
    let outcome = fixture.run(&fixture.call(Program::None));
    assert!(start_failure(&outcome).contains("nothing to start"));
    fixture.assert_no_processes_left();
}

#[test]
fn reports_a_file_that_is_not_executable() {
    let fixture = HookFixture::new();
    std::fs::write(fixture.path("plain"), "echo hi").unwrap();
    let outcome = fixture.run(&fixture.exec_call(&["./plain"]));
    assert!(start_failure(&outcome).contains("ermission denied"), "{outcome:?}");
    // A shell reports it by its exit code.
    assert_eq!(fixture.run(&fixture.sh_call("./plain")).end, End::Exited(126));
    assert_eq!(fixture.run(&fixture.sh_call("./absent")).end, End::Exited(127));
    fixture.assert_no_processes_left();
}

#[test]
fn reports_a_missing_interpreter() {
    let fixture = HookFixture::new();
    fixture.write_script("odd", "#!/no/such/interpreter\n");
    let outcome = fixture.run(&fixture.exec_call(&["./odd"]));
    assert!(start_failure(&outcome).contains("its interpreter was not found"), "{outcome:?}");
    fixture.assert_no_processes_left();
}

#[test]
fn reports_a_missing_directory() {
    let fixture = HookFixture::new();
    for mut call in
        [fixture.sh_call("echo a | cat"), fixture.sh_call("ls"), fixture.exec_call(&["ls"])]
    {
        call.cwd = fixture.path("nowhere");
        let outcome = fixture.run(&call);
        assert!(start_failure(&outcome).contains("nowhere` does not exist"), "{outcome:?}");
    }
    fixture.assert_no_processes_left();
}

#[test]
fn reports_invalid_variables() {
    let fixture = HookFixture::new();
    for (value, reason) in [
        ("x".repeat(131_072), "the variable `LARGE` is too long"),
        ("x".repeat(131_066), "the variable `LARGE` is too long"),
        ("a\0b".to_owned(), "the variable `LARGE` contains a NUL"),
    ] {
        let mut call = fixture.sh_call("true");
        call.env.push(("LARGE".to_owned(), value));
        let outcome = fixture.run(&call);
        assert!(start_failure(&outcome).starts_with(reason), "{outcome:?}");
    }
    let mut call = fixture.sh_call("printf %s \"$LARGE\" | wc -c");
    call.env.push(("LARGE".to_owned(), "x".repeat(131_065)));
    assert_eq!(fixture.run(&call).stdout.to_text().trim(), "131065");
    let mut call = fixture.sh_call("true");
    call.env.extend((0..40).map(|index| (format!("V{index}"), "x".repeat(131_000))));
    let outcome = fixture.run(&call);
    assert!(start_failure(&outcome).contains("together are too long"), "{outcome:?}");
    fixture.assert_no_processes_left();
}

#[test]
fn reports_a_missing_shell() {
    let fixture = HookFixture::new();
    for shell in [Shell::Bash, Shell::PowerShell] {
        let mut call = fixture.call(Program::Shell { shell, text: "echo 'a' | cat".to_owned() });
        call.env.push(("PATH".to_owned(), fixture.path("empty").display().to_string()));
        let outcome = fixture.run(&call);
        assert!(start_failure(&outcome).starts_with("the hook needs "), "{outcome:?}");
    }
    fixture.assert_no_processes_left();
}
