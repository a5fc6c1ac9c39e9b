//! Digests and random bytes.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::{OpError, bytes};
use crate::runtime::HostState;

const MAX_RANDOM_BYTES: u64 = 1 << 20;

/// Any key length is valid, so this cannot fail; an empty result would match no digest.
macro_rules! mac {
    ($hash:ty, $key:expr, $data:expr) => {
        Hmac::<$hash>::new_from_slice($key)
            .map(|mac| mac.chain_update($data).finalize().into_bytes().to_vec())
            .unwrap_or_default()
    };
}

/// The digest of `data`, or its HMAC where there is a `key`.
pub fn compute_digest(_: &HostState, args: Value) -> Result<Value, OpError> {
    let data = bytes::bytes_field(&args, "data");
    let key = args["key"].as_str().map(bytes::unpack_bytes);
    let key = key.as_deref();

    let made = match args["name"].as_str().unwrap_or_default() {
        "md5" => digest_or_mac::<Md5>(&data, key.map(|k| mac!(Md5, k, &data))),
        "sha1" => digest_or_mac::<Sha1>(&data, key.map(|k| mac!(Sha1, k, &data))),
        "sha224" => digest_or_mac::<Sha224>(&data, key.map(|k| mac!(Sha224, k, &data))),
        "sha256" => digest_or_mac::<Sha256>(&data, key.map(|k| mac!(Sha256, k, &data))),
        "sha384" => digest_or_mac::<Sha384>(&data, key.map(|k| mac!(Sha384, k, &data))),
        "sha512" => digest_or_mac::<Sha512>(&data, key.map(|k| mac!(Sha512, k, &data))),
        _ => return Err(OpError::new("Digest method not supported")),
    };
    Ok(json!(bytes::pack_bytes(&made)))
}

fn digest_or_mac<D: Digest>(data: &[u8], keyed: Option<Vec<u8>>) -> Vec<u8> {
    keyed.unwrap_or_else(|| D::digest(data).to_vec())
}

/// `length` random bytes.
pub fn random_bytes(_: &HostState, args: Value) -> Result<Value, OpError> {
    let length = args["length"].as_u64().filter(|n| *n <= MAX_RANDOM_BYTES);
    let length = length.and_then(|n| usize::try_from(n).ok());
    let out =
        || OpError::new("The value of \"size\" is out of range.").with_code("ERR_OUT_OF_RANGE");

    let mut made = vec![0; length.ok_or_else(out)?];
    match getrandom::fill(&mut made) {
        Ok(()) => Ok(json!(bytes::pack_bytes(&made))),
        Err(error) => Err(OpError::new(format!("cannot get random bytes: {error}"))),
    }
}
