//! Which hooks a person means: by number, by id or its beginning, by the path of a settings file or
//! of a script.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::Row;
use crate::args::Usage;

/// The rows that were named, each once, in the order of the listing.
pub fn choose<'l>(
    rows: Vec<Row<'l>>,
    names: &[String],
    all: bool,
    cwd: &Path,
) -> anyhow::Result<Vec<Row<'l>>> {
    if all {
        return Ok(rows);
    }
    if names.is_empty() {
        bail!(Usage("name hooks by number, id or path, or say --all: see `gambrel trust`".into()));
    }
    let mut is_chosen = vec![false; rows.len()];
    for name in names {
        for at in find(&rows, name, cwd)? {
            is_chosen[at] = true;
        }
    }
    Ok(rows.into_iter().zip(is_chosen).filter_map(|(row, chosen)| chosen.then_some(row)).collect())
}

fn find(rows: &[Row<'_>], name: &str, cwd: &Path) -> anyhow::Result<Vec<usize>> {
    let number: Option<usize> = name.parse().ok();
    if let Some(at) = number.and_then(|number| number.checked_sub(1)).filter(|at| *at < rows.len())
    {
        return Ok(vec![at]);
    }
    let fits = |row: &&(usize, &Row<'_>)| row.1.hook.id.starts_with(name);
    let fits: Vec<(usize, &Row<'_>)> = rows.iter().enumerate().filter(|row| fits(&row)).collect();
    if let Some((at, _)) = fits.iter().find(|(_, row)| row.hook.id == name) {
        return Ok(vec![*at]);
    }
    match fits.as_slice() {
        [(at, _)] => return Ok(vec![*at]),
        [] => {}
        _ => bail!("`{name}` fits {} hooks: write more of it", fits.len()),
    }
    let found = by_path(rows, &cwd.join(name));
    if found.is_empty() {
        bail!("no project hook `{name}`: see `gambrel trust` for numbers, ids and files");
    }
    Ok(found)
}

/// Hooks that are written in a file, or that are made of it.
fn by_path(rows: &[Row<'_>], path: &Path) -> Vec<usize> {
    let Ok(real) = fs::canonicalize(path) else { return Vec::new() };
    let is_same = |other: &Path| other == real || fs::canonicalize(other).is_ok_and(|o| o == real);
    let is_made_of = |row: &Row<'_>| {
        let root = PathBuf::from(&row.record.root);
        is_same(&row.hook.draft.source.spot.path)
            || row.record.files.keys().any(|name| is_same(&root.join(name)))
    };
    rows.iter().enumerate().filter(|(_, row)| is_made_of(row)).map(|(at, _)| at).collect()
}
