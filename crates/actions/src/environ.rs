//! The environment of a child: ours, minus what must not go out, plus what its call sets. It
//! knows the kernel's limits for one entry and says which variable broke them.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use gambrel_model::call::Call;

/// By this variable a process that left its session is still known to belong to a call.
pub(crate) const MARK: &str = "GAMBREL_CALL";
/// By this one the programs that modules run are known to whoever looks after those.
pub(crate) const PROGRAM_MARK: &str = "GAMBREL_PROGRAM";

/// The kernel's limit for one argument or variable, its end included.
pub(crate) const LONGEST: usize = 128 * 1024;

/// The entries of a child's environment, ready for the kernel.
pub(crate) struct Environ {
    /// `NAME=value`, each once.
    pub entries: Vec<CString>,
    /// The value of [`MARK`] in it.
    pub mark: String,
}

impl Environ {
    /// What a child of this call gets; the error names the variable that cannot be passed.
    pub fn of(call: &Call) -> Result<Self, String> {
        let mark = fresh_mark();
        let mut this = Self { entries: Vec::with_capacity(64), mark };
        let own = |name: &OsStr| call.env.iter().any(|(set, _)| name == OsStr::new(set));
        let pwd = working_folder(call);
        for (name, value) in std::env::vars_os() {
            let kept = call.inherit.as_ref().is_none_or(|keep| passes(&name, keep));
            let gone = !kept || call.remove_env.iter().any(|unset| name == OsStr::new(unset));
            let replaced = own(&name) || name == MARK || (name == "PWD" && pwd.is_some());
            if !gone && !replaced {
                this.push(name.as_bytes(), value.as_bytes())?;
            }
        }
        for (index, (name, value)) in call.env.iter().enumerate() {
            if call.env.iter().skip(index + 1).all(|(later, _)| later != name) && name != MARK {
                this.push(name.as_bytes(), value.as_bytes())?;
            }
        }
        if let Some(pwd) = pwd {
            this.push(b"PWD", pwd)?;
        }
        let mark = this.mark.clone();
        this.push(MARK.as_bytes(), mark.as_bytes())?;
        Ok(this)
    }

    /// The value of a variable in it.
    pub fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.entries.iter().find_map(|entry| {
            entry.as_bytes().strip_prefix(name).and_then(|rest| rest.strip_prefix(b"="))
        })
    }

    /// The names in it.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().filter_map(|entry| entry.as_bytes().split(|byte| *byte == b'=').next())
    }

    /// The longest entry, to be named when all together were too long.
    pub fn longest(&self) -> (String, usize) {
        let longest = self.entries.iter().max_by_key(|entry| entry.as_bytes().len());
        longest.map_or((String::new(), 0), |entry| {
            let name = entry.as_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
            (String::from_utf8_lossy(name).into_owned(), entry.as_bytes().len())
        })
    }

    fn push(&mut self, name: &[u8], value: &[u8]) -> Result<(), String> {
        let shown = || String::from_utf8_lossy(name).into_owned();
        if name.is_empty() || name.contains(&b'=') {
            return Err(format!("the variable name {:?} cannot be set", shown()));
        }
        let length = name.len() + 1 + value.len();
        if length >= LONGEST {
            return Err(format!(
                "the variable {} is too long for the kernel: {length} bytes, and {LONGEST} is the limit",
                shown()
            ));
        }
        let mut entry = Vec::with_capacity(length + 1);
        entry.extend_from_slice(name);
        entry.push(b'=');
        entry.extend_from_slice(value);
        let entry = CString::new(entry)
            .map_err(|_| format!("the variable {} contains a NUL character", shown()))?;
        self.entries.push(entry);
        Ok(())
    }
}

/// A name that ends with `*` stands for all that begin so.
fn passes(name: &OsStr, keep: &[String]) -> bool {
    keep.iter().any(|kept| match kept.strip_suffix('*') {
        Some(head) => name.as_bytes().starts_with(head.as_bytes()),
        None => name == OsStr::new(kept),
    })
}

/// A shell would correct `PWD` for the folder it starts in; what is executed directly must find
/// the same value.
fn working_folder(call: &Call) -> Option<&[u8]> {
    let decided = call.env.iter().any(|(name, _)| name == "PWD")
        || call.remove_env.iter().any(|name| name == "PWD");
    (!decided && call.cwd.is_absolute()).then(|| call.cwd.as_os_str().as_bytes())
}

fn fresh_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}{}", mark_prefix(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// What the marks of all hooks of this process begin with, and those of no other process.
pub(crate) fn mark_prefix() -> &'static str {
    static PREFIX: OnceLock<String> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        format!("{}-{:x}{:08x}-", std::process::id(), now.tv_sec, now.tv_nsec)
    })
}
