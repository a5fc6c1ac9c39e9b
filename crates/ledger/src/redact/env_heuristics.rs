//! Guesses whether an environment variable is a secret, by its name and its value.

/// Parts of names of secrets.
const SECRET_PARTS: [&str; 8] =
    ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "CREDENTIAL", "WEBHOOK", "APIKEY"];
/// Words of names that may be secrets.
const SECRET_WORDS: [&str; 10] =
    ["KEY", "KEYS", "AUTH", "PAT", "PASS", "PWD", "DSN", "CREDS", "COOKIE", "BEARER"];
/// Last words of names of paths.
const PATH_WORDS: [&str; 6] = ["SOCK", "FILE", "PATH", "DIR", "TTY", "HOME"];
/// Words of names of numbers.
const NUMBER_WORDS: [&str; 7] = ["MAX", "MIN", "LIMIT", "COUNT", "NUM", "BUDGET", "TIMEOUT"];

/// True if the value of the variable should never be written.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    if name == "PWD" || name == "OLDPWD" {
        return false;
    }
    let surely = contains_part(name.as_bytes());
    let maybe = words().any(|word| SECRET_WORDS.contains(&word)) || name.ends_with("KEY");
    if !(surely || maybe) {
        return false;
    }
    let place = words().next_back().is_some_and(|word| PATH_WORDS.contains(&word));
    if is_path(value) && (place || !surely || name.contains("CREDENTIAL")) {
        return false;
    }
    let amount = words().any(|word| NUMBER_WORDS.contains(&word));
    !(amount && value.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a name contains one of the parts. Names are short, so a search without tables is the
/// fastest.
fn contains_part(name: &[u8]) -> bool {
    let mut tails = (0..name.len()).map(|at| &name[at..]);
    tails.any(|tail| SECRET_PARTS.iter().any(|part| tail.starts_with(part.as_bytes())))
}

/// Whether a value is a path. Base64 may begin with a slash too, so `+` and `=` are excluded.
fn is_path(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) && value.contains('/') && !value.contains(['+', '='])
}
