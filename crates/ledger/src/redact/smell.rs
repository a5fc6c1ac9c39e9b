//! Whether a variable smells of a secret, by its name, and by what its value cannot be.

const ANYWHERE: [&str; 8] =
    ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "TOKEN", "CREDENTIAL", "WEBHOOK", "APIKEY"];
const AS_A_WORD: [&str; 10] =
    ["KEY", "KEYS", "AUTH", "PAT", "PASS", "PWD", "DSN", "CREDS", "COOKIE", "BEARER"];
const NAMES_OF_PLACES: [&str; 6] = ["SOCK", "FILE", "PATH", "DIR", "TTY", "HOME"];
const NAMES_OF_AMOUNTS: [&str; 7] = ["MAX", "MIN", "LIMIT", "COUNT", "NUM", "BUDGET", "TIMEOUT"];

/// True when the value of this variable should never be written down.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    if name == "PWD" || name == "OLDPWD" {
        return false;
    }
    let surely = ANYWHERE.iter().any(|part| name.contains(part));
    let maybe = words().any(|word| AS_A_WORD.contains(&word)) || name.ends_with("KEY");
    if !(surely || maybe) {
        return false;
    }
    let place = words().next_back().is_some_and(|word| NAMES_OF_PLACES.contains(&word));
    if is_path(value) && (place || !surely || name.contains("CREDENTIAL")) {
        return false;
    }
    let amount = words().any(|word| NAMES_OF_AMOUNTS.contains(&word));
    !(amount && value.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Base64 may begin with a slash as well, hence the characters that paths seldom have.
fn is_path(value: &str) -> bool {
    value.starts_with(['/', '~', '.']) && value.contains('/') && !value.contains(['+', '='])
}
