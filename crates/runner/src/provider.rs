//! Which agent a node uses: the names of providers, and the SPEC of each.

use gambrel_model::template::{Style, expand_shell};

/// The agent where nothing names one.
const DEFAULT_PROVIDER: &str = "claude";
const CODEX_DEFAULT_MODEL: &str = "gpt-5.2-codex";
const CODEX_DEFAULT_EFFORT: &str = "high";
const CLAUDE_DEFAULT_MODEL: &str = "opus";

/// How an agent is driven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentSpec {
    /// One process per prompt; a command line for the shell.
    Command(String),
    /// A scripted agent in a file.
    Script(String),
    /// An agent of the Agent Client Protocol.
    Acp(String),
}

/// An agent of the Agent Client Protocol that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcpAgent {
    /// Its name.
    pub name: &'static str,
    /// The command that starts it.
    pub command: &'static str,
    /// Which calls it makes without asking, and the setting that makes it ask.
    pub auto_allowed: &'static str,
}

/// The agents of the Agent Client Protocol that have a name.
pub const ACP_AGENTS: [AcpAgent; 4] = [
    AcpAgent {
        name: "opencode",
        command: "opencode acp",
        auto_allowed: "opencode asks only about tools whose `permission` in opencode.json is `ask`, for \
                  example {\"permission\": {\"bash\": \"ask\", \"edit\": \"ask\", \"webfetch\": \"ask\"}}",
    },
    AcpAgent {
        name: "gemini",
        command: "gemini --acp",
        auto_allowed: "gemini does not ask about tools that only read, nor about those in `tools.allowed` \
                  of its settings.json; it asks about others in the approval mode `default`",
    },
    AcpAgent {
        name: "claude-acp",
        command: "claude-agent-acp",
        auto_allowed: "claude-agent-acp does not ask about tools that `permissions.allow` in Claude Code's \
                  settings names; move them to `permissions.ask`",
    },
    AcpAgent {
        name: "codex-acp",
        command: "codex-acp",
        auto_allowed: "codex-acp asks as `approval_policy` in ~/.codex/config.toml says; `untrusted` makes \
                  it ask about all commands but a few that only read",
    },
];

impl AcpAgent {
    /// The agent that a command starts, if it has a name.
    pub fn of_command(command: &str) -> Option<&'static Self> {
        let program = |text: &str| -> Option<String> {
            let word = text.split_whitespace().find(|word| !word.contains('='))?;
            Some(std::path::Path::new(word).file_name()?.to_string_lossy().into_owned())
        };
        ACP_AGENTS.iter().find(|agent| program(agent.command) == program(command))
    }
}

/// A name that is no provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an agent")]
pub struct UnknownAgent(pub String);

/// What to write where an agent is unknown.
pub const AGENT_HELP: &str = "write claude, codex, opencode, gemini, claude-acp, codex-acp, `command:CMD`, `script:FILE` or \
     `acp:CMD`";

impl AgentSpec {
    /// Parses a SPEC.
    pub fn parse(spec: &str) -> Result<Self, UnknownAgent> {
        let (kind, rest) = spec.split_once(':').ok_or_else(|| UnknownAgent(spec.to_owned()))?;
        let rest = rest.trim().to_owned();
        match kind {
            _ if rest.is_empty() => Err(UnknownAgent(spec.to_owned())),
            "command" => Ok(Self::Command(rest)),
            "script" => Ok(Self::Script(rest)),
            "acp" => Ok(Self::Acp(rest)),
            _ => Err(UnknownAgent(spec.to_owned())),
        }
    }
}

/// The first agent that something names, and whether nothing does.
pub fn choose_provider<'a>(named: impl IntoIterator<Item = Option<&'a str>>) -> &'a str {
    named.into_iter().flatten().find(|name| !name.trim().is_empty()).unwrap_or(DEFAULT_PROVIDER)
}

/// The SPEC of a provider's name, or of a SPEC, for a model. An empty model is the provider's own.
pub fn provider_spec(name: &str, model: &str) -> Result<String, UnknownAgent> {
    if AgentSpec::parse(name).is_ok() {
        return Ok(name.to_owned());
    }
    match name.trim() {
        "claude" | "claude-code" | "anthropic" => {
            let model = first_filled(model, CLAUDE_DEFAULT_MODEL);
            let command = "claude -p --model ${MODEL} --dangerously-skip-permissions";
            Ok(format!("command:{}", fill_command(command, &[("MODEL", model)])))
        }
        "codex" | "openai" => {
            let model = first_filled(model, CODEX_DEFAULT_MODEL);
            Ok(format!("command:{}", codex_command(model)))
        }
        other => match ACP_AGENTS.iter().find(|agent| agent.name == other) {
            Some(agent) => Ok(format!("acp:{}", agent.command)),
            None => Err(UnknownAgent(other.to_owned())),
        },
    }
}

fn first_filled<'a>(written: &'a str, default: &'a str) -> &'a str {
    if written.is_empty() { default } else { written }
}

/// `model:effort` sets how long codex thinks.
fn codex_command(model: &str) -> String {
    let (model, effort) = model.split_once(':').unwrap_or((model, CODEX_DEFAULT_EFFORT));
    let effort = format!("model_reasoning_effort=\"{effort}\"");
    fill_command(
        "codex exec --dangerously-bypass-approvals-and-sandbox -m ${MODEL} -c ${EFFORT} -",
        &[("MODEL", model), ("EFFORT", &effort)],
    )
}

/// Fills a command line with values, each quoted for the shell.
fn fill_command(command: &str, values: &[(&str, &str)]) -> String {
    let lookup = |name: &str| {
        values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    expand_shell(command, Style::Dollar, &lookup).text
}
