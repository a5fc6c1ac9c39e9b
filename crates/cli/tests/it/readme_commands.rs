//! What the README shows is what happens.

use crate::ground::{Ground, text};

#[test]
fn the_demo_blocks_rm_rf_and_shows_the_trail() {
    let ground = Ground::new();
    let output = ground.run(&["demo"], b"");
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(told.contains("rm -rf build /"), "{told}");
    assert!(told.contains("\"permissionDecision\":\"deny\""), "{told}");
    for dialect in ["claude", "teams", "iteratr", "unified"] {
        let fired =
            told.lines().any(|l| l.trim_start().starts_with(dialect) && l.contains("exited"));
        assert!(fired, "{dialect}: {told}");
    }
}

#[test]
fn the_readme_shows_the_demo_as_it_is() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let ground = Ground::new();
    let told = text(&ground.run(&["demo"], b"").stdout);
    for line in told.lines().filter(|line| line.contains("because") || line.contains("is about to"))
    {
        assert!(readme.contains(line), "the README does not show: {line}");
    }
    assert!(readme.contains("cargo run -- demo") && readme.contains("cargo xtask test"));
}
