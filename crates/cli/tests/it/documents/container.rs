//! A root folder of a fresh machine: the libraries of this system, few programs, the toolchain of
//! Rust and a C compiler, and nothing of this machine's users. Commands run inside it, in a mount
//! namespace of their own.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What a small Debian image has, and a C compiler.
const PROGRAMS: &str = "ar as awk basename bash cat cc chmod cmp cp cut date diff dirname du echo \
    env expr false find gcc grep gzip head hostname id install kill ld ln ls mkdir mkfifo mktemp mv \
    nproc od printf ps pwd readlink realpath rm rmdir script sed seq setsid sh sha256sum sleep sort \
    stat strip tail tar tee test timeout touch tr true uname uniq wc which xargs";
/// Where the programs are, in the root.
const PROGRAM_FOLDER: &str = "/opt/bin";
/// Folders of the system. One that leads to another, as `/bin` to `/usr/bin`, does so here too.
const SYSTEM_FOLDERS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc"];
/// Of the system's settings, only those of the linker and of alternative compilers.
const SETTINGS: [&str; 3] = ["/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf"];
/// For `ENTER_SCRIPT`.
const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
/// Makes `$1` the root, and runs the arguments after `--` with the PATH `$2`. The arguments before are
/// pairs of a path of this machine and its place in the root.
const ENTER_SCRIPT: &str = r#"set -e
root=$1 path=$2; shift 2
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --rbind "$1" "$root$2"; shift 2; done
shift; cd "$root"
exec chroot . env PATH="$path" "$@""#;

/// The folder that commands see as `/`.
pub struct ContainerRoot {
    folder: PathBuf,
    /// Paths of this machine, each with its place in the root.
    shared: Vec<[PathBuf; 2]>,
}

impl ContainerRoot {
    /// A root in an empty folder, for a user whose home is `home`.
    pub fn new(folder: PathBuf, home: &str) -> Self {
        let mut root = Self { folder, shared: Vec::new() };
        for name in ["etc", "tmp", "opt/bin", home.trim_start_matches('/')] {
            std::fs::create_dir_all(root.folder.join(name)).unwrap();
        }
        for path in SYSTEM_FOLDERS.into_iter().map(Path::new).filter(|path| path.exists()) {
            match std::fs::read_link(path) {
                Ok(other) => symlink(other, root.path_of(path)).unwrap(),
                Err(_) => root.share(path),
            }
        }
        for path in SETTINGS.into_iter().map(Path::new).filter(|path| path.exists()) {
            root.share(path);
        }
        let users = format!("root:x:0:0::{home}:/bin/sh\n");
        std::fs::write(root.path_of("/etc/passwd"), users).unwrap();
        std::fs::write(root.path_of("/etc/hosts"), "127.0.0.1 localhost\n::1 localhost\n").unwrap();

        PROGRAMS.split_whitespace().for_each(|program| root.share_program(program));
        let toolchain = toolchain_folder();
        root.share(toolchain);
        for program in ["cargo", "rustc", "rustdoc"] {
            root.link_program(program, &toolchain.join("bin").join(program));
        }
        root
    }

    /// The place of a path of the root on this machine.
    pub fn path_of(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.join(path.as_ref().strip_prefix("/").unwrap())
    }

    /// The root has the path too, with all that is below it.
    pub fn share(&mut self, path: &Path) {
        self.share_at(path, path);
    }

    /// The root has the path at another place.
    pub fn share_at(&mut self, path: &Path, place: &Path) {
        let own = self.path_of(place);
        if path.is_dir() {
            std::fs::create_dir_all(own).unwrap();
        } else {
            std::fs::create_dir_all(own.parent().unwrap()).unwrap();
            std::fs::write(own, "").unwrap();
        }
        self.shared.push([path.to_owned(), place.to_owned()]);
    }

    /// Puts a program of this machine on the PATH. It need not exist.
    pub fn share_program(&mut self, name: &str) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let files = std::env::split_paths(&path).map(|folder| folder.join(name));
        let Some(file) = files.into_iter().find(|file| file.is_file()) else { return };
        if !SYSTEM_FOLDERS.iter().any(|folder| file.starts_with(folder)) {
            self.share(&file);
        }
        self.link_program(name, &file);
    }

    /// Puts a program on the PATH, which the root has at `path`.
    pub fn link_program(&self, name: &str, path: &Path) {
        symlink(path, self.program_file(name)).unwrap();
    }

    /// The place of a program on the PATH.
    pub fn program_file(&self, name: &str) -> PathBuf {
        self.path_of(PROGRAM_FOLDER).join(name)
    }

    /// A command in this root without environment variables, except a PATH of the programs in
    /// `folder` and those of the root.
    pub fn command(&self, words: &[&str], folder: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(unshare_options().unwrap_or_default());
        command.args(["sh", "-c", ENTER_SCRIPT, "sh"]).arg(&self.folder);
        command.arg(format!("{folder}:{PROGRAM_FOLDER}"));
        command.args(self.shared.as_flattened()).arg("--").args(words);
        command.env_clear().env("PATH", SYSTEM_PATH);
        command
    }
}

/// Whether this machine allows such a root. If not, prints a notice, and fails in CI.
pub fn is_allowed() -> bool {
    let allowed = unshare_options().is_some();
    if !allowed {
        crate::test_project::report_missing_part(
            "a mount namespace for the root of a fresh machine",
        );
    }
    allowed
}

/// Options with which `unshare` gives this user a mount namespace.
fn unshare_options() -> Option<&'static [&'static str]> {
    const AS_ROOT: &[&str] = &["--mount"];
    const AS_USER: &[&str] = &["--user", "--map-root-user", "--mount"];
    static OPTIONS: OnceLock<Option<&[&str]>> = OnceLock::new();
    *OPTIONS.get_or_init(|| {
        let works = |options: &&&[&str]| {
            let output = Command::new("unshare").args(**options).arg("true").output();
            output.is_ok_and(|output| output.status.success())
        };
        [AS_ROOT, AS_USER].iter().find(works).copied()
    })
}

/// The folder of the Rust that compiled this test.
fn toolchain_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let rustc = Path::new(env!("CARGO")).with_file_name("rustc");
        let output = Command::new(rustc).args(["--print", "sysroot"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().into()
    })
}

#[test]
fn the_root_has_a_compiler_and_nothing_of_this_machine() {
    if !is_allowed() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    std::fs::write(temp.path().join("own"), "").unwrap();
    let folder = temp.path().join("root");
    std::fs::create_dir(&folder).unwrap();
    let root = ContainerRoot::new(folder, "/home/ada");
    let script = "cc --version >/dev/null && rustc --version >/dev/null && cd && pwd -P && ls -A \
                  && ls /home /tmp && command -v git node; ls \"$0\"";
    let own = temp.path().join("own");
    let mut command = root.command(&["sh", "-c", script, own.to_str().unwrap()], "/nowhere");
    let output = command.env("HOME", "/home/ada").output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout, "/home/ada\n/home:\nada\n\n/tmp:\n");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("No such file"), "{stderr}");
}
