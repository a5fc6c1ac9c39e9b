//! Being built.
/// x
pub struct Unified;
