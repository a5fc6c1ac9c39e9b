//! Formats a complaint: under the source text, or on one line.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use gambrel_model::text::is_display_control;
use gambrel_model::{Complaint, Severity};

use crate::printer;

/// What the renderer does not count: the bar after the line number, and the dots of a cut line.
const MARGIN_CHARS: usize = 7;
/// The least width of a source line.
const MIN_SOURCE_CHARS: usize = 30;

/// `path:line:column: message`.
pub fn short_line(complaint: &Complaint) -> String {
    let spot = &complaint.spot;
    let place = match spot.line {
        0 => spot.path.display().to_string(),
        line => format!("{}:{line}:{}", spot.path.display(), spot.column),
    };
    let help = complaint.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{place}: {}{help}", complaint.message)
}

/// Draws the complaint under its source text.
pub fn draw_snippet(complaint: &Complaint) -> String {
    let spot = &complaint.spot;
    let level = match complaint.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };

    let path = printer::single_line(&spot.path.display().to_string());
    let message = printer::replace_controls(&complaint.message);
    // Only regular files are read: a device may be endless.
    let drawn = spot.line > 0 && spot.path.is_file();
    let text = drawn.then(|| std::fs::read_to_string(&spot.path).ok()).flatten();

    let Some(text) = text.filter(|text| spot.end <= text.len()) else {
        return draw_without_source(complaint, level, &message, &path);
    };

    let text = replace_controls_in_place(&text);
    let width = source_width(spot.line);
    let end = limit_to_first_line(&text, spot.start, spot.end.max(spot.start));
    let range = spot.start..width.map_or(end, |width| limit_chars(&text, spot.start..end, width));
    let snippet = Snippet::source(text.as_str())
        .path(path.as_str())
        .annotation(AnnotationKind::Primary.span(range));

    let mut report = vec![level.primary_title(message.as_str()).element(snippet)];
    let help = complaint.help.as_deref().map(printer::replace_controls);
    if let Some(help) = &help {
        report.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
    }
    let renderer = Renderer::styled();
    let renderer = match width {
        Some(width) => renderer.term_width(width),
        None => renderer,
    };
    format!("{}\n\n", renderer.render(&report))
}

/// The width of a source line on the terminal: the marks below a wrapped line would point nowhere.
fn source_width(line: usize) -> Option<usize> {
    let before = line.to_string().len() + MARGIN_CHARS;
    Some(printer::stdout_width()?.saturating_sub(before).max(MIN_SOURCE_CHARS))
}

/// Draws a complaint about a file as a whole, or about one that cannot be shown.
fn draw_without_source(
    complaint: &Complaint,
    level: Level<'_>,
    message: &str,
    path: &str,
) -> String {
    let place = match complaint.spot.line {
        0 => path.to_owned(),
        line => format!("{path}:{line}:{}", complaint.spot.column),
    };
    let title = Renderer::styled().render(&[Group::with_title(level.primary_title(message))]);
    let mut text = format!("{title}\n --> {place}\n");
    if let Some(help) = complaint.help.as_deref().map(printer::replace_controls) {
        text += &format!("help: {help}\n");
    }
    text + "\n"
}

/// Replaces control characters and keeps all byte offsets.
fn replace_controls_in_place(text: &str) -> String {
    let stand_in = |c: char| match c {
        '\r' => c,
        _ if !is_display_control(c) => c,
        _ => match c.len_utf8() {
            1 => '?',
            2 => '\u{b7}',
            _ => '\u{fffd}',
        },
    };
    text.chars().map(stand_in).collect()
}

/// The end of a range, limited to its first line: a long range would hide the mistake.
fn limit_to_first_line(text: &str, start: usize, end: usize) -> usize {
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    end.min(line_end).max(start)
}

/// The end of a range of at most two thirds of a line: the renderer cuts only what is not marked.
fn limit_chars(text: &str, range: Range<usize>, width: usize) -> usize {
    let marked = &text[range.clone()];
    let end = marked.char_indices().nth(width * 2 / 3).map_or(marked.len(), |(at, _)| at);
    range.start + end
}
