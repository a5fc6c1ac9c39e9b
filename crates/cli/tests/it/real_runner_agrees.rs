//! The same modules and events through the product's own `HookRunner` and through `gambrel fire`
//! decide alike. The modules are in `fixtures/omp/modules.txt`; each meets every event here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{Ground, text};
use crate::outside::{finish, tool};

const MODULES: &str = include_str!("fixtures/omp/modules.txt");
const RUNNER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/omp/real-runner.ts");
const PACKAGE: &str = "@oh-my-pi/pi-coding-agent";
const WITHOUT: &str = "agreement with the real hook runner";
const DEADLINE: Duration = Duration::from_secs(300);

/// Where we differ on purpose: the group, the event (`*` is any), and why.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "the event is shared or fresh",
        "*",
        "handlers of one module share an event; another module gets its own copy",
    ),
    (
        "messages changed in place",
        "context",
        "messages are replaced by what a handler returns; what it does to its copy is its own",
    ),
];

/// One module group meeting one event.
struct Case {
    group: String,
    event: Value,
    cwd: PathBuf,
    modules: Vec<PathBuf>,
}

fn events() -> Vec<Value> {
    let tool = json!({"toolName": "bash", "toolCallId": "1", "input": {"command": "ls"}});
    let messages = json!([{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]);
    let with = |base: &Value, more: Value| {
        let mut event = base.clone();
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let content = json!([{"type": "text", "text": "old"}]);
    vec![
        with(&tool, json!({"type": "tool_call"})),
        with(
            &tool,
            json!({"type": "tool_result", "content": content, "details": {"old": 1}, "isError": false}),
        ),
        with(&tool, json!({"type": "tool_result", "content": content, "isError": true})),
        json!({"type": "context", "messages": messages}),
        json!({"type": "before_agent_start", "prompt": "go"}),
        json!({"type": "session_before_switch", "reason": "new"}),
        json!({"type": "session_before_branch", "entryId": "1"}),
        json!({"type": "session_before_compact", "preparation": {}, "branchEntries": []}),
        json!({"type": "session_before_tree", "preparation": {"targetId": "1"}}),
        json!({"type": "session.compacting", "sessionId": "s", "messages": messages}),
        json!({"type": "session_start"}),
        json!({"type": "agent_end", "messages": messages}),
        json!({"type": "turn_end", "turnIndex": 1, "message": {"role": "assistant", "content": []}, "toolResults": []}),
        json!({"type": "todo_reminder", "todos": [], "attempt": 1, "maxAttempts": 3}),
    ]
}

/// The groups of the fixture: a name and the bodies of its modules.
fn groups() -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for line in MODULES.lines().filter(|line| !line.starts_with('#')) {
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

fn module(at: usize, body: &str, event: &Value) -> String {
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

fn cases(base: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for (group, bodies) in groups() {
        for event in events() {
            let cwd = base.join(format!("case {}", cases.len()));
            let folder = cwd.join(".omp/hooks/pre");
            std::fs::create_dir_all(&folder).unwrap();
            let write = |(at, body): (usize, &String)| {
                let path = folder.join(format!("m{at}.ts"));
                std::fs::write(&path, module(at, body, &event)).unwrap();
                path
            };
            let modules = bodies.iter().enumerate().map(write).collect();
            cases.push(Case { group: group.clone(), event, cwd, modules });
        }
    }
    cases
}

fn real(base: &Path, cases: &[Case]) -> Option<Vec<Value>> {
    let bun = tool(".bin/bun", WITHOUT)?;
    let package = tool(PACKAGE, WITHOUT)?;
    let (plan, answers) = (base.join("plan.json"), base.join("answers.json"));
    let one = |case: &Case| json!({"cwd": case.cwd, "modules": case.modules, "event": case.event});
    let all: Vec<Value> = cases.iter().map(one).collect();
    std::fs::write(&plan, json!(all).to_string()).unwrap();
    let mut command = Command::new(bun);
    command.arg(RUNNER).arg(package).args([&plan, &answers]).current_dir(base);
    let (code, stdout, stderr) = finish(command.env("HOME", base.join("home")), DEADLINE);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    Some(serde_json::from_slice(&std::fs::read(answers).unwrap()).unwrap())
}

/// What `gambrel fire` answers, in the words of the real runner's report.
fn ours(ground: &Ground, case: &Case) -> Value {
    let folder = case.cwd.to_string_lossy().into_owned();
    let args = ["-C", &folder, "fire", "--from", "omp"];
    let output = ground.run(&args, case.event.to_string().as_bytes());
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

/// A result as a decision: what the host would do.
fn settled(event: &Value, mut told: Value) -> Value {
    let result = told["result"].take();
    told.as_object_mut().unwrap().remove("unloaded");
    let field = |name: &str, old: &Value| match result.get(name) {
        Some(new) if !new.is_null() => new.clone(),
        _ => old.clone(),
    };
    told["result"] = match event["type"].as_str().unwrap() {
        "tool_call" if result["block"] == true => {
            json!({"block": true, "reason": result["reason"]})
        }
        "tool_call" => json!({"block": false}),
        "tool_result" => json!({
            "content": field("content", &event["content"]),
            "details": field("details", &event["details"]),
        }),
        "context" => json!({"messages": field("messages", &event["messages"])}),
        "before_agent_start" => json!({"message": result["message"]}),
        name if name.starts_with("session_before") => {
            let mut kept = result.as_object().cloned().unwrap_or_default();
            let cancel = kept.remove("cancel");
            // Ours has words for a refusal; the runner's callers look at `cancel` only.
            kept.remove("reason");
            json!({"cancel": cancel.is_some_and(|c| truthy(&c)), "more": kept})
        }
        "session.compacting" => {
            let fields = ["context", "prompt", "preserveData"];
            fields.iter().map(|name| (*name, result[*name].clone())).collect()
        }
        _ => result,
    };
    // A tool call that fails is told by its reason alone.
    if event["type"] == "tool_call" {
        told["errors"] = json!([]);
    }
    told
}

fn truthy(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value != 0 && value != ""
}

fn expected_to_differ(case: &Case) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let name = case.event["type"].as_str().unwrap();
    DIFFERENCES
        .iter()
        .find(|(group, event, _)| *group == case.group && (*event == "*" || *event == name))
}

/// Every case on our side, on a few threads.
fn all_ours(ground: &Ground, cases: &[Case]) -> Vec<Value> {
    let told = Mutex::new(vec![Value::Null; cases.len()]);
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { break };
                    let one = ours(ground, case);
                    told.lock().unwrap()[at] = one;
                }
            });
        }
    });
    told.into_inner().unwrap()
}

#[test]
fn the_real_runner_decides_alike() {
    let ground = Ground::new();
    let base = ground.base.join("all cases");
    std::fs::create_dir_all(&base).unwrap();
    let cases = cases(&base);
    let Some(real) = real(&base, &cases) else { return };
    assert_eq!(real.len(), cases.len());
    let ours = all_ours(&ground, &cases);
    let (mut wrong, mut differed, mut alike) = (Vec::new(), BTreeSet::new(), 0);
    for ((case, real), ours) in cases.iter().zip(real).zip(ours) {
        let (real, ours) = (settled(&case.event, real), settled(&case.event, ours));
        if real == ours {
            alike += 1;
            continue;
        }
        match expected_to_differ(case) {
            Some(row) => drop(differed.insert(*row)),
            None => {
                wrong.push(format!("{} × {}\n  real {real}\n  ours {ours}", case.group, case.event))
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    let stale: Vec<_> = DIFFERENCES.iter().filter(|row| !differed.contains(*row)).collect();
    assert!(stale.is_empty(), "these differ no longer: {stale:?}");
    eprintln!("{alike} of {} cases decided alike; the rest is in the tables", cases.len());
}
