//! Trust covers the scripts of a command, however the command names them.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::test_project::{BASH_LS, TestProject, text};

const REFUSES: &str = "#!/bin/sh\necho no >&2\nexit 2\n";
const PASSES: &str = "#!/bin/sh\nexit 0\n";
const SCRIPT: &str = ".claude/hooks/x.sh";

fn trusted_project(command: &str) -> TestProject {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.script(SCRIPT, REFUSES);
    project.guard(command, 5);
    trust(&project);
    project
}

fn trust(project: &TestProject) {
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn ruling_and_reason(project: &TestProject) -> (String, String) {
    let decision = project.decide("claude", BASH_LS);
    let ruling = decision["ruling"].as_str().unwrap().to_owned();
    (ruling, decision["trail"][0]["why"].as_str().unwrap().to_owned())
}

#[test]
fn covers_a_script_however_it_is_named() {
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
        let project = trusted_project(command);
        assert_eq!(ruling_and_reason(&project).0, "deny", "{command}");
        project.script(SCRIPT, PASSES);
        let (ruling, why) = ruling_and_reason(&project);
        assert!(ruling == "silent" && why.contains("changed"), "{command}: {ruling}, {why}");
    }
}

#[test]
fn covers_the_file_list_of_a_folder_that_is_run() {
    let project = trusted_project("for f in .claude/hooks/*.sh; do bash \"$f\" || exit 2; done");
    let more = project.script(".claude/hooks/a.sh", PASSES);
    assert!(ruling_and_reason(&project).1.contains("changed"));
    fs::remove_file(more).unwrap();
    assert_eq!(ruling_and_reason(&project).0, "deny");
    fs::remove_file(project.root.join(SCRIPT)).unwrap();
    assert!(ruling_and_reason(&project).1.contains("changed"));
}

#[test]
fn does_not_cover_folders_that_are_only_listed() {
    let project = trusted_project("ls src . .claude >/dev/null; exit 2");
    project.file("src/main.py", "print(1)\n");
    project.file("README.md", "more\n");
    assert_eq!(ruling_and_reason(&project).0, "deny");
    project.script("src/run", PASSES);
    assert_eq!(ruling_and_reason(&project).0, "deny", "no folder counts as a whole");
}

#[test]
fn distinguishes_one_file_from_two() {
    let project = trusted_project("cat .claude/hooks/*.sh >/dev/null; exit 2");
    let other = project.script(".claude/hooks/y.sh", PASSES);
    trust(&project);
    fs::remove_file(&other).unwrap();
    project.script(SCRIPT, &format!("{REFUSES}{}{PASSES}", other.display()));
    assert!(ruling_and_reason(&project).1.contains("changed"));
}

#[test]
fn skips_a_huge_script_that_changed() {
    let huge = |first: &str| format!("{first}{}", "#".repeat(17 * 1024 * 1024));
    let project = trusted_project("sh .claude/hooks/x.sh");
    let path = project.script(SCRIPT, &huge(REFUSES));
    trust(&project);
    assert_eq!(ruling_and_reason(&project).0, "deny");
    let before = fs::metadata(&path).unwrap();
    let other = REFUSES.replace("exit 2", "exit 0");
    project.script(SCRIPT, &huge(&other));
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((before.ino(), before.len()), (after.ino(), after.len()));
    let (ruling, why) = ruling_and_reason(&project);
    assert!(ruling == "silent" && why.contains("changed"), "{ruling}, {why}");
}

#[test]
fn resolves_links_before_parent_folders() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.script("x.sh", PASSES);
    project.script("far/x.sh", REFUSES);
    project.file("far/deep/notes.txt", "");
    std::os::unix::fs::symlink("far/deep", project.root.join("link")).unwrap();
    project.guard("sh link/../x.sh", 5);
    trust(&project);
    assert_eq!(ruling_and_reason(&project).0, "deny");
    project.script("far/x.sh", PASSES);
    assert!(ruling_and_reason(&project).1.contains("changed"));
}

#[test]
fn follows_links_out_of_the_project() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    let outside = project.base.join("outside.sh");
    fs::write(&outside, REFUSES).unwrap();
    std::os::unix::fs::symlink(&outside, project.root.join("x.sh")).unwrap();
    project.guard("sh x.sh", 5);
    trust(&project);
    assert_eq!(ruling_and_reason(&project).0, "deny");
    fs::write(&outside, PASSES).unwrap();
    assert!(ruling_and_reason(&project).1.contains("changed"));
}
