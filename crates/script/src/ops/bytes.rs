//! Bytes on their way across the border, and text in the encodings that Node knows.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use serde_json::{Value, json};

use super::OpError;
use crate::desk::Desk;

/// One character for each byte.
pub fn packed(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The bytes of text that has one character for each.
pub fn unpacked(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

/// Bytes of a field: packed, or text in UTF-8 if `args.utf8` says so.
pub fn field(args: &Value, name: &str) -> Vec<u8> {
    let text = args[name].as_str().unwrap_or_default();
    if args["utf8"] == true { text.as_bytes().to_vec() } else { unpacked(text) }
}

/// Takes text in one encoding and gives it in another; `latin1` is how bytes cross.
pub fn recode(_: &Desk, args: Value) -> Result<Value, OpError> {
    let text = args["text"].as_str().unwrap_or_default();
    let bytes = decoded(text, args["from"].as_str().unwrap_or_default())?;
    encoded(&bytes, args["to"].as_str().unwrap_or_default()).map(|text| json!(text))
}

fn unknown(encoding: &str) -> OpError {
    OpError::new(format!("Unknown encoding: {encoding}")).code("ERR_UNKNOWN_ENCODING")
}

fn decoded(text: &str, encoding: &str) -> Result<Vec<u8>, OpError> {
    Ok(match encoding {
        "utf8" => text.as_bytes().to_vec(),
        "latin1" | "ascii" => unpacked(text),
        "utf16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "hex" => from_hex(text),
        "base64" | "base64url" => from_base64(text),
        other => return Err(unknown(other)),
    })
}

fn encoded(bytes: &[u8], encoding: &str) -> Result<String, OpError> {
    Ok(match encoding {
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
        "hex" => bytes.iter().map(|b| format!("{b:02x}")).collect(),
        "base64" => general_purpose::STANDARD.encode(bytes),
        "base64url" => general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        other => return Err(unknown(other)),
    })
}

/// Up to the first pair that is no number, as Node reads it.
fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<Option<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let pairs = digits.chunks_exact(2).map_while(|pair| match pair {
        [Some(high), Some(low)] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    pairs.collect()
}

/// Either alphabet, with or without padding, whatever else stands between.
fn from_base64(text: &str) -> Vec<u8> {
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
