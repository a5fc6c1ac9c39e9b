//! Being built.
/// x
pub struct Omp;
