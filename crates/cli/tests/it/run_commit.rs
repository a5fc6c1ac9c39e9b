//! `commit: true`: one git commit per completed iteration.

use std::process::Command;

use crate::processes::{TOKEN, processes_with_token};
use crate::run_fixture::{count_type, project_with_stage, run_to};
use crate::test_project::{TestProject, text, wait_until};

/// Runs git in the project with the project's environment.
fn git(project: &TestProject, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).env_clear().envs(project.env.clone()).current_dir(&project.root);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The agent of iteration N writes `file-N` and the summary in `summary-N`, if there is one.
const WRITING_AGENT: &str = "#!/bin/sh\ncat > /dev/null\n\
    [ -e idle ] || echo \"$ITERATION\" > \"file-$ITERATION\"\n\
    if [ -e \"summary-$ITERATION\" ]; then cp \"summary-$ITERATION\" \"$STATUS\"; \
    else printf '{\"decision\":\"continue\",\"summary\":\"Did %s\"}' \"$ITERATION\" > \"$STATUS\"; fi\n";

/// A repository with one commit, and a stage that commits.
fn project_with_commits(stage: &str) -> TestProject {
    let project = project_with_stage(&format!("commit: true\n{stage}"))
        .with("GIT_CONFIG_NOSYSTEM", "1")
        .with("GIT_CONFIG_GLOBAL", "/dev/null");
    project.script("agent.sh", WRITING_AGENT);
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["config", "user.name", "Ada"]);
    git(&project, &["config", "user.email", "ada@example.org"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "Begin"]);
    project.file(".gambrel/runs/earlier/state.json", "{}");
    project
}

const TWO: &str = "termination: {type: fixed, iterations: 2}";

fn subjects(project: &TestProject) -> Vec<String> {
    git(project, &["log", "--reverse", "--format=%s"]).lines().map(str::to_owned).collect()
}

#[test]
fn commits_each_iteration_without_the_run_folder() {
    let project = project_with_commits(TWO);
    let long = "Rename the parser of stage files and everything that calls it in the crates";
    let summary = format!("{long}\nIt had two names.\n\n`$(touch hacked)` \"; touch hacked");
    let status = serde_json::json!({"decision": "continue", "summary": summary});
    project.file("summary-2", &status.to_string());
    let output = run_to(&project, &["work"], 0);
    let shown = text(&output.stderr);
    assert_eq!(
        subjects(&project),
        ["Begin", "Did 1", "Rename the parser of stage files and everything that calls it in the"],
        "{shown}"
    );
    assert!(shown.contains("committed "), "{shown}");
    let body = git(&project, &["log", "-1", "--format=%b"]);
    assert!(body.starts_with("crates\n\nIt had two names.\n\n`$(touch hacked)`"), "{body}");
    assert!(body.trim_end().ends_with("\nGambrel-Iteration: work/work/2"), "{body}");
    assert!(!project.root.join("hacked").exists());
    let files = git(&project, &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(files.contains("file-1") && files.contains("file-2"), "{files}");
    assert!(!files.contains(".gambrel/runs"), "{files}");
    // The index has nothing of the run either.
    assert_eq!(git(&project, &["status", "--porcelain"]), "?? .gambrel/runs/\n");
}

#[test]
fn leaves_out_ignored_and_private_files_and_commits_nothing_without_a_change() {
    let project = project_with_commits(TWO);
    let state = project.root.join("own [state]*");
    // A home folder under git contains the state folder.
    let home = project.root.to_str().unwrap().to_owned();
    let project = project.with("HOME", &home).with("GAMBREL_STATE_DIR", state.to_str().unwrap());
    project.file(".gitignore", ".gambrel/runs\nsecret\n");
    project.file("secret", "x");
    run_to(&project, &["work", "--session-dir", "here/run"], 0);
    let files = git(&project, &["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(files.contains("file-2") && files.contains(".gitignore"), "{files}");
    for private in ["secret", "own [state]", "here/run"] {
        assert!(!files.contains(private), "{private}: {files}");
    }
    std::fs::remove_dir_all(project.root.join("here")).unwrap();
    project.file("idle", "");
    git(&project, &["add", "idle"]);
    git(&project, &["commit", "-qm", "Idle"]);
    let before = subjects(&project);
    let output = run_to(&project, &["work", "--session", "second"], 0);
    assert_eq!(subjects(&project), before);
    assert!(!text(&output.stderr).contains("not committed"), "{}", text(&output.stderr));
}

#[test]
fn keeps_what_is_staged_outside_the_project() {
    let project = project_with_commits(TWO);
    project.file("outside", "mine");
    git(&project, &["add", "outside"]);
    project.script("inner/agent.sh", WRITING_AGENT);
    project.file(
        "inner/.gambrel/stages/work/stage.yaml",
        "name: work\ndelay: 0\ncommit: true\nprovider: 'command:./agent.sh'\ntermination: {type: fixed, iterations: 1}\n",
    );
    project.file("inner/.gambrel/stages/work/prompt.md", "Work.\n");
    let output = project.run(&["-C", "inner", "run", "work"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(git(&project, &["log", "-1", "--format=%s"]).trim(), "Did 1");
    let committed = git(&project, &["show", "--name-only", "--format=", "HEAD"]);
    assert!(committed.contains("inner/file-1") && !committed.contains("outside"), "{committed}");
    assert!(git(&project, &["status", "--porcelain"]).contains("A  outside"));
}

/// Runs, and expects a warning, all iterations and no commit.
fn run_without_commit(project: &TestProject, warning: &str) {
    let output = run_to(project, &["work"], 0);
    let shown = text(&output.stderr);
    assert!(shown.contains(&format!("iteration 2 was not committed: {warning}")), "{shown}");
    assert_eq!(count_type(project, "work", "iteration_complete"), 2);
}

#[test]
fn goes_on_where_git_cannot_commit() {
    let project = project_with_commits(TWO);
    project.script(".git/hooks/pre-commit", "#!/bin/sh\necho 'the linter says no' >&2\nexit 1\n");
    run_without_commit(&project, "git commit exited with code 1: the linter says no");
    assert_eq!(subjects(&project), ["Begin"]);

    let project = project_with_commits(TWO);
    git(&project, &["config", "--unset", "user.name"]);
    git(&project, &["config", "user.useConfigOnly", "true"]);
    run_without_commit(&project, "git does not know who commits; set `user.name`");
    assert_eq!(subjects(&project), ["Begin"]);

    let project = project_with_commits(TWO);
    project.file(".git/index.lock", "");
    run_without_commit(&project, "git add exited with code 128: fatal: Unable to create");

    let project = project_with_commits(TWO);
    std::fs::remove_dir_all(project.root.join(".git")).unwrap();
    let project = project.with("GIT_CEILING_DIRECTORIES", "/");
    run_without_commit(&project, "the project is not in a git work tree");
}

#[test]
fn does_not_commit_conflicts() {
    let project = project_with_commits(TWO);
    project.file("shared", "one\n");
    git(&project, &["add", "shared"]);
    git(&project, &["commit", "-qm", "One"]);
    git(&project, &["checkout", "-qb", "other", "HEAD~"]);
    project.file("shared", "two\n");
    git(&project, &["add", "shared"]);
    git(&project, &["commit", "-qm", "Two"]);
    let mut merge = Command::new("git");
    merge.args(["merge", "main"]).env_clear().envs(project.env.clone());
    assert!(!merge.current_dir(&project.root).output().unwrap().status.success());
    run_without_commit(&project, "files have merge conflicts");
}

#[test]
fn a_killed_run_commits_an_iteration_once() {
    let project = project_with_commits(TWO).with(TOKEN, "run-commit-kill");
    // The commit exists, and the run has not written it down.
    project.script(
        ".git/hooks/post-commit",
        "#!/bin/sh\n[ -e .git/hold ] || exit 0\ntouch .git/reached\n\
         while [ -e .git/hold ]; do sleep 0.05; done\n",
    );
    project.file(".git/hold", "");
    let mut child = project.start(&["run", "work"], b"");
    wait_until("the first commit is made", || project.root.join(".git/reached").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(project.root.join(".git/hold")).unwrap();
    wait_until("git has ended", || processes_with_token("run-commit-kill").is_empty());
    // What the user does in between does not hide the commit, and does not belong to it.
    project.file("meanwhile", "");
    git(&project, &["add", "meanwhile"]);
    git(&project, &["commit", "-qm", "Meanwhile"]);
    project.file("later", "");
    let output = project.run(&["resume", "work"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(subjects(&project), ["Begin", "Did 1", "Meanwhile", "Did 2"]);

    // The same session again is another run, and its iterations are committed.
    std::fs::remove_file(project.root.join("file-1")).unwrap();
    git(&project, &["commit", "-qam", "Remove"]);
    run_to(&project, &["work", "--fresh"], 0);
    assert_eq!(subjects(&project).last().unwrap(), "Did 1");
}

#[test]
fn a_pipeline_and_a_node_can_ask_for_commits() {
    let project = project_with_commits("termination: {type: fixed, iterations: 1}");
    project.file(
        "two.yaml",
        "name: two\ncommit: true\nnodes:\n  \
         - {id: plan, prompt: Plan, provider: 'command:./agent.sh'}\n  \
         - {id: build, stage: work, commit: false}\n",
    );
    git(&project, &["add", "two.yaml"]);
    git(&project, &["commit", "-qm", "Pipeline"]);
    run_to(&project, &["two.yaml", "--session", "s"], 0);
    assert_eq!(subjects(&project), ["Begin", "Pipeline", "Did 1"]);
    let body = git(&project, &["log", "-1", "--format=%b"]);
    assert_eq!(body.trim(), "Gambrel-Iteration: s/plan/1");
    let output = project.run(&["check", "two.yaml"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    project.file("bad.yaml", "name: bad\ncommit: maybe\nnodes:\n  - {id: a, prompt: A}\n");
    let output = project.run(&["check", "bad.yaml"], b"");
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(shown.contains("bad.yaml:2:9"), "{shown}");
    assert!(shown.contains("`commit` should be true or false"), "{shown}");
}
