//! A hook that does not read its event neither stalls nor fails.

use gambrel_model::End;

use crate::stand::{Stand, text};

#[test]
fn ignores_unread_stdin() {
    let stand = Stand::new();
    for command in ["echo done", "exec 0<&-; echo done", "head -c 10 >/dev/null; echo done"] {
        let mut call = stand.sh(command);
        call.stdin = Some(vec![b'x'; 5 << 20]);
        let outcome = stand.run(&call);
        assert_eq!((outcome.end.clone(), text(&outcome)), (End::Exited(0), "done\n".to_owned()));
        assert!(outcome.remarks.is_empty(), "{outcome:?}");
    }
    stand.nobody_is_left();
}

#[test]
fn gives_all_of_it_to_a_hook_that_reads() {
    let stand = Stand::new();
    let mut call = stand.sh("wc -c | tr -d ' '");
    call.stdin = Some(vec![b'x'; 5 << 20]);
    assert_eq!(text(&stand.run(&call)), format!("{}\n", 5 << 20));
    call.stdin = None;
    assert_eq!(text(&stand.run(&call)), "0\n");
    stand.nobody_is_left();
}
