//! Compiles the static program, with the functions of a cold `fire` beside each other.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::{machine, shell};

/// The functions of a cold `fire`, in the order of their first calls. A build writes it.
const FUNCTION_ORDER_FILE: &str = "function-order";
const MUSL_COMPILER: machine::RequiredProgram = machine::RequiredProgram {
    program: "musl-gcc",
    package: "musl-tools",
    without: "the published build",
};

/// How addresses of code are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeAddress {
    /// Fixed at build time: nothing is relocated at a start.
    Fixed,
    /// Random at each start.
    Random,
}

impl CodeAddress {
    /// The word for rustc.
    fn relocation_model(self) -> &'static str {
        match self {
            Self::Fixed => "static",
            Self::Random => "pie",
        }
    }
}

/// A build of the program for one kind of address.
pub struct StaticBuild {
    pub target: String,
    pub address: CodeAddress,
}

impl StaticBuild {
    /// The build that benchmarks and counters measure.
    pub fn published() -> Self {
        Self::new(CodeAddress::Fixed)
    }

    /// A build for the processor of this machine.
    pub fn new(address: CodeAddress) -> Self {
        Self { target: format!("{}-unknown-linux-musl", std::env::consts::ARCH), address }
    }

    /// Compiles the program with its symbols, and returns its path.
    pub fn compile(&self) -> anyhow::Result<PathBuf> {
        machine::install_missing(&[MUSL_COMPILER])?;
        self.install_target()?;
        if !self.can_order_functions() {
            self.run_cargo()?;
        } else if linker_folder()?.is_none() {
            eprintln!("dist: without rust-lld the functions of `fire` are not put together");
            self.run_cargo()?;
        } else {
            self.compile_ordered()?;
        }
        Ok(self.program())
    }

    /// Whether the order of the functions of a `fire` can be known: the benchmark executes the
    /// program step by step on x86_64 only, and finds functions by addresses that stay.
    fn can_order_functions(&self) -> bool {
        self.target.starts_with("x86_64-") && self.address == CodeAddress::Fixed
    }

    /// Compiles it twice, so that the functions of a cold `fire` can stand beside each other: spread
    /// over the whole program they cost a page fault each.
    fn compile_ordered(&self) -> anyhow::Result<()> {
        let order = self.order_file();
        fs::create_dir_all(self.folder())?;
        let before = fs::read_to_string(&order).unwrap_or_default();
        fs::write(&order, &before)?;
        self.run_cargo()?;
        let (program, file) = (path_text(&self.program()), path_text(&order));
        let bench = ["run", "--quiet", "--package", "gambrel-bench", "--"];
        let args = ["--gambrel", &program, "--function-order", &file];
        shell::run("cargo", &[&bench[..], &args].concat())?;
        if fs::read_to_string(&order)? != before {
            self.remove_program()?;
            self.run_cargo()?;
        }
        Ok(())
    }

    fn run_cargo(&self) -> anyhow::Result<()> {
        let flags = self.rust_flags()?.join("\x1f");
        let compiler = format!("CC_{}", self.target.replace('-', "_"));
        let variables = [
            ("CARGO_TARGET_DIR", path_text(&self.folder())),
            ("CARGO_ENCODED_RUSTFLAGS", flags),
            (compiler.as_str(), "musl-gcc".to_owned()),
        ];
        let args =
            ["build", "--profile", "dist", "--package", "gambrel-cli", "--target", &self.target];
        shell::run_with("cargo", &args, &variables)
    }

    fn rust_flags(&self) -> anyhow::Result<Vec<String>> {
        let mut flags = vec![format!("-Crelocation-model={}", self.address.relocation_model())];
        let Some(linker) = linker_folder()? else { return Ok(flags) };
        flags.push("-Clink-arg=-fuse-ld=lld".to_owned());
        flags.push(format!("-Clink-arg=-B{}", linker.display()));
        if self.can_order_functions() {
            let order = path_text(&self.order_file());
            flags.push(format!("-Clink-arg=-Wl,--symbol-ordering-file={order}"));
            flags.push("-Clink-arg=-Wl,--no-warn-symbol-ordering".to_owned());
        }
        Ok(flags)
    }

    /// Removes the linked program, because cargo does not know the file with the order.
    fn remove_program(&self) -> anyhow::Result<()> {
        for entry in fs::read_dir(self.output_folder().join("deps"))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("gambrel-") && !name.contains('.') {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn folder(&self) -> PathBuf {
        let name = format!("musl-{}", self.address.relocation_model());
        shell::repository_root().join("target").join(name)
    }

    fn order_file(&self) -> PathBuf {
        self.folder().join(FUNCTION_ORDER_FILE)
    }

    fn output_folder(&self) -> PathBuf {
        self.folder().join(&self.target).join("dist")
    }

    fn program(&self) -> PathBuf {
        self.output_folder().join("gambrel")
    }

    /// Installs the standard library for the target, where rustup has it.
    fn install_target(&self) -> anyhow::Result<()> {
        let library = sysroot()?.join("lib/rustlib").join(&self.target).join("lib");
        if library.is_dir() {
            return Ok(());
        }
        shell::run("rustup", &["target", "add", &self.target])
            .context("the published build needs Rust's standard library for musl")
    }
}

fn sysroot() -> anyhow::Result<PathBuf> {
    Ok(shell::read_output("rustc", &["--print", "sysroot"])?.trim().into())
}

/// The folder of the linker that comes with Rust. Only it can order functions.
fn linker_folder() -> anyhow::Result<Option<PathBuf>> {
    let libraries = sysroot()?.join("lib/rustlib");
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let folder = libraries.join(host).join("bin/gcc-ld");
    Ok(folder.join("ld.lld").exists().then_some(folder))
}

/// The text of a path, for an argument.
pub fn path_text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::{CodeAddress, StaticBuild};

    /// Elsewhere the benchmark cannot find the order, and a dist build would fail.
    #[test]
    fn functions_are_ordered_only_where_their_order_can_be_known() {
        let build = |processor: &str, address| {
            let target = format!("{processor}-unknown-linux-musl");
            StaticBuild { target, address }.can_order_functions()
        };
        assert!(build("x86_64", CodeAddress::Fixed));
        assert!(!build("x86_64", CodeAddress::Random));
        assert!(!build("aarch64", CodeAddress::Fixed));
    }
}
