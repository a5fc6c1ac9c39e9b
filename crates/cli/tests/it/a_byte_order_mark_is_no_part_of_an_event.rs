//! What some programs write before their text is neither refused nor handed on to hooks.

use crate::ground::{BASH_LS, Ground, text};

#[test]
fn an_event_with_a_mark_before_it_is_asked_about_as_any_other() {
    let ground = Ground::new();
    ground.guard("cat > heard; echo no >&2; exit 2", 10);
    let marked = format!("\u{feff}{BASH_LS}");
    let output = ground.run(&["fire", "--from", "claude"], marked.as_bytes());
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stderr));
    let heard = std::fs::read_to_string(ground.root.join("heard")).unwrap();
    assert_eq!(heard, format!("{BASH_LS}\n"));
}
