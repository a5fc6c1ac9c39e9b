//! One git commit per completed iteration. It contains everything in the project that git sees,
//! but not the folders of runs. A commit that fails is a warning, and the run goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gambrel_model::text::truncate_chars;
use gambrel_model::{Call, End, Limits, Outcome, Program};
use serde_json::{Value, json};

use crate::changed_files::{RUN_FOLDERS, WorkTree};
use crate::commit_message::{TRAILER_KEY, build_message};
use crate::context::RunUpdate;
use crate::drive::Driver;
use crate::folder::write_durably;

/// For commands that only look.
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);
/// For commands that read many files or run the hooks of the repository.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// The commits that are searched where the one before the iteration is not known.
const MAX_SEARCHED_COMMITS: &str = "--max-count=100";
/// The most lines and characters of git's own words in a warning.
const MAX_SHOWN_LINES: usize = 6;
const MAX_SHOWN_CHARS: usize = 500;
const MESSAGE_FILE: &str = "commit-message.txt";
/// No prompt, no editor, and no background process that outlives the commit.
const GIT_ENV: [(&str, &str); 2] = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];
const GIT_SETTINGS: [&str; 4] = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"];

/// Why an iteration was not committed.
#[derive(Debug, thiserror::Error)]
enum CommitError {
    #[error("the project is not in a git work tree")]
    NoWorkTree,
    #[error("files have merge conflicts; resolve them")]
    Unmerged,
    #[error("git does not know who commits; set `user.name` and `user.email`")]
    NoIdentity,
    #[error("git {command} {end}{}", words.as_ref().map(|words| format!(": {words}")).unwrap_or_default())]
    Git { command: String, end: String, words: Option<String> },
    #[error("cannot write the message: {0}")]
    Message(#[from] std::io::Error),
}

impl Driver<'_> {
    /// Commits the newest iteration, if its node asks for it. Returns what the log says about it.
    pub(crate) fn commit_iteration(&mut self) -> Value {
        if !self.node().commit {
            return Value::Null;
        }
        let committed = self.try_commit();
        // A signal ended git. The resumed run looks for the commit again.
        if self.is_interrupted() {
            return Value::Null;
        }
        match committed {
            Ok(None) => Value::Null,
            Ok(Some(commit)) => json!({"commit": commit}),
            Err(error) => {
                let iteration = self.state.cursor.iteration;
                let text = format!("iteration {iteration} was not committed: {error}");
                (self.on_update)(RunUpdate::Notice(&text));
                json!({"commit_error": error.to_string()})
            }
        }
    }

    /// The commit of the newest iteration; `None` if nothing has changed.
    fn try_commit(&self) -> Result<Option<String>, CommitError> {
        let inside = self.git(&["rev-parse", "--is-inside-work-tree"], QUERY_TIMEOUT);
        match inside.end {
            End::Exited(0) if inside.stdout.to_text().trim() == "true" => {}
            End::Exited(_) => return Err(CommitError::NoWorkTree),
            _ => return Err(describe_failure("rev-parse", &inside)),
        }
        if let Some(commit) = self.find_commit() {
            return Ok(Some(commit));
        }
        let paths = self.committed_paths();
        let changed = self.ask_git(&with_paths(&["status", "--porcelain", "-z"], &paths))?;
        if changed.is_empty() {
            return Ok(None);
        }
        if !self.ask_git(&["ls-files", "--unmerged", "-z"])?.is_empty() {
            return Err(CommitError::Unmerged);
        }
        for ident in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            self.ask_git(&["var", ident]).map_err(|_| CommitError::NoIdentity)?;
        }
        if !self.stage_changes(&paths)? {
            return Ok(None);
        }
        let message = self.write_message()?;
        let message = format!("--file={}", message.display());
        let commit = ["commit", "--quiet", "--only", "--cleanup=whitespace", &message];
        self.change_git(&with_paths(&commit, &paths))?;
        let commit = self.ask_git(&["rev-parse", "HEAD"])?;
        Ok(Some(String::from_utf8_lossy(&commit).trim().to_owned()))
    }

    /// Adds all changes to the index; whether it differs from the newest commit then.
    fn stage_changes(&self, paths: &[String]) -> Result<bool, CommitError> {
        // git refuses to leave out what it ignores anyway.
        let is_kept = |path: &&String| match path.strip_prefix(EXCLUDE) {
            Some(plain) => {
                let ignored = self.git(&["check-ignore", "--quiet", "--", plain], QUERY_TIMEOUT);
                ignored.end != End::Exited(0)
            }
            None => true,
        };
        let added: Vec<String> = paths.iter().filter(is_kept).cloned().collect();
        self.change_git(&with_paths(&["add", "--all"], &added))?;
        let words = with_paths(&["diff", "--cached", "--quiet"], paths);
        let diff = self.git(&words, COMMIT_TIMEOUT);
        match diff.end {
            End::Exited(0) => Ok(false),
            End::Exited(1) => Ok(true),
            _ => Err(describe_failure("diff", &diff)),
        }
    }

    /// The project without the folders of runs and gambrel's state, as git's pathspecs.
    fn committed_paths(&self) -> Vec<String> {
        let project = real_path(&self.context.project);
        let own = [Some(&self.folder.path), self.context.state_dir.as_ref()];
        let own = own.into_iter().flatten().filter_map(|path| {
            let path = real_path(path).strip_prefix(&project).ok()?.to_str()?.to_owned();
            (!path.is_empty()).then_some(path)
        });
        let runs = RUN_FOLDERS.iter().map(|path| path.trim_end_matches('/').to_owned());
        let left_out = runs.chain(own).map(|path| format!("{EXCLUDE}{path}"));
        std::iter::once(".".to_owned()).chain(left_out).collect()
    }

    /// The commit that an interrupted process made for this iteration.
    fn find_commit(&self) -> Option<String> {
        let cursor = &self.state.cursor;
        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        let before = self.work_tree.clone().or_else(|| WorkTree::load(&files.folder));
        let range = match before.as_ref().map(WorkTree::commit).filter(|base| !base.is_empty()) {
            Some(base) => format!("{base}..HEAD"),
            None => "HEAD".to_owned(),
        };
        let format = format!("--format=%H %(trailers:key={TRAILER_KEY},valueonly,separator=%x20)");
        let words = ["log", MAX_SEARCHED_COMMITS, &format, &range];
        let found = String::from_utf8_lossy(&self.ask_git(&words).ok()?).into_owned();
        let wanted = self.iteration_name();
        let mut lines = found.lines().filter_map(|line| line.split_once(' '));
        lines
            .find(|(_, names)| names.split(' ').any(|name| name == wanted))
            .map(|(hash, _)| hash.to_owned())
    }

    /// The name of the iteration in its commit.
    fn iteration_name(&self) -> String {
        let session = &self.plan.session.name;
        format!("{session}/{}/{}", self.node().id, self.state.cursor.iteration)
    }

    fn write_message(&self) -> Result<PathBuf, CommitError> {
        let cursor = &self.state.cursor;
        let files = self.folder.iteration_files(self.plan, cursor.node(), cursor.iteration);
        let summary = self.state.history.last().map(|entry| entry.summary.as_str());
        let fallback = format!("Iteration {} of {}", cursor.iteration, self.node().id);
        let text = build_message(summary.unwrap_or_default(), &fallback, &self.iteration_name());
        let path = files.folder.join(MESSAGE_FILE);
        write_durably(&path, text.as_bytes())?;
        Ok(path)
    }

    /// What a command that only looks prints.
    fn ask_git(&self, words: &[impl AsRef<str>]) -> Result<Vec<u8>, CommitError> {
        let outcome = self.git(words, QUERY_TIMEOUT);
        match outcome.end {
            End::Exited(0) => Ok(outcome.stdout.bytes),
            _ => Err(describe_failure(first_word(words), &outcome)),
        }
    }

    fn change_git(&self, words: &[impl AsRef<str>]) -> Result<(), CommitError> {
        let outcome = self.git(words, COMMIT_TIMEOUT);
        match outcome.end {
            End::Exited(0) => Ok(()),
            _ => Err(describe_failure(first_word(words), &outcome)),
        }
    }

    /// Runs git in the project. Its arguments are never read by a shell.
    fn git(&self, words: &[impl AsRef<str>], timeout: Duration) -> Outcome {
        let words = words.iter().map(AsRef::as_ref);
        let words = std::iter::once("git").chain(GIT_SETTINGS).chain(words).map(str::to_owned);
        let call = Call {
            program: Program::Exec(words.collect()),
            env: GIT_ENV.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            // A run that a git hook started must not write to that commit's index.
            remove_env: vec!["GIT_INDEX_FILE".to_owned()],
            cwd: self.context.project.clone(),
            limits: Limits { timeout, ..Limits::default() },
            ..Call::default()
        };
        (self.context.run_call)(&call)
    }
}

/// Begins a path that git leaves out, taken literally.
const EXCLUDE: &str = ":(exclude,literal)";

fn with_paths(words: &[&str], paths: &[String]) -> Vec<String> {
    let words = words.iter().copied().chain(["--"]).map(str::to_owned);
    words.chain(paths.iter().cloned()).collect()
}

fn first_word(words: &[impl AsRef<str>]) -> &str {
    words.first().map(AsRef::as_ref).unwrap_or_default()
}

fn real_path(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// How git failed, with the last lines that it or a hook of the repository wrote.
fn describe_failure(command: &str, outcome: &Outcome) -> CommitError {
    let end = match &outcome.end {
        End::Exited(code) => format!("exited with code {code}"),
        End::TimedOut => "took too long and was ended".to_owned(),
        End::FailedToStart(why) => format!("did not start: {why}"),
        other => format!("ended as `{}`", other.trail_word()),
    };
    let texts = [outcome.stderr.to_text(), outcome.stdout.to_text()];
    let words = texts.iter().map(|text| last_lines(text)).find(|words| !words.is_empty());
    CommitError::Git { command: command.to_owned(), end, words }
}

/// The last lines of a text in one line.
fn last_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    let first = lines.len().saturating_sub(MAX_SHOWN_LINES);
    truncate_chars(&lines[first..].join(" "), MAX_SHOWN_CHARS, "…")
}
