//! Row `hostile`: project configuration that costs much time and memory, untrusted and trusted. The
//! user's own guard must still deny in time.

use std::time::Duration;

use serde_json::{Value, json};

use super::program::run_program;
use super::project::{RUN_TIMEOUT, TestProject, guard_settings, tool_event};
use super::{Measured, Options};

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_KIB: u64 = 512 * 1024;

/// Writes one hostile project. May change the event.
type Prepare = fn(&TestProject, &mut Value) -> anyhow::Result<()>;
const CASES: &[(&str, Prepare)] = &[
    ("85 kB of regular expressions", write_patterns),
    ("20,000 hooks in JSON", write_json_hooks),
    ("20,000 hooks in YAML", write_yaml_hooks),
    ("10,000 modules", write_modules),
    ("1 MB of YAML aliases", write_aliases),
    ("100,000 keys in one JSON object", write_json_keys),
    ("100,000 keys in one YAML map", write_yaml_keys),
    ("JSON of 100,000 levels", write_deep_json),
    ("YAML of 100,000 levels", write_deep_yaml),
    ("a command of backticks and `${`", write_backticks),
];

pub fn attack(options: &Options) -> anyhow::Result<Vec<Measured>> {
    let rounds = options.row_count(1, 5);
    let mut rows = Vec::new();
    for trusted in [false, true] {
        let (mut slowest, mut largest) = ((Duration::ZERO, ""), (0, ""));
        let mut open = Vec::new();
        for (name, prepare) in CASES {
            for _ in 0..rounds {
                let (took, peak, denied) = fire_in_project(options, *prepare, trusted)?;
                slowest = slowest.max((took, name));
                largest = largest.max((peak, name));
                let how = if trusted { "trusted" } else { "untrusted" };
                let seconds = took.as_secs_f64();
                eprintln!("faults: hostile: {name}, {how}: {seconds:.2} s, {peak} KiB, {denied}");
                if !denied {
                    open.push(*name);
                }
            }
        }

        let in_time = slowest.0 <= ANSWER_TIMEOUT + Duration::from_secs(1);
        let how = if trusted { "trusted" } else { "untrusted" };
        rows.push(Measured {
            what: format!("hostile configuration ({how})"),
            goal: "the user's guard denies within --budget 5 + 1 s, under 512 MiB",
            count: rounds * CASES.len(),
            measured: format!(
                "{} open; at most {:.2} s ({}), {} MiB ({})",
                open.len(),
                slowest.0.as_secs_f64(),
                slowest.1,
                largest.0 / 1024,
                largest.1
            ),
            held: (open.is_empty() && in_time && largest.0 < MAX_KIB).into(),
        });
        for name in open {
            eprintln!("faults: hostile: open at {name} ({how})");
        }
    }
    Ok(rows)
}

fn fire_in_project(
    options: &Options,
    prepare: Prepare,
    trusted: bool,
) -> anyhow::Result<(Duration, u64, bool)> {
    let mut project = TestProject::new(options)?;
    if !trusted {
        project = project.with_trust_store();
    }
    project.write_home(".claude/settings.json", &guard_settings("echo guard >&2; exit 2", 20))?;
    let mut event = tool_event("hostile");
    prepare(&project, &mut event)?;

    let command = project.gambrel_command(&["fire", "--from", "claude", "--budget", "5"]);
    let ended = run_program(command, event.to_string().as_bytes(), &project.base, RUN_TIMEOUT)?;
    // Any exit code other than 0 also blocks: the gate's entry then exits 2.
    let denied = ended.denies() || ended.code() != Some(0) && ended.status.is_some();
    Ok((ended.took, ended.peak_kib, denied))
}

fn hook_group(matcher: &str) -> Value {
    json!({"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]})
}

fn write_settings(project: &TestProject, groups: Vec<Value>) -> anyhow::Result<()> {
    let settings = json!({"hooks": {"PreToolUse": groups}}).to_string();
    project.write_file(".claude/settings.json", &settings).map(drop)
}

fn write_patterns(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    let pattern = |n: usize| hook_group(&format!("(a{{1,99}}){{1,99}}(.*.*)*x{n}"));
    // Each is about 85 bytes as JSON.
    write_settings(project, (0..1_000).map(pattern).collect())
}

fn write_json_hooks(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    write_settings(project, (0..20_000).map(|n| hook_group(&format!("T{n}"))).collect())
}

fn write_yaml_hooks(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    let hook = |n| {
        format!("    - {{type: shell, await: true, command: 'true', name: h{n}, tools: [t{n}]}}\n")
    };
    let hooks: String = (0..20_000).map(hook).collect();
    project
        .write_file(".gambrel/hooks.yaml", &format!("hooks:\n  on_tool_before:\n{hooks}"))
        .map(drop)
}

fn write_modules(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    for n in 0..10_000 {
        let text = "export default (pi) => { pi.on('tool_call', async () => undefined); };\n";
        project.write_file(&format!(".omp/hooks/pre/h{n}.ts"), text)?;
    }
    Ok(())
}

fn write_aliases(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    let aliases = vec!["*a"; 330_000].join(",");
    let yaml = format!("a: &a '{}'\nb: [{aliases}]\nhooks: {{}}\n", "x".repeat(20_000));
    project.write_file(".gambrel/hooks.yaml", &yaml).map(drop)
}

fn write_json_keys(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    let keys: Vec<String> = (0..100_000).map(|n| format!("\"Event{n}\":[]")).collect();
    let text = format!("{{\"hooks\":{{{}}}}}", keys.join(","));
    project.write_file(".claude/settings.json", &text).map(drop)
}

fn write_yaml_keys(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    let keys: String = (0..100_000).map(|n| format!("  on_event_{n}: []\n")).collect();
    project.write_file(".gambrel/hooks.yaml", &format!("hooks:\n{keys}")).map(drop)
}

fn write_deep_json(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let text = format!("{{\"hooks\":{{\"PreToolUse\":{open}{close}}}}}");
    project.write_file(".claude/settings.json", &text).map(drop)
}

fn write_deep_yaml(project: &TestProject, _event: &mut Value) -> anyhow::Result<()> {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let text = format!("hooks:\n  on_tool_before: {open}{close}\n");
    project.write_file(".gambrel/hooks.yaml", &text).map(drop)
}

fn write_backticks(project: &TestProject, event: &mut Value) -> anyhow::Result<()> {
    event["tool_input"]["command"] = format!("rm -rf build\n{}", "`${".repeat(40)).into();
    let hook = json!({"type": "command", "command": "true", "if": "Bash(git push *)"});
    write_settings(project, vec![json!({"matcher": "Bash", "hooks": [hook]})])
}
