//! One permission rule: `Tool` or `Tool(what of it)`.

use gambrel_model::complaint::nearest_word;

use super::Asked;
use super::shell::Script;
use super::wild::{Cell, fits, wild};
use super::{path, word};
use crate::claude::tools::{ALIASES, TOOLS};

/// Tools that change files: a rule for `Edit` is about all of them.
const EDITING: [&str; 4] = ["Edit", "MultiEdit", "Write", "NotebookEdit"];
/// Tools that look at files: a rule for `Read` is about all of them.
const READING: [&str; 5] = ["Read", "Grep", "Glob", "LS", "NotebookRead"];
/// Other tools of the product, so that a misspelt name can be told from a new one.
const OTHERS: [&str; 4] = ["WebSearch", "TodoWrite", "Skill", "SlashCommand"];

/// A rule that was understood.
#[derive(Debug, PartialEq)]
pub struct Rule {
    tool: String,
    spec: Option<String>,
}

/// Whether a tool meets a rule.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// It does.
    Met,
    /// It may, and why that is not known for sure.
    InDoubt(&'static str),
    /// It does not, and why.
    NotMet(String),
}

/// What the part in parentheses is about.
enum About {
    Command,
    Path,
    Domain,
    Agent,
    Skill,
    Unknown,
}

impl Rule {
    /// Reads a rule; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (tool, rest) = match text.find('(') {
            Some(at) => (text[..at].trim_end(), Some(&text[at + 1..])),
            None => (text, None),
        };
        if tool.is_empty() {
            return Err("a rule begins with the name of a tool".into());
        }
        if let Some(odd) = tool.chars().find(|c| !is_name(*c)) {
            return Err(format!("`if` is one rule, `Tool` or `Tool(…)`, and has `{odd}` in it"));
        }
        let Some(rest) = rest else { return Ok(Self { tool: tool.to_owned(), spec: None }) };
        let spec = rest.strip_suffix(')').ok_or("the rule's parenthesis is not closed")?;
        if holds_another(spec) {
            return Err("`if` is exactly one rule".into());
        }
        let spec = Some(spec.trim().to_owned()).filter(|spec| !spec.is_empty() && spec != "*");
        Ok(Self { tool: tool.to_owned(), spec })
    }

    /// What its author should know although it is well-formed.
    pub fn doubt(&self) -> Option<String> {
        let own = TOOLS.iter().map(|word| word.name);
        let known: Vec<&str> = own.chain(EDITING).chain(READING).chain(OTHERS).collect();
        let plain = !self.tool.contains(['*', '.']) && !self.tool.starts_with("mcp__");
        if plain && !known.contains(&self.tool.as_str()) {
            let near = nearest_word(&self.tool, known)?;
            return Some(format!("no tool is called `{}` (did you mean `{near}`?)", self.tool));
        }
        let odd = self.spec.is_some() && matches!(self.about(), About::Unknown);
        odd.then(|| format!("only the name counts in a rule for `{}`", self.tool))
    }

    /// Whether a tool meets it.
    pub fn answer(&self, asked: &Asked<'_>) -> Answer {
        if !self.covers(asked.name) {
            return Answer::NotMet(format!("the tool is {}", asked.name));
        }
        match (self.about(), &self.spec, asked.text(&["command"])) {
            (About::Command, Some(spec), Some(line)) => command(spec, line),
            _ => self.objection(asked).map_or(Answer::Met, Answer::NotMet),
        }
    }

    /// Why a tool other than a shell does not meet it; nothing when it does or might.
    fn objection(&self, asked: &Asked<'_>) -> Option<String> {
        let spec = self.spec.as_deref()?;
        match self.about() {
            About::Path => {
                let looks = READING.contains(&asked.name) && asked.name != "Read";
                let named = asked.text(&["file_path", "notebook_path", "path"]);
                let named = named.or(looks.then_some("."))?;
                let met = path::meets(spec, named, asked, looks);
                (!met).then(|| format!("{named} is not such a path"))
            }
            About::Domain => domain(spec, asked.text(&["url"])?),
            About::Agent => {
                let name = asked.text(&["subagent_type"])?;
                let met = fits(&wild(spec), &word::literal(name));
                (!met).then(|| format!("the agent is {name}"))
            }
            About::Skill => skill(spec, asked),
            About::Command | About::Unknown => None,
        }
    }

    fn about(&self) -> About {
        let tool = self.tool.as_str();
        match tool {
            "Bash" => About::Command,
            "WebFetch" => About::Domain,
            "Task" | "Agent" => About::Agent,
            "Skill" | "SlashCommand" => About::Skill,
            _ if EDITING.contains(&tool) || READING.contains(&tool) => About::Path,
            _ => About::Unknown,
        }
    }

    fn covers(&self, name: &str) -> bool {
        let tool = self.tool.as_str();
        let family = |of: &str, all: &[&str]| tool == of && all.contains(&name);
        let server = || {
            let all = tool.starts_with("mcp__") && tool.matches("__").count() == 1;
            all && name.strip_prefix(tool).is_some_and(|rest| rest.starts_with("__"))
        };
        tool == name
            || ALIASES.contains(&(tool, name))
            || family("Edit", &EDITING)
            || family("Read", &READING)
            || server()
            || tool.contains('*') && fits(&wild(&tool.replace(".*", "*")), &word::literal(name))
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*')
}

/// `git *) Bash(ls` between the outermost parentheses: two rules were written.
fn holds_another(spec: &str) -> bool {
    spec.match_indices(')').any(|(at, _)| {
        let rest = &spec[at + 1..];
        let next = rest.trim_start_matches([' ', ',', '|', '&']);
        let name = next.split('(').next().unwrap_or_default();
        next.len() < rest.len()
            && next.contains('(')
            && !name.is_empty()
            && name.chars().all(is_name)
    })
}

/// Every command that a line would start is tried; in doubt the rule is met.
fn command(spec: &str, line: &str) -> Answer {
    let (head, open) = headed(spec);
    let script = Script::read(line);
    let met = opening(head, open);
    let whole = met(&word::literal(line.trim()));
    if whole || script.commands.iter().flat_map(|c| c.spellings()).any(|t| met(&t)) {
        return Answer::Met;
    }
    match doubt(&script, head) {
        Some(why) => Answer::InDoubt(why),
        None => Answer::NotMet("no sub-command matches".to_owned()),
    }
}

/// Why a line may start what the rule is about although no command in it is seen to.
fn doubt(script: &Script, head: &str) -> Option<&'static str> {
    // As in the installed base: a rule of one word is not opened by a substitution, whose commands
    // have been tried as well.
    let long = head.contains(char::is_whitespace);
    if script.fed {
        Some("the command has a here-document")
    } else if script.doubtful {
        Some("not everything that the command starts can be read")
    } else if long && script.woven {
        Some("the command has a substitution")
    } else {
        None
    }
}

/// A skill by its name, with or without what it is called with.
fn skill(spec: &str, asked: &Asked<'_>) -> Option<String> {
    let name = asked.text(&["skill", "command"])?.trim().trim_start_matches('/');
    let called = asked.text(&["args"]).map_or_else(|| name.to_owned(), |a| format!("{name} {a}"));
    let (head, open) = headed(spec.trim_start_matches('/'));
    let met = opening(head, open);
    let none = ![name, called.trim()].iter().any(|text| met(&word::literal(text)));
    none.then(|| format!("the skill is {name}"))
}

/// A rule's text without `:*` or ` *` at its end, and whether it had one.
fn headed(spec: &str) -> (&str, bool) {
    match spec.strip_suffix(":*").or_else(|| spec.strip_suffix(" *")) {
        Some(head) => (head.trim_end(), true),
        None => (spec, false),
    }
}

/// Meets a text that is just the head or, where the rule is open, begins with it as words.
fn opening(head: &str, open: bool) -> impl Fn(&[Cell]) -> bool {
    let bare = wild(head);
    let more = open.then(|| [bare.as_slice(), &[Cell::Char(' '), Cell::Any]].concat());
    move |text| fits(&bare, text) || more.as_ref().is_some_and(|more| fits(more, text))
}

fn domain(spec: &str, url: &str) -> Option<String> {
    let wanted = spec.strip_prefix("domain:")?.trim().to_ascii_lowercase();
    let host = host(url)?;
    let below =
        host.strip_suffix(&wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let met = below || fits(&wild(&wanted), &word::literal(&host));
    (!met).then(|| format!("the domain is {host}"))
}

/// The name between the scheme (with a user, perhaps) and the port.
fn host(url: &str) -> Option<String> {
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
