//! The folders of one case: a project, a home and a state folder of its own, which are removed
//! afterwards. Nothing of the tested project is changed.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use gambrel_model::text::quote;
use serde_json::{Value, json};

use super::case_file::{HookCase, StubScript};

/// A project is not copied with more files than this.
const MAX_COPIED_FILES: usize = 5_000;

/// The folders of a case.
pub struct CaseFolder {
    base: PathBuf,
    /// The project's folder.
    pub root: PathBuf,
    /// The home of the user.
    pub home: PathBuf,
}

impl CaseFolder {
    /// Creates empty folders. Only the user can read them. The project's path has a blank, so that
    /// hooks with missing quotes fail.
    pub fn create() -> anyhow::Result<Self> {
        let base = std::env::temp_dir().join(format!("gambrel-test-{}", gambrel::fresh_key()?));
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&base)
            .with_context(|| base.display().to_string())?;
        // Hooks see the real path.
        let base = fs::canonicalize(&base)?;
        let (root, home) = (base.join("the project"), base.join("home"));
        for folder in [&root, &home, &base.join("tmp")] {
            fs::create_dir(folder)?;
        }
        Ok(Self { base, root, home })
    }

    /// The state folder of gambrel.
    pub fn state_dir(&self) -> PathBuf {
        self.base.join("state")
    }

    /// The folder for temporary files.
    pub fn tmp_dir(&self) -> PathBuf {
        self.base.join("tmp")
    }

    /// A file that does not exist.
    pub fn absent_file(&self) -> PathBuf {
        self.base.join("absent")
    }

    /// Fills in the case's folders.
    pub fn substitute(&self, text: &str) -> String {
        let program = std::env::current_exe().unwrap_or_default();
        text.replace("@ROOT@", &self.root.to_string_lossy())
            .replace("@HOME@", &self.home.to_string_lossy())
            .replace("@GAMBREL@", &program.to_string_lossy())
    }

    /// Fills in the case's folders in all texts of a value.
    pub fn substitute_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.substitute(text)),
            Value::Array(items) => items.iter().map(|item| self.substitute_value(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, field)| (key.clone(), self.substitute_value(field)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Writes the files and the scripts of a case. `project` is where files are copied from, and
    /// `of_hooks` what belongs to its hooks.
    pub fn write_case(
        &self,
        case: &HookCase,
        project: &Path,
        of_hooks: &[PathBuf],
    ) -> anyhow::Result<()> {
        if case.files.is_none() {
            for path in of_hooks {
                self.copy_from(project, path)?;
            }
        }
        for path in &case.copy {
            let path = Path::new(path);
            if !project.join(path).exists() {
                bail!("`copy`: there is no {} in {}", path.display(), project.display());
            }
            self.copy_from(project, path)?;
        }
        for (path, text) in case.files.iter().flatten() {
            self.write_file(path, &self.substitute(text))?;
        }
        for (path, stub) in &case.stubs {
            if is_script(path) {
                self.write_stub(path, stub)?;
            }
        }
        Ok(())
    }

    /// The place of a path of a case.
    pub fn place_of(&self, path: &str) -> anyhow::Result<PathBuf> {
        let (folder, path) = match path.strip_prefix("~/") {
            Some(rest) => (&self.home, rest),
            None => (&self.root, path),
        };
        let inside = Path::new(path);
        let is_plain =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !inside.components().all(is_plain) {
            bail!("`{path}` leads out of the case's folder");
        }
        Ok(folder.join(inside))
    }

    /// The text of a file of a case. A `*` in the last part of the path stands for any text.
    pub fn read_file(&self, path: &str) -> Option<String> {
        let place = self.place_of(path).ok()?;
        let name = place.file_name()?.to_str()?;
        let Some((head, tail)) = name.split_once('*') else {
            return fs::read_to_string(&place).ok();
        };
        let entries = fs::read_dir(place.parent()?).ok()?.filter_map(Result::ok);
        let mut fitting = entries.filter(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|name| name.starts_with(head) && name.ends_with(tail))
        });
        fs::read_to_string(fitting.next()?.path()).ok()
    }

    fn write_file(&self, path: &str, text: &str) -> anyhow::Result<PathBuf> {
        let place = self.place_of(path)?;
        create_parent(&place)?;
        fs::write(&place, text).with_context(|| path.to_owned())?;
        // Without this a script among the files could not be started.
        if text.starts_with("#!") {
            fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
        }
        Ok(place)
    }

    fn write_stub(&self, path: &str, stub: &StubScript) -> anyhow::Result<()> {
        let place = self.place_of(path)?;
        let _absent = fs::remove_file(&place);
        if stub.missing {
            return Ok(());
        }
        create_parent(&place)?;
        let (stdout, stderr) = (self.substitute(&stub.stdout), self.substitute(&stub.stderr));
        if path.ends_with("js") {
            let text = format!(
                "process.stdout.write({});\nprocess.stderr.write({});\nprocess.exitCode = {};\n",
                json!(stdout),
                json!(stderr),
                stub.exit,
            );
            return fs::write(&place, text).with_context(|| path.to_owned());
        }
        let count = self.base.join("count").join(path.replace('/', "_"));
        let last = match stub.signal {
            Some(signal) => format!("kill -{signal} $$; sleep 5"),
            None => format!("exit {}", stub.exit),
        };
        let text = format!(
            "#!/bin/sh\ncat > /dev/null\nmkdir -p {count}; n=$(ls {count} | wc -l); : > {count}/$n\n\
             [ \"$n\" -lt {first} ] && {{ echo 'not yet' >&2; exit 9; }}\n\
             printf %s {stdout}\nprintf %s {stderr} >&2\n{last}\n",
            count = quote(&count.to_string_lossy()),
            first = stub.fails_first,
            stdout = quote(&stdout),
            stderr = quote(&stderr),
        );
        fs::write(&place, text).with_context(|| path.to_owned())?;
        let mode = if stub.plain_file { 0o644 } else { 0o755 };
        Ok(fs::set_permissions(&place, fs::Permissions::from_mode(mode))?)
    }

    fn copy_from(&self, project: &Path, path: &Path) -> anyhow::Result<()> {
        let path = path.strip_prefix(project).unwrap_or(path);
        let mut left = MAX_COPIED_FILES;
        copy_tree(&project.join(path), &self.place_of(&path.to_string_lossy())?, &mut left)
            .with_context(|| format!("copying {}", path.display()))
    }
}

impl Drop for CaseFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the temporary folder.
        let _left = fs::remove_dir_all(&self.base);
    }
}

/// Whether a name of `hooks` is a script of the project and not an inline command.
fn is_script(name: &str) -> bool {
    !name.contains(' ') && (name.contains('/') || name.contains('.') || name.starts_with("on_"))
}

fn create_parent(place: &Path) -> io::Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Copies a file or a folder. Links and special files are left out.
fn copy_tree(from: &Path, to: &Path, left: &mut usize) -> anyhow::Result<()> {
    let Ok(kind) = fs::symlink_metadata(from) else { return Ok(()) };
    if kind.is_file() {
        if *left == 0 {
            bail!("it has more than {MAX_COPIED_FILES} files: name the files that hooks need");
        }
        *left -= 1;
        create_parent(to)?;
        fs::copy(from, to)?;
    } else if kind.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_tree(&entry.path(), &to.join(entry.file_name()), left)?;
        }
    }
    Ok(())
}
