//! What the veil covers never reaches the disk, wherever the reads happen to part the output.

use std::fs;

use gambrel_actions::Veil;

use crate::stand::Stand;

const SECRET: &str = "correct-horse-battery-staple";

fn stand() -> Stand {
    let mut stand = Stand::new();
    stand.settings.veil = Some(Veil::new(|bytes| {
        String::from_utf8_lossy(bytes).replace(SECRET, "[secret]").into_bytes()
    }));
    stand
}

#[test]
fn spills_nothing_that_is_veiled() {
    let stand = stand();
    // Lines of many lengths, so that every border falls somewhere else.
    for text in [
        format!("yes {SECRET} | head -n 800000"),
        format!("yes {SECRET} | head -n 800000 | tr -d '\\n'"),
        format!("seq 1 600000 | sed 's/$/ key={SECRET}/'"),
    ] {
        let outcome = stand.run(&stand.sh(&format!("({text}) | tee whole")));
        let whole = fs::read_to_string(stand.path("whole")).unwrap();
        let spill = fs::read_to_string(outcome.stdout.spill.as_ref().unwrap()).unwrap();
        assert_eq!(outcome.stdout.total, whole.len() as u64);
        assert!(spill == whole.replace(SECRET, "[secret]"), "{text}: it is not the same");
        assert!(outcome.remarks.is_empty(), "{:?}", outcome.remarks);
    }
    stand.nobody_is_left();
}

#[test]
fn a_value_in_the_last_bytes_is_covered() {
    let stand = stand();
    let text = format!("printf {SECRET} >&2; seq 1 400000 >&2; printf {SECRET} >&2");
    let outcome = stand.run(&stand.sh(&text));
    let spill = fs::read_to_string(outcome.stderr.spill.as_ref().unwrap()).unwrap();
    assert!(spill.starts_with("[secret]1\n2\n") && spill.ends_with("400000\n[secret]"));
    stand.nobody_is_left();
}
