//! Tokens of tickets: 256 bits, derived from the ledger's secret and the question, so that a
//! restarted process has the same link. The ledger stores only their hashes.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gambrel_model::to_hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The secret of a ledger.
pub(crate) type LedgerSecret = [u8; 32];

/// The token of a ticket, and its hash.
pub(crate) struct TicketToken {
    /// The text of the token, for the link.
    pub text: String,
    /// The whole hash, in hexadecimal digits.
    pub hash: String,
}

impl TicketToken {
    /// The token of the `serial`-th ticket of a question.
    pub fn derive(secret: &LedgerSecret, key: &str, serial: u32) -> Option<Self> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        mac.update(key.as_bytes());
        mac.update(b"#");
        mac.update(&serial.to_le_bytes());
        Some(Self::from_text(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())))
    }

    /// A token that a user or service sent.
    pub fn from_text(text: String) -> Self {
        let hash = to_hex(&Sha256::digest(text.as_bytes()));
        Self { text, hash }
    }

    /// The ticket's id: the beginning of the hash.
    pub fn id(&self) -> &str {
        &self.hash[..12]
    }

    /// Whether a stored hash belongs to this token. Compares in constant time.
    pub fn matches_hash(&self, kept: &str) -> bool {
        kept.as_bytes().ct_eq(self.hash.as_bytes()).into()
    }
}

/// The hash of a question's key, which is stored instead of the key.
pub(crate) fn hash_key(key: &str) -> String {
    to_hex(&Sha256::digest(key.as_bytes()))
}

/// Creates a random secret.
pub(crate) fn new_secret() -> io::Result<LedgerSecret> {
    let mut secret = LedgerSecret::default();
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    Ok(secret)
}
