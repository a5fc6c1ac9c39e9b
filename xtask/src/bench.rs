//! Benchmarks: measures the published build against floors and peers from the same run.

use std::fs;

use crate::dist::StaticBuild;
use crate::{machine, shell, tools};

/// Programs of other ways to run hooks.
const PEER_PROGRAMS: &[machine::RequiredProgram] = &[
    machine::RequiredProgram { program: "go", package: "golang-go", without: "iteratr's way" },
    machine::RequiredProgram { program: "jq", package: "jq", without: "guards in bash with jq" },
    machine::RequiredProgram { program: "git", package: "git", without: "git's hooks" },
    machine::RequiredProgram { program: "node", package: "nodejs", without: "peers under node" },
    machine::RequiredProgram { program: "python3", package: "python3", without: "Python, prek" },
    machine::RequiredProgram { program: "valgrind", package: "valgrind", without: "goal 10" },
    machine::RequiredProgram { program: "strace", package: "strace", without: "plain forks" },
];
/// Exact versions, so that comparisons are repeatable.
const GEMINI_PACKAGE: &str = "@google/gemini-cli-core@0.61.0";
const PREK_PACKAGE: &str = "prek==0.5.10";

/// Builds the published profile and runs the benchmarks with it.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let mut given: Vec<&str> = args.iter().map(String::as_str).collect();
    if let Some(at) = given.iter().position(|arg| *arg == "--peers") {
        given.remove(at);
        install_peers()?;
    }
    let program = StaticBuild::published().compile()?.display().to_string();
    let bench = ["--package", "gambrel-bench", "--", "--gambrel", &program];
    // Only the counted program must be the published one.
    let profile: &[&str] =
        if given.contains(&"--counters") { &["--quiet"] } else { &["--profile", "dist"] };
    shell::run("cargo", &[&["run"], profile, &bench, &given].concat())
}

/// Installs other products, as far as registries have them. iteratr and pi-agent-teams are in none:
/// `bench/peers/` starts hooks like they do. The benchmark names what is still absent.
fn install_peers() -> anyhow::Result<()> {
    machine::install_missing(PEER_PROGRAMS)?;
    // bun, and the hook runner of oh-my-pi.
    tools::prepare_packages(None)?;
    let folder = shell::repository_root().join("target/tools/peers");
    let (gemini, prek) = (folder.join("gemini"), folder.join("prek"));
    fs::create_dir_all(&gemini)?;
    fs::write(gemini.join("package.json"), "{\"private\": true}\n")?;
    let prefix = gemini.display().to_string();
    let mut npm = vec!["install", "--prefix", &prefix, "--no-audit", "--no-fund", "--no-save"];
    npm.extend(["--ignore-scripts", GEMINI_PACKAGE]);
    shell::run("npm", &npm)?;
    let target = prek.display().to_string();
    let pip = ["-m", "pip", "install", "--quiet", "--upgrade", "--target", &target, PREK_PACKAGE];
    shell::run("python3", &pip)
}
