//! What only `gambrel check` looks for in settings that are valid: matchers that match nothing or
//! everything by accident, fields without effect, and answers in the wrong place.

use gambrel_document::DocumentFields;
use gambrel_model::complaint::nearest_word;
use gambrel_model::{Complaint, EventSpec, MatcherText, Pattern, SpannedText, Subject};

use super::tools::TOOLS;

/// Tools of Claude Code that have no counterpart in other products.
const OTHER_TOOLS: [&str; 36] = [
    "AskUserQuestion",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "KillShell",
    "LS",
    "LSP",
    "ListMcpResourcesTool",
    "Monitor",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TeamCreate",
    "TeamDelete",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebSearch",
    "Workflow",
];
/// The beginning of tools of MCP servers.
const SERVER_PREFIX: &str = "mcp__";
/// A name that no tool has.
const NO_TOOL: &str = "\u{1}";
const DECISION_KEY: &str = "permissionDecision";
const DECISION_PARENT: &str = "hookSpecificOutput";

fn known_tools() -> impl Iterator<Item = &'static str> + Clone {
    TOOLS.iter().map(|word| word.name).chain(OTHER_TOOLS)
}

/// Findings about the matcher of an event with a tool.
pub fn check_matcher(
    row: &EventSpec,
    parsed: &MatcherText,
    written: &SpannedText,
) -> Vec<Complaint> {
    match parsed {
        _ if row.subject != Subject::Tool => Vec::new(),
        MatcherText::All | MatcherText::Invalid(_) => Vec::new(),
        MatcherText::Names(names) => {
            let unknown = names.iter().filter(|name| {
                !name.starts_with(SERVER_PREFIX) && !known_tools().any(|tool| tool == *name)
            });
            unknown.map(|name| unknown_tool(name, written)).collect()
        }
        MatcherText::Pattern(pattern) => check_pattern(pattern, written).into_iter().collect(),
    }
}

fn unknown_tool(name: &str, written: &SpannedText) -> Complaint {
    let message = format!("no known tool is called `{name}`, so this matches nothing");
    match nearest_word(name, known_tools()) {
        Some(near) => Complaint::warning(written.spot.clone(), message)
            .with_help(format!("did you mean `{near}`?")),
        None => Complaint::note(written.spot.clone(), message)
            .with_help("names of tools are case-sensitive, such as Bash, Edit and Write"),
    }
}

/// Findings about a pattern. One that is not valid has a complaint already.
fn check_pattern(pattern: &SpannedText, written: &SpannedText) -> Option<Complaint> {
    let text = written.text.as_str();
    let compiled = Pattern::compile(&pattern.text).ok()?;
    let warn = |message: &str| Complaint::warning(written.spot.clone(), message);
    if compiled.is_match(NO_TOOL) && has_empty_alternative(text) {
        let message = "one side of a `|` is empty, so this matches every tool";
        return Some(warn(message).with_help("write `Bash|Write`, or `*` for every tool"));
    }
    let matches_known = known_tools().any(|tool| compiled.is_match(tool));
    if matches_known || compiled.is_match(NO_TOOL) || text.contains(SERVER_PREFIX) {
        return None;
    }
    let help = match text.split_once('(') {
        Some((tool, rest)) if rest.ends_with(')') && known_tools().any(|known| known == tool) => {
            format!("write `{tool}` here, and \"if\": \"{text}\" in the handler")
        }
        _ if text.contains("==") || text.contains("&&") => {
            "write only the tool, such as `Bash`; a condition on its input belongs in \"if\""
                .to_owned()
        }
        _ => "names of tools are case-sensitive, such as Bash, Edit and Write".to_owned(),
    };
    Some(warn("this pattern matches no known tool").with_help(help))
}

fn has_empty_alternative(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let inside = ["||", "(|", "|)"].iter().any(|sign| bare.contains(sign));
    inside || bare.starts_with('|') || bare.ends_with('|')
}

/// A finding about `once`, which only hooks of skills have.
pub fn check_once(fields: &DocumentFields<'_>, in_skill: bool) -> Option<Complaint> {
    let node = fields.node("once").filter(|_| !in_skill)?;
    let message = "`once` has no effect here: only hooks of a skill run once";
    Some(Complaint::warning(fields.span_of(node), message).with_help("leave it out"))
}

/// A finding about a text that prints a decision where Claude Code does not read it.
pub fn check_script(text: &str) -> Option<String> {
    let is_misplaced = text.contains(DECISION_KEY) && !text.contains(DECISION_PARENT);
    is_misplaced.then(|| {
        format!(
            "`{DECISION_KEY}` counts only inside `{DECISION_PARENT}`: at the top it decides nothing"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::CLAUDE;
    use crate::claude::matcher::parse_matcher;

    fn findings(text: &str) -> Vec<String> {
        let row = CLAUDE.find_spec("PreToolUse").unwrap();
        let written = SpannedText { text: text.to_owned(), ..SpannedText::default() };
        let parsed = parse_matcher(row, text, &|| written.clone()).unwrap();
        let found = check_matcher(row, &parsed, &written);
        found
            .into_iter()
            .map(|c| format!("{} / {}", c.message, c.help.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn accepts_usual_matchers() {
        for text in [
            "Bash",
            "Bash|Write",
            "Edit, Write",
            "*",
            "",
            ".*",
            "mcp__memory__.*",
            "Notebook.*",
            "^Bash$",
            "(Edit|Write)",
            "Task",
            "mcp__github__search|Bash",
            "^(?!Bash).*",
        ] {
            assert_eq!(findings(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn finds_matchers_that_match_nothing() {
        for (text, expected) in [
            ("bash", "did you mean `Bash`?"),
            ("Bash|write", "did you mean `Write`?"),
            ("Shell", "no known tool is called `Shell`"),
            ("Bash(rm *)", "write `Bash` here, and \"if\": \"Bash(rm *)\""),
            ("tool == \"Bash\" && x", "a condition on its input belongs in \"if\""),
            ("bash.*", "this pattern matches no known tool"),
        ] {
            let found = findings(text).join("\n");
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn finds_matchers_that_match_everything_by_accident() {
        for text in ["Bash.*||Write", "(Bash|)", "Edit.*|"] {
            assert!(findings(text).join("").contains("matches every tool"), "{text}");
        }
    }

    #[test]
    fn finds_a_decision_outside_its_object() {
        assert!(check_script("echo '{\"permissionDecision\":\"deny\"}'").is_some());
        let right = "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\"}}";
        assert_eq!(check_script(right), None);
    }
}
