//! What a plan would do: its stages, prompts and hooks, what is untrusted, and which tool hooks
//! would not fire.

use std::path::PathBuf;

use gambrel::{Gambrel, Loaded, Trust, TrustMode, native_dialects, plan_sources};
use gambrel_model::{Hook, Moment};
use gambrel_runner::{AcpAgent, AgentSpec, BEADS_COMMAND, Plan, PlanFile, PlanNode, RunFolder};
use serde_json::{Value, json};

use crate::args::USAGE_EXIT_CODE;
use crate::list::{self, describe};
use crate::printer;

/// The most characters of a prompt that `--dry-run` shows.
const MAX_PROMPT_CHARS: usize = 200;

/// The most characters of a hook or command in the list of what is untrusted.
const MAX_SUMMARY_CHARS: usize = 100;

/// Prints the plan; runs nothing.
pub fn print_plan(gambrel: &Gambrel, plan: &Plan, folder: &RunFolder, json: bool) -> u8 {
    let untrusted = find_untrusted(gambrel, plan);
    let silent = find_silent_tool_hooks(gambrel, plan);
    let partial = describe_partial_gates(gambrel, plan);
    if json {
        let nodes: Vec<Value> =
            plan.nodes.iter().map(|node| node_json(gambrel, plan, node)).collect();
        let mut shown = json!(plan);
        shown["nodes"] = Value::Array(nodes);
        shown["folder"] = json!(folder.path);
        shown["untrusted"] = json!(untrusted);
        shown["silent_tool_hooks"] = json!(silent);
        shown["partial_tool_gates"] = json!(partial);
        printer::print_json(&shown);
    } else {
        printer::print(&format!("session {} in {}\n", plan.session.name, folder.path.display()));
        for (index, node) in plan.nodes.iter().enumerate() {
            printer::print(&describe_node(gambrel, plan, index, node));
        }
        for text in &untrusted {
            printer::print(&format!("untrusted: {text}\n"));
        }
        for text in describe_silent(&silent).iter().chain(&partial) {
            printer::print(&format!("{text}\n"));
        }
    }
    if untrusted.is_empty() { 0 } else { USAGE_EXIT_CODE }
}

fn describe_node(gambrel: &Gambrel, plan: &Plan, index: usize, node: &PlanNode) -> String {
    let termination = &node.termination;
    let kind = format!("{:?}", termination.kind).to_lowercase();
    let limit = match termination.limit() {
        None => "no limit of iterations".to_owned(),
        Some(max) => format!("at most {}", printer::format_quantity(max, "iteration")),
    };
    let mut text =
        format!("stage {index} {}: {kind}, {limit}\n  agent   {}\n", node.id, node.provider.spec);
    let place = node.prompt_path.as_ref().map(|path| path.display().to_string());
    text.push_str(&format!(
        "  prompt  {}: {}\n",
        place.unwrap_or_else(|| "inline".to_owned()),
        printer::truncate_line(&node.prompt, MAX_PROMPT_CHARS)
    ));
    for (point, title) in run_hooks(gambrel, plan, node) {
        text.push_str(&format!("  hook    {point}: {title}\n"));
    }
    text
}

fn node_json(gambrel: &Gambrel, plan: &Plan, node: &PlanNode) -> Value {
    let mut shown = json!(node);
    let hooks = run_hooks(gambrel, plan, node).into_iter();
    shown["hooks"] = hooks.map(|(point, title)| json!({"moment": point, "hook": title})).collect();
    shown
}

/// The hooks at the moments of a run, with the node's own.
fn run_hooks(gambrel: &Gambrel, plan: &Plan, node: &PlanNode) -> Vec<(String, String)> {
    let moments = [
        Moment::SessionStart,
        Moment::IterationStart,
        Moment::IterationEnd,
        Moment::StageEnd,
        Moment::SessionEnd,
        Moment::Error,
    ];
    let loaded = load_for_node(gambrel, plan, node);
    let mut found = Vec::new();
    for moment in moments {
        let hooks = loaded.hooks.iter().filter(|hook| fires_at(hook, &moment));
        found.extend(hooks.map(|hook| (moment.name().to_owned(), hook.title())));
    }
    found
}

fn fires_at(hook: &Hook, moment: &Moment) -> bool {
    hook.draft.disabled.is_none() && hook.specs.iter().any(|spec| spec.moment == *moment)
}

fn load_for_node(gambrel: &Gambrel, plan: &Plan, node: &PlanNode) -> std::sync::Arc<Loaded> {
    let sources = plan_sources(node.hook_file.as_ref(), plan.pipeline.hook_file.as_ref());
    gambrel.load_hooks_with(None, &sources)
}

/// The files of a plan whose hooks and commands may need trust, as sources of hooks.
pub fn trust_sources(gambrel: &Gambrel, plan: &Plan) -> Vec<(String, PathBuf)> {
    let mut sources = Vec::new();
    for node in &plan.nodes {
        for source in node_sources(gambrel, plan, node) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
    }
    sources
}

/// The files of a node; the project's configuration only if it may name the agent.
fn node_sources(gambrel: &Gambrel, plan: &Plan, node: &PlanNode) -> Vec<(String, PathBuf)> {
    let mut sources = plan_sources(node.hook_file.as_ref(), plan.pipeline.hook_file.as_ref());
    let is_own = gambrel.project_agent().is_some_and(|agent| agent == node.provider.name);
    if node.provider.from_project && is_own {
        sources.push(("project-config".to_owned(), gambrel.project_config()));
    }
    sources
}

/// The commands that a node executes and that need trust.
fn commands_in_need(plan: &Plan, node: &PlanNode) -> Vec<String> {
    let mut texts = Vec::new();
    let is_by_name = |file: &Option<PlanFile>| file.as_ref().is_some_and(|file| file.by_name);
    if is_by_name(&node.hook_file) || is_by_name(&plan.pipeline.hook_file) {
        texts.extend(node.termination.command.clone().filter(|text| text != BEADS_COMMAND));
        texts.extend(node.commands.values().cloned());
    }
    if is_by_name(&plan.pipeline.hook_file) {
        texts.extend(plan.pipeline.commands.values().cloned());
    }
    let agent = AgentSpec::parse(&node.provider.spec).ok().filter(|_| node.provider.from_project);
    texts.extend(agent.map(|agent| match agent {
        AgentSpec::Script(file) => format!("cat {file}"),
        AgentSpec::Command(text) | AgentSpec::Acp(text) => text,
    }));
    texts
}

/// Commands of a plan that its files, as they are now and are trusted, do not contain.
fn find_stale_commands(gambrel: &Gambrel, plan: &Plan, node: &PlanNode) -> Vec<String> {
    if gambrel.setup().options.trust == TrustMode::All {
        return Vec::new();
    }
    // The commands of files that the user named by their path are listed in the same way.
    let listed: Vec<(String, PathBuf)> = node_sources(gambrel, plan, node)
        .into_iter()
        .map(|(word, path)| (format!("project-{}", word.trim_start_matches("project-")), path))
        .collect();
    let files = [node.hook_file.as_ref(), plan.pipeline.hook_file.as_ref()];
    let is_own = |hook: &Hook| {
        let path = &hook.draft.source.spot.path;
        files.into_iter().flatten().any(|file| !file.by_name && file.path == *path)
    };
    let loaded = gambrel.load_hooks_with(None, &listed);
    let known: Vec<&str> = list::trust_states(gambrel, &loaded)
        .into_iter()
        .filter(|(hook, trust)| is_own(hook) || *trust == Trust::Trusted)
        .filter_map(|(hook, _)| hook.draft.config["command"].as_str())
        .collect();
    let needed = commands_in_need(plan, node).into_iter();
    needed.filter(|text| !known.contains(&text.trim()) && !known.contains(&text.as_str())).collect()
}

/// Hooks and commands of the plan's own files that may not run.
pub fn find_untrusted(gambrel: &Gambrel, plan: &Plan) -> Vec<String> {
    let mut found = find_untrusted_hooks(gambrel, plan);
    if !found.is_empty() {
        return found;
    }
    for node in &plan.nodes {
        for text in find_stale_commands(gambrel, plan, node) {
            let text = printer::truncate_line(&text, MAX_SUMMARY_CHARS);
            found.push(format!(
                "stage {}: `{text}` is not in the trusted files; continue with --recompile",
                node.id
            ));
        }
    }
    found
}

fn find_untrusted_hooks(gambrel: &Gambrel, plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    for node in &plan.nodes {
        let sources = node_sources(gambrel, plan, node);
        let loaded = gambrel.load_hooks_with(None, &sources);
        let is_plan_file =
            |hook: &Hook| sources.iter().any(|(_, path)| *path == hook.draft.source.spot.path);
        for (hook, trust) in list::trust_states(gambrel, &loaded) {
            if is_plan_file(hook) && !matches!(trust, Trust::Managed | Trust::Trusted) {
                let what = describe::summary_line(hook, MAX_SUMMARY_CHARS);
                let text = format!("{} {}: {what}", hook.id, hook.draft.source.location());
                if !found.contains(&text) {
                    found.push(text);
                }
            }
        }
    }
    found
}

/// Tool hooks that will not fire, because the agent of a node does not call gambrel.
pub fn find_silent_tool_hooks(gambrel: &Gambrel, plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    for node in &plan.nodes {
        let loaded = load_for_node(gambrel, plan, node);
        if calls_gambrel(&node.provider.spec, &loaded) {
            continue;
        }
        for hook in loaded.hooks.iter().filter(|hook| fires_at(hook, &Moment::ToolBefore)) {
            let title = hook.title();
            if !found.contains(&title) {
                found.push(title);
            }
        }
    }
    found
}

/// Sentences about gates that see only a part of the calls: an agent of the Agent Client Protocol
/// does not ask about every tool.
pub fn describe_partial_gates(gambrel: &Gambrel, plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    for node in &plan.nodes {
        let Ok(AgentSpec::Acp(command)) = AgentSpec::parse(&node.provider.spec) else { continue };
        let left_to_agent = native_dialects(&node.provider.spec);
        let loaded = load_for_node(gambrel, plan, node);
        let is_gate = |hook: &&std::sync::Arc<Hook>| {
            fires_at(hook, &Moment::ToolBefore) && !left_to_agent.contains(&hook.dialect.name)
        };
        let mut titles: Vec<String> = Vec::new();
        for hook in loaded.hooks.iter().filter(is_gate) {
            if !titles.contains(&hook.title()) {
                titles.push(hook.title());
            }
        }
        if titles.is_empty() {
            continue;
        }
        let setting = AcpAgent::of_command(&command).map_or_else(
            || "set the agent to ask about the tools that they guard".to_owned(),
            |agent| agent.auto_allowed.to_owned(),
        );
        let text = format!(
            "tool hooks that see only the calls about which the agent asks: {}; {setting}",
            titles.join(", ")
        );
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Whether tool calls of an agent reach gambrel: a scripted agent's do, and those of an agent
/// whose settings have gambrel's entries.
fn calls_gambrel(spec: &str, loaded: &Loaded) -> bool {
    match AgentSpec::parse(spec) {
        Ok(AgentSpec::Command(_)) => !loaded.host_entries.is_empty(),
        _ => true,
    }
}

/// One sentence about tool hooks that will not fire.
pub fn describe_silent(silent: &[String]) -> Option<String> {
    if silent.is_empty() {
        return None;
    }
    Some(format!(
        "tool hooks that will not fire, because the agent does not call gambrel: {}; \
         for Claude Code, `gambrel install claude` fixes that",
        silent.join(", ")
    ))
}
