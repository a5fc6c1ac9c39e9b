//! Finds secrets by their format. One row for each format.

use std::ops::Range;

/// One format: its prefix, and a function that finds the secret part.
struct SecretPattern {
    starts: &'static [u8],
    name: &'static str,
    secret: fn(&[u8], usize) -> Option<Range<usize>>,
    /// Whether the prefix must begin a word (`task-…` is not `sk-…`).
    whole_word: bool,
}

const fn word_pattern(
    starts: &'static [u8],
    name: &'static str,
    secret: fn(&[u8], usize) -> Option<Range<usize>>,
) -> SecretPattern {
    SecretPattern { starts, name, secret, whole_word: true }
}

const PATTERNS: [SecretPattern; 24] = [
    word_pattern(b"sk-", "api key", |text, at| match_token(text, at, 3, 16)),
    word_pattern(b"sk_live_", "api key", |text, at| match_token(text, at, 8, 10)),
    word_pattern(b"rk_live_", "api key", |text, at| match_token(text, at, 8, 10)),
    word_pattern(b"ghp_", "github token", |text, at| match_token(text, at, 4, 16)),
    word_pattern(b"gho_", "github token", |text, at| match_token(text, at, 4, 16)),
    word_pattern(b"ghu_", "github token", |text, at| match_token(text, at, 4, 16)),
    word_pattern(b"ghs_", "github token", |text, at| match_token(text, at, 4, 16)),
    word_pattern(b"ghr_", "github token", |text, at| match_token(text, at, 4, 16)),
    word_pattern(b"github_pat_", "github token", |text, at| match_token(text, at, 11, 16)),
    word_pattern(b"glpat-", "gitlab token", |text, at| match_token(text, at, 6, 16)),
    word_pattern(b"npm_", "npm token", |text, at| match_token(text, at, 4, 30)),
    word_pattern(b"xox", "slack token", slack_token),
    word_pattern(b"AKIA", "aws key", aws_key),
    word_pattern(b"ASIA", "aws key", aws_key),
    word_pattern(b"AIza", "google key", |text, at| match_token(text, at, 4, 35)),
    word_pattern(b"whsec_", "webhook secret", |text, at| {
        match_run(text, at, 6, is_base64).filter(|range| range.len() >= 22)
    }),
    word_pattern(b"eyJ", "jwt", match_jwt),
    word_pattern(b"Bearer ", "bearer", |text, at| match_credential(text, at + 7)),
    word_pattern(b"bearer ", "bearer", |text, at| match_credential(text, at + 7)),
    word_pattern(b"Basic ", "basic", |text, at| match_credential(text, at + 6)),
    word_pattern(b"-----BEGIN ", "private key", private_key),
    SecretPattern {
        starts: b"://",
        name: "url password",
        secret: match_userinfo,
        whole_word: false,
    },
    word_pattern(b"hooks.slack.com/", "slack webhook", |text, at| path_after(text, at + 16)),
    word_pattern(b"discord.com/api/webhooks/", "discord webhook", |text, at| {
        path_after(text, at + 25)
    }),
];

/// For each byte, one bit for each row whose prefix has it at a place.
const fn rows_by_byte(place: usize) -> [u32; 256] {
    let mut rows = [0; 256];
    let mut row = 0;
    while row < PATTERNS.len() {
        rows[PATTERNS[row].starts[place] as usize] |= 1 << row;
        row += 1;
    }
    rows
}

/// The rows by the first byte of their prefix.
pub(super) const ROWS_BY_FIRST: [u32; 256] = rows_by_byte(0);
/// The rows by the second byte. Most pairs of bytes have no row in common.
pub(super) const ROWS_BY_SECOND: [u32; 256] = rows_by_byte(1);

fn rows_at(text: &[u8], at: usize) -> u32 {
    let Some([first, second]) = text.get(at..).and_then(|rest| rest.first_chunk()) else {
        return 0;
    };
    ROWS_BY_FIRST[usize::from(*first)] & ROWS_BY_SECOND[usize::from(*second)]
}

/// The secret whose prefix is at an offset, with the name of its format.
pub(super) fn starting_at(text: &[u8], at: usize) -> Option<(Range<usize>, &'static str)> {
    let mut rows = rows_at(text, at);
    while rows != 0 {
        let shape = &PATTERNS[rows.trailing_zeros() as usize];
        rows &= rows - 1;
        if text.get(at..)?.starts_with(shape.starts)
            && (!shape.whole_word || begins_word(text, at))
            && let Some(range) = (shape.secret)(text, at)
        {
            return Some((range, shape.name));
        }
    }
    None
}

/// Whether a word begins at an offset: no letter or digit before it, except in an escape like `\n`.
fn begins_word(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|place| text.get(place)).copied();
    match before(1) {
        Some(byte) if byte.is_ascii_alphanumeric() => {
            (before(2) == Some(b'\\') && b"nrtbf".contains(&byte))
                || (before(6) == Some(b'\\') && before(5) == Some(b'u'))
                || before(3) == Some(b'%')
        }
        _ => true,
    }
}

fn match_run(
    text: &[u8],
    at: usize,
    prefix: usize,
    allowed: fn(u8) -> bool,
) -> Option<Range<usize>> {
    let tail = text.get(at + prefix..)?;
    let length = tail.iter().take_while(|byte| allowed(**byte)).count();
    Some(at..at + prefix + length)
}

/// A prefix and at least `least` characters with a digit among them, unlike words of prose.
fn match_token(text: &[u8], at: usize, prefix: usize, least: usize) -> Option<Range<usize>> {
    let range = match_run(text, at, prefix, is_token)?;
    let tail = text.get(at + prefix..range.end)?;
    (tail.len() >= least && tail.iter().any(u8::is_ascii_digit)).then_some(range)
}

fn slack_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    let dash = *text.get(at + 4)? == b'-' && text.get(at + 3)?.is_ascii_alphanumeric();
    dash.then(|| match_token(text, at, 5, 10)).flatten()
}

fn aws_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let range = match_run(text, at, 4, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())?;
    (range.len() == 20).then_some(range)
}

fn match_jwt(text: &[u8], at: usize) -> Option<Range<usize>> {
    let head = match_run(text, at, 3, is_token)?;
    if head.len() < 10 || *text.get(head.end)? != b'.' {
        return None;
    }
    let range = match_run(text, at, 3, |byte| is_token(byte) || byte == b'.')?;
    (range.end - head.end > 10).then_some(range)
}

fn match_credential(text: &[u8], at: usize) -> Option<Range<usize>> {
    let range = match_run(text, at, 0, |byte| is_base64(byte) || byte == b'.' || byte == b'~')?;
    let digit = text.get(range.clone())?.iter().any(u8::is_ascii_digit);
    ((range.len() >= 8 && digit) || range.len() >= 24).then_some(range)
}

fn private_key(text: &[u8], at: usize) -> Option<Range<usize>> {
    let title = text.get(at..text.len().min(at + 64))?;
    let kind = b"PRIVATE KEY";
    if !title.windows(kind.len()).any(|part| part == kind) {
        return None;
    }
    let end = b"-----END ";
    let rest = text.get(at..)?;
    let Some(last) = rest.windows(end.len()).position(|part| part == end) else {
        return Some(at..text.len());
    };
    let from = at + last + end.len();
    let close = text.get(from..)?.windows(5).take(64).position(|part| part == b"-----");
    Some(at..close.map_or(from, |place| from + place + 5))
}

fn match_userinfo(text: &[u8], at: usize) -> Option<Range<usize>> {
    let from = at + 3;
    let stop = |byte: u8| b"/?#\"'<>\\`".contains(&byte) || byte.is_ascii_whitespace();
    let authority = text.get(from..)?.iter().take(512).take_while(|byte| !stop(**byte)).count();
    let part = text.get(from..from + authority)?;
    let sign = part.iter().rposition(|byte| *byte == b'@')?;
    let user = part.get(..sign)?;
    let telling = user.contains(&b':') || user.len() >= 16;
    (telling && !user.starts_with(b"[redacted:")).then_some(from..from + sign)
}

fn path_after(text: &[u8], at: usize) -> Option<Range<usize>> {
    let range = match_run(text, at, 0, |byte| is_base64(byte) || byte == b'%')?;
    (range.len() >= 12).then_some(range)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_base64(byte: u8) -> bool {
    is_token(byte) || byte == b'+' || byte == b'/' || byte == b'='
}
