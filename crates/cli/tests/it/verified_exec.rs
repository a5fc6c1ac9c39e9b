//! With `verified_exec`, only the hashed bytes of a trusted hook run, for root and ordinary users.
//! If the kernel refuses, the hook does not run.

use std::path::Path;
use std::process::{Child, Output};

use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, report_missing_part, text, wait_until};

const CONFIG: &str = "../home/.config/gambrel/config.yaml";
const GOOD: &str = "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\nsay\n";

/// A trusted project whose command waits for the file `go` before it runs its script.
fn waiting_project() -> TestProject {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    project.script("hooks/guard.sh", GOOD);
    project.file("hooks/lib.sh", "say() { echo \"good $0\" >&2; exit 2; }\n");
    project.file("src/file.txt", "text\n");
    let wait = "touch \"$CLAUDE_PROJECT_DIR/../started\"; while [ ! -e \"$CLAUDE_PROJECT_DIR/../go\" ]; do sleep 0.01; done";
    let run = "\"$CLAUDE_PROJECT_DIR\"/hooks/guard.sh \"$CLAUDE_PROJECT_DIR\"/hooks/lib.sh";
    project.guard(&format!("{wait}; {run}"), 20);
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}", text(&output.stderr));
    project
}

/// Replaces files while the hook waits, and reads the reply.
fn fire_and_swap(project: &TestProject, child: Child, swap: &dyn Fn(&Path)) -> Value {
    wait_until("the hook has started", || project.base.join("started").exists());
    swap(&project.root);
    std::fs::write(project.base.join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    for file in ["started", "go"] {
        std::fs::remove_file(project.base.join(file)).unwrap();
    }
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

fn rename_script(root: &Path) {
    std::fs::write(root.join("new"), "#!/bin/sh\necho bad >&2; exit 2\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(root.join("new"), mode).unwrap();
    std::fs::rename(root.join("new"), root.join("hooks/guard.sh")).unwrap();
}

fn rename_folder(root: &Path) {
    std::fs::create_dir(root.join("other")).unwrap();
    std::fs::rename(root.join("hooks"), root.join("kept")).unwrap();
    std::fs::rename(root.join("other"), root.join("hooks")).unwrap();
    rename_script(root);
}

fn rewrite_library(root: &Path) {
    std::fs::write(root.join("hooks/lib.sh"), "say() { echo bad >&2; exit 2; }\n").unwrap();
}

type Swap = fn(&Path);

const SWAPS: [(&str, Swap); 3] =
    [("script", rename_script), ("folder", rename_folder), ("library", rewrite_library)];

/// Whether this machine allows mount namespaces.
fn is_available(project: &TestProject) -> bool {
    let parts = project.json(&["doctor", "--json"]);
    let part = parts.as_array().unwrap().iter().find(|part| part["name"] == "verified_exec");
    let what = part.unwrap()["what"].as_str().unwrap().to_owned();
    if !what.contains("works") && !what.contains("would work") {
        report_missing_part(&what);
        return false;
    }
    true
}

#[test]
fn runs_only_the_hashed_bytes() {
    for (what, swap) in SWAPS {
        let project = waiting_project();
        let child = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
        let reply = fire_and_swap(&project, child, &swap);
        assert!(reply.to_string().contains("bad"), "{what}: by path it runs: {reply}");
        assert!(reply.to_string().contains("changed while it ran"), "{what}: {reply}");
        let project = waiting_project();
        if !is_available(&project) {
            return;
        }
        let args = ["fire", "--from", "claude", "--verified-exec"];
        let reply = fire_and_swap(&project, project.start(&args, BASH_LS.as_bytes()), &swap);
        let why = format!("good {}", project.root.join("hooks/guard.sh").display());
        assert!(reply.to_string().contains(&why), "{what}: {reply}");
        assert!(!reply.to_string().contains("changed while"), "{what}: {reply}");
    }
}

#[test]
fn config_switches_it_on_even_with_a_typo() {
    for (config, on) in [
        ("verified_exec: true\n", true),
        ("verified_exec: ture\n", true),
        ("verified_exec: false\n", false),
    ] {
        let project = waiting_project();
        project.file(CONFIG, config);
        if !is_available(&project) {
            return;
        }
        let child = project.start(&["fire", "--from", "claude"], BASH_LS.as_bytes());
        let reply = fire_and_swap(&project, child, &rename_script);
        assert_eq!(reply.to_string().contains("good"), on, "{config}: {reply}");
    }
}

#[test]
fn works_with_isolation() {
    let project = waiting_project();
    if !is_available(&project) {
        return;
    }
    let project = project.with("GAMBREL_ISOLATE", "1");
    let args = ["fire", "--from", "claude", "--verified-exec"];
    let reply = fire_and_swap(&project, project.start(&args, BASH_LS.as_bytes()), &rename_script);
    assert!(reply.to_string().contains("good") || reply.to_string().contains("isolate"), "{reply}");
}

/// A hook sees its whole project, writable except for the folders of its scripts.
#[test]
fn leaves_the_rest_of_the_project_writable() {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    // The script computes the name of the file. Trust would cover, and freeze, a file that the text
    // names.
    let script = "#!/bin/sh\ncd \"$CLAUDE_PROJECT_DIR\"\necho more >> src/file.txt; echo new > src/new.txt; echo more >> top.txt\ncat \"$(find . -maxdepth 1 -type l)/file.txt\" > \"$CLAUDE_PROJECT_DIR/../seen\"\ntouch hooks/beside 2> \"$CLAUDE_PROJECT_DIR/../refused\"\nls -a | sort > \"$CLAUDE_PROJECT_DIR/../listed\"\necho no >&2; exit 2\n";
    project.script("hooks/guard.sh", script);
    project.file("src/file.txt", "text\n");
    project.file("top.txt", "text\n");
    std::os::unix::fs::symlink("src", project.root.join("link")).unwrap();
    project.guard("\"$CLAUDE_PROJECT_DIR\"/hooks/guard.sh", 20);
    assert!(project.run(&["trust", "--all", "--yes"], b"").status.success());
    if !is_available(&project) {
        return;
    }
    let args = ["fire", "--from", "claude", "--verified-exec"];
    let reply = text(&project.run(&args, BASH_LS.as_bytes()).stdout);
    assert!(reply.contains("\"deny\""), "{reply}");
    let read = |path: &str| std::fs::read_to_string(project.root.join(path)).unwrap();
    assert_eq!(read("src/file.txt"), "text\nmore\n");
    assert_eq!(read("top.txt"), "text\nmore\n");
    assert_eq!(read("src/new.txt"), "new\n");
    assert_eq!(read("../seen"), "text\nmore\n");
    assert!(read("../refused").contains("Read-only file system"));
    assert_eq!(read("../listed"), ".\n..\n.claude\nhooks\nlink\nsrc\ntop.txt\n");
    assert!(!project.root.join("hooks/beside").exists());
}

#[test]
fn works_for_an_ordinary_user() {
    let project = waiting_project();
    let ordinary = ["--user", "--map-user=1234", "--map-group=2345"];
    let fire = ["fire", "--from", "claude", "--verified-exec"];
    if !is_available(&project) {
        return;
    }
    let Some(child) = project.start_under_unshare(&ordinary, "", &fire) else { return };
    let reply = fire_and_swap(&project, child, &rename_script);
    assert!(reply.to_string().contains("good"), "{reply}");
}

#[test]
fn a_hook_that_cannot_be_verified_does_not_run() {
    let refused = |args: &[&str]| -> Option<Output> {
        let project = TestProject::new().with("GAMBREL_TRUST", "store");
        project.script("guard.sh", "#!/bin/sh\ntouch \"$0.ran\"\n");
        project.guard("\"$CLAUDE_PROJECT_DIR\"/guard.sh", 10);
        assert!(project.run(&["trust", "--all", "--yes"], b"").status.success());
        let none = "echo 0 > /proc/sys/user/max_mnt_namespaces;";
        let child = project.start_under_unshare(&["--user", "--map-root-user"], none, args)?;
        let output = child.wait_with_output().unwrap();
        assert!(!project.root.join("guard.sh.ran").exists(), "{output:?}");
        Some(output)
    };
    let fire = ["fire", "--from", "claude", "--verified-exec"];
    let Some(output) = refused(&fire) else { return };
    let why = "verified_exec: the kernel refuses a mount namespace";
    assert!(text(&output.stdout).contains(why), "{output:?}");
    let output = refused(&[&fire[..], &["--strict"]].concat()).unwrap();
    assert!(text(&output.stdout).contains("\"deny\""), "{output:?}");
    let output = refused(&["doctor", "--json"]).unwrap();
    assert!(text(&output.stdout).contains(&format!("off, is refused here: {why}")), "{output:?}");
}
