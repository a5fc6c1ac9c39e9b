//! Command line arguments and the call of each command. Wrong usage exits 64, never 2: in Claude
//! Code exit code 2 means "block".

pub mod entry;
mod fire_words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use gambrel::StateDirError;
use gambrel_dialects::claude::schema;

use self::fire_words::read_fire_words;
use crate::approvals::serve::ServeArgs;
use crate::approvals::tickets::{AnswerArgs, ApprovalsArgs};
use crate::commands::CommandArgs;
use crate::init::InitArgs;
use crate::install::{InstallArgs, UninstallArgs};
use crate::log::replay::ReplayArgs;
use crate::printer;
use crate::run::{ReportArgs, ResumeArgs, RunArgs, SayArgs, StatusArgs, StopArgs, TailArgs};
use crate::task::{McpArgs, TaskArgs};
use crate::team::TeamArgs;
use crate::testing::cases::TestArgs;
use crate::testing::sample::SampleArgs;
use crate::trust::{TrustArgs, UntrustArgs};

/// Wrong usage or unusable configuration.
pub const USAGE_EXIT_CODE: u8 = 64;

/// An invalid argument or environment variable.
#[derive(Debug)]
pub struct UsageError(pub String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Run one set of hooks in every coding agent.
#[derive(Debug, Parser)]
#[command(name = "gambrel", version, propagate_version = true, term_width = 100)]
#[command(after_help = "Examples:
  echo '{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",
    \"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | gambrel fire --from claude
  gambrel list                 list hooks and whether they may run
  gambrel check                show configuration mistakes
  gambrel trust --all          review this project's hooks and let them run

Exit codes: 0 ok, 1 a failure that the command reports, 64 wrong usage.")]
pub struct Cli {
    /// Work as if started in this folder.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub folder: Option<PathBuf>,

    /// Use colour: auto, always or never.
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        global = true,
        hide_possible_values = true
    )]
    pub color: Color,

    /// The command to run.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// Parses the words of the command line. A usual `fire` is read without clap.
fn parse_args(words: &[OsString]) -> Result<Cli, clap::Error> {
    if let [fire, rest @ ..] = words
        && fire == "fire"
        && let Some((folder, args)) = read_fire_words(rest.iter().cloned())
    {
        return Ok(Cli { folder, color: Color::Auto, command: CliCommand::Fire(args) });
    }
    crate::arena::disable();
    let program = OsString::from("gambrel");
    Cli::try_parse_from(std::iter::once(&program).chain(words))
}

/// Choose when to use colour.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Color {
    /// Use colour on a terminal, unless NO_COLOR is set.
    Auto,
    /// Always use colour.
    Always,
    /// Never use colour.
    Never,
}

/// Help text of `explain --json`, which differs from `fire --json`.
const EXPLAIN_JSON_HELP: &str =
    "Print {\"moment\", \"event\", \"hooks\", \"complaints\"}; exit 64 on a bad event";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run hooks for an event on stdin and print the reply.
    Fire(FireArgs),
    /// Drive an agent through a pipeline, a stage or a prompt, with hooks at every step.
    Run(RunArgs),
    /// Continue a run that did not complete.
    Resume(ResumeArgs),
    /// Show the state of one run, or of all.
    Status(StatusArgs),
    /// List all runs of the project.
    Runs(JsonArgs),
    /// Print what the agent of a run writes.
    Tail(TailArgs),
    /// Show everything that happened in a run, as text or as a page.
    Report(ReportArgs),
    /// Cancel a run.
    Stop(StopArgs),
    /// Hold a run before its next iteration; `resume` lets it go on.
    Pause(StopArgs),
    /// Give the agent of a run a message with its next prompt.
    Say(SayArgs),
    /// Work on the project's tasks.
    Task(TaskArgs),
    /// Lead a team of pi-teams: hooks of idle members, quality gates, status.
    Team(TeamArgs),
    /// Serve the project's tasks to an agent over MCP, on stdin and stdout.
    Mcp(McpArgs),
    /// List all hooks, with source, trust and whether they run.
    List(ListArgs),
    /// Explain for each hook why it would run or not; run nothing.
    #[command(mut_arg("json", |arg| arg.help(EXPLAIN_JSON_HELP)), mut_arg("verbose", |arg| arg.hide(true)))]
    Explain(FireArgs),
    /// Show configuration mistakes, with source line and help.
    Check(CheckArgs),
    /// Check the environment: shells, Node, ports, state directory.
    Doctor(JsonArgs),
    /// List recorded firings.
    Log(LogArgs),
    /// Show one firing in full.
    Show(ShowArgs),
    /// Show what today's hooks would decide about recorded events.
    Replay(ReplayArgs),
    /// Review this project's hooks and let them run.
    Trust(TrustArgs),
    /// Revoke trust of project hooks.
    Untrust(UntrustArgs),
    /// List questions that wait for an answer.
    Approvals(ApprovalsArgs),
    /// Answer a question with yes.
    Approve(AnswerArgs),
    /// Answer a question with no.
    Deny(AnswerArgs),
    /// Serve the page of approvals, runs and firings, and callback links.
    Serve(ServeArgs),
    /// List slash commands that modules register.
    Commands(ListArgs),
    /// Run a slash command of a module.
    #[command(name = "command")]
    Slash(CommandArgs),
    /// Add gambrel to an agent's settings, so that hooks of every dialect run in it.
    Install(InstallArgs),
    /// Remove gambrel from an agent's settings; keep everything else.
    Uninstall(UninstallArgs),
    /// Write commented files to start with: hooks, a module or a pipeline.
    Init(InitArgs),
    /// Run the shipped example and show its decisions.
    Demo(JsonArgs),
    /// Print JSON Schemas of hook events and of the files that you write.
    Schema(SchemaArgs),
    /// Print a sample event, to try hooks with.
    Sample(SampleArgs),
    /// Run cases that say what hooks should decide.
    Test(TestArgs),
    /// Print shell completions.
    Completions {
        /// Print completions for this shell.
        shell: clap_complete::Shell,
        /// Print `{"text": …}` as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the manual page.
    Man {
        /// Print `{"text": …}` as JSON.
        #[arg(long)]
        json: bool,
    },
    #[command(name = "__watchdog", hide = true)]
    Watchdog,
    #[command(name = "__supervise", hide = true)]
    Supervise,
    #[command(name = "__import", hide = true)]
    Import,
}

/// Sources of hooks besides the project and the user's own files.
#[derive(Debug, Args)]
pub struct Sources {
    /// Use the hooks of this Claude Code plugin folder.
    #[arg(long, value_name = "DIR")]
    pub plugin: Vec<PathBuf>,
    /// Use this Claude Code settings file.
    #[arg(long, value_name = "FILE")]
    pub settings: Vec<PathBuf>,
    /// Use this TypeScript or JavaScript hook module.
    #[arg(long, value_name = "PATH")]
    pub hook: Vec<PathBuf>,
    /// Use the `hooks:` of this pipeline.
    #[arg(long, value_name = "FILE")]
    pub pipeline: Vec<PathBuf>,
    /// Use the `hooks:` of this stage.
    #[arg(long, value_name = "FILE")]
    pub stage: Vec<PathBuf>,
    /// Run project hooks that you trusted (store), all or none [env: GAMBREL_TRUST; default: store].
    #[arg(long, value_name = "WHICH", hide_possible_values = true)]
    pub trust: Option<TrustArg>,
}

/// Which project hooks may run.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TrustArg {
    /// Run hooks that you trusted with `gambrel trust`.
    Store,
    /// Run all project hooks.
    All,
    /// Run no project hooks.
    None,
}

/// Arguments of `fire` and `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Callers and what they send:
  claude    {\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\"tool_input\":{…}}
  unified   {\"hook_point\":\"on_iteration_complete\",\"vars\":{\"SESSION\":\"s\",\"ITERATION\":3}}
  iteratr   {\"hook\":\"pre_iteration\",\"vars\":{\"session\":\"s\",\"iteration\":\"3\"}}
  teams     {\"version\":1,\"event\":\"task_completed\",\"team\":{…},\"task\":{…}}
  omp       {\"type\":\"tool_call\",\"toolName\":\"bash\",\"toolCallId\":\"1\",\"input\":{…}}
            with \"edition\":\"extensions\" it accepts rewritten `input` and several `messages`
  gambrel   {\"moment\":\"tool.before\",\"session\":\"s\",\"facts\":{\"tool\":{\"kind\":\"shell\",\"args\":{…}}}}")]
pub struct FireArgs {
    /// Set the caller's dialect: claude, unified, iteratr, teams, omp, gambrel or run.
    #[arg(long, value_name = "DIALECT")]
    pub from: String,
    /// Skip hooks of the calling dialect; the agent runs those itself.
    #[arg(long)]
    pub hosted: bool,
    /// Run only hooks of this dialect.
    #[arg(long, value_name = "DIALECT")]
    pub only: Vec<String>,
    /// Name the event, if stdin is unreadable or does not name it.
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// Answer within this many seconds [default: by event].
    #[arg(long, value_name = "SECONDS")]
    pub budget: Option<f64>,
    /// Deny when a gate hook is skipped, times out or fails [env: GAMBREL_STRICT=1].
    #[arg(long)]
    pub strict: bool,
    /// Execute only the hashed bytes of trusted hooks.
    #[arg(long)]
    pub verified_exec: bool,
    /// Print the decision and its trail as JSON; exit 0.
    #[arg(long)]
    pub json: bool,
    /// Print the console output of modules on stderr.
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub sources: Sources,
}

/// Arguments of `list` and `commands`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print the list as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: Sources,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Check these files or folders [default: everything used here].
    pub paths: Vec<PathBuf>,
    /// Print the complaints as JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: Sources,
}

/// Arguments of commands that have only `--json`.
#[derive(Debug, Args)]
pub struct JsonArgs {
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `log`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gambrel log --denied --since 1h     what was refused in the last hour
  gambrel log --tool Bash -f          shell commands as they happen
  gambrel show last                   the newest firing in full")]
pub struct LogArgs {
    /// List only this session.
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// List this many firings, newest last [default: 20; with --since all].
    #[arg(short = 'n', value_name = "N")]
    pub count: Option<usize>,
    /// List only firings that were denied or halted.
    #[arg(long)]
    pub denied: bool,
    /// List only firings since then: 10m, 2h, 3d, 14:30 or 2026-11-18.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// List only firings of this tool, as the caller names it.
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Wait for new firings and print them.
    #[arg(short, long)]
    pub follow: bool,
    /// Print one JSON object per firing.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Show this firing: an id of `gambrel log`, a unique beginning of it, or `last`.
    pub id: String,
    /// Print the firing as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
#[command(after_help = "An editor with the YAML language server checks a file that begins with
# yaml-language-server: $schema=PATH
`gambrel init` writes such files with their schemas.")]
pub struct SchemaArgs {
    /// Print schemas of this dialect or file.
    #[arg(value_name = "claude|unified|pipeline|stage")]
    pub dialect: SchemaDialect,
    /// Print only schemas of this event of Claude Code.
    #[arg(value_parser = PossibleValuesParser::new(schema::event_names()))]
    pub event: Option<String>,
    /// Print only the schema of the hook's input.
    #[arg(long, requires = "event", conflicts_with = "output")]
    pub input: bool,
    /// Print only the schema of the hook's output.
    #[arg(long, requires = "event")]
    pub output: bool,
    /// Print JSON; schemas always are JSON.
    #[arg(long)]
    pub json: bool,
}

/// Dialects and files that have schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaDialect {
    /// Claude Code: input and output of its hooks.
    Claude,
    /// The file .gambrel/hooks.yaml.
    Unified,
    /// A pipeline of `gambrel run`.
    Pipeline,
    /// A stage of `gambrel run`.
    Stage,
}

/// Parses the command line and runs the command. Errors become a message and an exit code other
/// than 2.
pub fn run(words: Vec<OsString>) -> u8 {
    gambrel_actions::reset_signals();
    let cli = match parse_args(&words) {
        Ok(cli) => cli,
        Err(error) => {
            printer::choose_color(find_color_choice(&words));
            return check_stdout(print_parse_error(&error));
        }
    };
    printer::choose_color(cli.color);

    let code = run_command(cli).unwrap_or_else(|error| {
        printer::warn(&format!("gambrel: {error:#}"));
        if error.is::<UsageError>() || error.is::<StateDirError>() { USAGE_EXIT_CODE } else { 1 }
    });
    check_stdout(code)
}

/// Reports output that could not be written, as a failure.
fn check_stdout(code: u8) -> u8 {
    match printer::write_error() {
        Some(why) => {
            printer::warn(&format!("gambrel: the output could not be written: {why}"));
            code.max(1)
        }
        None => code,
    }
}

/// The value of `--color` on a command line that failed to parse or asked for help.
fn find_color_choice(words: &[OsString]) -> Color {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let apart = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));

    let known = |word: &str| Color::from_str(word, true).ok();
    apart.chain(joined).find_map(known).unwrap_or(Color::Auto)
}

fn print_parse_error(error: &clap::Error) -> u8 {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            printer::print(&text.ansi().to_string());
            0
        }
        _ => {
            printer::print_stderr(&text.ansi().to_string());
            USAGE_EXIT_CODE
        }
    }
}

fn run_command(cli: Cli) -> anyhow::Result<u8> {
    match cli.command {
        // The arguments are not freed: the process ends after a firing.
        CliCommand::Fire(args) => crate::fire::run(cli.folder, &std::mem::ManuallyDrop::new(args)),
        other => run_other_command(cli.folder, other),
    }
}

/// Not a part of `run_command`: the code of all commands would be loaded for a firing.
#[inline(never)]
fn run_other_command(folder: Option<PathBuf>, command: CliCommand) -> anyhow::Result<u8> {
    match command {
        CliCommand::Fire(args) => crate::fire::run(folder, &args),
        CliCommand::Explain(args) => crate::explain::run(folder, &args),
        CliCommand::Run(args) => crate::run::run(folder, &args),
        CliCommand::Resume(args) => crate::run::resume(folder, &args),
        CliCommand::Status(args) => crate::run::show_status(folder, &args),
        CliCommand::Runs(args) => crate::run::list_runs(folder, &args),
        CliCommand::Tail(args) => crate::run::show_output(folder, &args),
        CliCommand::Report(args) => crate::run::print_report(folder, &args),
        CliCommand::Stop(args) => crate::run::stop(folder, &args),
        CliCommand::Pause(args) => crate::run::pause(folder, &args),
        CliCommand::Say(args) => crate::run::say(folder, &args),
        CliCommand::Task(args) => crate::task::run(folder, &args),
        CliCommand::Team(args) => crate::team::run(folder, &args),
        CliCommand::Mcp(args) => crate::task::serve_mcp(folder, &args),
        CliCommand::List(args) => crate::list::run(folder, &args),
        CliCommand::Check(args) => crate::check::run(folder, &args),
        CliCommand::Doctor(args) => crate::doctor::run(folder, &args),
        CliCommand::Log(args) => crate::log::run(folder, &args),
        CliCommand::Show(args) => crate::log::show_firing(folder, &args),
        CliCommand::Replay(args) => crate::log::replay::run(folder, &args),
        CliCommand::Trust(args) => crate::trust::run(folder, &args),
        CliCommand::Untrust(args) => crate::trust::untrust(folder, &args),
        CliCommand::Approvals(args) => crate::approvals::tickets::run(folder, &args),
        CliCommand::Approve(args) => crate::approvals::tickets::approve(folder, &args),
        CliCommand::Deny(args) => crate::approvals::tickets::deny(folder, &args),
        CliCommand::Serve(args) => crate::approvals::serve::run(folder, &args),
        CliCommand::Commands(args) => crate::commands::run(folder, &args),
        CliCommand::Slash(args) => crate::commands::run_command(folder, &args),
        CliCommand::Install(args) => crate::install::run(folder, &args),
        CliCommand::Uninstall(args) => crate::install::uninstall(folder, &args),
        CliCommand::Init(args) => crate::init::run(folder, &args),
        CliCommand::Demo(args) => crate::demo::run(&args),
        CliCommand::Schema(args) => crate::schema::run(&args),
        CliCommand::Test(args) => crate::testing::cases::run(folder, &args),
        CliCommand::Sample(args) => crate::testing::sample::run(folder, &args),
        CliCommand::Completions { shell, json } => {
            crate::completions::print_completions(shell, json)
        }
        CliCommand::Man { json } => crate::completions::print_manual(json),
        CliCommand::Watchdog => crate::supervise::run_watchdog(),
        CliCommand::Supervise => crate::supervise::run_supervisor(),
        CliCommand::Import => crate::supervise::import_journal(),
    }
}
