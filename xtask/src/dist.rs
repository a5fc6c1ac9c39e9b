//! Builds the published program: static, with musl, stripped and checked, and packs it with
//! completions, manual, licences and checksums.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::{machine, shell};

/// The functions of a cold `fire`, in the order of their first calls. A build writes it.
const FUNCTION_ORDER_FILE: &str = "function-order";
/// Where archives are written.
const OUTPUT_FOLDER: &str = "target/dist";
const MUSL_COMPILER: machine::RequiredProgram = machine::RequiredProgram {
    program: "musl-gcc",
    package: "musl-tools",
    without: "the published build",
};
const SHELLS: &[&str] = &["bash", "zsh", "fish"];

/// How addresses of code are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeAddress {
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

/// Options of the command line.
struct DistOptions {
    address: CodeAddress,
    run_tests: bool,
}

/// A build of the program for one kind of address.
pub struct StaticBuild {
    target: String,
    address: CodeAddress,
}

/// Builds, checks, tests and packs the program.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let options = parse_options(args)?;
    let build = StaticBuild::new(options.address);
    let built = build.compile()?;
    let folder = shell::repository_root().join(OUTPUT_FOLDER);
    fs::create_dir_all(&folder)?;

    let program = folder.join("gambrel");
    fs::copy(&built, &program)?;
    shell::run("strip", &[&path_text(&program)])?;
    check_static(&program, options.address)?;
    if options.run_tests {
        run_cases(&program)?;
    }
    let archive = pack(&folder, &program, &build)?;
    fs::remove_file(&program)?;
    eprintln!("dist: {}", archive.display());
    Ok(())
}

fn parse_options(args: &[String]) -> anyhow::Result<DistOptions> {
    let mut options = DistOptions { address: CodeAddress::Fixed, run_tests: true };
    for arg in args {
        match arg.as_str() {
            "--pie" => options.address = CodeAddress::Random,
            "--no-test" => options.run_tests = false,
            _ => bail!("{arg}: usage: cargo xtask dist [--pie] [--no-test]"),
        }
    }
    Ok(options)
}

impl StaticBuild {
    /// The build that benchmarks and counters measure.
    pub fn published() -> Self {
        Self::new(CodeAddress::Fixed)
    }

    fn new(address: CodeAddress) -> Self {
        Self { target: format!("{}-unknown-linux-musl", std::env::consts::ARCH), address }
    }

    /// Compiles the program with its symbols, and returns its path. Compiles it twice, so that the
    /// functions of a cold `fire` can stand beside each other: spread over the whole program they
    /// cost a page fault each.
    pub fn compile(&self) -> anyhow::Result<PathBuf> {
        machine::install_missing(&[MUSL_COMPILER])?;
        self.install_target()?;
        let order = self.folder().join(FUNCTION_ORDER_FILE);
        fs::create_dir_all(self.folder())?;
        let before = fs::read_to_string(&order).unwrap_or_default();
        fs::write(&order, &before)?;
        self.run_cargo()?;
        if self.linker_folder()?.is_none() {
            eprintln!("dist: without rust-lld the functions of `fire` are not put together");
            return Ok(self.program());
        }
        let (program, file) = (path_text(&self.program()), path_text(&order));
        let bench = ["run", "--quiet", "--package", "gambrel-bench", "--"];
        let args = ["--static", &program, "--function-order", &file];
        shell::run("cargo", &[&bench[..], &args].concat())?;
        if fs::read_to_string(&order)? != before {
            self.remove_program()?;
            self.run_cargo()?;
        }
        Ok(self.program())
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
        if let Some(linker) = self.linker_folder()? {
            let order = self.folder().join(FUNCTION_ORDER_FILE);
            flags.extend(["-Clink-arg=-fuse-ld=lld".to_owned()]);
            flags.push(format!("-Clink-arg=-B{}", linker.display()));
            flags.push(format!("-Clink-arg=-Wl,--symbol-ordering-file={}", order.display()));
            flags.push("-Clink-arg=-Wl,--no-warn-symbol-ordering".to_owned());
        }
        Ok(flags)
    }

    /// The folder of the linker that comes with Rust. Only it can order functions.
    fn linker_folder(&self) -> anyhow::Result<Option<PathBuf>> {
        let libraries = sysroot()?.join("lib/rustlib");
        let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let folder = libraries.join(host).join("bin/gcc-ld");
        Ok(folder.join("ld.lld").exists().then_some(folder))
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

/// Fails if a program needs a dynamic linker, or has another kind of address.
fn check_static(program: &Path, address: CodeAddress) -> anyhow::Result<()> {
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

/// Runs the contract cases with this program.
fn run_cases(program: &Path) -> anyhow::Result<()> {
    let variables = [("GAMBREL_TEST_PROGRAM", path_text(program))];
    let args = ["test", "--package", "gambrel-cli", "--test", "it", "contracts::"];
    shell::run_with("cargo", &args, &variables)
}

/// Writes the archive and its checksum.
fn pack(folder: &Path, program: &Path, build: &StaticBuild) -> anyhow::Result<PathBuf> {
    let version = env!("CARGO_PKG_VERSION");
    let suffix = if build.address == CodeAddress::Random { "-pie" } else { "" };
    let name = format!("gambrel-{version}-{}{suffix}", build.target);
    let content = folder.join(&name);
    if content.exists() {
        fs::remove_dir_all(&content)?;
    }
    fs::create_dir_all(content.join("completions"))?;
    fs::copy(program, content.join("gambrel"))?;

    let run = |words: &[&str]| shell::read_output(&path_text(program), words);
    for shell_name in SHELLS {
        let text = run(&["completions", shell_name])?;
        fs::write(content.join(format!("completions/gambrel.{shell_name}")), text)?;
    }
    fs::write(content.join("gambrel.1"), run(&["man"])?)?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        fs::copy(shell::repository_root().join(file), content.join(file))?;
    }
    fs::write(content.join("THIRD-PARTY.md"), list_third_parties()?)?;

    let archive = folder.join(format!("{name}.tar.gz"));
    let (from, to) = (path_text(folder), path_text(&archive));
    shell::run("tar", &["--owner=0", "--group=0", "-C", &from, "-czf", &to, &name])?;
    let file_name = format!("{name}.tar.gz");
    let sum = shell::read_output("sha256sum", &[&to])?;
    let sum = sum.split_whitespace().next().context("sha256sum printed nothing")?;
    fs::write(folder.join(format!("{file_name}.sha256")), format!("{sum}  {file_name}\n"))?;
    Ok(archive)
}

/// The crates that are part of the program, with their licences.
fn list_third_parties() -> anyhow::Result<String> {
    let tree = ["tree", "--package", "gambrel-cli", "--edges", "normal", "--prefix", "none"];
    let format = ["--format", "{p}\t{l}"];
    let listed = shell::read_output("cargo", &[&tree[..], &format[..]].concat())?;
    let mut licences = BTreeMap::new();
    for line in listed.lines().filter(|line| !line.contains("(/")) {
        let (name, licence) = line.split_once('\t').context("cargo tree printed no licence")?;
        licences.insert(name.trim_end_matches(" (*)").to_owned(), licence.replace(" (*)", ""));
    }
    let head = "# Third-party crates\n\nThe program contains these crates.\n\n| crate | licence |\n|---|---|\n";
    let rows = licences.iter().map(|(name, licence)| format!("| {name} | {licence} |\n"));
    Ok(std::iter::once(head.to_owned()).chain(rows).collect())
}

fn sysroot() -> anyhow::Result<PathBuf> {
    Ok(shell::read_output("rustc", &["--print", "sysroot"])?.trim().into())
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
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
