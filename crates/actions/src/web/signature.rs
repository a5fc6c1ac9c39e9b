//! Signatures of Standard Webhooks, which prove a message's origin and age to the receiver. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::error::RequestError;

/// The prefix of a secret in base64.
pub(super) const SECRET_PREFIX: &str = "whsec_";

/// The keys of secrets, in base64 or as plain text.
pub(crate) fn parse_keys(secrets: &[String]) -> Result<Vec<Vec<u8>>, RequestError> {
    let key = |secret: &String| match secret.strip_prefix(SECRET_PREFIX) {
        Some(text) => STANDARD.decode(text).map_err(RequestError::SecretEncoding),
        None if secret.is_empty() => Err(RequestError::EmptySecret),
        None => Ok(secret.clone().into_bytes()),
    };
    secrets.iter().map(key).collect()
}

/// The value of `webhook-signature`: one signature per key.
pub(crate) fn sign_message(keys: &[Vec<u8>], id: &str, seconds: u64, body: &[u8]) -> String {
    let sign_with = |key: &Vec<u8>| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    };
    keys.iter().filter_map(sign_with).collect::<Vec<_>>().join(" ")
}

/// A new message id.
pub(crate) fn new_message_id() -> Result<String, RequestError> {
    let mut random = [0; 18];
    getrandom::fill(&mut random)?;
    Ok(format!("msg_{}", URL_SAFE_NO_PAD.encode(random)))
}

#[cfg(test)]
mod tests {
    use super::{parse_keys, sign_message};

    /// The example of the specification's own libraries.
    #[test]
    fn signs_the_example_message_of_the_specification() {
        let keys = parse_keys(&["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()]).unwrap();
        let signed = sign_message(
            &keys,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn rejects_invalid_and_empty_secrets() {
        assert!(parse_keys(&["whsec_?".to_owned()]).is_err());
        assert!(parse_keys(&[String::new()]).is_err());
        assert_eq!(parse_keys(&["plain".to_owned()]).unwrap(), [b"plain".to_vec()]);
    }
}
