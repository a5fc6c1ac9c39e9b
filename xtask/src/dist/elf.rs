//! Reads from the header of a program how it is loaded.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use super::build::CodeAddress;

/// Fails if a program needs a dynamic linker, or has another kind of address.
pub fn check_static(program: &Path, address: CodeAddress) -> anyhow::Result<()> {
    let image = fs::read(program)?;
    let header = ElfHeader::parse(&image).context("not a 64-bit ELF file")?;
    ensure!(!header.has_interpreter, "{} needs a dynamic linker", program.display());
    let found =
        if header.is_position_independent { CodeAddress::Random } else { CodeAddress::Fixed };
    ensure!(found == address, "{} has {found:?} addresses", program.display());
    Ok(())
}

/// The parts of an ELF header that tell how a program is loaded.
struct ElfHeader {
    is_position_independent: bool,
    has_interpreter: bool,
}

impl ElfHeader {
    fn parse(image: &[u8]) -> Option<Self> {
        const DYNAMIC_TYPE: u16 = 3;
        const INTERPRETER_SEGMENT: u32 = 3;
        const PROGRAM_HEADER_BYTES: usize = 56;

        let half = |at: usize| Some(u16::from_le_bytes(image.get(at..at + 2)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?));
        if !image.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let (table, count) = (word(32)? as usize, usize::from(half(56)?));
        let segments = (0..count).map(|at| word(table + at * PROGRAM_HEADER_BYTES));
        let segments = segments.collect::<Option<Vec<u32>>>()?;
        Some(Self {
            is_position_independent: half(16)? == DYNAMIC_TYPE,
            has_interpreter: segments.contains(&INTERPRETER_SEGMENT),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ElfHeader;

    #[test]
    fn tells_how_this_test_is_loaded() -> anyhow::Result<()> {
        let own = std::fs::read(std::env::current_exe()?)?;
        let header = ElfHeader::parse(&own);
        assert!(
            header.is_some_and(|header| header.has_interpreter && header.is_position_independent)
        );
        assert!(ElfHeader::parse(b"#!/bin/sh\n").is_none());
        Ok(())
    }
}
