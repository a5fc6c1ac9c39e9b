//! SHA-256 of a text, and bytes as hexadecimal digits. It must not know what is hashed, or why.

use sha2::{Digest, Sha256};

/// Up to this length the portable hash is faster: `sha2` first asks the processor for its features,
/// which costs about 18 µs in a virtual machine.
const MAX_PORTABLE_BYTES: usize = 8 * 1024;

/// The SHA-256 digest of these bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    let bytes = bytes.as_ref();
    if bytes.len() <= MAX_PORTABLE_BYTES {
        return hmac_sha256::Hash::hash(bytes);
    }

    Sha256::digest(bytes).into()
}

/// Bytes as lowercase hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::{MAX_PORTABLE_BYTES, sha256, to_hex};

    #[test]
    fn writes_two_digits_per_byte() {
        assert_eq!(to_hex(&[0, 0x0a, 0xff]), "000aff");
    }

    #[test]
    fn gives_the_same_digest_on_both_sides_of_the_limit() {
        for length in [0, 1, 63, 64, MAX_PORTABLE_BYTES, MAX_PORTABLE_BYTES + 1] {
            let bytes = vec![7_u8; length];
            let expected: [u8; 32] = Sha256::digest(&bytes).into();
            assert_eq!(sha256(&bytes), expected, "{length} bytes");
        }
    }
}
