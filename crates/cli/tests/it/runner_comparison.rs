//! Compares `gambrel fire` with a runner of the real product. Every module group of a fixture
//! receives every event, and both sides must decide alike. Knows no rules of an edition.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::external_tools::{find_tool, run_to_end};
use crate::test_project::{TestProject, text};

const PACKAGE: &str = "@oh-my-pi/pi-coding-agent";
const WITHOUT: &str = "agreement with the real runner";
const RUNNER_TIMEOUT: Duration = Duration::from_secs(300);

/// An intended difference: the group, the event (`*` is any), and the reason.
pub type Difference = (&'static str, &'static str, &'static str);

/// One comparison.
pub struct Comparison {
    /// The fixture that drives the real runner.
    pub runner: &'static str,
    /// The modules, in the form of `fixtures/omp/modules.txt`.
    pub modules: String,
    pub events: Vec<Value>,
    /// Turns a result into what the host would do.
    pub normalize: fn(&Value, Value) -> Value,
    pub differences: &'static [Difference],
}

/// One module group that receives one event.
struct Case {
    group: String,
    event: Value,
    cwd: PathBuf,
    modules: Vec<PathBuf>,
}

/// The groups of the fixture: a name and the bodies of its modules.
fn read_groups(fixture: &str) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for line in fixture.lines().filter(|line| !line.starts_with('#')) {
        match (line.strip_prefix("= "), groups.last_mut()) {
            (Some(name), _) => groups.push((name.to_owned(), vec![String::new()])),
            (None, Some((_, modules))) if line == "-" => modules.push(String::new()),
            (None, Some((_, modules))) => {
                modules.last_mut().unwrap().push_str(&format!("{line}\n"));
            }
            (None, None) => panic!("a line before the first group: {line}"),
        }
    }
    groups
}

fn module_text(at: usize, body: &str, event: &Value) -> String {
    let event = event["type"].to_string();
    if let Some(whole) = body.strip_prefix('!') {
        return whole.replace("EVENT", &event);
    }
    format!(
        "import type {{ HookAPI }} from \"@oh-my-pi/pi-coding-agent/hooks\";\n\
         export default (pi: HookAPI) => {{\n\
         const on = (handler: any) => pi.on({event}, handler);\n\
         const ran = (word: string): void => pi.appendEntry(\"ran\", `m{at} ${{word}}`);\n{body}}};\n"
    )
}

fn write_cases(base: &Path, comparison: &Comparison) -> Vec<Case> {
    let mut cases = Vec::new();
    for (group, bodies) in read_groups(&comparison.modules) {
        for event in comparison.events.clone() {
            let cwd = base.join(format!("case {}", cases.len()));
            let folder = cwd.join(".omp/hooks/pre");
            std::fs::create_dir_all(&folder).unwrap();
            let write = |(at, body): (usize, &String)| {
                let path = folder.join(format!("m{at}.ts"));
                std::fs::write(&path, module_text(at, body, &event)).unwrap();
                path
            };
            let modules = bodies.iter().enumerate().map(write).collect();
            cases.push(Case { group: group.clone(), event, cwd, modules });
        }
    }
    cases
}

fn run_real(base: &Path, runner: &str, cases: &[Case]) -> Option<Vec<Value>> {
    let bun = find_tool(".bin/bun", WITHOUT)?;
    let package = find_tool(PACKAGE, WITHOUT)?;
    let (plan, answers) = (base.join("plan.json"), base.join("answers.json"));
    let one = |case: &Case| json!({"cwd": case.cwd, "modules": case.modules, "event": case.event});
    let all: Vec<Value> = cases.iter().map(one).collect();
    std::fs::write(&plan, json!(all).to_string()).unwrap();
    let mut command = Command::new(bun);
    command.arg(runner).arg(package).args([&plan, &answers]).current_dir(base);
    let (code, stdout, stderr) = run_to_end(command.env("HOME", base.join("home")), RUNNER_TIMEOUT);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    Some(serde_json::from_slice(&std::fs::read(answers).unwrap()).unwrap())
}

/// The answer of `gambrel fire`, in the form of the real runner's report.
fn run_ours(project: &TestProject, case: &Case) -> Value {
    let folder = case.cwd.to_string_lossy().into_owned();
    let args = ["-C", &folder, "fire", "--from", "omp"];
    let output = project.run(&args, case.event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    let effects = reply.as_object_mut().unwrap().remove("effects").unwrap_or_default();
    let list = |name: &str| effects[name].as_array().cloned().unwrap_or_default();
    let error = |e: &Value| json!({"in": e["hookPath"], "event": e["event"], "error": e["error"]});
    let entry = |e: &Value| match e.get("data") {
        Some(data) => json!({"customType": e["customType"], "data": data}),
        None => json!({"customType": e["customType"]}),
    };
    json!({
        "result": reply,
        "errors": list("errors").iter().map(error).collect::<Vec<_>>(),
        "entries": list("entries").iter().map(entry).collect::<Vec<_>>(),
        "messages": list("messages"),
    })
}

/// Runs every case through gambrel, on a few threads.
fn run_all_ours(project: &TestProject, cases: &[Case]) -> Vec<Value> {
    let reports = Mutex::new(vec![Value::Null; cases.len()]);
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { break };
                    let report = run_ours(project, case);
                    reports.lock().unwrap()[at] = report;
                }
            });
        }
    });
    reports.into_inner().unwrap()
}

/// Truth as in JavaScript.
pub fn truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value != 0 && value != ""
}

fn expected_to_differ<'d>(case: &Case, differences: &'d [Difference]) -> Option<&'d Difference> {
    let name = case.event["type"].as_str().unwrap();
    let applies = |row: &&Difference| row.0 == case.group && (row.1 == "*" || row.1 == name);
    differences.iter().find(applies)
}

/// Compares both sides. Exactly the differences of the table must occur.
pub fn compare(project: &TestProject, comparison: &Comparison) {
    let base = project.base.join("all cases");
    std::fs::create_dir_all(&base).unwrap();
    let cases = write_cases(&base, comparison);
    let Some(real) = run_real(&base, comparison.runner, &cases) else { return };
    assert_eq!(real.len(), cases.len());
    let ours = run_all_ours(project, &cases);
    let (mut wrong, mut differed, mut alike) = (Vec::new(), BTreeSet::new(), 0);
    for ((case, real), ours) in cases.iter().zip(real).zip(ours) {
        let normalize = comparison.normalize;
        let (real, ours) = (normalize(&case.event, real), normalize(&case.event, ours));
        if real == ours {
            alike += 1;
            continue;
        }
        match expected_to_differ(case, comparison.differences) {
            Some(row) => drop(differed.insert(*row)),
            None => {
                wrong.push(format!("{} × {}\n  real {real}\n  ours {ours}", case.group, case.event))
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    let table = comparison.differences.iter();
    let stale: Vec<_> = table.filter(|row| !differed.contains(*row)).collect();
    assert!(stale.is_empty(), "these differ no longer: {stale:?}");
    eprintln!("{alike} of {} cases decided alike; the rest is in the tables", cases.len());
}
