//! Facts that a person needs for an answer and that only the machine knows: its name, the branch of
//! the project, and how a file would change. Read when a question is asked, never before.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_engine::read_text;
#[cfg(any(feature = "http", feature = "js"))]
use gambrel_model::text::join_lines;
use gambrel_model::text::truncate_chars;
use gambrel_model::{FileChange, MAX_SHOWN_CHARS, Ticket};
use similar::TextDiff;

const HOST_NAME_FILE: &str = "/proc/sys/kernel/hostname";
const BRANCH_PREFIX: &str = "ref: refs/heads/";
/// Longer files that git wrote are not what they should be.
const MAX_GIT_FILE_BYTES: u64 = 4096;
const SHORT_HASH_CHARS: usize = 10;
const DIFF_TIMEOUT: Duration = Duration::from_secs(1);
/// A larger file is not compared; only the texts of the call are.
const MAX_COMPARED_BYTES: usize = 1 << 20;

/// Adds the machine, the branch, and the difference that a change makes.
pub fn add_question_facts(ticket: &mut Ticket, change: Option<&FileChange>) {
    let project = PathBuf::from(&ticket.project);
    let context = &mut ticket.context;
    context.machine = fs::read_to_string(HOST_NAME_FILE).unwrap_or_default().trim().to_owned();
    context.branch = read_branch(&project).unwrap_or_default();
    if let Some(change) = change {
        context.diff = diff_change(&project, change);
        context.path.clone_from(&change.path);
    }
}

/// One line for the user whose program waits for an answer. `is_served`: the question has a link that
/// works, or a page shows it.
#[cfg(any(feature = "http", feature = "js"))]
pub fn describe_wait(ticket: &Ticket, is_served: bool) -> String {
    let (id, title) = (&ticket.id, join_lines(&ticket.title));
    let page = if is_served { "" } else { "; for a page of questions start `gambrel serve`" };
    format!("a question waits: {title}: `gambrel approve {id}` or `gambrel deny {id}`{page}")
}

/// The branch of the repository around a folder, or the beginning of the commit that is checked out.
fn read_branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    // The work tree of another repository names its folder in a file.
    let dir = match git.is_dir() {
        true => git,
        false => git.parent()?.join(read_git_file(&git)?.strip_prefix("gitdir: ")?.trim()),
    };
    let head = read_git_file(&dir.join("HEAD"))?;
    let head = head.trim();
    Some(match head.strip_prefix(BRANCH_PREFIX) {
        Some(branch) => branch.to_owned(),
        None => format!("detached at {}", truncate_chars(head, SHORT_HASH_CHARS, "")),
    })
}

fn read_git_file(path: &Path) -> Option<String> {
    let known = fs::metadata(path).ok().filter(|known| known.is_file())?;
    (known.len() <= MAX_GIT_FILE_BYTES).then(|| fs::read_to_string(path).ok()).flatten()
}

/// The difference that a change makes to the file as it is now. If the file cannot be compared, the
/// difference between the texts of the call.
fn diff_change(project: &Path, change: &FileChange) -> String {
    let before = read_text(&project.join(&change.path)).ok().map(Option::unwrap_or_default);
    let before = before.filter(|before| before.len() <= MAX_COMPARED_BYTES);
    let after = before.as_deref().and_then(|before| change.apply_to(before));
    let diff = match (before, after) {
        (Some(before), Some(after)) => diff_texts(&before, &after),
        _ => {
            let texts = change.replacements.iter().map(|part| (part.old.as_str(), &part.new));
            let whole = change.content.iter().map(|content| ("", content));
            texts.chain(whole).map(|(old, new)| diff_texts(old, new)).collect()
        }
    };
    truncate_chars(&diff, MAX_SHOWN_CHARS, "\n… (the rest is not shown)")
}

fn diff_texts(before: &str, after: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(before, after);
    diff.unified_diff().context_radius(3).missing_newline_hint(false).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_branches_of_work_trees() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("main/.git/HEAD", "ref: refs/heads/feature/pay\n");
        write("main/src/lib.rs", "");
        write("main/.git/worktrees/other/HEAD", "0123456789abcdef0123\n");
        write("other/.git", "gitdir: ../main/.git/worktrees/other\n");
        assert_eq!(read_branch(&root.join("main/src")).unwrap(), "feature/pay");
        assert_eq!(read_branch(&root.join("other")).unwrap(), "detached at 0123456789");
        write("odd/.git/HEAD", &"x".repeat(5000));
        assert_eq!(read_branch(&root.join("odd")), None);
    }

    #[test]
    fn compares_with_the_file_on_disk() {
        let temp = tempfile::tempdir().unwrap();
        let lines: String = (1..=20).map(|number| format!("line {number}\n")).collect();
        fs::write(temp.path().join("a.txt"), lines).unwrap();
        let args = |args| FileChange::from_args(&args).unwrap();
        let edits = serde_json::json!([{"old": "line 10\n", "new": "ten\n"}]);
        let edit = args(serde_json::json!({"path": "a.txt", "edits": edits}));
        let diff = diff_change(temp.path(), &edit);
        assert!(diff.starts_with("@@ -7,7 +7,7 @@\n line 7\n"), "{diff}");
        assert!(diff.contains("-line 10\n+ten\n"), "{diff}");

        let gone = args(serde_json::json!({"path": "gone.txt", "edits": edits}));
        assert_eq!(diff_change(temp.path(), &gone), "@@ -1 +1 @@\n-line 10\n+ten\n");
        let new = args(serde_json::json!({"path": "new.txt", "content": "one\ntwo"}));
        assert_eq!(diff_change(temp.path(), &new), "@@ -0,0 +1,2 @@\n+one\n+two\n");
    }
}
