//! `cargo xtask dist`: builds the published program, checks and tests it, and packs it as an archive,
//! an npm package, a Python wheel and a Debian package.

mod archive;
mod build;
mod debian;
mod elf;
mod npm;
mod release;
mod wheel;

use std::fs;
use std::path::Path;

use anyhow::{bail, ensure};

pub use self::build::StaticBuild;
use self::build::{CodeAddress, path_text};
use self::release::Release;
use crate::{shell, test};

/// Where packages are written.
const OUTPUT_FOLDER: &str = "target/dist";
/// How the names of packages end. The release workflow attaches files with these endings.
const PACKAGE_ENDINGS: [&str; 4] = [".tar.gz", ".tgz", ".whl", ".deb"];
const USAGE: &str = "usage: cargo xtask dist [--pie] [--no-test]";

/// Options of the command line.
struct DistOptions {
    address: CodeAddress,
    run_tests: bool,
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
    elf::check_static(&program, options.address)?;
    if options.run_tests {
        run_tests(&program)?;
    }
    pack(&Release::new(&folder, &program, &build)?, options.address)?;
    fs::remove_file(&program)?;
    Ok(())
}

fn parse_options(args: &[String]) -> anyhow::Result<DistOptions> {
    let mut options = DistOptions { address: CodeAddress::Fixed, run_tests: true };
    for arg in args {
        match arg.as_str() {
            "--pie" => options.address = CodeAddress::Random,
            "--no-test" => options.run_tests = false,
            _ => bail!("{arg}: {USAGE}"),
        }
    }
    Ok(options)
}

/// Runs the contract cases and the tests of processes, agents and comparisons with this program.
fn run_tests(program: &Path) -> anyhow::Result<()> {
    test::install_programs(None)?;
    let variables = [("GAMBREL_TEST_PROGRAM", path_text(program))];
    shell::run_with("cargo", &["test", "--package", "gambrel-cli", "--test", "it"], &variables)
}

/// Writes all packages. Installs each in an empty folder, without a network, and runs the program
/// there.
fn pack(release: &Release, address: CodeAddress) -> anyhow::Result<()> {
    let mut packages = vec![archive::pack(release)?];
    // Package managers get one kind of build.
    if address == CodeAddress::Fixed {
        packages.extend([npm::pack(release)?, wheel::pack(release)?, debian::pack(release)?]);
    }
    for package in packages {
        let name = path_text(&package);
        let is_known = PACKAGE_ENDINGS.iter().any(|ending| name.ends_with(ending));
        ensure!(is_known, "no release would have {name}");
        release.write_checksum(&package)?;
        eprintln!("dist: {}", package.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{OUTPUT_FOLDER, PACKAGE_ENDINGS};
    use crate::shell;

    #[test]
    fn the_release_workflow_attaches_every_package() {
        let file = shell::repository_root().join(".github/workflows/release.yml");
        let workflow = fs::read_to_string(file).unwrap_or_default();
        for ending in PACKAGE_ENDINGS.iter().chain(&[".sha256"]) {
            let pattern = format!("{OUTPUT_FOLDER}/*{ending}\n");
            assert!(workflow.contains(&pattern), "{pattern}");
        }
    }
}
