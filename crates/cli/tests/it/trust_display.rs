//! `gambrel trust` shows scripts, differences and opaque commands, and accepts numbers and paths.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::test_project::{BASH_LS, TestProject, text};

fn project_with_store() -> TestProject {
    TestProject::new().with("GAMBREL_TRUST", "store")
}

fn trust(project: &TestProject, args: &[&str]) -> String {
    let output = project.run(&[&["trust"], args].concat(), b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

fn ran_and_reason(project: &TestProject) -> (Value, String) {
    let decision = project.decide("claude", BASH_LS);
    let step = &decision["trail"][0];
    (step["ran"].clone(), step["why"].as_str().unwrap().to_owned())
}

/// Two guards: the first runs `a.sh`, the second `b.sh`.
fn two_guards() -> TestProject {
    let project = project_with_store();
    project.script("a.sh", "exit 0 # A\n");
    project.script("b.sh", "exit 0 # B\n");
    let hooks = ["sh a.sh", "sh b.sh"].map(|c| json!({"type": "command", "command": c}));
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}});
    project.file(".claude/settings.json", &settings.to_string());
    project
}

fn states(project: &TestProject) -> Vec<String> {
    let listed = project.json(&["trust", "--list", "--json"]);
    let hooks = listed.as_array().unwrap().iter();
    hooks.map(|hook| hook["trust"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn shows_short_scripts_and_the_difference_since_the_last_look() {
    let project = project_with_store();
    let long: String = (0..50).map(|line| format!("# {line}\n")).collect();
    project.script("x.sh", "# first\u{1b}[31m\n. ./lib.sh\n");
    project.script("lib.sh", &long);
    project.guard("sh x.sh", 5);
    let shown = trust(&project, &["--all", "--yes"]);
    assert!(shown.contains("| # first\u{fffd}[31m") && shown.contains("| . ./lib.sh"), "{shown}");
    assert!(shown.contains("(50 lines") && !shown.contains("| # 7"), "{shown}");
    project.script("x.sh", "# second\n. ./lib.sh\n. ./more.sh\n");
    project.script("more.sh", "# more\n");
    let shown = trust(&project, &["--all", "--yes"]);
    assert!(shown.contains("x.sh (changed)") && shown.contains("more.sh (new)"), "{shown}");
    assert!(shown.contains("| -# first") && shown.contains("| +# second"), "{shown}");
    assert!(shown.contains("| # more") && !shown.contains("(50 lines"), "{shown}");
}

/// A long script is not shown; the counts have their plurals.
#[test]
fn counts_the_lines_of_a_long_script() {
    for (text, lines) in [("x".repeat(5_000), "(1 line, "), ("x\n".repeat(50), "(50 lines, ")] {
        let project = project_with_store();
        project.guard("sh guard.sh", 5);
        project.file("guard.sh", &text);
        let shown = trust(&project, &["--all", "--yes"]);
        assert!(shown.contains(lines), "{shown}");
    }
}

#[test]
fn shows_the_earlier_text_of_a_changed_command() {
    let project = project_with_store();
    project.script("x.sh", "exit 0\n");
    project.guard("sh x.sh", 5);
    trust(&project, &["--all", "--yes"]);
    project.guard("sh x.sh --really", 5);
    let shown = trust(&project, &["--all", "--yes"]);
    assert!(shown.contains("  was    sh x.sh\n"), "{shown}");
}

#[test]
fn takes_a_number_an_id_or_a_path() {
    let by = |name: &str| {
        let project = two_guards();
        trust(&project, &[name, "--yes"]);
        states(&project)
    };
    assert_eq!(by("2"), ["untrusted", "trusted"]);
    assert_eq!(by("a.sh"), ["trusted", "untrusted"]);
    assert_eq!(by(".claude/settings.json"), ["trusted", "trusted"]);
    let project = two_guards();
    let id = project.json(&["trust", "--list", "--json"])[1]["id"].as_str().unwrap().to_owned();
    trust(&project, &[&id[..id.len() - 2], "--yes"]);
    assert_eq!(states(&project), ["untrusted", "trusted"]);
    let output = project.run(&["trust", "nothing.sh", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no project hook `nothing.sh`"));
    let listing = text(&project.run(&["trust"], b"").stdout);
    assert!(listing.contains("\n2   trusted"), "{listing}");
}

#[test]
fn reports_opaque_commands_and_skips_them_on_request() {
    let project = two_guards();
    project.guard("sh \"$(cat name)\"", 5);
    let says =
        "runs files that gambrel cannot see: `sh \"$(cat name)\"`: the script's name is computed";
    for args in [vec!["trust"], vec!["list"], vec!["check"]] {
        let output = project.run(&args, b"");
        let seen = text(&output.stdout) + &text(&output.stderr);
        assert!(seen.contains(says), "{args:?}: {seen}");
        assert!(output.status.success(), "{args:?}: {seen}");
    }
    let listed = project.json(&["list", "--json"]);
    assert_eq!(listed[0]["opaque"].as_array().unwrap().len(), 1, "{listed}");
    let shown = trust(&project, &["--all", "--yes", "--no-opaque"]);
    assert!(shown.contains("left out claude-") && shown.contains(says), "{shown}");
    assert_eq!(states(&project), ["untrusted"]);
    let shown = trust(&project, &["--all", "--yes"]);
    assert!(shown.contains(says), "{shown}");
    assert_eq!(states(&project), ["trusted"]);
}

#[test]
fn covers_files_that_the_author_or_the_user_names() {
    let project = project_with_store();
    let hooks = "hooks:\n  on_tool_before:\n    - type: shell\n      command: sh \"$(cat name)\"\n      trust_files: [\"tasks/*.sh\"]\n";
    project.file(".gambrel/hooks.yaml", hooks);
    project.file("name", "tasks/a.sh");
    project.script("tasks/a.sh", "exit 0\n");
    assert!(project.run(&["check"], b"").status.success(), "`trust_files` is a known field");
    trust(&project, &["--all", "--yes"]);
    assert_eq!(ran_and_reason(&project).0, true);
    project.script("tasks/a.sh", "exit 0 # other\n");
    assert!(ran_and_reason(&project).1.contains("changed"));
    trust(&project, &["--all", "--yes"]);
    project.script("tasks/b.sh", "exit 0\n");
    assert!(ran_and_reason(&project).1.contains("changed"), "one more file");

    let project = two_guards();
    trust(&project, &["--all", "--yes"]);
    let config = project.base.join("home/.config/gambrel");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.yaml"), "trust_files: [\"hidden/**/*.txt\"]\n").unwrap();
    project.file("hidden/deep/one.txt", "1");
    let shown = trust(&project, &["--all", "--yes"]);
    assert!(shown.contains("hidden/deep/one.txt (new)"), "{shown}");
    assert_eq!(ran_and_reason(&project).0, true);
    project.file("hidden/deep/one.txt", "2");
    assert!(ran_and_reason(&project).1.contains("changed"));
}

#[test]
fn names_records_of_older_versions_as_such() {
    let project = two_guards();
    trust(&project, &["--all", "--yes"]);
    let store = project.base.join("state/trust.json");
    let mut entries: Value = serde_json::from_slice(&fs::read(&store).unwrap()).unwrap();
    for entry in entries.as_object_mut().unwrap().values_mut() {
        let kept = json!({"hash": entry["hash"], "shown": entry["shown"], "at": entry["at"]});
        *entry = kept;
    }
    fs::write(&store, entries.to_string()).unwrap();
    let (ran, reason) = ran_and_reason(&project);
    assert_eq!(ran, false);
    assert!(reason.contains("trusted by an older version: look again"), "{reason}");
    assert_eq!(states(&project), ["outdated", "outdated"]);
    let listing = text(&project.run(&["trust"], b"").stdout);
    assert!(listing.contains("trusted by an older version: look again"), "{listing}");
    let check = text(&project.run(&["check"], b"").stdout);
    assert!(check.contains("2 hooks do not run until you trust them"), "{check}");
    trust(&project, &["--all", "--yes"]);
    assert_eq!(ran_and_reason(&project).0, true);
}

#[test]
fn leaves_out_entries_that_call_gambrel() {
    let project = project_with_store().with_gambrel_on_path();
    project.guard("exit 0", 5);
    assert!(project.run(&["install", "claude", "--project"], b"").status.success());
    let settings = fs::read_to_string(project.root.join(".claude/settings.json")).unwrap();
    assert!(settings.contains("gambrel"), "{settings}");
    let listing = text(&project.run(&["trust"], b"").stdout);
    assert!(listing.contains("exit 0") && !listing.contains("--hosted"), "{listing}");
    assert_eq!(states(&project).len(), 1);
}

#[test]
fn keeps_copies_that_only_the_user_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let project = two_guards();
    trust(&project, &["--all", "--yes"]);
    let copies: Vec<_> = fs::read_dir(project.base.join("state/trusted-text")).unwrap().collect();
    assert_eq!(copies.len(), 2);
    for copy in copies {
        assert_eq!(copy.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(project.run(&["untrust", "1"], b"").status.success());
    project.script("b.sh", "exit 0 # other\n");
    trust(&project, &["2", "--yes"]);
    let left = fs::read_dir(project.base.join("state/trusted-text")).unwrap().count();
    assert_eq!(left, 1, "copies that no record names go");
}

fn git(project: &TestProject, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@x.invalid"]).args(args);
    let output = command.current_dir(&project.root).env("HOME", &project.base).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn reuses_trust_of_identical_bytes_in_another_worktree() {
    let mut project = two_guards();
    git(&project, &["init", "-q"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "x"]);
    let other = project.base.join("other");
    git(&project, &["worktree", "add", "-q", other.to_str().unwrap()]);
    trust(&project, &["--all", "--yes"]);
    let first = std::mem::replace(&mut project.root, other);
    project.script("b.sh", "exit 0 # other\n");
    assert_eq!(states(&project), ["untrusted", "untrusted"]);
    let listing = text(&project.run(&["trust"], b"").stdout);
    assert!(listing.contains("1 hook is the same as in another worktree"), "{listing}");
    let refused = project.run(&["trust", "--reuse"], b"");
    assert!(text(&refused.stderr).contains("--yes"), "without a terminal it needs --yes");
    let shown = trust(&project, &["--reuse", "--yes"]);
    assert!(shown.contains(&format!("as in {}", first.display())), "{shown}");
    assert_eq!(states(&project), ["trusted", "untrusted"]);
    // A copy that is no worktree of the repository reuses nothing.
    fs::remove_file(project.root.join(".git")).unwrap();
    assert!(project.run(&["untrust", "--all"], b"").status.success());
    trust(&project, &["--reuse", "--yes"]);
    assert_eq!(states(&project), ["untrusted", "untrusted"]);
}
