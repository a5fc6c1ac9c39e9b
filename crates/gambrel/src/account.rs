//! The home folder of the account that runs this program, from the user database and not from the
//! environment.

use std::fs;
use std::path::{Path, PathBuf};

use crate::path_cache::resolve_links;

const USER_DATABASE: &str = "/etc/passwd";

/// The home of this account, with links resolved. `None` for an account that is not in the file.
pub fn account_home() -> Option<PathBuf> {
    let uid = rustix::process::getuid().as_raw();
    let home = home_of(&fs::read_to_string(USER_DATABASE).ok()?, uid)?;
    Some(resolve_links(&home).unwrap_or(home))
}

fn home_of(database: &str, uid: u32) -> Option<PathBuf> {
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let is_own = fields.get(2)?.parse() == Ok(uid);
        is_own.then(|| PathBuf::from(fields.get(5).copied().unwrap_or_default()))
    };
    database.lines().find_map(home).filter(|home| home.is_absolute())
}

/// The real path of a file that may not be there yet.
pub fn real_path(path: &Path) -> PathBuf {
    let real = |known: &Path| {
        let rest = path.strip_prefix(known).ok()?;
        let real = resolve_links(known).ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    };
    path.ancestors().find_map(real).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::home_of;

    #[test]
    fn the_home_is_that_of_the_number() {
        let database = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann:/home/ann:/bin/sh\n";
        assert_eq!(home_of(database, 1000), Some(PathBuf::from("/home/ann")));
        assert_eq!(home_of(database, 0), Some(PathBuf::from("/root")));
        assert_eq!(home_of(database, 7), None);
        assert_eq!(home_of("broken\nx:y:7\n", 7), None);
    }
}
