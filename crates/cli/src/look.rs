//! From arguments to a program that is put together: what every command that looks at hooks does
//! first.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Once;
use std::time::{Duration, Instant};

use anyhow::bail;
use gambrel::{Gambrel, Setup, TrustMode, real_path};

use crate::args::{FireArgs, Sources, TrustWord, Usage};
use crate::{ancestors, printer};

/// How the environment lets every hook of a project run, as lists and the journal name it.
pub const TRUST_VARIABLE: &str = "GAMBREL_TRUST=all";

/// What that means.
pub const TRUSTS_ALL: &str =
    "GAMBREL_TRUST=all lets every hook of this project run, also those that nobody has trusted";

/// Set by agents in the environment of what they run: none of them may speak for a person.
const AGENT_MARKS: [&str; 7] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "AI_AGENT",
    "GEMINI_CLI",
    "CODEX_SANDBOX",
    "OPENCODE",
    "GAMBREL_FIRING",
];

/// Refuses where an agent has left its mark: what follows is a person's to do.
pub fn refuse_agents(gambrel: &Gambrel, what: &str) -> anyhow::Result<()> {
    let env = &gambrel.setup().env;
    if let Some(mark) = AGENT_MARKS.iter().find(|mark| env.contains_key(**mark)) {
        bail!("{mark} is set: an agent may not {what} for a person; use your own terminal");
    }
    Ok(())
}

/// Refuses without a terminal where a command-line agent started this program: what follows is a
/// person's to do. Only for the account's own store: one that was moved elsewhere is of no use to an
/// agent, and tests may run below one.
pub fn refuse_agent_above(gambrel: &Gambrel, what: &str) -> anyhow::Result<()> {
    if std::io::stdin().is_terminal() {
        return Ok(());
    }
    let store = gambrel.setup().state_dir().map(|folder| real_path(&folder));
    let own = gambrel::account_home().zip(store).is_some_and(|(home, s)| s.starts_with(home));
    if let Some((agent, pid)) = ancestors::agent_above().filter(|_| own) {
        bail!(
            "`{agent}` (process {pid}) started this command: an agent may not {what} for a person; \
             run it in a terminal of your own"
        );
    }
    Ok(())
}

/// The state folder must not be used.
#[derive(Debug)]
pub struct StateDirRefused(pub String);

impl std::fmt::Display for StateDirRefused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StateDirRefused {}

/// Where a project's files are written: in the folder that was named, else where its hooks or its
/// repository are.
pub fn project(setup: &Setup) -> PathBuf {
    if setup.folder.is_some() { setup.project_root(None) } else { setup.search_roots(None).project }
}

/// The surroundings of this process, with what was typed.
pub fn setup(folder: Option<PathBuf>, sources: Option<&Sources>) -> anyhow::Result<Setup> {
    let mut setup = Setup::from_env();
    if let Some(folder) = &folder {
        let there = setup.cwd.join(folder);
        if !there.is_dir() {
            bail!(Usage(format!("-C {}: no such folder", folder.display())));
        }
    }
    setup.folder = folder;
    setup.check_environment().map_err(StateDirRefused)?;
    setup.supervisor = std::env::current_exe().ok();
    setup.is_own_process = true;
    end_orphans(&setup);
    setup.caller = Some(std::os::unix::process::parent_id());
    setup.options.strict = strict(setup.env.get("GAMBREL_STRICT"))?;
    doubt_ui(setup.env.get("GAMBREL_UI"));
    setup.options.trust = match setup.env.get("GAMBREL_TRUST").map(String::as_str) {
        Some("all") => {
            setup.options.trusts_all_by = Some(TRUST_VARIABLE);
            TrustMode::All
        }
        Some("none") => TrustMode::None,
        None | Some("" | "store") => TrustMode::Store,
        Some(word) => bail!(Usage(format!("GAMBREL_TRUST is store, all or none, not `{word}`"))),
    };
    if let Some(sources) = sources {
        name(&mut setup, sources);
    }
    Ok(setup)
}

/// Has what hooks of killed processes left running ended; once, however often a command looks
/// around.
fn end_orphans(setup: &Setup) {
    static DONE: Once = Once::new();
    if let (Some(file), Some(program)) = (setup.running_file(), &setup.supervisor) {
        DONE.call_once(|| gambrel::actions::end_orphans(&file, program));
    }
}

fn strict(written: Option<&String>) -> anyhow::Result<bool> {
    match written.map(|word| word.to_lowercase()).as_deref() {
        Some("1" | "true" | "yes" | "on") => Ok(true),
        None | Some("" | "0" | "false" | "no" | "off") => Ok(false),
        Some(word) => bail!(Usage(format!("GAMBREL_STRICT is 1 or 0, not `{word}`"))),
    }
}

/// A word that is not known leaves the choice as it is without one. Said once, however often a
/// command looks around.
fn doubt_ui(written: Option<&String>) {
    static SAID: Once = Once::new();
    let known = |word: &&String| ["", "tty", "page", "none"].contains(&word.as_str());
    if let Some(word) = written.filter(|word| !known(word)) {
        let doubt = format!("gambrel: GAMBREL_UI is tty, page or none, not `{word}`: left out");
        SAID.call_once(|| printer::warn(&doubt));
    }
}

fn name(setup: &mut Setup, sources: &Sources) {
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
        let by_option = matches!(word, TrustWord::All).then_some("--trust all");
        setup.options.trusts_all_by = by_option;
    }
    match sources.trust {
        Some(TrustWord::Store) => setup.options.trust = TrustMode::Store,
        Some(TrustWord::All) => setup.options.trust = TrustMode::All,
        Some(TrustWord::None) => setup.options.trust = TrustMode::None,
        None => {}
    }
}

/// The program as `fire` and `explain` need it. Without `--budget` the answer comes before the
/// host's own timeout, where that is known.
pub fn firing(
    folder: Option<PathBuf>,
    args: &FireArgs,
    host_timeout: Option<Duration>,
) -> anyhow::Result<Gambrel> {
    let mut setup = setup(folder, Some(&args.sources))?;
    setup.kill_with_parent = true;
    setup.options.hosted = args.hosted;
    setup.options.budget = host_timeout;
    setup.options.began = Some(Instant::now());
    setup.event_name.clone_from(&args.event);
    setup.options.only.clone_from(&args.only);
    setup.options.strict |= args.strict;
    setup.options.verified_exec = args.verified_exec;
    for word in std::iter::once(&args.from).chain(&args.only) {
        if Gambrel::dialect_by_name(word).is_none() {
            let names: Vec<&str> = gambrel::DIALECTS.iter().map(|d| d.name()).collect();
            bail!(Usage(format!("no dialect `{word}`: one of {}", names.join(", "))));
        }
    }
    if let Some(seconds) = args.budget {
        let budget = Duration::try_from_secs_f64(seconds);
        let budget = budget.map_err(|_| Usage("--budget is a number of seconds".into()))?;
        setup.options.budget = Some(budget);
    }
    Ok(Gambrel::new(setup))
}
