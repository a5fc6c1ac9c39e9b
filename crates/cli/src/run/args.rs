//! Arguments of the commands about runs.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `run`.
#[derive(Debug, Args)]
#[command(
    after_help = "TARGET is a pipeline file, a stage folder or file, the name of one, or a spec in Markdown.
Names are looked up in .gambrel/stages, .gambrel/pipelines, .claude/stages and .claude/pipelines.

Agents:
  claude, codex        the installed command-line agent
  opencode, gemini, claude-acp, codex-acp
                       the installed agent, over the Agent Client Protocol
  acp:CMD              any agent of the Agent Client Protocol
  command:CMD          any command; the prompt is on its stdin
  script:FILE          a scripted agent for demos and tests

Examples:
  gambrel run review --max 5           run the stage `review`, at most five iterations
  gambrel run release.yaml --dry-run   show the plan and its hooks, run nothing
  gambrel run --prompt 'Fix the failing test' --agent claude
  gambrel resume                       continue the newest run that did not complete
  gambrel run review --detach          start it in the background; `gambrel tail -f review` follows

On a terminal, the lines at the bottom show stages, running hooks, the agent's last words, blocked
calls and open questions. --plain prints lines only.

Exit codes: 0 complete, 1 failed or aborted, 64 wrong usage or an untrusted plan,
130 after Ctrl-C."
)]
pub struct RunArgs {
    /// Run this pipeline or stage.
    pub target: Option<String>,
    /// Name the session [default: the stage's name, or the pipeline's name and the time].
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// Use this agent.
    #[arg(long, value_name = "SPEC")]
    pub agent: Option<String>,
    /// Use this model.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Run at most this many iterations of a stage.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max: Option<u32>,
    /// Pass this file, folder or pattern to every stage.
    #[arg(long, value_name = "FILE")]
    pub input: Vec<String>,
    /// Run one stage with this prompt.
    #[arg(long, value_name = "TEXT", conflicts_with = "target")]
    pub prompt: Option<String>,
    /// Set ${CONTEXT} in prompts.
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// Add this text to the prompt of a spec.
    #[arg(long, value_name = "TEXT")]
    pub extra: Option<String>,
    /// Keep the files of the run in this folder.
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,
    /// Pass the values of this JSON file, as a parent run does.
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Continue a run that did not complete.
    #[arg(long, conflicts_with = "fresh")]
    pub resume: bool,
    /// Compile the plan again when the run continues.
    #[arg(long, requires = "resume")]
    pub recompile: bool,
    /// Move an earlier run of this session away and start again.
    #[arg(long)]
    pub fresh: bool,
    /// Start the run in the background and return.
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    /// Print plain lines, also on a terminal.
    #[arg(long)]
    pub plain: bool,
    /// Set by `--detach` for the process in the background.
    #[arg(long, hide = true, conflicts_with = "detach")]
    pub background: bool,
    /// Show the plan, its prompts and hooks; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Deny when a gate hook is skipped, times out or fails [env: GAMBREL_STRICT=1].
    #[arg(long)]
    pub strict: bool,
    /// Print the lines of the run's log as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Continue this session [default: the newest that did not complete].
    pub session: Option<String>,
    /// Print plain lines, also on a terminal.
    #[arg(long)]
    pub plain: bool,
    /// Print the lines of the run's log as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Show this session [default: all].
    pub session: Option<String>,
    /// Print the state as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tail`.
#[derive(Debug, Args)]
pub struct TailArgs {
    /// The session of the run.
    pub session: String,
    /// Print what the agent writes until the run ends.
    #[arg(short, long)]
    pub follow: bool,
    /// Begin with this many of the last lines.
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    pub lines: usize,
    /// Print one JSON object per part of the output.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `stop` and `pause`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The session of the run.
    pub session: String,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `say`.
#[derive(Debug, Args)]
pub struct SayArgs {
    /// The session of the run.
    pub session: String,
    /// What the agent shall read.
    pub text: String,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}
