//! A hook that does not read its event neither stalls nor fails.

use gambrel_model::End;

use crate::hook_fixture::{HookFixture, stdout_text};

#[test]
fn ignores_unread_stdin() {
    let fixture = HookFixture::new();
    for command in ["echo done", "exec 0<&-; echo done", "head -c 10 >/dev/null; echo done"] {
        let mut call = fixture.sh_call(command);
        call.stdin = Some(vec![b'x'; 5 << 20].into());
        let outcome = fixture.run(&call);
        assert_eq!(
            (outcome.end.clone(), stdout_text(&outcome)),
            (End::Exited(0), "done\n".to_owned())
        );
        assert!(outcome.remarks.is_empty(), "{outcome:?}");
    }
    fixture.assert_no_processes_left();
}

#[test]
fn writes_the_whole_stdin() {
    let fixture = HookFixture::new();
    let mut call = fixture.sh_call("wc -c | tr -d ' '");
    call.stdin = Some(vec![b'x'; 5 << 20].into());
    assert_eq!(stdout_text(&fixture.run(&call)), format!("{}\n", 5 << 20));
    call.stdin = None;
    assert_eq!(stdout_text(&fixture.run(&call)), "0\n");
    fixture.assert_no_processes_left();
}
