//! `gambrel demo`: copies the shipped example to a temporary folder, and runs its scripted agent
//! through two iterations. Needs only a shell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use gambrel::{Decision, FiringObserver, FiringProgress, Gambrel, Setup, TrustMode, now_ms};
use gambrel_actions::{SignalGuard, SignalPolicy};
use gambrel_model::{Audience, Event, Moment, Slot, Step};
use gambrel_runner::{
    LogKind, LogLine, PlanRequest, RunFolder, RunResult, RunUpdate, compile_plan,
};
use serde_json::Value;

use crate::args::JsonArgs;
use crate::printer::{self, style};

/// Files of the example: path and text.
macro_rules! example {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../examples/five-dialects/", $path)))),*]
    };
}

const EXAMPLE_FILES: &[(&str, &str)] = example![
    ".claude/settings.json",
    ".claude/hooks/guard.sh",
    ".gambrel/hooks.yaml",
    ".gambrel/stages/parser/stage.yaml",
    ".gambrel/stages/parser/prompt.md",
    ".iteratr.hooks.yml",
    ".omp/hooks/pre/guard.ts",
    "agent.yaml",
];

/// The stage of the example.
const STAGE: &str = "parser";
/// The most characters of a line.
const MAX_TEXT_CHARS: usize = 84;

/// Runs the example and prints what happens.
pub fn run(args: &JsonArgs) -> anyhow::Result<u8> {
    let folder = std::env::temp_dir().join(format!("gambrel-demo-{}", std::process::id()));
    let code = run_example(&folder, args.json);
    // A copy that cannot be removed stays in the temporary folder.
    let _left = std::fs::remove_dir_all(&folder);
    code
}

fn run_example(folder: &Path, as_json: bool) -> anyhow::Result<u8> {
    for (path, text) in EXAMPLE_FILES {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }

    let view = DemoView { is_silent: as_json, ..DemoView::default() };
    let view = Arc::new(Mutex::new(view));
    let observed = Arc::clone(&view);
    let mut setup = example_setup(folder);
    setup.options.observer = Some(FiringObserver::new(move |progress| {
        if let FiringProgress::Decided(event, decision) = progress {
            lock_view(&observed).show_decision(event, decision);
        }
    }));
    let gambrel = Gambrel::new(setup);
    let request = PlanRequest {
        roots: gambrel.plan_roots(),
        target: Some(STAGE.to_owned()),
        now_ms: now_ms(),
        ..PlanRequest::default()
    };
    let plan = compile_plan(&request)?.plan;
    let run_folder = RunFolder::new(folder.join(".gambrel/runs").join(STAGE));
    let signals = SignalGuard::install();
    let interrupted = || signals.as_ref().and_then(SignalGuard::triggered);
    let result = gambrel.run_plan(&plan, &run_folder, &interrupted, &mut |update| {
        if let RunUpdate::Line(line) = update {
            lock_view(&view).show_line(line);
        }
    })?;
    let view = lock_view(&view);
    if as_json {
        printer::print_json(&Value::Array(view.decisions.clone()));
    }
    Ok(view.show_end(&result))
}

/// Setup with the example's variables and without the user's hooks.
fn example_setup(folder: &Path) -> Setup {
    let mut setup = Setup::in_memory(folder);
    let mut env: BTreeMap<String, String> = (*setup.env).clone();
    let is_foreign =
        |name: &str| ["PI_TEAMS_", "XDG_", "GAMBREL_"].iter().any(|start| name.starts_with(start));
    env.retain(|name, _| !is_foreign(name));
    let variables =
        gambrel::DIALECTS.iter().flat_map(|dialect| dialect.properties.project_dir_vars);
    variables.for_each(|name| drop(env.remove(*name)));
    env.insert("HOME".to_owned(), folder.join("home").display().to_string());
    setup.env = Arc::new(env);
    setup.options.trust = TrustMode::All;
    setup.signals = SignalPolicy::Return;
    setup
}

fn lock_view(view: &Mutex<DemoView>) -> MutexGuard<'_, DemoView> {
    view.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the run as a story, and counts.
#[derive(Default)]
struct DemoView {
    is_silent: bool,
    decisions: Vec<Value>,
    iteration_count: usize,
    call_count: usize,
    blocked_count: usize,
    hook_count: usize,
    products: BTreeSet<&'static str>,
}

impl DemoView {
    fn print_row(&self, color: &str, label: &str, text: &str) {
        if self.is_silent {
            return;
        }
        let text = printer::truncate_line(text, MAX_TEXT_CHARS);
        printer::print(&format!("  {color}{label:<10}{}{text}\n", style::RESET));
    }

    fn show_line(&mut self, line: &LogLine) {
        match line.kind {
            LogKind::SessionStart if !self.is_silent => {
                printer::print(
                    "A scripted agent writes a parser. Hooks of four products watch it.\n",
                );
            }
            LogKind::IterationStart => {
                self.iteration_count += 1;
                if !self.is_silent {
                    let title = format!("iteration {}", line.cursor.iteration);
                    printer::print(&format!("{}\n", style::paint(style::BOLD, &title)));
                }
            }
            LogKind::IterationComplete => {
                let summary = line.data["history"]["summary"].as_str().unwrap_or_default();
                self.print_row(style::DIM, "agent", summary);
            }
            _ => {}
        }
    }

    fn show_decision(&mut self, event: &Event, decision: &Decision) {
        self.decisions.push(decision.to_json());
        let ran: Vec<&Step> = decision.trail.iter().filter(|step| step.ran).collect();
        self.hook_count += ran.len();
        self.products.extend(ran.iter().filter_map(|step| product_of(step)));
        match event.moment {
            Moment::ToolBefore => self.show_call(event, decision),
            Moment::ToolAfter => self.show_output(decision),
            Moment::IterationStart => {
                for message in decision.for_caller.messages_for(Audience::AgentNow) {
                    self.print_row(style::YELLOW, "fed back", message.trim());
                }
            }
            _ => {}
        }
    }

    fn show_call(&mut self, event: &Event, decision: &Decision) {
        self.call_count += 1;
        let command = event.facts.tool.as_ref().and_then(|tool| tool.args["command"].as_str());
        self.print_row(style::DIM, "calls", command.unwrap_or_default());
        if !decision.for_caller.ruling.is_refusal() {
            return;
        }
        self.blocked_count += 1;
        let step = decision.trail.iter().find(|step| step.verdict.is_refusal());
        let product = step.and_then(product_of).unwrap_or_default();
        for reason in &decision.for_caller.reasons {
            self.print_row(style::RED, "blocked", &format!("{} ({product})", reason.text));
        }
    }

    fn show_output(&self, decision: &Decision) {
        let Some(output) = decision.for_caller.patch.get(&Slot::Output) else { return };
        let text = output["content"][0]["text"].as_str().unwrap_or_default();
        let step = decision.trail.iter().find(|step| step.ran);
        let product = step.and_then(product_of).unwrap_or_default();
        self.print_row(style::YELLOW, "redacted", &format!("{text} ({product})"));
    }

    fn show_end(&self, result: &RunResult) -> u8 {
        let (color, end, code) = match result {
            RunResult::Completed(_) => (style::GREEN, "complete".to_owned(), 0),
            RunResult::Failed(failure) => (style::RED, format!("failed: {}", failure.message), 1),
            RunResult::Cancelled(signal) => {
                let code = u8::try_from(128 + signal).unwrap_or(1);
                (style::RED, "cancelled".to_owned(), code)
            }
        };
        if !self.is_silent {
            printer::print(&format!(
                "{}: {} iterations, {} calls, {} blocked; {} hooks of {} products ran\n",
                style::paint(color, &end),
                self.iteration_count,
                self.call_count,
                self.blocked_count,
                self.hook_count,
                self.products.len()
            ));
        }
        code
    }
}

fn product_of(step: &Step) -> Option<&'static str> {
    Gambrel::dialect_by_name(&step.dialect).map(|dialect| dialect.product())
}
