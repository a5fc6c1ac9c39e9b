//! Reads Markdown only as far as a test of links needs it: the anchors of headings and the targets
//! of links. Knows nothing of this repository.

use std::collections::{BTreeMap, BTreeSet};

/// The anchors of a text: of its headings, as GitHub makes them, and of its HTML tags.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let text = blank_fences(text);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for heading in text.lines().filter_map(heading) {
        let anchor = anchor(heading);
        let earlier = counts.entry(anchor.clone()).or_default();
        anchors.insert(match *earlier {
            0 => anchor,
            number => format!("{anchor}-{number}"),
        });
        *earlier += 1;
    }
    let tags = ["id=\"", "name=\""].into_iter();
    anchors.extend(tags.flat_map(|start| attributes(&text, start)).map(|(_, value)| value));
    anchors
}

/// The anchor of a heading's text: lower case, hyphens for spaces, no punctuation.
pub fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let plain = without_targets(heading).to_lowercase();
    plain.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Every link and image outside code, with its line.
pub fn links(text: &str) -> Vec<(usize, String)> {
    let text = blank_code_spans(&blank_fences(text));
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        if let Some(target) = target(&text[at + 2..]) {
            found.push((at, target));
        }
    }
    found.extend(definitions(&text));
    found.extend(["href=\"", "src=\""].into_iter().flat_map(|start| attributes(&text, start)));
    found.sort();
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    found.into_iter().map(|(at, target)| (line(at), target)).collect()
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_heading = (1..=6).contains(&level) && text.starts_with(' ');
    is_heading.then(|| text.trim().trim_end_matches('#').trim_end())
}

/// `[text](target)` without its target, as GitHub reads a heading.
fn without_targets(heading: &str) -> String {
    let mut rest = heading;
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("](") {
        plain += before;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

/// The target in front of the parenthesis that closes it, without a title.
fn target(text: &str) -> Option<String> {
    let mut depth = 1;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 || c == '\n'
    })?;
    let word = text[..end].split_whitespace().next()?;
    Some(word.trim_start_matches('<').trim_end_matches('>').to_owned())
}

/// Definitions of references: `[name]: target` at the start of a line.
fn definitions(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with('[')
            && let Some((_, rest)) = line.split_once("]: ")
            && let Some(target) = rest.split_whitespace().next()
        {
            found.push((at, target.to_owned()));
        }
        at += line.len();
    }
    found
}

fn attributes(text: &str, start: &str) -> Vec<(usize, String)> {
    let value = |at: usize| text[at + start.len()..].split('"').next().unwrap_or_default();
    text.match_indices(start).map(|(at, _)| (at, value(at).to_owned())).collect()
}

/// The text with its fenced code replaced by spaces, so that positions stay.
fn blank_fences(text: &str) -> String {
    let mut fence: Option<&str> = None;
    let mut blanked = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mark = fence_of(line);
        match fence {
            None if mark.is_some() => fence = mark,
            None => {
                blanked += line;
                continue;
            }
            Some(open) if mark.is_some_and(|mark| mark.starts_with(open)) => fence = None,
            Some(_) => {}
        }
        blanked += &blank(line);
    }
    blanked
}

fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark =
        ['`', '~'].into_iter().map(|c| line.len() - line.trim_start_matches(c).len()).max()?;
    (mark >= 3).then(|| &line[..mark])
}

/// The text with its code spans replaced by spaces. A span ends at a run of as many backticks, in
/// the same paragraph.
fn blank_code_spans(text: &str) -> String {
    let mut rest = text;
    let mut blanked = String::with_capacity(text.len());
    while let Some(start) = rest.find('`') {
        let (before, span) = rest.split_at(start);
        blanked += before;
        let ticks = span.len() - span.trim_start_matches('`').len();
        let end = span_end(span, ticks).unwrap_or(0);
        blanked += &blank(&span[..end.max(ticks)]);
        rest = &span[end.max(ticks)..];
    }
    blanked + rest
}

fn span_end(span: &str, ticks: usize) -> Option<usize> {
    let paragraph = span.find("\n\n").unwrap_or(span.len());
    let mut at = ticks;
    while let Some(start) = span[at..paragraph].find('`') {
        let run = &span[at + start..paragraph];
        let length = run.len() - run.trim_start_matches('`').len();
        at += start + length;
        if length == ticks {
            return Some(at);
        }
    }
    None
}

fn blank(text: &str) -> String {
    let space = |c: char| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) };
    text.chars().map(space).collect()
}
