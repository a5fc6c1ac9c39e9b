//! However a command names its scripts: what it runs is what was looked at.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::ground::{BASH_LS, Ground, text};

const REFUSES: &str = "#!/bin/sh\necho no >&2\nexit 2\n";
const PASSES: &str = "#!/bin/sh\nexit 0\n";
const SCRIPT: &str = ".claude/hooks/x.sh";

fn trusted(command: &str) -> Ground {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.script(SCRIPT, REFUSES);
    ground.guard(command, 5);
    trust(&ground);
    ground
}

fn trust(ground: &Ground) {
    let output = ground.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn fired(ground: &Ground) -> (String, String) {
    let decision = ground.decide("claude", BASH_LS);
    let ruling = decision["ruling"].as_str().unwrap().to_owned();
    (ruling, decision["trail"][0]["why"].as_str().unwrap().to_owned())
}

#[test]
fn a_script_counts_however_it_is_named() {
    for command in [
        "\"${CLAUDE_PROJECT_DIR:-.}/.claude/hooks/x.sh\"",
        "\"${CLAUDE_PROJECT_DIR:-$PWD}\"/.claude/hooks/x.sh",
        "\"${CLAUDE_PROJECT_DIR:?}\"/.claude/hooks/x.sh",
        "\"${CLAUDE_PROJECT_DIR%/}/.claude/hooks/x.sh\"",
        "\"$(git rev-parse --show-toplevel 2>/dev/null || echo .)\"/.claude/hooks/x.sh",
        "\"$(pwd)/.claude/hooks/x.sh\"",
        "\"`pwd`\"/.claude/hooks/x.sh",
        "H=\"$CLAUDE_PROJECT_DIR/.claude/hooks\"; \"$H/x.sh\"",
        "bash .claude/hooks/x\\.sh",
        "for f in .claude/hooks/*.sh; do bash \"$f\" || exit 2; done",
        "PATH=\"$CLAUDE_PROJECT_DIR/.claude/hooks:$PATH\" x.sh",
        "n=x; sh \"$CLAUDE_PROJECT_DIR/.claude/hooks/$n.sh\"",
        "cd \"$CLAUDE_PROJECT_DIR/.claude\" && cd hooks && ./x.sh",
    ] {
        let ground = trusted(command);
        assert_eq!(fired(&ground).0, "deny", "{command}");
        ground.script(SCRIPT, PASSES);
        let (ruling, why) = fired(&ground);
        assert!(ruling == "silent" && why.contains("changed"), "{command}: {ruling}, {why}");
    }
}

#[test]
fn a_file_more_or_less_in_a_folder_that_is_run_counts() {
    let ground = trusted("for f in .claude/hooks/*.sh; do bash \"$f\" || exit 2; done");
    let more = ground.script(".claude/hooks/a.sh", PASSES);
    assert!(fired(&ground).1.contains("changed"));
    fs::remove_file(more).unwrap();
    assert_eq!(fired(&ground).0, "deny");
    fs::remove_file(ground.root.join(SCRIPT)).unwrap();
    assert!(fired(&ground).1.contains("changed"));
}

#[test]
fn sources_that_a_hook_only_looks_at_may_change() {
    let ground = trusted("ls src . .claude >/dev/null; exit 2");
    ground.file("src/main.py", "print(1)\n");
    ground.file("README.md", "more\n");
    assert_eq!(fired(&ground).0, "deny");
    ground.script("src/run", PASSES);
    assert_eq!(fired(&ground).0, "deny", "no folder counts as a whole");
}

#[test]
fn one_file_cannot_pass_for_two() {
    let ground = trusted("cat .claude/hooks/*.sh >/dev/null; exit 2");
    let other = ground.script(".claude/hooks/y.sh", PASSES);
    trust(&ground);
    fs::remove_file(&other).unwrap();
    ground.script(SCRIPT, &format!("{REFUSES}{}{PASSES}", other.display()));
    assert!(fired(&ground).1.contains("changed"));
}

#[test]
fn a_huge_script_that_changed_does_not_run() {
    let huge = |first: &str| format!("{first}{}", "#".repeat(17 * 1024 * 1024));
    let ground = trusted("sh .claude/hooks/x.sh");
    let path = ground.script(SCRIPT, &huge(REFUSES));
    trust(&ground);
    assert_eq!(fired(&ground).0, "deny");
    let before = fs::metadata(&path).unwrap();
    let other = REFUSES.replace("exit 2", "exit 0");
    ground.script(SCRIPT, &huge(&other));
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((before.ino(), before.len()), (after.ino(), after.len()));
    let (ruling, why) = fired(&ground);
    assert!(ruling == "silent" && why.contains("changed"), "{ruling}, {why}");
}

#[test]
fn a_link_before_two_dots_leads_to_the_file_that_runs() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    ground.script("x.sh", PASSES);
    ground.script("far/x.sh", REFUSES);
    ground.file("far/deep/notes.txt", "");
    std::os::unix::fs::symlink("far/deep", ground.root.join("link")).unwrap();
    ground.guard("sh link/../x.sh", 5);
    trust(&ground);
    assert_eq!(fired(&ground).0, "deny");
    ground.script("far/x.sh", PASSES);
    assert!(fired(&ground).1.contains("changed"));
}

#[test]
fn a_link_out_of_the_project_is_followed() {
    let ground = Ground::new().with("GAMBREL_TRUST", "store");
    let outside = ground.base.join("outside.sh");
    fs::write(&outside, REFUSES).unwrap();
    std::os::unix::fs::symlink(&outside, ground.root.join("x.sh")).unwrap();
    ground.guard("sh x.sh", 5);
    trust(&ground);
    assert_eq!(fired(&ground).0, "deny");
    fs::write(&outside, PASSES).unwrap();
    assert!(fired(&ground).1.contains("changed"));
}
