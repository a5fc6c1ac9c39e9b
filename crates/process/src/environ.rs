//! The environment of a child: this process's variables, without those that are removed, plus those
//! that are set. Reports the variable that exceeds the kernel's limits.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Variable with the tag by which a process belongs to the one that was started, even outside its
/// session.
pub const TAG_VAR: &str = "GAMBREL_CALL";

/// The kernel's limit for one argument or variable, with its final zero byte.
pub const MAX_ENTRY_BYTES: usize = 128 * 1024;

/// The variables of a child.
#[derive(Debug, Clone, Copy, Default)]
pub struct EnvironRequest<'a> {
    /// Set on top of this process's environment; the last value of a name counts.
    pub set: &'a [(String, String)],
    /// If set, only these variables are inherited.
    pub inherit: Option<&'a [String]>,
    /// Variables that are not inherited.
    pub remove: &'a [String],
    /// The value of `PWD`, unless another field decides it. A shell sets `PWD` to its start
    /// directory; a program that runs without one must find the same value.
    pub pwd: Option<&'a Path>,
}

/// Why a variable cannot be passed to a child.
#[derive(Debug, thiserror::Error)]
pub enum EnvironError {
    /// Its name is empty or contains `=`.
    #[error("`{0}` is not a valid variable name")]
    InvalidName(String),
    /// It exceeds the kernel's limit.
    #[error(
        "the variable `{name}` is too long for the kernel: {length} bytes, the limit is {MAX_ENTRY_BYTES}"
    )]
    TooLong {
        /// The variable.
        name: String,
        /// Its length with name and value.
        length: usize,
    },
    /// It contains a zero byte.
    #[error("the variable `{0}` contains a NUL character")]
    ContainsNul(String),
}

/// The entries of a child's environment, ready for the kernel.
pub struct Environ {
    /// `NAME=value`, each once.
    pub entries: Vec<CString>,
    /// The value of [`TAG_VAR`] in it.
    pub tag: String,
}

impl Environ {
    /// Builds the environment; the error names the variable that cannot be passed.
    pub fn build(request: &EnvironRequest<'_>) -> Result<Self, EnvironError> {
        let tag = new_tag();
        let mut this = Self { entries: Vec::with_capacity(64), tag };

        let is_set = |name: &OsStr| request.set.iter().any(|(set, _)| name == OsStr::new(set));
        let pwd = pwd_value(request);
        for (name, value) in std::env::vars_os() {
            let kept = request.inherit.is_none_or(|keep| is_inherited(&name, keep));
            let gone = !kept || request.remove.iter().any(|unset| name == OsStr::new(unset));
            let replaced = is_set(&name) || name == TAG_VAR || (name == "PWD" && pwd.is_some());
            if !gone && !replaced {
                this.push_entry(name.as_bytes(), value.as_bytes())?;
            }
        }
        for (index, (name, value)) in request.set.iter().enumerate() {
            if request.set.iter().skip(index + 1).all(|(later, _)| later != name) && name != TAG_VAR
            {
                this.push_entry(name.as_bytes(), value.as_bytes())?;
            }
        }

        if let Some(pwd) = pwd {
            this.push_entry(b"PWD", pwd)?;
        }
        let tag = this.tag.clone();
        this.push_entry(TAG_VAR.as_bytes(), tag.as_bytes())?;
        Ok(this)
    }

    /// The value of a variable.
    pub fn value_of(&self, name: &[u8]) -> Option<&[u8]> {
        self.entries.iter().find_map(|entry| {
            entry.as_bytes().strip_prefix(name).and_then(|rest| rest.strip_prefix(b"="))
        })
    }

    /// The names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().filter_map(|entry| entry.as_bytes().split(|byte| *byte == b'=').next())
    }

    /// The longest entry, for the message when all entries together are too long.
    pub fn longest_entry(&self) -> (String, usize) {
        let longest = self.entries.iter().max_by_key(|entry| entry.as_bytes().len());
        longest.map_or((String::new(), 0), |entry| {
            let name = entry.as_bytes().split(|byte| *byte == b'=').next().unwrap_or_default();
            (String::from_utf8_lossy(name).into_owned(), entry.as_bytes().len())
        })
    }

    fn push_entry(&mut self, name: &[u8], value: &[u8]) -> Result<(), EnvironError> {
        let shown = || String::from_utf8_lossy(name).into_owned();
        if name.is_empty() || name.contains(&b'=') {
            return Err(EnvironError::InvalidName(shown()));
        }
        let length = name.len() + 1 + value.len();
        if length >= MAX_ENTRY_BYTES {
            return Err(EnvironError::TooLong { name: shown(), length });
        }

        let mut entry = Vec::with_capacity(length + 1);
        entry.extend_from_slice(name);
        entry.push(b'=');
        entry.extend_from_slice(value);
        let entry = CString::new(entry).map_err(|_| EnvironError::ContainsNul(shown()))?;
        self.entries.push(entry);
        Ok(())
    }
}

/// Whether a variable is inherited. A name that ends with `*` matches all that begin with it.
fn is_inherited(name: &OsStr, keep: &[String]) -> bool {
    keep.iter().any(|kept| match kept.strip_suffix('*') {
        Some(head) => name.as_bytes().starts_with(head.as_bytes()),
        None => name == OsStr::new(kept),
    })
}

/// The value of `PWD`, unless the request decides it otherwise.
fn pwd_value<'a>(request: &EnvironRequest<'a>) -> Option<&'a [u8]> {
    let decided = request.set.iter().any(|(name, _)| name == "PWD")
        || request.remove.iter().any(|name| name == "PWD");
    let pwd = request.pwd.filter(|pwd| !decided && pwd.is_absolute())?;
    Some(pwd.as_os_str().as_bytes())
}

fn new_tag() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{}{}", tag_prefix(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The beginning of the tags of all processes that this one starts, unique to it.
pub fn tag_prefix() -> &'static str {
    static PREFIX: OnceLock<String> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        format!("{}-{:x}{:08x}-", std::process::id(), now.tv_sec, now.tv_nsec)
    })
}
