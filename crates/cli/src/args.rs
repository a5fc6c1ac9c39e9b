//! The command line and the call of each command. Wrong usage exits 64, never 2: in Claude Code
//! exit code 2 means "block".

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use gambrel_dialects::claude::schema;

use crate::commands::CommandArgs;
use crate::desk::approvals::{AnswerArgs, ApprovalsArgs};
use crate::desk::serve::ServeArgs;
use crate::init::InitArgs;
use crate::look::StateDirRefused;
use crate::printer;
use crate::trust::{TrustArgs, UntrustArgs};

/// Wrong usage or unusable configuration.
pub const USAGE: u8 = 64;

/// What was typed, or set in the environment, cannot be meant.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// One engine for the lifecycle hooks of AI coding agents.
#[derive(Debug, Parser)]
#[command(name = "gambrel", version, propagate_version = true, term_width = 100)]
#[command(after_help = "Examples:
  echo '{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",
    \"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}' | gambrel fire --from claude
  gambrel list                 every hook found here, and whether it may run
  gambrel check                what is wrong with them
  gambrel trust --all          look at this project's hooks and let them run

Exit codes: 0 ok, 1 a failure that the command reports, 64 wrong usage.")]
pub struct Cli {
    /// Work as if started in this folder.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub folder: Option<PathBuf>,

    /// When to use colour.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: Color,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// `gambrel fire` alone: what hosts call at every step is parsed without the tree of all commands.
#[derive(Debug, Parser)]
struct Firing {
    #[arg(short = 'C')]
    folder: Option<PathBuf>,
    #[arg(long, default_value = "auto")]
    color: Color,
    #[command(flatten)]
    args: FireArgs,
}

/// What was typed. Anything but a plain `fire` (help, another command, a mistake) goes the long way.
fn typed() -> Result<Cli, clap::Error> {
    let fire = std::env::args_os().nth(1).is_some_and(|word| word == "fire");
    let short = fire.then(|| Firing::try_parse_from(std::env::args_os().skip(1)).ok()).flatten();
    match short {
        Some(Firing { folder, color, args }) => {
            Ok(Cli { folder, color, command: Command::Fire(args) })
        }
        None => Cli::try_parse(),
    }
}

/// When to use colour.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Color {
    /// On a terminal that wants it (NO_COLOR is honoured).
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What `explain` says of its `--json`, which is not `fire`'s.
const EXPLAINED: &str = "As JSON: {\"moment\", \"event\", \"hooks\", \"complaints\"}; exits 64 if \
     the event cannot be read";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Fire hooks: a native event on stdin, the native reply on stdout.
    Fire(FireArgs),
    /// List every hook found, effective or shadowed, trusted or not.
    List(ListArgs),
    /// Say for every hook why it would or would not run for an event. Runs nothing.
    #[command(mut_arg("json", |arg| arg.help(EXPLAINED)), mut_arg("verbose", |arg| arg.hide(true)))]
    Explain(FireArgs),
    /// Show everything that is wrong with the hooks' configuration.
    Check(CheckArgs),
    /// Show what of the machine is there, and what is not.
    Doctor(JsonArgs),
    /// Show the journal of firings.
    Log(LogArgs),
    /// Show one firing in full.
    Show(ShowArgs),
    /// Look at this project's hooks and let them run.
    Trust(TrustArgs),
    /// Take trust back.
    Untrust(UntrustArgs),
    /// List the questions that wait for a person's answer.
    Approvals(ApprovalsArgs),
    /// Say yes to a question.
    Approve(AnswerArgs),
    /// Say no to a question.
    Deny(AnswerArgs),
    /// Serve the page of open approvals, and the links that were sent out.
    Serve(ServeArgs),
    /// List the slash commands that modules register.
    Commands(ListArgs),
    /// Run one of them.
    #[command(name = "command")]
    Slash(CommandArgs),
    /// Make an agent call gambrel, so that hooks of every dialect run inside it.
    Install(InstallArgs),
    /// Take that back, and leave everything else as it is.
    Uninstall(UninstallArgs),
    /// Write types, an example and a tsconfig for hook modules into this project.
    Init(InitArgs),
    /// Fire the shipped example and show what its hooks did.
    Demo(JsonArgs),
    /// Print JSON Schemas of what hooks read and of what they may answer.
    Schema(SchemaArgs),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
        /// As JSON: `{"text": …}`.
        #[arg(long)]
        json: bool,
    },
    /// Print the manual page.
    Man {
        /// As JSON: `{"text": …}`.
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

/// Where hooks come from, beside the folder.
#[derive(Debug, Args)]
pub struct Sources {
    /// A Claude Code plugin folder whose hooks are to be used.
    #[arg(long, value_name = "DIR")]
    pub plugin: Vec<PathBuf>,
    /// A Claude Code settings file to be used.
    #[arg(long, value_name = "FILE")]
    pub settings: Vec<PathBuf>,
    /// A TypeScript or JavaScript hook module to be used.
    #[arg(long, value_name = "PATH")]
    pub hook: Vec<PathBuf>,
    /// The pipeline that is running: its `hooks:` are used.
    #[arg(long, value_name = "FILE")]
    pub pipeline: Vec<PathBuf>,
    /// The stage that is running: its `hooks:` are used.
    #[arg(long, value_name = "FILE")]
    pub stage: Vec<PathBuf>,
    /// Which project hooks may run [env: GAMBREL_TRUST; default: store].
    #[arg(long, value_name = "WHICH")]
    pub trust: Option<TrustWord>,
}

/// Which project hooks may run.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TrustWord {
    /// Those that were trusted with `gambrel trust`.
    Store,
    /// All of them.
    All,
    /// None of them.
    None,
}

/// `fire` and `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Callers and what they send:
  claude    {\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s\",\"tool_name\":\"Bash\",\"tool_input\":{…}}
  unified   {\"hook_point\":\"on_iteration_complete\",\"vars\":{\"SESSION\":\"s\",\"ITERATION\":3}}
  iteratr   {\"hook\":\"pre_iteration\",\"vars\":{\"session\":\"s\",\"iteration\":\"3\"}}
  teams     {\"version\":1,\"event\":\"task_completed\",\"team\":{…},\"task\":{…}}
  omp       {\"type\":\"tool_call\",\"toolName\":\"bash\",\"toolCallId\":\"1\",\"input\":{…}}
            with \"edition\":\"extensions\" it takes other input (`input`) and several messages (`messages`)
  gambrel   {\"moment\":\"tool.before\",\"session\":\"s\",\"facts\":{\"tool\":{\"kind\":\"shell\",\"args\":{…}}}}")]
pub struct FireArgs {
    /// The caller's dialect: claude, unified, iteratr, teams, omp or gambrel.
    #[arg(long, value_name = "DIALECT")]
    pub from: String,
    /// A live host of that dialect calls and runs its own hooks itself: leave those out.
    #[arg(long)]
    pub hosted: bool,
    /// Only hooks of this dialect.
    #[arg(long, value_name = "DIALECT")]
    pub only: Vec<String>,
    /// The native event, where stdin cannot be read or does not name it.
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
    /// How long the host will wait, in seconds [default: by event].
    #[arg(long, value_name = "SECONDS")]
    pub budget: Option<f64>,
    /// Deny when a gate hook is skipped, times out or fails [env: GAMBREL_STRICT=1].
    #[arg(long)]
    pub strict: bool,
    /// Execute nothing of a trusted hook but the bytes that were hashed.
    #[arg(long)]
    pub verified_exec: bool,
    /// Print the neutral decision with its trail instead of the reply; exits 0.
    #[arg(long)]
    pub json: bool,
    /// Also print what modules write to their console, on stderr.
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub sources: Sources,
}

/// `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: Sources,
}

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Files or folders to check; without any, all that are used here.
    pub paths: Vec<PathBuf>,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub sources: Sources,
}

/// Commands that only know `--json`.
#[derive(Debug, Args)]
pub struct JsonArgs {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Only this session.
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// How many, newest last.
    #[arg(short = 'n', value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// Go on as new ones come.
    #[arg(short, long)]
    pub follow: bool,
    /// As JSON, one firing a line.
    #[arg(long)]
    pub json: bool,
}

/// `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The firing's id, or its beginning.
    pub id: String,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `install`.
#[derive(Debug, Args)]
#[command(
    after_help = "The entries call `gambrel fire --from claude --hosted`. They are written for PreToolUse,
PostToolUse, PostToolUseFailure, UserPromptSubmit, SessionStart, Stop, SubagentStop, TaskCompleted
and SessionEnd, and for every further event that a hook waits for here. Run `install` again after
adding a hook for another event. Claude Code goes on running its own hooks, and gambrel adds those
of the other dialects. The PreToolUse entry blocks the tool when gambrel does not answer. Comments
and order of the file are kept, and `uninstall` restores it."
)]
pub struct InstallArgs {
    /// The agent.
    pub agent: Agent,
    #[command(flatten)]
    pub place: SettingsPlace,
    /// Entries for every event, also those that no hook waits for.
    #[arg(long)]
    pub all_events: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// `uninstall`.
#[derive(Debug, Args)]
#[command(
    after_help = "A file that nobody changed since `install` comes back byte for byte. Else gambrel's entries are
taken out, and everything else stays."
)]
pub struct UninstallArgs {
    /// The agent.
    pub agent: Agent,
    #[command(flatten)]
    pub place: SettingsPlace,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which settings file of Claude Code is meant.
#[derive(Debug, Args)]
pub struct SettingsPlace {
    /// This project's settings file, for everybody who works on it [default].
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// This project's settings file that is not shared (settings.local.json).
    #[arg(long, conflicts_with_all = ["user", "project"])]
    pub local: bool,
    /// Your own settings file, for all projects.
    #[arg(long)]
    pub user: bool,
}

/// The agents that gambrel can be installed in.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Agent {
    /// Claude Code.
    Claude,
}

/// `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The dialect.
    pub dialect: Described,
    /// Only this event.
    #[arg(value_parser = PossibleValuesParser::new(schema::names()))]
    pub event: Option<String>,
    /// Only what the event sends to a hook.
    #[arg(long, requires = "event", conflicts_with = "output")]
    pub input: bool,
    /// Only what a hook may answer.
    #[arg(long, requires = "event")]
    pub output: bool,
    /// As JSON, which schemas always are.
    #[arg(long)]
    pub json: bool,
}

/// The dialects that have schemas.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Described {
    /// Claude Code.
    Claude,
}

/// Parses, calls, and turns every error into words and an exit code that is not 2.
pub fn run() -> u8 {
    let cli = match typed() {
        Ok(cli) => cli,
        Err(error) => {
            printer::choose_color(typed_color());
            return arrived(refuse(&error));
        }
    };
    printer::choose_color(cli.color);
    let code = dispatch(cli).unwrap_or_else(|error| {
        printer::warn(&format!("gambrel: {error:#}"));
        if error.is::<Usage>() || error.is::<StateDirRefused>() { USAGE } else { 1 }
    });
    arrived(code)
}

/// What was to be printed and could not be is a failure that the command reports.
fn arrived(code: u8) -> u8 {
    match printer::lost() {
        Some(why) => {
            printer::warn(&format!("gambrel: the output could not be written: {why}"));
            code.max(1)
        }
        None => code,
    }
}

/// The choice of colour on a line that was not parsed to its end, as with `--help`.
fn typed_color() -> Color {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let apart = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let known = |word: &str| Color::from_str(word, true).ok();
    apart.chain(joined).find_map(known).unwrap_or(Color::Auto)
}

fn refuse(error: &clap::Error) -> u8 {
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            printer::out(&text.ansi().to_string());
            0
        }
        _ => {
            printer::err(&text.ansi().to_string());
            USAGE
        }
    }
}

fn dispatch(cli: Cli) -> anyhow::Result<u8> {
    let folder = cli.folder;
    match cli.command {
        Command::Fire(args) => crate::fire::run(folder, &args),
        Command::Explain(args) => crate::explain::run(folder, &args),
        Command::List(args) => crate::list::run(folder, &args),
        Command::Check(args) => crate::check::run(folder, &args),
        Command::Doctor(args) => crate::doctor::run(folder, &args),
        Command::Log(args) => crate::log::run(folder, &args),
        Command::Show(args) => crate::log::show(folder, &args),
        Command::Trust(args) => crate::trust::run(folder, &args),
        Command::Untrust(args) => crate::trust::untrust(folder, &args),
        Command::Approvals(args) => crate::desk::approvals::run(folder, &args),
        Command::Approve(args) => crate::desk::approvals::approve(folder, &args),
        Command::Deny(args) => crate::desk::approvals::deny(folder, &args),
        Command::Serve(args) => crate::desk::serve::run(folder, &args),
        Command::Commands(args) => crate::commands::run(folder, &args),
        Command::Slash(args) => crate::commands::one(folder, &args),
        Command::Install(args) => crate::install::run(folder, &args),
        Command::Uninstall(args) => crate::install::undo(folder, &args),
        Command::Init(args) => crate::init::run(folder, &args),
        Command::Demo(args) => crate::demo::run(&args),
        Command::Schema(args) => crate::schema::run(&args),
        Command::Completions { shell, json } => crate::shells::completions(shell, json),
        Command::Man { json } => crate::shells::man(json),
        Command::Watchdog => crate::supervise::watchdog(),
        Command::Supervise => crate::supervise::supervise(),
        Command::Import => crate::supervise::import(),
    }
}
