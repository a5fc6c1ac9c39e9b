//! Being built.
/// x
pub struct Iteratr;
