//! A look at hooks shows scripts, differences and what cannot be seen, and takes numbers and paths.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::ground::{BASH_LS, Ground, text};

fn ground() -> Ground {
    Ground::new().with("GAMBREL_TRUST", "store")
}

fn trust(ground: &Ground, args: &[&str]) -> String {
    let output = ground.run(&[&["trust"], args].concat(), b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

fn why(ground: &Ground) -> (Value, String) {
    let decision = ground.decide("claude", BASH_LS);
    let step = &decision["trail"][0];
    (step["ran"].clone(), step["why"].as_str().unwrap().to_owned())
}

/// Two guards: the first runs `a.sh`, the second `b.sh`.
fn two_guards() -> Ground {
    let ground = ground();
    ground.script("a.sh", "exit 0 # A\n");
    ground.script("b.sh", "exit 0 # B\n");
    let hooks = ["sh a.sh", "sh b.sh"].map(|c| json!({"type": "command", "command": c}));
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}]}});
    ground.file(".claude/settings.json", &settings.to_string());
    ground
}

fn states(ground: &Ground) -> Vec<String> {
    let listed = ground.json(&["trust", "--list", "--json"]);
    let hooks = listed.as_array().unwrap().iter();
    hooks.map(|hook| hook["trust"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn shows_short_scripts_and_the_difference_since_the_last_look() {
    let ground = ground();
    let long: String = (0..50).map(|line| format!("# {line}\n")).collect();
    ground.script("x.sh", "# first\u{1b}[31m\n. ./lib.sh\n");
    ground.script("lib.sh", &long);
    ground.guard("sh x.sh", 5);
    let shown = trust(&ground, &["--all", "--yes"]);
    assert!(shown.contains("| # first\u{fffd}[31m") && shown.contains("| . ./lib.sh"), "{shown}");
    assert!(shown.contains("(50 lines") && !shown.contains("| # 7"), "{shown}");
    ground.script("x.sh", "# second\n. ./lib.sh\n. ./more.sh\n");
    ground.script("more.sh", "# more\n");
    let shown = trust(&ground, &["--all", "--yes"]);
    assert!(shown.contains("x.sh (changed)") && shown.contains("more.sh (new)"), "{shown}");
    assert!(shown.contains("| -# first") && shown.contains("| +# second"), "{shown}");
    assert!(shown.contains("| # more") && !shown.contains("(50 lines"), "{shown}");
}

#[test]
fn shows_what_a_changed_command_was() {
    let ground = ground();
    ground.script("x.sh", "exit 0\n");
    ground.guard("sh x.sh", 5);
    trust(&ground, &["--all", "--yes"]);
    ground.guard("sh x.sh --really", 5);
    let shown = trust(&ground, &["--all", "--yes"]);
    assert!(shown.contains("  was    sh x.sh\n"), "{shown}");
}

#[test]
fn takes_a_number_an_id_or_a_path() {
    let by = |name: &str| {
        let ground = two_guards();
        trust(&ground, &[name, "--yes"]);
        states(&ground)
    };
    assert_eq!(by("2"), ["untrusted", "trusted"]);
    assert_eq!(by("a.sh"), ["trusted", "untrusted"]);
    assert_eq!(by(".claude/settings.json"), ["trusted", "trusted"]);
    let ground = two_guards();
    let id = ground.json(&["trust", "--list", "--json"])[1]["id"].as_str().unwrap().to_owned();
    trust(&ground, &[&id[..id.len() - 2], "--yes"]);
    assert_eq!(states(&ground), ["untrusted", "trusted"]);
    let output = ground.run(&["trust", "nothing.sh", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no project hook `nothing.sh`"));
    let listing = text(&ground.run(&["trust"], b"").stdout);
    assert!(listing.contains("\n2   trusted"), "{listing}");
}

#[test]
fn says_what_cannot_be_seen_and_leaves_it_out_when_asked() {
    let ground = two_guards();
    ground.guard("sh \"$(cat name)\"", 5);
    let says =
        "runs files that gambrel cannot see: `sh \"$(cat name)\"`: the script's name is computed";
    for args in [vec!["trust"], vec!["list"], vec!["check"]] {
        let output = ground.run(&args, b"");
        let seen = text(&output.stdout) + &text(&output.stderr);
        assert!(seen.contains(says), "{args:?}: {seen}");
        assert!(output.status.success(), "{args:?}: {seen}");
    }
    let listed = ground.json(&["list", "--json"]);
    assert_eq!(listed[0]["opaque"].as_array().unwrap().len(), 1, "{listed}");
    let shown = trust(&ground, &["--all", "--yes", "--no-opaque"]);
    assert!(shown.contains("left out claude-") && shown.contains(says), "{shown}");
    assert_eq!(states(&ground), ["untrusted"]);
    let shown = trust(&ground, &["--all", "--yes"]);
    assert!(shown.contains(says), "{shown}");
    assert_eq!(states(&ground), ["trusted"]);
}

#[test]
fn covers_files_that_the_author_or_the_user_names() {
    let ground = ground();
    let hooks = "hooks:\n  on_tool_before:\n    - type: shell\n      command: sh \"$(cat name)\"\n      trust_files: [\"tasks/*.sh\"]\n";
    ground.file(".gambrel/hooks.yaml", hooks);
    ground.file("name", "tasks/a.sh");
    ground.script("tasks/a.sh", "exit 0\n");
    assert!(ground.run(&["check"], b"").status.success(), "`trust_files` is a known field");
    trust(&ground, &["--all", "--yes"]);
    assert_eq!(why(&ground).0, true);
    ground.script("tasks/a.sh", "exit 0 # other\n");
    assert!(why(&ground).1.contains("changed"));
    trust(&ground, &["--all", "--yes"]);
    ground.script("tasks/b.sh", "exit 0\n");
    assert!(why(&ground).1.contains("changed"), "one more file");

    let ground = two_guards();
    trust(&ground, &["--all", "--yes"]);
    let config = ground.base.join("home/.config/gambrel");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.yaml"), "trust_files: [\"hidden/**/*.txt\"]\n").unwrap();
    ground.file("hidden/deep/one.txt", "1");
    let shown = trust(&ground, &["--all", "--yes"]);
    assert!(shown.contains("hidden/deep/one.txt (new)"), "{shown}");
    assert_eq!(why(&ground).0, true);
    ground.file("hidden/deep/one.txt", "2");
    assert!(why(&ground).1.contains("changed"));
}

#[test]
fn names_records_of_older_versions_as_such() {
    let ground = two_guards();
    trust(&ground, &["--all", "--yes"]);
    let store = ground.base.join("state/trust.json");
    let mut entries: Value = serde_json::from_slice(&fs::read(&store).unwrap()).unwrap();
    for entry in entries.as_object_mut().unwrap().values_mut() {
        let kept = json!({"hash": entry["hash"], "shown": entry["shown"], "at": entry["at"]});
        *entry = kept;
    }
    fs::write(&store, entries.to_string()).unwrap();
    let (ran, reason) = why(&ground);
    assert_eq!(ran, false);
    assert!(reason.contains("trusted by an older version: look again"), "{reason}");
    assert_eq!(states(&ground), ["outdated", "outdated"]);
    let listing = text(&ground.run(&["trust"], b"").stdout);
    assert!(listing.contains("trusted by an older version: look again"), "{listing}");
    let check = text(&ground.run(&["check"], b"").stdout);
    assert!(check.contains("2 hooks do not run until you trust them"), "{check}");
    trust(&ground, &["--all", "--yes"]);
    assert_eq!(why(&ground).0, true);
}

#[test]
fn leaves_out_entries_that_call_gambrel() {
    let ground = ground().with_gambrel_on_path();
    ground.guard("exit 0", 5);
    assert!(ground.run(&["install", "claude", "--project"], b"").status.success());
    let settings = fs::read_to_string(ground.root.join(".claude/settings.json")).unwrap();
    assert!(settings.contains("gambrel"), "{settings}");
    let listing = text(&ground.run(&["trust"], b"").stdout);
    assert!(listing.contains("exit 0") && !listing.contains("--hosted"), "{listing}");
    assert_eq!(states(&ground).len(), 1);
}

#[test]
fn keeps_copies_that_only_the_user_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let ground = two_guards();
    trust(&ground, &["--all", "--yes"]);
    let copies: Vec<_> = fs::read_dir(ground.base.join("state/trusted-text")).unwrap().collect();
    assert_eq!(copies.len(), 2);
    for copy in copies {
        assert_eq!(copy.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(ground.run(&["untrust", "1"], b"").status.success());
    ground.script("b.sh", "exit 0 # other\n");
    trust(&ground, &["2", "--yes"]);
    let left = fs::read_dir(ground.base.join("state/trusted-text")).unwrap().count();
    assert_eq!(left, 1, "copies that no record names go");
}

fn git(ground: &Ground, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@x.invalid"]).args(args);
    let output = command.current_dir(&ground.root).env("HOME", &ground.base).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn reuses_trust_of_identical_bytes_in_another_worktree() {
    let mut ground = two_guards();
    git(&ground, &["init", "-q"]);
    git(&ground, &["add", "-A"]);
    git(&ground, &["commit", "-qm", "x"]);
    let other = ground.base.join("other");
    git(&ground, &["worktree", "add", "-q", other.to_str().unwrap()]);
    trust(&ground, &["--all", "--yes"]);
    let first = std::mem::replace(&mut ground.root, other);
    ground.script("b.sh", "exit 0 # other\n");
    assert_eq!(states(&ground), ["untrusted", "untrusted"]);
    let listing = text(&ground.run(&["trust"], b"").stdout);
    assert!(listing.contains("1 hook is the same as in another worktree"), "{listing}");
    let refused = ground.run(&["trust", "--reuse"], b"");
    assert!(text(&refused.stderr).contains("--yes"), "without a terminal it needs --yes");
    let shown = trust(&ground, &["--reuse", "--yes"]);
    assert!(shown.contains(&format!("as in {}", first.display())), "{shown}");
    assert_eq!(states(&ground), ["trusted", "untrusted"]);
    // A copy that is no worktree of the repository reuses nothing.
    fs::remove_file(ground.root.join(".git")).unwrap();
    assert!(ground.run(&["untrust", "--all"], b"").status.success());
    trust(&ground, &["--reuse", "--yes"]);
    assert_eq!(states(&ground), ["untrusted", "untrusted"]);
}
