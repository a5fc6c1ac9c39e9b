//! Parses and matches one permission rule: `Tool` or `Tool(specifier)`.

use gambrel_model::complaint::nearest_word;

use super::IfQuery;
use super::shell::ShellScript;
use super::wildcard::{TextCell, can_match, parse_wildcards};
use super::{path, word};
use crate::claude::tools::{ALIASES, TOOLS};

/// Tools that change files. A rule for `Edit` covers all of them.
const EDIT_TOOLS: [&str; 4] = ["Edit", "MultiEdit", "Write", "NotebookEdit"];
/// Tools that read files. A rule for `Read` covers all of them.
const READ_TOOLS: [&str; 5] = ["Read", "Grep", "Glob", "LS", "NotebookRead"];
/// Other tools of Claude Code, for suggestions about misspelt names.
const OTHER_TOOLS: [&str; 4] = ["WebSearch", "TodoWrite", "Skill", "SlashCommand"];

/// A parsed rule.
#[derive(Debug, PartialEq)]
pub struct IfRule {
    tool: String,
    spec: Option<String>,
}

/// Whether a tool call matches a rule.
#[derive(Debug, PartialEq)]
pub enum RuleMatch {
    /// It matches.
    Match,
    /// It may match, and why this is uncertain.
    Doubtful(&'static str),
    /// It does not match, and why.
    NoMatch(String),
}

/// The value that the specifier of a rule is compared with.
enum SpecifierKind {
    Command,
    Path,
    Domain,
    Agent,
    Skill,
    Unknown,
}

/// Why a text is not a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IfRuleError {
    #[error("a rule begins with the name of a tool")]
    NoTool,
    #[error("`if` is one rule, `Tool` or `Tool(…)`, and has `{0}` in it")]
    OddCharacter(char),
    #[error("the rule's parenthesis is not closed")]
    Unclosed,
    #[error("`if` is exactly one rule")]
    SecondRule,
}

impl IfRule {
    /// Parses a rule.
    pub fn parse(text: &str) -> Result<Self, IfRuleError> {
        let text = text.trim();
        let (tool, rest) = match text.find('(') {
            Some(at) => (text[..at].trim_end(), Some(&text[at + 1..])),
            None => (text, None),
        };
        if tool.is_empty() {
            return Err(IfRuleError::NoTool);
        }
        if let Some(odd) = tool.chars().find(|c| !is_name_char(*c)) {
            return Err(IfRuleError::OddCharacter(odd));
        }

        let Some(rest) = rest else { return Ok(Self { tool: tool.to_owned(), spec: None }) };
        let spec = rest.strip_suffix(')').ok_or(IfRuleError::Unclosed)?;
        if has_second_rule(spec) {
            return Err(IfRuleError::SecondRule);
        }
        let spec = Some(spec.trim().to_owned()).filter(|spec| !spec.is_empty() && spec != "*");
        Ok(Self { tool: tool.to_owned(), spec })
    }

    /// A warning about a valid rule: unknown tool, or a specifier without effect.
    pub fn warning(&self) -> Option<String> {
        let own = TOOLS.iter().map(|word| word.name);
        let known: Vec<&str> = own.chain(EDIT_TOOLS).chain(READ_TOOLS).chain(OTHER_TOOLS).collect();
        let plain = !self.tool.contains(['*', '.']) && !self.tool.starts_with("mcp__");
        if plain && !known.contains(&self.tool.as_str()) {
            let near = nearest_word(&self.tool, known)?;
            return Some(format!("no tool is called `{}` (did you mean `{near}`?)", self.tool));
        }
        let odd = self.spec.is_some() && matches!(self.specifier_kind(), SpecifierKind::Unknown);
        odd.then(|| format!("only the name counts in a rule for `{}`", self.tool))
    }

    /// Whether a tool call matches the rule.
    pub fn match_call(&self, query: &IfQuery<'_>) -> RuleMatch {
        if !self.covers_tool(query.name) {
            return RuleMatch::NoMatch(format!("the tool is {}", query.name));
        }
        match (self.specifier_kind(), &self.spec, query.text_argument(&["command"])) {
            (SpecifierKind::Command, Some(spec), Some(line)) => match_command(spec, line),
            _ => self.mismatch_reason(query).map_or(RuleMatch::Match, RuleMatch::NoMatch),
        }
    }

    /// Why a tool other than a shell does not match; `None` if it does or may.
    fn mismatch_reason(&self, query: &IfQuery<'_>) -> Option<String> {
        let spec = self.spec.as_deref()?;
        match self.specifier_kind() {
            SpecifierKind::Path => {
                let looks = READ_TOOLS.contains(&query.name) && query.name != "Read";
                let named = query.text_argument(&["file_path", "notebook_path", "path"]);
                let named = named.or(looks.then_some("."))?;
                let met = path::path_matches(spec, named, query, looks);
                (!met).then(|| format!("{named} does not match"))
            }
            SpecifierKind::Domain => domain_mismatch(spec, query.text_argument(&["url"])?),
            SpecifierKind::Agent => {
                let name = query.text_argument(&["subagent_type"])?;
                let met = can_match(&parse_wildcards(spec), &word::literal_cells(name));
                (!met).then(|| format!("the agent is {name}"))
            }
            SpecifierKind::Skill => skill_mismatch(spec, query),
            SpecifierKind::Command | SpecifierKind::Unknown => None,
        }
    }

    fn specifier_kind(&self) -> SpecifierKind {
        let tool = self.tool.as_str();
        match tool {
            "Bash" => SpecifierKind::Command,
            "WebFetch" => SpecifierKind::Domain,
            "Task" | "Agent" => SpecifierKind::Agent,
            "Skill" | "SlashCommand" => SpecifierKind::Skill,
            _ if EDIT_TOOLS.contains(&tool) || READ_TOOLS.contains(&tool) => SpecifierKind::Path,
            _ => SpecifierKind::Unknown,
        }
    }

    fn covers_tool(&self, name: &str) -> bool {
        let tool = self.tool.as_str();
        let family = |of: &str, all: &[&str]| tool == of && all.contains(&name);
        let server = || {
            let all = tool.starts_with("mcp__") && tool.matches("__").count() == 1;
            all && name.strip_prefix(tool).is_some_and(|rest| rest.starts_with("__"))
        };
        tool == name
            || ALIASES.contains(&(tool, name))
            || family("Edit", &EDIT_TOOLS)
            || family("Read", &READ_TOOLS)
            || server()
            || tool.contains('*')
                && can_match(&parse_wildcards(&tool.replace(".*", "*")), &word::literal_cells(name))
    }
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*')
}

/// Whether the specifier contains a second rule, as in `Bash(git *) Bash(ls)`.
fn has_second_rule(spec: &str) -> bool {
    spec.match_indices(')').any(|(at, _)| {
        let rest = &spec[at + 1..];
        let next = rest.trim_start_matches([' ', ',', '|', '&']);
        let name = next.split('(').next().unwrap_or_default();
        next.len() < rest.len()
            && next.contains('(')
            && !name.is_empty()
            && name.chars().all(is_name_char)
    })
}

/// Matches every command that a shell line would start.
fn match_command(spec: &str, line: &str) -> RuleMatch {
    let (head, open) = split_head(spec);
    let script = ShellScript::parse_line(line);
    let met = head_matcher(head, open);
    let whole = met(&word::literal_cells(line.trim()));
    if whole || script.commands.iter().flat_map(|c| c.texts_to_match()).any(|t| met(&t)) {
        return RuleMatch::Match;
    }
    match doubt_reason(&script, head) {
        Some(why) => RuleMatch::Doubtful(why),
        None => RuleMatch::NoMatch("no sub-command matches".to_owned()),
    }
}

/// Why a line may start a matching command although none was found.
fn doubt_reason(script: &ShellScript, head: &str) -> Option<&'static str> {
    // As in Claude Code, a substitution does not make a rule of one word uncertain. The commands
    // inside the substitution were matched too.
    let long = head.contains(char::is_whitespace);
    if script.has_here_document {
        Some("the command has a here-document")
    } else if script.doubtful {
        Some("not everything that the command starts can be read")
    } else if long && script.has_substitution {
        Some("the command has a substitution")
    } else {
        None
    }
}

/// Matches a skill by its name, with or without its arguments.
fn skill_mismatch(spec: &str, query: &IfQuery<'_>) -> Option<String> {
    let name = query.text_argument(&["skill", "command"])?.trim().trim_start_matches('/');
    let called =
        query.text_argument(&["args"]).map_or_else(|| name.to_owned(), |a| format!("{name} {a}"));
    let (head, open) = split_head(spec.trim_start_matches('/'));
    let met = head_matcher(head, open);
    let none = ![name, called.trim()].iter().any(|text| met(&word::literal_cells(text)));
    none.then(|| format!("the skill is {name}"))
}

/// The specifier without `:*` or ` *` at its end, and whether it had one.
fn split_head(spec: &str) -> (&str, bool) {
    match spec.strip_suffix(":*").or_else(|| spec.strip_suffix(" *")) {
        Some(head) => (head.trim_end(), true),
        None => (spec, false),
    }
}

/// Matches a text that is equal to the head or, if the rule is open, begins with the head and a
/// space.
fn head_matcher(head: &str, open: bool) -> impl Fn(&[TextCell]) -> bool {
    let bare = parse_wildcards(head);
    let more = open.then(|| [bare.as_slice(), &[TextCell::Char(' '), TextCell::Any]].concat());
    move |text| can_match(&bare, text) || more.as_ref().is_some_and(|more| can_match(more, text))
}

fn domain_mismatch(spec: &str, url: &str) -> Option<String> {
    let wanted = spec.strip_prefix("domain:")?.trim().to_ascii_lowercase();
    let host = url_host(url)?;
    let below =
        host.strip_suffix(&wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let met = below || can_match(&parse_wildcards(&wanted), &word::literal_cells(&host));
    (!met).then(|| format!("the domain is {host}"))
}

/// The host of a URL, in lower case.
fn url_host(url: &str) -> Option<String> {
    let rest = url.trim().split_once("://").map_or(url.trim(), |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let named = authority.rsplit('@').next()?;
    let name = match named.strip_prefix('[') {
        Some(literal) => literal.split(']').next()?,
        None => named.split(':').next()?,
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}
