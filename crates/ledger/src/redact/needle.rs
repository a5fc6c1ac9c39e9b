//! Finds known secret values in a text: as they are, JSON-escaped or percent-encoded.

/// The known values, longest first, with the bytes that may start one of them.
pub(super) struct Needles {
    values: Vec<(String, Vec<u8>)>,
    starts: [bool; 256],
}

impl Needles {
    pub(super) fn new(known: &[(String, String)]) -> Self {
        let mut values: Vec<(String, Vec<u8>)> =
            known.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
        values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        let mut starts = [false; 256];
        for (_, value) in &values {
            for byte in value.iter().take(1) {
                starts[usize::from(*byte)] = true;
            }
            starts[usize::from(b'%')] = true;
            starts[usize::from(b'\\')] = true;
        }
        if values.iter().any(|(_, value)| value.starts_with(b" ")) {
            starts[usize::from(b'+')] = true;
        }
        Self { values, starts }
    }

    pub(super) fn may_start(&self, byte: u8) -> bool {
        self.starts[usize::from(byte)]
    }

    /// The longest known value that starts at an offset: its end, and its name.
    pub(super) fn starting_at(&self, text: &[u8], at: usize) -> Option<(usize, &str)> {
        let first = *text.get(at)?;
        if !self.may_start(first) {
            return None;
        }
        self.values
            .iter()
            .find_map(|(name, value)| match_end(text, at, value).map(|end| (end, name.as_str())))
    }
}

fn match_end(text: &[u8], at: usize, value: &[u8]) -> Option<usize> {
    if text.get(at..)?.starts_with(value) {
        return Some(at + value.len());
    }
    let mut here = at;
    let mut rest = value;
    while let Some(wanted) = rest.first() {
        let (taken, matched) = match_byte(text.get(here..)?, *wanted, rest)?;
        here += taken;
        rest = rest.get(matched..)?;
    }
    Some(here)
}

/// Matches one byte of a value in any encoding. Returns the matched bytes of the text and of the
/// value.
fn match_byte(text: &[u8], wanted: u8, rest: &[u8]) -> Option<(usize, usize)> {
    match *text.first()? {
        b'\\' => match_escape(text, wanted, rest),
        b'%' => match_percent(text, wanted),
        b'+' if wanted == b' ' => Some((1, 1)),
        byte if byte == wanted => Some((1, 1)),
        _ => None,
    }
}

fn match_percent(text: &[u8], wanted: u8) -> Option<(usize, usize)> {
    if text.get(1..3).and_then(parse_hex) == Some(u32::from(wanted)) {
        return Some((3, 1));
    }
    (wanted == b'%').then_some((1, 1))
}

/// Matches a JSON escape. Nested JSON doubles backslashes at each level, so runs are compared.
fn match_escape(text: &[u8], wanted: u8, rest: &[u8]) -> Option<(usize, usize)> {
    let run = text.iter().take_while(|byte| **byte == b'\\').count();
    if wanted == b'\\' {
        let own = rest.iter().take_while(|byte| **byte == b'\\').count();
        if (0..4).any(|depth| own << depth == run) {
            return Some((run, own));
        }
        return Some((1, 1));
    }
    let after = text.get(run..)?;
    let spelled = match *after.first()? {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        b'u' if after.get(1..5).and_then(parse_hex) == Some(u32::from(wanted)) => {
            return Some((run + 5, 1));
        }
        byte => byte,
    };
    (spelled == wanted).then_some((run + 1, 1))
}

fn parse_hex(digits: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(text, 16).ok()
}
