//! A mount namespace in which the directories that lead to trusted files are private and hold the
//! hashed bytes. A bind mount over a file is not enough: the kernel removes it when another process
//! renames a file onto that name. Planned in the parent; entered by the child before it executes
//! its program.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, symlinkat, unlinkat};
use rustix::io::{Errno, write};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_reconfigure, fsconfig_set_flag, fsconfig_set_string,
    fsmount, fsopen, fspick, mount_change, move_mount, open_tree,
};

/// The most entries of a directory that leads to a trusted file.
const MAX_ENTRY_COUNT: usize = 4_096;

/// The bytes that a view shows at a path.
#[derive(Debug, Clone, Copy)]
pub struct ViewFile<'a> {
    /// The real path.
    pub path: &'a Path,
    /// The permissions.
    pub mode: u32,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// Everything the child must do, planned so that it allocates nothing.
pub struct PrivateView {
    folders: Vec<CoveredFolder>,
}

/// One directory that a private one replaces.
struct CoveredFolder {
    path: CString,
    mode: CString,
    /// Parents before their entries; names are relative to the directory.
    entries: Vec<ViewEntry>,
}

struct ViewEntry {
    name: CString,
    content: EntryContent,
}

enum EntryContent {
    /// A private directory; its entries follow.
    Folder(Mode),
    /// The real directory of that name.
    LiveFolder,
    /// The real file of that name.
    LiveFile,
    /// Hashed bytes.
    Copy(Mode, Vec<u8>),
    Link(CString),
}

impl PrivateView {
    /// Plans a view with these files at their paths. Every directory below `root` that leads to one
    /// becomes private.
    pub fn plan(root: &Path, files: &[ViewFile<'_>]) -> io::Result<Self> {
        let mut tops = BTreeSet::new();
        let mut private = BTreeSet::new();
        for file in files {
            let parent = file.path.parent().unwrap_or(Path::new("/"));
            let top = if parent.starts_with(root) { root } else { parent };
            tops.insert(top.to_owned());
            private
                .extend(parent.ancestors().take_while(|f| f.starts_with(top)).map(Path::to_owned));
        }

        let planner = ViewPlanner { files, private };
        // Outer directories first: an inner one is covered inside them.
        let folders = tops.iter().map(|top| planner.cover_directory(top));
        folders.collect::<io::Result<_>>().map(|folders| Self { folders })
    }

    /// Mounts everything in this process's own mount namespace. Runs in a child that shares its
    /// parent's memory: system calls only, no allocation.
    pub fn enter_namespace(&self) -> Result<(), Errno> {
        // No mount may reach the parent's namespace.
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        self.folders.iter().try_for_each(CoveredFolder::mount_private)
    }
}

impl CoveredFolder {
    fn mount_private(&self) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let real = openat(CWD, self.path.as_c_str(), flags, Mode::empty())?;

        let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(context.as_fd(), c"mode", self.mode.as_c_str())?;
        fsconfig_create(context.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let private = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        for entry in &self.entries {
            entry.create_private(private.as_fd())?;
        }

        let onto =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(private.as_fd(), c"", real.as_fd(), c"", onto)?;
        for entry in &self.entries {
            entry.mount_live(real.as_fd(), private.as_fd())?;
        }

        let picked = FsPickFlags::FSPICK_CLOEXEC | FsPickFlags::FSPICK_EMPTY_PATH;
        let picked = fspick(private.as_fd(), c"", picked)?;
        fsconfig_set_flag(picked.as_fd(), c"ro")?;
        fsconfig_reconfigure(picked.as_fd())
    }
}

impl ViewEntry {
    /// Creates its entry in the private directory.
    fn create_private(&self, private: BorrowedFd<'_>) -> Result<(), Errno> {
        let name = self.name.as_c_str();
        match &self.content {
            EntryContent::Folder(mode) => mkdirat(private, name, *mode),
            EntryContent::LiveFolder => mkdirat(private, name, Mode::RWXU),
            EntryContent::LiveFile => write_file(private, name, Mode::RUSR, &[]),
            EntryContent::Copy(mode, bytes) => write_file(private, name, *mode, bytes),
            EntryContent::Link(target) => symlinkat(target.as_c_str(), private, name),
        }
    }

    /// Mounts the real file or directory under its name. If it is gone, removes the name.
    fn mount_live(&self, real: BorrowedFd<'_>, private: BorrowedFd<'_>) -> Result<(), Errno> {
        let gone = match &self.content {
            EntryContent::LiveFolder => AtFlags::REMOVEDIR,
            EntryContent::LiveFile => AtFlags::empty(),
            EntryContent::Folder(_) | EntryContent::Copy(..) | EntryContent::Link(_) => {
                return Ok(());
            }
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
            // A directory replaced a file, or a link replaced either.
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

/// Lists the directories that become private.
struct ViewPlanner<'c> {
    files: &'c [ViewFile<'c>],
    private: BTreeSet<PathBuf>,
}

impl ViewPlanner<'_> {
    fn cover_directory(&self, top: &Path) -> io::Result<CoveredFolder> {
        if top == Path::new("/") {
            return Err(io::Error::other(
                "hooks of a project in `/` cannot run with `verified_exec`; move the project to a directory",
            ));
        }
        let mut entries = Vec::new();
        let mut waiting = vec![top.to_owned()];
        while let Some(folder) = waiting.pop() {
            self.list_directory(top, &folder, &mut entries, &mut waiting)?;
        }
        let mode = CString::new(format!("{:o}", directory_mode(top)?))?;
        Ok(CoveredFolder { path: CString::new(top.as_os_str().as_bytes())?, mode, entries })
    }

    /// Lists one private directory: its copies and its other entries.
    fn list_directory(
        &self,
        top: &Path,
        folder: &Path,
        entries: &mut Vec<ViewEntry>,
        waiting: &mut Vec<PathBuf>,
    ) -> io::Result<()> {
        let is_here = |path: &&Path| path.parent() == Some(folder);
        for copy in self.files.iter().filter(|copy| is_here(&copy.path)) {
            let content = EntryContent::Copy(Mode::from_raw_mode(copy.mode), copy.bytes.to_vec());
            entries.push(ViewEntry { name: relative_name(top, copy.path)?, content });
        }

        for inner in self.private.iter().filter(|path| is_here(&path.as_path())) {
            let mode = Mode::from_raw_mode(directory_mode(inner)?);
            entries.push(ViewEntry {
                name: relative_name(top, inner)?,
                content: EntryContent::Folder(mode),
            });
            waiting.push(inner.clone());
        }

        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let is_copy = self.files.iter().any(|copy| copy.path == path);
            if is_copy || self.private.contains(&path) {
                continue;
            }
            if let Some(content) = live_content(&path) {
                entries.push(ViewEntry { name: relative_name(top, &path)?, content });
            }
            if entries.len() > MAX_ENTRY_COUNT {
                let many = format!("more than {MAX_ENTRY_COUNT} entries in `{}`", top.display());
                return Err(io::Error::other(many));
            }
        }
        Ok(())
    }
}

/// The content for an entry that is not trusted; `None` if it has just gone.
fn live_content(path: &Path) -> Option<EntryContent> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_dir() {
        return Some(EntryContent::LiveFolder);
    }
    if !kind.is_symlink() {
        return Some(EntryContent::LiveFile);
    }
    let target = fs::read_link(path).ok()?;
    CString::new(target.as_os_str().as_bytes()).ok().map(EntryContent::Link)
}

fn directory_mode(folder: &Path) -> io::Result<u32> {
    Ok(fs::metadata(folder)?.permissions().mode() & 0o777 | 0o700)
}

fn relative_name(top: &Path, path: &Path) -> io::Result<CString> {
    let name = path.strip_prefix(top).map_err(io::Error::other)?;
    Ok(CString::new(name.as_os_str().as_bytes())?)
}
