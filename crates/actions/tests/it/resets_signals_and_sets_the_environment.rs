//! A hook starts with default signals and exactly the environment of its call.

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn resets_signals() {
    let fixture = HookFixture::new();
    let outcome =
        fixture.run(&fixture.exec_call(&["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"]));
    for line in stdout_text(&outcome).lines() {
        let mask = line.split_whitespace().last().unwrap();
        // 32 and 33 belong to the C library's threads; some versions leave them ignored.
        let mask = u64::from_str_radix(mask, 16).unwrap() & !(0b11 << 31);
        assert_eq!(mask, 0, "{line}");
    }
    assert_eq!(stdout_text(&outcome).lines().count(), 2);
    fixture.assert_no_processes_left();
}

#[test]
fn sets_and_unsets_variables() {
    let fixture = HookFixture::new();
    let mut call =
        fixture.sh_call("env | grep -E '^(HOME|NEW|PATH|PWD)=' | sort; echo ${HOME-none}");
    call.remove_env = vec!["HOME".to_owned()];
    call.env.push(("NEW".to_owned(), "first".to_owned()));
    call.env.push(("NEW".to_owned(), "a 'b' \"c\" $d\ne=f".to_owned()));
    let shown = stdout_text(&fixture.run(&call));
    assert!(shown.contains("NEW=a 'b' \"c\" $d\n"), "{shown}");
    assert!(shown.contains(&format!("PATH={}\n", std::env::var("PATH").unwrap())));
    assert!(shown.contains(&format!("PWD={}\n", fixture.dir.path().display())));
    assert!(shown.ends_with("none\n") && !shown.contains("HOME="));
    fixture.assert_no_processes_left();
}

#[test]
fn reports_the_signal_that_killed_a_hook() {
    let fixture = HookFixture::new();
    assert_eq!(fixture.run(&fixture.sh_call("kill -9 $$")).end, End::Signalled(9));
    assert_eq!(fixture.run(&fixture.sh_call("exit 2")).end, End::Exited(2));
    fixture.assert_no_processes_left();
}
