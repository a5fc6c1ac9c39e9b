//! Bytes on their way across the border, and text in the encodings that Node knows.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use serde_json::Value;

/// One character for each byte.
pub fn packed(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The bytes of text that has one character for each; of wider ones the lower half counts.
pub fn unpacked(text: &str) -> Vec<u8> {
    text.encode_utf16().map(|unit| unit.to_le_bytes()[0]).collect()
}

/// Bytes of a field: packed, or text in UTF-8 if `args.utf8` says so.
pub fn field(args: &Value, name: &str) -> Vec<u8> {
    let text = args[name].as_str().unwrap_or_default();
    if args["utf8"] == true { text.as_bytes().to_vec() } else { unpacked(text) }
}

/// Takes text in one encoding and gives it in another; `latin1` is how bytes cross. `None` where
/// an encoding is unknown, or the bytes are none of `utf8!`, which makes up for nothing.
pub fn recode(text: &str, from: &str, to: &str) -> Option<String> {
    encoded(&decoded(text, from)?, to)
}

/// The bytes of a text in an encoding.
pub fn decoded(text: &str, encoding: &str) -> Option<Vec<u8>> {
    Some(match encoding {
        "utf8" => text.as_bytes().to_vec(),
        "latin1" | "ascii" => unpacked(text),
        "utf16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "hex" => from_hex(text),
        "base64" | "base64url" => from_base64(text),
        _ => return None,
    })
}

fn encoded(bytes: &[u8], encoding: &str) -> Option<String> {
    Some(match encoding {
        "utf8!" => std::str::from_utf8(bytes).ok()?.to_owned(),
        "utf8" => String::from_utf8_lossy(bytes).into_owned(),
        "latin1" => packed(bytes),
        "ascii" => bytes.iter().map(|b| char::from(b & 0x7f)).collect(),
        "utf16le" => {
            let units = bytes.chunks_exact(2);
            let units: Vec<u16> = units
                .map(|pair| pair.iter().rev().fold(0, |sum, b| (sum << 8) | u16::from(*b)))
                .collect();
            String::from_utf16_lossy(&units)
        }
        "hex" => bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(digit).collect(),
        "base64" => general_purpose::STANDARD.encode(bytes),
        "base64url" => general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        _ => return None,
    })
}

fn digit(of: u8) -> char {
    char::from_digit(u32::from(of), 16).unwrap_or('0')
}

/// Up to the first pair that is no number, as Node reads it.
fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks_exact(2).map_while(|pair| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// Either alphabet, with or without padding, whatever else stands between.
fn from_base64(text: &str) -> Vec<u8> {
    if let Ok(bytes) = general_purpose::STANDARD.decode(text) {
        return bytes;
    }
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, config);
    let mut kept: Vec<u8> = text
        .bytes()
        .take_while(|b| *b != b'=')
        .filter_map(|b| match b {
            b'-' => Some(b'+'),
            b'_' => Some(b'/'),
            b'+' | b'/' => Some(b),
            _ => b.is_ascii_alphanumeric().then_some(b),
        })
        .collect();
    if kept.len() % 4 == 1 {
        kept.pop();
    }
    engine.decode(kept).unwrap_or_default()
}
