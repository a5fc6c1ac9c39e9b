//! Folds equal complaints: one is drawn, the others are named by their place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gambrel_model::{Complaint, SourceSpan};

use crate::printer::{self, diagnostic};

/// How many further places of one complaint are named.
const MAX_PLACE_COUNT: usize = 5;

/// The complaints without those that repeat another one at the same place.
pub fn without_repeats(complaints: Vec<Complaint>) -> Vec<Complaint> {
    let mut known = BTreeSet::new();
    let is_new = |complaint: &Complaint| known.insert((complaint.severity, complaint.to_string()));
    complaints.into_iter().filter(is_new).collect()
}

/// Groups complaints that say the same, in the order of the first of each.
pub fn group_equal(complaints: &[Complaint]) -> Vec<Vec<&Complaint>> {
    let mut groups: Vec<Vec<&Complaint>> = Vec::new();
    let mut known = BTreeMap::new();
    for complaint in complaints {
        let key = (complaint.severity, &complaint.message, &complaint.help);
        let index = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(complaint),
            None => groups.push(vec![complaint]),
        }
    }
    groups
}

/// Draws the first complaint of a group, and names the places of the others.
pub fn draw_group(group: &[&Complaint]) -> String {
    let Some((first, others)) = group.split_first() else { return String::new() };
    let drawn = diagnostic::draw_snippet(first);
    if others.is_empty() {
        return drawn;
    }
    let places = others.iter().take(MAX_PLACE_COUNT);
    let places: Vec<String> = places.map(|c| name_place(&c.spot, &first.spot.path)).collect();
    let more = match others.len().saturating_sub(MAX_PLACE_COUNT) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let end = if drawn.ends_with("\n\n") { "\n" } else { "" };
    format!("{}\n  the same at {}{more}\n{end}", drawn.trim_end(), places.join(", "))
}

/// A place; without its file if that is the file of the drawn complaint.
fn name_place(spot: &SourceSpan, file: &Path) -> String {
    match (spot.path == file, spot.line) {
        (true, line) if line > 0 => format!("line {line}"),
        (_, 0) => printer::single_line(&spot.path.display().to_string()),
        (_, line) => printer::single_line(&format!("{}:{line}", spot.path.display())),
    }
}
