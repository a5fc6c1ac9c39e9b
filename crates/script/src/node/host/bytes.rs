//! Bytes as text, for transfer to the engine, and Node's text encodings.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use serde_json::Value;

/// Text with one character for each byte.
pub fn pack_bytes(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The bytes of such a text. Of a wider character only the low byte counts.
pub fn unpack_bytes(text: &str) -> Vec<u8> {
    text.encode_utf16().map(|unit| unit.to_le_bytes()[0]).collect()
}

/// The bytes of a field: one character for each byte, or UTF-8 if `args.utf8` is true.
pub fn bytes_field(args: &Value, name: &str) -> Vec<u8> {
    let text = args[name].as_str().unwrap_or_default();
    if args["utf8"] == true { text.as_bytes().to_vec() } else { unpack_bytes(text) }
}

/// Converts text from one encoding to another; `latin1` has one character for each byte. `utf8!` is
/// strict UTF-8. `None` if an encoding is unknown or the bytes are not valid in it.
pub fn recode_text(text: &str, from: &str, to: &str) -> Option<String> {
    encode_bytes(&decode_text(text, from)?, to)
}

/// The bytes of a text in an encoding.
pub fn decode_text(text: &str, encoding: &str) -> Option<Vec<u8>> {
    Some(match encoding {
        "utf8" => text.as_bytes().to_vec(),
        "latin1" | "ascii" => unpack_bytes(text),
        "utf16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "hex" => from_hex(text),
        "base64" | "base64url" => from_base64(text),
        _ => return None,
    })
}

fn encode_bytes(bytes: &[u8], encoding: &str) -> Option<String> {
    Some(match encoding {
        "utf8!" => std::str::from_utf8(bytes).ok()?.to_owned(),
        "utf8" => String::from_utf8_lossy(bytes).into_owned(),
        "latin1" => pack_bytes(bytes),
        "ascii" => bytes.iter().map(|b| char::from(b & 0x7f)).collect(),
        "utf16le" => {
            let units = bytes.chunks_exact(2);
            let units: Vec<u16> = units
                .map(|pair| pair.iter().rev().fold(0, |sum, b| (sum << 8) | u16::from(*b)))
                .collect();
            String::from_utf16_lossy(&units)
        }
        "hex" => bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(hex_digit).collect(),
        "base64" => general_purpose::STANDARD.encode(bytes),
        "base64url" => general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        _ => return None,
    })
}

fn hex_digit(of: u8) -> char {
    char::from_digit(u32::from(of), 16).unwrap_or('0')
}

/// Decodes up to the first invalid pair, as Node does.
fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks_exact(2).map_while(|pair| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// Decodes either alphabet, with or without padding, and ignores other characters.
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
