//! Digests, and bytes that nobody can guess.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::{OpError, bytes};
use crate::desk::Desk;

const MAX_RANDOM: u64 = 1 << 20;

/// A key may have any length, so making the code cannot fail; an empty one would be no match.
macro_rules! mac {
    ($hash:ty, $key:expr, $data:expr) => {
        Hmac::<$hash>::new_from_slice($key)
            .map(|mac| mac.chain_update($data).finalize().into_bytes().to_vec())
            .unwrap_or_default()
    };
}

/// The digest of `data`, or its HMAC where there is a `key`.
pub fn digest(_: &Desk, args: Value) -> Result<Value, OpError> {
    let data = bytes::field(&args, "data");
    let key = args["key"].as_str().map(bytes::unpacked);
    let key = key.as_deref();
    let made = match args["name"].as_str().unwrap_or_default() {
        "md5" => one::<Md5>(&data, key.map(|k| mac!(Md5, k, &data))),
        "sha1" => one::<Sha1>(&data, key.map(|k| mac!(Sha1, k, &data))),
        "sha224" => one::<Sha224>(&data, key.map(|k| mac!(Sha224, k, &data))),
        "sha256" => one::<Sha256>(&data, key.map(|k| mac!(Sha256, k, &data))),
        "sha384" => one::<Sha384>(&data, key.map(|k| mac!(Sha384, k, &data))),
        "sha512" => one::<Sha512>(&data, key.map(|k| mac!(Sha512, k, &data))),
        _ => return Err(OpError::new("Digest method not supported")),
    };
    Ok(json!(bytes::packed(&made)))
}

fn one<D: Digest>(data: &[u8], coded: Option<Vec<u8>>) -> Vec<u8> {
    coded.unwrap_or_else(|| D::digest(data).to_vec())
}

/// `length` random bytes.
pub fn random(_: &Desk, args: Value) -> Result<Value, OpError> {
    let length = args["length"].as_u64().filter(|n| *n <= MAX_RANDOM);
    let length = length.and_then(|n| usize::try_from(n).ok());
    let out = || OpError::new("The value of \"size\" is out of range.").code("ERR_OUT_OF_RANGE");
    let mut made = vec![0; length.ok_or_else(out)?];
    match getrandom::fill(&mut made) {
        Ok(()) => Ok(json!(bytes::packed(&made))),
        Err(error) => Err(OpError::new(format!("no random bytes: {error}"))),
    }
}
