//! `cargo xtask dist`: builds the published program, checks and tests it, and packs it as an archive,
//! an npm package, a Python wheel and a Debian package, beside the Claude Code plugin.

mod archive;
mod build;
mod debian;
mod elf;
mod npm;
mod plugin;
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

/// Runs the contract cases and the tests of processes, agents and comparisons with this program, and
/// attacks it. As in CI, a missing part is an error.
fn run_tests(program: &Path) -> anyhow::Result<()> {
    test::install_programs(None)?;
    let program = path_text(program);
    let in_ci = ("CI", "true".to_owned());
    let variables = [in_ci.clone(), ("GAMBREL_TEST_PROGRAM", program.clone())];
    shell::run_with("cargo", &["test", "--package", "gambrel-cli", "--test", "it"], &variables)?;
    let xtask = path_text(&std::env::current_exe()?);
    shell::run_with(&xtask, &["faults", "--binary", &program], &[in_ci])
}

/// Writes all packages. Installs each in an empty folder, without a network, and runs the program
/// there.
fn pack(release: &Release, address: CodeAddress) -> anyhow::Result<()> {
    let mut packages = vec![archive::pack(release)?];
    // Package managers get one kind of build.
    if address == CodeAddress::Fixed {
        packages.extend([npm::pack(release)?, wheel::pack(release)?, debian::pack(release)?]);
        packages.push(plugin::pack(release)?);
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
    use std::path::Path;
    use std::thread;
    use std::time::Duration;

    use super::{
        CodeAddress, OUTPUT_FOLDER, PACKAGE_ENDINGS, Release, StaticBuild, archive, debian, npm,
        path_text, plugin, wheel,
    };
    use crate::shell;

    /// Stands in for the program, whose build takes minutes.
    const PROGRAM: &str = "#!/bin/sh\ncase $1 in --version) echo gambrel 0.1.0 ;; esac\n";

    /// A release of a program. Another process writes the file: a child that another thread starts
    /// meanwhile would keep it open, and the system refuses to run such a file.
    fn release_in(folder: &Path) -> anyhow::Result<Release> {
        let program = folder.join("program");
        let script = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
        shell::run("sh", &["-c", script, &path_text(&program), PROGRAM])?;
        Release::new(folder, &program, &StaticBuild::new(CodeAddress::Fixed))
    }

    /// Whether a program of this machine can be used. In CI it has to be there.
    fn is_here(program: &str, args: &[&str]) -> bool {
        let answer = shell::read_output(program, args);
        assert!(answer.is_ok() || std::env::var_os("CI").is_none(), "{answer:?}");
        answer.inspect_err(|error| eprintln!("SKIP a package: {error:#}")).is_ok()
    }

    #[test]
    fn packages_install_without_a_network() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut release = release_in(folder.path())?;
        // Each installs its package and runs the program there.
        archive::pack(&release)?;
        let packed = fs::read(plugin::pack(&release)?)?;
        thread::sleep(Duration::from_millis(1100));
        assert!(packed == fs::read(plugin::pack(&release)?)?, "the time changes the plugin");
        if is_here("dpkg-deb", &["--version"]) {
            debian::pack(&release)?;
        }
        let has_npm = is_here("npm", &["--version"]);
        let has_pip = is_here("python3", &["-m", "pip", "--version"]);
        if has_npm {
            npm::pack(&release)?;
        }
        if has_pip {
            wheel::build(&release)?;
        }

        release.version = "0.2.0".to_owned();
        assert!(!has_npm || npm::pack(&release).is_err(), "the program has another version");
        assert!(!has_pip || wheel::build(&release).is_err(), "the program has another version");
        Ok(())
    }

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
