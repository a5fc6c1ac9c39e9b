//! Builds the setup of a command from its arguments and the environment.

mod ancestors;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Once;
use std::time::{Duration, Instant};

use anyhow::bail;
use gambrel::{Gambrel, QuestionNotice, Setup, TrustMode, real_path};
use gambrel_actions::SignalPolicy;
use gambrel_dialects::claude::settings_files::AGENT_VARIABLES;

use crate::args::{FireArgs, Sources, TrustArg, UsageError};
use crate::printer;

/// The variable that lets all project hooks run, as lists and the journal name it.
pub const TRUST_VARIABLE: &str = "GAMBREL_TRUST=all";

/// The warning about this variable.
pub const TRUSTS_ALL_WARNING: &str =
    "GAMBREL_TRUST=all lets every hook of this project run, also untrusted ones";

/// Variables that agents set for their child processes. Agents may not act for the user.
const OTHER_AGENT_VARIABLES: [&str; 5] =
    ["AI_AGENT", "GEMINI_CLI", "CODEX_SANDBOX", "OPENCODE", "GAMBREL_FIRING"];

/// Fails if a variable shows that an agent runs this command: only the user may do this.
pub fn refuse_agents(gambrel: &Gambrel, what: &str) -> anyhow::Result<()> {
    let env = &gambrel.setup().env;
    let mut marks = AGENT_VARIABLES.iter().chain(&OTHER_AGENT_VARIABLES);
    if let Some(mark) = marks.find(|mark| env.contains_key(**mark)) {
        bail!("{mark} is set: an agent may not {what}; use your own terminal");
    }
    Ok(())
}

/// Fails without a terminal if a command-line agent is a parent process: only the user may do this.
/// Applies only to a state folder in the account's home. A state folder elsewhere is useless to an
/// agent, and tests may run below one.
pub fn refuse_agent_above(gambrel: &Gambrel, what: &str) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() {
        return Ok(());
    }
    let store = gambrel.setup().state_dir().map(|folder| real_path(&folder));
    let own = gambrel::account_home().zip(store).is_some_and(|(home, s)| s.starts_with(home));
    if let Some((agent, pid)) = ancestors::find_agent_above().filter(|_| own) {
        bail!(
            "`{agent}` (process {pid}) started this command: an agent may not {what}; \
             use your own terminal"
        );
    }
    Ok(())
}

/// The folder for files of the project: the folder of `-C`, otherwise that of its hooks or
/// repository.
pub fn project_folder(setup: &Setup) -> PathBuf {
    if setup.folder.is_some() { setup.project_root(None) } else { setup.search_roots(None).project }
}

/// The setup from the environment and the arguments.
pub fn build_setup(folder: Option<PathBuf>, sources: Option<&Sources>) -> anyhow::Result<Setup> {
    complete_setup(Setup { folder, ..Setup::from_env() }, sources)
}

/// Adds what the environment and the arguments say to a setup that has its folder.
fn complete_setup(mut setup: Setup, sources: Option<&Sources>) -> anyhow::Result<Setup> {
    if let Some(folder) = &setup.folder {
        let there = setup.cwd.join(folder);
        if !there.is_dir() {
            bail!(UsageError(format!("-C {}: no such folder", folder.display())));
        }
    }

    setup.check_environment()?;
    setup.supervisor = std::env::current_exe().ok();
    setup.is_own_process = true;
    setup.signals = SignalPolicy::ExitProcess;
    end_orphans(&setup);
    setup.caller = Some(std::os::unix::process::parent_id());

    setup.options.strict = parse_strict(setup.env.get("GAMBREL_STRICT"))?;
    warn_unknown_ui(setup.env.get("GAMBREL_UI"));

    setup.options.trust = match setup.env.get("GAMBREL_TRUST").map(String::as_str) {
        Some("all") => {
            setup.options.trusts_all_by = Some(TRUST_VARIABLE);
            TrustMode::All
        }
        Some("none") => TrustMode::None,
        None | Some("" | "store") => TrustMode::Store,
        Some(word) => {
            bail!(UsageError(format!("GAMBREL_TRUST must be store, all or none, not `{word}`")))
        }
    };

    if let Some(sources) = sources {
        add_sources(&mut setup, sources);
    }
    Ok(setup)
}

/// Kills processes that hooks of a killed gambrel left running. Runs once per process.
fn end_orphans(setup: &Setup) {
    static DONE: Once = Once::new();
    if let (Some(file), Some(program)) = (setup.running_file(), &setup.supervisor) {
        DONE.call_once(|| gambrel_actions::end_orphans(&file, program));
    }
}

fn parse_strict(written: Option<&String>) -> anyhow::Result<bool> {
    match written.map(|word| word.to_lowercase()).as_deref() {
        Some("1" | "true" | "yes" | "on") => Ok(true),
        None | Some("" | "0" | "false" | "no" | "off") => Ok(false),
        Some(word) => bail!(UsageError(format!("GAMBREL_STRICT must be 1 or 0, not `{word}`"))),
    }
}

/// Warns about an unknown value of GAMBREL_UI, which is ignored. Warns once per process.
fn warn_unknown_ui(written: Option<&String>) {
    static WARNED: Once = Once::new();
    let known = |word: &&String| ["", "tty", "page", "none"].contains(&word.as_str());
    if let Some(word) = written.filter(|word| !known(word)) {
        let warning =
            format!("gambrel: GAMBREL_UI must be tty, page or none, not `{word}`: ignored");
        WARNED.call_once(|| printer::warn(&warning));
    }
}

fn add_sources(setup: &mut Setup, sources: &Sources) {
    let named = [
        ("plugin", &sources.plugin),
        ("settings", &sources.settings),
        ("hook", &sources.hook),
        ("pipeline", &sources.pipeline),
        ("stage", &sources.stage),
    ];

    for (word, paths) in named {
        setup.extra_sources.extend(paths.iter().map(|path| (word.to_owned(), path.clone())));
    }
    if let Some(word) = sources.trust {
        let by_option = matches!(word, TrustArg::All).then_some("--trust all");
        setup.options.trusts_all_by = by_option;
    }
    match sources.trust {
        Some(TrustArg::Store) => setup.options.trust = TrustMode::Store,
        Some(TrustArg::All) => setup.options.trust = TrustMode::All,
        Some(TrustArg::None) => setup.options.trust = TrustMode::None,
        None => {}
    }
}

/// Prints questions that wait for a person on stderr.
pub fn print_question() -> QuestionNotice {
    QuestionNotice::new(|_, text| printer::warn(&format!("gambrel: {text}")))
}

/// Opens the program for `fire` and `explain`. The budget is `--budget`, otherwise the agent's
/// timeout if it is known.
pub fn open_for_fire(
    setup: Setup,
    args: &FireArgs,
    host_timeout: Option<Duration>,
) -> anyhow::Result<Gambrel> {
    let mut setup = complete_setup(setup, Some(&args.sources))?;
    setup.kill_with_parent = true;
    setup.options.hosted = args.hosted;
    setup.options.inside_run = args.hosted && setup.env.contains_key("GAMBREL_RUN_DIR");
    setup.options.budget = host_timeout;
    setup.options.began = Some(Instant::now());
    setup.event_name.clone_from(&args.event);
    setup.options.only.clone_from(&args.only);
    setup.options.strict |= args.strict;
    setup.options.verified_exec = args.verified_exec;
    setup.on_question = Some(print_question());

    for word in std::iter::once(&args.from).chain(&args.only) {
        if Gambrel::dialect_by_name(word).is_none() {
            let names: Vec<&str> = gambrel::DIALECTS.iter().map(|d| d.name).collect();
            bail!(UsageError(format!("no dialect `{word}`: use one of {}", names.join(", "))));
        }
    }

    if let Some(seconds) = args.budget {
        let budget = Duration::try_from_secs_f64(seconds);
        let budget =
            budget.map_err(|_| UsageError("--budget must be a number of seconds".into()))?;
        setup.options.budget = Some(budget);
    }
    Ok(Gambrel::new(setup))
}
