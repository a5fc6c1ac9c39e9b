//! A byte order mark before an event is neither refused nor passed to hooks.

use crate::test_project::{BASH_LS, TestProject, text};

#[test]
fn strips_the_mark_from_an_event() {
    let project = TestProject::new();
    project.guard("cat > stdin.json; echo no >&2; exit 2", 10);
    let marked = format!("\u{feff}{BASH_LS}");
    let output = project.run(&["fire", "--from", "claude"], marked.as_bytes());
    assert!(text(&output.stdout).contains("\"deny\""), "{}", text(&output.stderr));
    let stdin = std::fs::read_to_string(project.root.join("stdin.json")).unwrap();
    assert_eq!(stdin, format!("{BASH_LS}\n"));
}
