//! Selects hooks by number, id, id prefix, or path of a settings file or script.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::TrustRow;
use crate::args::UsageError;

/// The named rows, each once, in the order of the listing.
pub fn select_hooks<'l>(
    rows: Vec<TrustRow<'l>>,
    names: &[String],
    all: bool,
    cwd: &Path,
) -> anyhow::Result<Vec<TrustRow<'l>>> {
    if all {
        return Ok(rows);
    }
    if names.is_empty() {
        bail!(UsageError(
            "name hooks by number, id or path, or use --all: see `gambrel trust`".into()
        ));
    }
    let mut is_chosen = vec![false; rows.len()];
    for name in names {
        for at in find_hook(&rows, name, cwd)? {
            is_chosen[at] = true;
        }
    }
    Ok(rows.into_iter().zip(is_chosen).filter_map(|(row, chosen)| chosen.then_some(row)).collect())
}

fn find_hook(rows: &[TrustRow<'_>], name: &str, cwd: &Path) -> anyhow::Result<Vec<usize>> {
    let number: Option<usize> = name.parse().ok();
    if let Some(at) = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < rows.len())
    {
        return Ok(vec![at]);
    }

    let fits = |row: &&(usize, &TrustRow<'_>)| row.1.hook.id.starts_with(name);
    let fits: Vec<(usize, &TrustRow<'_>)> =
        rows.iter().enumerate().filter(|row| fits(&row)).collect();
    if let Some((at, _)) = fits.iter().find(|(_, row)| row.hook.id == name) {
        return Ok(vec![*at]);
    }

    match fits.as_slice() {
        [(at, _)] => return Ok(vec![*at]),
        [] => {}
        _ => bail!("`{name}` matches {} hooks: give more of the id", fits.len()),
    }

    let found = find_by_path(rows, &cwd.join(name));
    if found.is_empty() {
        bail!("no project hook `{name}`: see `gambrel trust` for numbers, ids and files");
    }
    Ok(found)
}

/// Hooks that are defined in a file, or that run it.
fn find_by_path(rows: &[TrustRow<'_>], path: &Path) -> Vec<usize> {
    let Ok(real) = fs::canonicalize(path) else { return Vec::new() };
    let is_same = |other: &Path| other == real || fs::canonicalize(other).is_ok_and(|o| o == real);
    let is_made_of = |row: &TrustRow<'_>| {
        let root = PathBuf::from(&row.record.root);
        is_same(&row.hook.draft.source.spot.path)
            || row.record.files.keys().any(|name| is_same(&root.join(name)))
    };
    rows.iter().enumerate().filter(|(_, row)| is_made_of(row)).map(|(at, _)| at).collect()
}
