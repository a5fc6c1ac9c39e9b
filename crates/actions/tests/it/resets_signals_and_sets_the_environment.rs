//! A hook starts with ordinary signals and exactly the environment that its call says.

use gambrel_model::End;

use crate::stand::{Stand, text};

#[test]
fn resets_signals() {
    let stand = Stand::new();
    let outcome = stand.run(&stand.exec(&["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"]));
    for line in text(&outcome).lines() {
        let mask = line.split_whitespace().last().unwrap();
        // 32 and 33 belong to the C library's threads; some versions leave them ignored.
        let mask = u64::from_str_radix(mask, 16).unwrap() & !(0b11 << 31);
        assert_eq!(mask, 0, "{line}");
    }
    assert_eq!(text(&outcome).lines().count(), 2);
    stand.nobody_is_left();
}

#[test]
fn sets_and_unsets_variables() {
    let stand = Stand::new();
    let mut call = stand.sh("env | grep -E '^(HOME|NEW|PATH|PWD)=' | sort; echo ${HOME-none}");
    call.remove_env = vec!["HOME".to_owned()];
    call.env.push(("NEW".to_owned(), "first".to_owned()));
    call.env.push(("NEW".to_owned(), "a 'b' \"c\" $d\ne=f".to_owned()));
    let shown = text(&stand.run(&call));
    assert!(shown.contains("NEW=a 'b' \"c\" $d\n"), "{shown}");
    assert!(shown.contains(&format!("PATH={}\n", std::env::var("PATH").unwrap())));
    assert!(shown.contains(&format!("PWD={}\n", stand.dir.path().display())));
    assert!(shown.ends_with("none\n") && !shown.contains("HOME="));
    stand.nobody_is_left();
}

#[test]
fn reports_the_signal_of_a_hook_that_was_killed() {
    let stand = Stand::new();
    assert_eq!(stand.run(&stand.sh("kill -9 $$")).end, End::Signalled(9));
    assert_eq!(stand.run(&stand.sh("exit 2")).end, End::Exited(2));
    stand.nobody_is_left();
}
