//! Signatures of Standard Webhooks: what proves to a receiver that a message is ours and new. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What a secret begins with that is written in base64.
const PREFIX: &str = "whsec_";

/// The keys behind secrets, as they are written or as plain text.
pub(crate) fn keys(secrets: &[String]) -> Result<Vec<Vec<u8>>, String> {
    let key = |secret: &String| match secret.strip_prefix(PREFIX) {
        Some(text) => STANDARD.decode(text).map_err(|_| {
            format!("a signing secret begins with {PREFIX}, and what follows is not base64")
        }),
        None if secret.is_empty() => Err("a signing secret is empty".to_owned()),
        None => Ok(secret.clone().into_bytes()),
    };
    secrets.iter().map(key).collect()
}

/// The value of `webhook-signature`: one signature a key.
pub(crate) fn sign(keys: &[Vec<u8>], id: &str, seconds: u64, body: &[u8]) -> String {
    let one = |key: &Vec<u8>| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    };
    keys.iter().filter_map(one).collect::<Vec<_>>().join(" ")
}

/// A new name for a message.
pub(crate) fn fresh_id() -> Result<String, String> {
    let mut random = [0; 18];
    getrandom::fill(&mut random).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(format!("msg_{}", URL_SAFE_NO_PAD.encode(random)))
}

#[cfg(test)]
mod tests {
    use super::{keys, sign};

    /// The example of the specification's own libraries.
    #[test]
    fn the_known_message_has_the_known_signature() {
        let keys = keys(&["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()]).unwrap();
        let signed =
            sign(&keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_that_only_looks_like_base64_is_an_error() {
        assert!(keys(&["whsec_?".to_owned()]).is_err());
        assert!(keys(&[String::new()]).is_err());
        assert_eq!(keys(&["plain".to_owned()]), Ok(vec![b"plain".to_vec()]));
    }
}
