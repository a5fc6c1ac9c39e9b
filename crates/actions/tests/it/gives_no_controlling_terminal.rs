//! A hook has its own session, without a terminal.

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn gives_no_controlling_terminal() {
    let fixture = HookFixture::new();
    let outcome = fixture.run(&fixture.sh_call(
        "(: </dev/tty) 2>/dev/null && echo terminal; set -- $(cut -d')' -f2- /proc/$$/stat); echo $$ $3 $4 $5",
    ));
    let text = stdout_text(&outcome);
    let words: Vec<&str> = text.split_whitespace().collect();
    let [pid, group, session, terminal] = words.as_slice() else { panic!("{text}") };
    assert_eq!((group, session, *terminal), (pid, pid, "0"));
    fixture.assert_no_processes_left();
}
