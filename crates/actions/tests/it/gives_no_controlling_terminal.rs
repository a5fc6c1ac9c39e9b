//! A hook is alone in a session that has no terminal.

use crate::stand::{Stand, text};

#[test]
fn gives_no_controlling_terminal() {
    let stand = Stand::new();
    let outcome = stand.run(&stand.sh(
        "(: </dev/tty) 2>/dev/null && echo terminal; set -- $(cut -d')' -f2- /proc/$$/stat); echo $$ $3 $4 $5",
    ));
    let text = text(&outcome);
    let words: Vec<&str> = text.split_whitespace().collect();
    let [pid, group, session, terminal] = words.as_slice() else { panic!("{text}") };
    assert_eq!((group, session, *terminal), (pid, pid, "0"));
    stand.nobody_is_left();
}
