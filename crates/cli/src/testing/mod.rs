//! Commands for authors of hooks: `gambrel sample`.

pub mod sample;
