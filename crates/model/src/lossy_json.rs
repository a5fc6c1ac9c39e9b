//! JSON as JavaScript writes it, read as text that can be written anywhere: half of a character
//! (`"\ud83d"`), which a cut through an emoji leaves, becomes U+FFFD instead of an error, and it may
//! be nested deeper than a careful reader takes by itself.

use serde::de::DeserializeOwned;

const REPLACEMENT_ESCAPE: &str = "\\ufffd";
/// How long an escape of four digits is.
const ESCAPE_BYTES: usize = 6;
/// So deep a text may be nested: what the smallest stack holds several times.
const MAX_DEPTH: usize = 1_000;

/// Reads JSON, whoever has written it.
pub fn from_text<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    // Nearly every text is well-formed, and nothing else is looked for in it.
    serde_json::from_str(text).or_else(|error| {
        let mended = replace_lone_surrogates(text);
        let text = mended.as_deref().unwrap_or(text);
        if json_depth(text) > MAX_DEPTH {
            return Err(error);
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.disable_recursion_limit();
        T::deserialize(&mut reader).and_then(|read| reader.end().map(|()| read))
    })
}

/// Whether a text is nested deeper than is read.
pub fn is_too_deep(text: &str) -> bool {
    // Whatever is nested so deep has so many brackets.
    text.len() > MAX_DEPTH && json_depth(text) > MAX_DEPTH
}

/// How deep lists and objects stand in one another, at most.
fn json_depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The text with every lone half replaced by as many bytes; nothing if there is none.
pub fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut made = String::with_capacity(text.len());
    let (mut rest, mut found) = (text, false);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        made += before;
        let (kept, length) = match (
            surrogate_half(escape),
            surrogate_half(escape.get(ESCAPE_BYTES..).unwrap_or_default()),
        ) {
            (Some(Half::High), Some(Half::Low)) => (true, 2 * ESCAPE_BYTES),
            (Some(_), _) => (false, ESCAPE_BYTES),
            (None, _) => (true, 2),
        };
        // What is no escape at all is left to whoever reads the whole.
        let (taken, left) = escape.split_at_checked(length)?;
        made += if kept { taken } else { REPLACEMENT_ESCAPE };
        found |= !kept;
        rest = left;
    }
    found.then(|| made + rest)
}

enum Half {
    High,
    Low,
}

/// Which half of a pair an escape at the beginning of a text stands for.
fn surrogate_half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn lone_halves_are_replaced_and_nothing_else() {
        let text =
            r#"["\ud83d","\ude00 x","\ud83d\ude00","\\ud83d","\ud83d\ud83d\ude00","\n\"\ud83d"]"#;
        let expected =
            json!(["\u{fffd}", "\u{fffd} x", "😀", "\\ud83d", "\u{fffd}😀", "\n\"\u{fffd}"]);
        assert_eq!(from_text::<Value>(text).unwrap(), expected);
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(from_text::<Value>(&nested(MAX_DEPTH)).is_ok());
        assert!(from_text::<Value>(&nested(MAX_DEPTH + 1)).is_err());
        assert!(from_text::<Value>(&nested(1_000_000)).is_err());
        for wrong in [r#"["\ud83d"#, r#""\"#, r#""\ud8"#, "{", r#""\é""#] {
            assert!(from_text::<Value>(wrong).is_err(), "{wrong}");
        }
    }
}
