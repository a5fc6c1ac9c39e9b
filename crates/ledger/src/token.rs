//! The secrets that answer tickets: 256 bits each, made from the ledger's own secret and the
//! question, so that a process that is started again has the same link; kept only as a hash.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The ledger's own secret.
pub(crate) type Secret = [u8; 32];

/// A ticket's token and what is known of it without knowing it.
pub(crate) struct Token {
    /// For the link.
    pub text: String,
    /// All of its hash.
    pub hash: String,
}

impl Token {
    /// The token of the `serial`-th ticket of a question.
    pub fn of(secret: &Secret, key: &str, serial: u32) -> Option<Self> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        mac.update(key.as_bytes());
        mac.update(b"#");
        mac.update(&serial.to_le_bytes());
        Some(Self::known(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes())))
    }

    /// One that somebody showed us.
    pub fn known(text: String) -> Self {
        let hash = hex(&Sha256::digest(text.as_bytes()));
        Self { text, hash }
    }

    /// The ticket's name: a beginning of the hash.
    pub fn id(&self) -> &str {
        &self.hash[..12]
    }

    /// Whether a kept hash is this token's, taking the same time whatever the answer.
    pub fn is(&self, kept: &str) -> bool {
        kept.as_bytes().ct_eq(self.hash.as_bytes()).into()
    }
}

/// What stands for a question where it is kept.
pub(crate) fn hashed(key: &str) -> String {
    hex(&Sha256::digest(key.as_bytes()))
}

/// A new secret.
pub(crate) fn fresh() -> Result<Secret, String> {
    let mut secret = Secret::default();
    getrandom::fill(&mut secret).map_err(|error| error.to_string())?;
    Ok(secret)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
