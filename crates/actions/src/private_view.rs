//! What a process is to see instead of the real files: a mount namespace in which the folders that
//! lead to trusted files are private and hold the hashed bytes. A bind mount over a file is not
//! enough, because the kernel removes it when another process renames a file onto that name. It
//! knows no hook. Planned in the parent; entered by the child before it executes its program.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gambrel_model::watched::{VerifiedCopies, VerifiedCopy};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, symlinkat, unlinkat};
use rustix::io::{Errno, write};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_reconfigure, fsconfig_set_flag, fsconfig_set_string,
    fsmount, fsopen, fspick, mount_change, move_mount, open_tree,
};

/// A folder on the way to a trusted file may not hold more than this.
const MAX_ENTRIES: usize = 4_096;

/// Everything that the child does, planned so that it allocates nothing.
pub(crate) struct PrivateView {
    folders: Vec<CoveredFolder>,
}

/// One folder that is replaced by a private one.
struct CoveredFolder {
    path: CString,
    mode: CString,
    /// Parents before what is in them; names are relative to the folder.
    entries: Vec<Entry>,
}

struct Entry {
    name: CString,
    content: Content,
}

enum Content {
    /// A folder of the private kind; its entries follow.
    Folder(Mode),
    /// The real folder of that name.
    LiveFolder,
    /// The real file of that name.
    LiveFile,
    /// Hashed bytes.
    Copy(Mode, Vec<u8>),
    Link(CString),
}

impl PrivateView {
    /// A view in which these copies stand at their paths, or why there can be none.
    pub fn plan(copies: &VerifiedCopies) -> Result<Self, String> {
        let mut tops = BTreeSet::new();
        let mut private = BTreeSet::new();
        for file in &copies.files {
            let parent = file.path.parent().unwrap_or(Path::new("/"));
            let top = if parent.starts_with(&copies.root) { &copies.root } else { parent };
            tops.insert(top.to_owned());
            private
                .extend(parent.ancestors().take_while(|f| f.starts_with(top)).map(Path::to_owned));
        }
        let planner = Planner { copies: &copies.files, private };
        // Outer ones first: an inner one is covered inside of them.
        let folders = tops.iter().map(|top| planner.cover(top));
        let folders = folders.collect::<io::Result<_>>();
        folders.map(|folders| Self { folders }).map_err(|error| format!("verified_exec: {error}"))
    }

    /// Puts everything in place, in a mount namespace of this process's own. Runs in a child that
    /// shares its parent's memory: system calls only, no allocation.
    pub fn enter(&self) -> Result<(), Errno> {
        // Nothing of this may reach the namespace that we come from.
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        self.folders.iter().try_for_each(CoveredFolder::enter)
    }
}

impl CoveredFolder {
    fn enter(&self) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let real = openat(CWD, self.path.as_c_str(), flags, Mode::empty())?;
        let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(context.as_fd(), c"mode", self.mode.as_c_str())?;
        fsconfig_create(context.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let private = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        for entry in &self.entries {
            entry.make(private.as_fd())?;
        }
        let onto =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(private.as_fd(), c"", real.as_fd(), c"", onto)?;
        for entry in &self.entries {
            entry.show_live(real.as_fd(), private.as_fd())?;
        }
        let picked = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_EMPTY_PATH;
        let picked = fspick(private.as_fd(), c"", picked)?;
        fsconfig_set_flag(picked.as_fd(), c"ro")?;
        fsconfig_reconfigure(picked.as_fd())
    }
}

impl Entry {
    /// Makes the private part of it.
    fn make(&self, private: BorrowedFd<'_>) -> Result<(), Errno> {
        let name = self.name.as_c_str();
        match &self.content {
            Content::Folder(mode) => mkdirat(private, name, *mode),
            Content::LiveFolder => mkdirat(private, name, Mode::RWXU),
            Content::LiveFile => write_file(private, name, Mode::RUSR, &[]),
            Content::Copy(mode, bytes) => write_file(private, name, *mode, bytes),
            Content::Link(target) => symlinkat(target.as_c_str(), private, name),
        }
    }

    /// Shows what is really there under a name. What has gone meanwhile is gone here too.
    fn show_live(&self, real: BorrowedFd<'_>, private: BorrowedFd<'_>) -> Result<(), Errno> {
        let gone = match &self.content {
            Content::LiveFolder => AtFlags::REMOVEDIR,
            Content::LiveFile => AtFlags::empty(),
            Content::Folder(_) | Content::Copy(..) | Content::Link(_) => return Ok(()),
        };
        let name = self.name.as_c_str();
        let tree = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let shown = open_tree(real, name, tree).and_then(|tree| {
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            move_mount(tree.as_fd(), c"", private, name, flags)
        });
        match shown {
            // A folder in place of a file, or a link in place of either.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP) => {
                unlinkat(private, name, gone)
            }
            shown => shown,
        }
    }
}

fn write_file(
    folder: BorrowedFd<'_>,
    name: &CStr,
    mode: Mode,
    mut bytes: &[u8],
) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, mode)?;
    while !bytes.is_empty() {
        match write(&file, bytes) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Lists the folders that are to be private.
struct Planner<'c> {
    copies: &'c [VerifiedCopy],
    private: BTreeSet<PathBuf>,
}

impl Planner<'_> {
    fn cover(&self, top: &Path) -> io::Result<CoveredFolder> {
        if top == Path::new("/") {
            return Err(io::Error::other("files of a project in / cannot be closed off"));
        }
        let mut entries = Vec::new();
        let mut waiting = vec![top.to_owned()];
        while let Some(folder) = waiting.pop() {
            self.list(top, &folder, &mut entries, &mut waiting)?;
        }
        let mode = CString::new(format!("{:o}", permissions(top)?))?;
        Ok(CoveredFolder { path: CString::new(top.as_os_str().as_bytes())?, mode, entries })
    }

    /// One private folder: its copies, and what else is in there.
    fn list(
        &self,
        top: &Path,
        folder: &Path,
        entries: &mut Vec<Entry>,
        waiting: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let is_here = |path: &&Path| path.parent() == Some(folder);
        for copy in self.copies.iter().filter(|copy| is_here(&copy.path.as_path())) {
            let content = Content::Copy(Mode::from_raw_mode(copy.mode), copy.bytes.clone());
            entries.push(Entry { name: relative(top, &copy.path)?, content });
        }
        for inner in self.private.iter().filter(|path| is_here(&path.as_path())) {
            let mode = Mode::from_raw_mode(permissions(inner)?);
            entries.push(Entry { name: relative(top, inner)?, content: Content::Folder(mode) });
            waiting.push(inner.clone());
        }
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_copy = self.copies.iter().any(|copy| copy.path == path);
            if is_copy || self.private.contains(&path) {
                continue;
            }
            if let Some(content) = live_content(&path) {
                entries.push(Entry { name: relative(top, &path)?, content });
            }
            if entries.len() > MAX_ENTRIES {
                let many = format!("more than {MAX_ENTRIES} entries in {}", top.display());
                return Err(io::Error::other(many));
            }
        }
        Ok(())
    }
}

/// What stands for an entry that is not trusted; nothing for one that has just gone.
fn live_content(path: &Path) -> Option<Content> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_dir() {
        return Some(Content::LiveFolder);
    }
    if !kind.is_symlink() {
        return Some(Content::LiveFile);
    }
    let target = fs::read_link(path).ok()?;
    CString::new(target.as_os_str().as_bytes()).ok().map(Content::Link)
}

fn permissions(folder: &Path) -> io::Result<u32> {
    Ok(fs::metadata(folder)?.permissions().mode() & 0o777 | 0o700)
}

fn relative(top: &Path, path: &Path) -> io::Result<CString> {
    let name = path.strip_prefix(top).map_err(io::Error::other)?;
    Ok(CString::new(name.as_os_str().as_bytes())?)
}
