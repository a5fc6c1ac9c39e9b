//! The README matches the commands: the printed demo, and a quick start that blocks.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::test_project::{TestProject, text};

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap()
}

/// The text of the first fenced block with this language after a heading.
fn block(readme: &str, heading: &str, language: &str) -> String {
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let mut lines = section.lines();
    let fence = lines.find(|line| line.trim() == format!("```{language}")).unwrap();
    // A block inside a list is indented as a whole.
    let indent = &fence[..fence.len() - fence.trim_start().len()];
    let lines = lines.take_while(|line| line.trim() != "```");
    lines.map(|line| format!("{}\n", line.strip_prefix(indent).unwrap_or(line))).collect()
}

#[test]
fn the_demo_runs_two_iterations_with_hooks_of_four_dialects() {
    let output = TestProject::new().run(&["demo", "--json"], b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let decisions: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let of_moment = |moment: &'static str| decisions.iter().filter(move |d| d["moment"] == moment);
    assert_eq!(of_moment("iteration.start").count(), 2);
    let denied = of_moment("tool.before").filter(|decision| decision["ruling"] == "deny").count();
    assert_eq!((denied, of_moment("tool.before").count()), (1, 2));
    let cleaned = of_moment("tool.after").next().unwrap()["patch"].to_string();
    assert!(cleaned.contains("API_KEY=[redacted]") && !cleaned.contains("sk-live"), "{cleaned}");
    let fed_back = of_moment("iteration.start").nth(1).unwrap()["context"].to_string();
    assert!(fed_back.contains("lint: src/parser.py:2:"), "{fed_back}");
    for dialect in ["claude", "omp", "unified", "iteratr"] {
        let steps = decisions.iter().flat_map(|decision| decision["trail"].as_array().unwrap());
        let ran = steps.filter(|step| step["ran"] == true && step["dialect"] == dialect).count();
        assert!(ran > 0, "no hook of {dialect} ran");
    }
}

#[test]
fn the_readme_shows_the_demo_as_it_is() {
    let shown = block(&readme(), "Demo", "console");
    let shown = shown.strip_prefix("$ cargo run -- demo\n").unwrap();
    let output = TestProject::new().run(&["demo"], b"");
    assert_eq!(text(&output.stdout), shown);
    assert_eq!(text(&output.stderr), "");
    assert!(readme().contains("cargo xtask test"));
}

/// Another program may keep this machine busy, so the best of some times counts.
#[test]
fn the_demo_takes_less_than_three_seconds() {
    let project = TestProject::new();
    let times = (0..3).map(|_| {
        let began = Instant::now();
        assert_eq!(project.run(&["demo"], b"").status.code(), Some(0));
        began.elapsed()
    });
    let best = times.min().unwrap();
    assert!(best < Duration::from_secs(3), "{best:?}");
}

#[test]
fn the_demo_leaves_no_files() {
    let project = TestProject::new();
    let temp = project.base.join("tmp");
    std::fs::create_dir(&temp).unwrap();
    let project = project.with("TMPDIR", &temp.to_string_lossy());
    assert_eq!(project.run(&["demo"], b"").status.code(), Some(0));
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0);
    assert!(!project.base.join("state").exists(), "nothing is remembered");
}

/// No other system is here to build on, so the test reads the lines that refuse it.
#[test]
fn the_build_refuses_other_systems() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../model/src/lib.rs");
    let source = std::fs::read_to_string(file).unwrap();
    let refusal = "#[cfg(not(target_os = \"linux\"))]\ncompile_error!(\"gambrel is for Linux";
    assert!(source.contains(refusal), "{file}");
}

#[test]
fn the_quick_start_blocks_rm_rf() {
    let readme = readme();
    let project = TestProject::new();
    let bin = project.base.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(crate::test_project::program(), bin.join("gambrel")).unwrap();
    project.file(".gambrel/hooks.yaml", &block(&readme, "Quick start", "yaml"));
    for step in ["gambrel install claude", "gambrel trust --all"] {
        assert!(readme.contains(step), "{step}");
        let path = format!("{}:/usr/bin:/bin", bin.display());
        // The answer that a user types at the prompt of `trust`.
        let yes = if step.contains("trust") { " --yes" } else { "" };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{step}{yes}")]).current_dir(&project.root);
        let output = command.env_clear().envs(project.env.clone()).env("PATH", path).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{step}: {}", text(&output.stderr));
    }
    let project = project.with("GAMBREL_TRUST", "store");
    let event = br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"rm -rf build"}}"#;
    let reply = text(&project.run(&["fire", "--from", "claude", "--hosted"], event).stdout);
    assert!(reply.contains("\"deny\"") && reply.contains("rm -rf is not for agents"), "{reply}");
}

/// The README rounds a figure that the benchmarks have.
#[test]
fn the_speed_is_a_figure_of_the_benchmarks() {
    let shown = readme();
    let (before, _) = shown.split_once(" ms of CPU in the published").unwrap();
    let milliseconds: f64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");
    let page = std::fs::read_to_string(file).unwrap().replace(',', "");
    let (_, section) = page.split_once("\n## The published build\n").unwrap();
    let figures = section.split(" µs of CPU").filter_map(|text| text.rsplit(' ').next());
    let figures: Vec<f64> = figures.filter_map(|figure| figure.parse().ok()).collect();
    let is_near = |figure: &f64| (figure / 1000.0 - milliseconds).abs() <= 0.05;
    assert!(figures.iter().any(is_near), "{milliseconds} ms is none of {figures:?} µs");
}
