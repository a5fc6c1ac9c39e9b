//! Detects changes of a trusted hook's files between the trust check and the end of the hook. If a
//! file changed, only a stricter answer of the hook counts. It must not decide trust or start
//! processes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gambrel_model::{
    Audience, FileIdentity, Hook, Ruling, Verdict, VerifiedCopies, VerifiedCopy, WatchedFile,
    WatchedFiles,
};

use crate::covered::{Fingerprint, HookFile};

/// Resolution of file times in kernels before 6.13. Two changes within one step have the same time.
const CLOCK_STEP_WINDOW: Duration = Duration::from_millis(10);
/// How often a file that is being changed is read.
const MAX_READS: usize = 3;
/// A time further ahead comes from another machine's clock; waiting would not help.
const CLOCK_LEAD_WINDOW: Duration = Duration::from_secs(1);

/// Reads a file so that every later change has another time. Waits one clock step if the file has
/// just changed. Without an identity the file changes all the time.
pub(crate) fn read_stable<T>(
    mut read: impl FnMut() -> io::Result<(T, FileIdentity)>,
) -> io::Result<(T, Option<FileIdentity>)> {
    let mut last = read()?;
    for _ in 1..MAX_READS {
        let Some(wait) = clock_step_left(&last.1) else { return Ok((last.0, Some(last.1))) };
        std::thread::sleep(wait);
        last = read()?;
    }
    let is_stable = clock_step_left(&last.1).is_none();
    Ok((last.0, is_stable.then_some(last.1)))
}

/// Time until a change would get another timestamp; `None` means now.
fn clock_step_left(identity: &FileIdentity) -> Option<Duration> {
    let (seconds, nanos) = identity.changed;
    let changed = Duration::new(seconds.try_into().ok()?, nanos.try_into().ok()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let next_step = changed + CLOCK_STEP_WINDOW;
    (next_step > now && changed < now + CLOCK_LEAD_WINDOW).then(|| next_step.saturating_sub(now))
}

/// A file whose hashed bytes cannot be executed.
#[derive(Debug, thiserror::Error)]
#[error("verified_exec: {} is too large or cannot be read, so its bytes are not known", path.display())]
pub(crate) struct VerifyError {
    path: PathBuf,
}

/// The files to compare when the hook has ended. With `verified`, also the bytes to execute; the
/// error says why that is impossible.
pub(crate) fn watch_files(
    hook: &Hook,
    parts: &[&HookFile],
    verified: bool,
) -> Result<WatchedFiles, VerifyError> {
    let base = &hook.draft.source.base;
    let is_real = parts.iter().any(|part| part.path.starts_with(base));
    let real = || fs::canonicalize(base).unwrap_or_else(|_| base.clone());
    let root = if is_real { base.clone() } else { real() };
    let known = |part: &&HookFile| WatchedFile { path: part.path.clone(), identity: part.identity };
    let copies = verified.then(|| verified_copies(&root, parts)).transpose()?;
    let folders = watched_folders(&root, parts, verified).into_iter().map(|path| WatchedFile {
        identity: fs::metadata(&path).ok().map(|folder| FileIdentity::from(&folder)),
        path,
    });
    let folders = folders.collect();
    Ok(WatchedFiles { files: parts.iter().map(known).collect(), folders, copies })
}

/// The folders that lead to the files, from the project's folder on. With `verified` those are
/// private copies, and the folders above them count.
fn watched_folders(root: &Path, parts: &[&HookFile], verified: bool) -> BTreeSet<PathBuf> {
    let lead_to = |part: &&HookFile| {
        let parent = part.path.parent().unwrap_or(root);
        let top = if part.path.starts_with(root) { root } else { parent };
        let inner = parent.ancestors().take_while(|folder| folder.starts_with(top));
        match verified {
            true => top.ancestors().map(Path::to_owned).collect::<Vec<_>>(),
            false => inner.map(Path::to_owned).collect(),
        }
    };
    parts.iter().flat_map(lead_to).collect()
}

fn verified_copies(root: &Path, parts: &[&HookFile]) -> Result<VerifiedCopies, VerifyError> {
    let copy = |part: &&HookFile| match &part.mark {
        Fingerprint::Bytes(bytes) => Ok(VerifiedCopy {
            path: part.path.clone(),
            mode: file_mode(part),
            bytes: bytes.clone(),
        }),
        Fingerprint::State(_) => Err(VerifyError { path: part.path.clone() }),
    };
    let files = parts.iter().map(copy).collect::<Result<_, _>>()?;
    Ok(VerifiedCopies { root: root.to_owned(), files })
}

fn file_mode(part: &HookFile) -> u32 {
    let known = fs::metadata(&part.path).map(|known| known.permissions().mode());
    known.unwrap_or(0o755) & 0o777 | 0o400
}

/// The verdict of a hook whose files changed while it ran: only a refusal counts, and the user gets
/// a message.
pub(crate) fn doubt_verdict(verdict: Verdict, hook: &Hook, file: &str) -> Verdict {
    let why = format!("changed while it ran: {file}");
    let mut doubted = verdict;
    doubted.patch.clear();
    doubted.messages.clear();
    doubted.reasons.retain(|reason| reason.ruling > Ruling::Allow);
    if doubted.ruling <= Ruling::Allow {
        doubted.ruling = Ruling::Silent;
    }
    let title = hook.title();
    let place = hook.draft.source.location();
    let notice = format!(
        "gambrel: {title} ({place}) {why}; other bytes than the trusted ones may have run, so only \
         a refusal of it counts; look at the file and run `gambrel trust`"
    );
    doubted.with_message(Audience::User, notice).with_gate_failure(why)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use gambrel_model::FileIdentity;

    use super::{MAX_READS, read_stable};

    fn changed_before(age: Duration) -> FileIdentity {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let at = now.saturating_sub(age);
        let changed = (at.as_secs() as i64, i64::from(at.subsec_nanos()));
        FileIdentity { inode: (0, 0), size: 0, written: changed, changed }
    }

    #[test]
    fn an_old_file_is_read_once() {
        let mut reads = 0;
        let read = || {
            reads += 1;
            Ok(((), changed_before(Duration::from_secs(1))))
        };
        assert!(read_stable(read).unwrap().1.is_some());
        assert_eq!(reads, 1);
    }

    #[test]
    fn a_file_that_changed_just_now_is_read_again() {
        let identity = changed_before(Duration::ZERO);
        let mut reads = 0;
        let read = || {
            reads += 1;
            Ok(((), identity))
        };
        assert_eq!(read_stable(read).unwrap().1, Some(identity));
        assert_eq!(reads, 2);
    }

    #[test]
    fn a_file_that_never_rests_has_no_identity() {
        let mut reads = 0;
        let read = || {
            reads += 1;
            Ok(((), changed_before(Duration::ZERO)))
        };
        assert_eq!(read_stable(read).unwrap().1, None);
        assert_eq!(reads, MAX_READS);
    }
}
