//! A case without any process: the library, a ledger in memory, and hooks that are only written
//! down. Proves the translation alone, in microseconds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gambrel::ledger::MemoryLedger;
use gambrel::model::{Action, Captured, End, Job, Outcome, Program};
use gambrel::{Gambrel, Setup, TrustMode};

use super::case::{Behaviour, Case, Fire};
use super::check::{Handed, Seen, differences};
use super::real::{Ground, filled_expect, is_script};

pub fn run(case: &Case) -> Vec<String> {
    if let Some(only) = case.only.as_ref().filter(|only| only.way != "scripted") {
        eprintln!("{}: {}: not run scripted: {}", case.file, case.name, only.because);
        return Vec::new();
    }
    let ground = Ground::lay(case);
    // Discovery by file name and executable bit is a matter of disk in both runs.
    for (name, behaviour) in case.hooks.iter().filter(|(name, b)| is_script(name) && !b.missing) {
        let path = ground.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        use std::os::unix::fs::PermissionsExt;
        let mode = if behaviour.plain_file { 0o644 } else { 0o755 };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let ledger = Arc::new(MemoryLedger::new());
    let mut wrong = Vec::new();
    for (n, step) in case.all_steps().iter().enumerate() {
        let given = Arc::new(Mutex::new(BTreeMap::new()));
        let seen = fire(&ground, case, &step.fire, &ledger, &given);
        let expect = filled_expect(&ground, step.expect.clone());
        wrong.extend(
            differences(&expect, &seen, &ground.root)
                .into_iter()
                .map(|w| format!("scripted, step {}: {w}", n + 1)),
        );
    }
    wrong
}

fn fire(
    ground: &Ground,
    case: &Case,
    fire: &Fire,
    ledger: &Arc<MemoryLedger>,
    given: &Arc<Mutex<BTreeMap<String, Vec<Handed>>>>,
) -> Seen {
    let env = Arc::new(ground.env(case));
    let root = Some(ground.root.clone());
    let mut setup = Setup { env, cwd: ground.root.clone(), folder: root, ..Setup::default() };
    setup.options.trust = match case.env.get("GAMBREL_TRUST").map(String::as_str) {
        Some("store") => TrustMode::Store,
        Some("none") => TrustMode::None,
        _ => TrustMode::All,
    };
    setup.options.strict = case.env.get("GAMBREL_STRICT").is_some_and(|v| v == "1");
    let mut words = fire.args.iter();
    while let Some(word) = words.next() {
        let mut value = || ground.filled(words.next().expect("an argument's value"));
        match word.as_str() {
            "--hosted" => setup.options.hosted = true,
            "--strict" => setup.options.strict = true,
            "--only" => setup.options.only.push(value()),
            "--budget" => {
                setup.options.budget = Some(Duration::from_secs_f64(value().parse().unwrap()))
            }
            named => {
                let option = named.trim_start_matches("--").to_owned();
                setup.named.push((option, PathBuf::from(value())));
            }
        }
    }
    let written = Written { hooks: filled_hooks(ground, case), given: Arc::clone(given) };
    let gambrel = Gambrel::compose(setup, Arc::clone(ledger) as _, vec![Box::new(written)]);
    let event = ground.filled(&fire.event.to_string());
    let mut event = match gambrel.receive(&fire.from, event.as_bytes()) {
        Ok(event) => event,
        Err(complaint) => {
            return Seen { stderr: complaint.message, exit: 64, ..Seen::default() };
        }
    };
    let fired = gambrel.fire(&mut event);
    gambrel.settle(&fired.decision).unwrap();
    Seen {
        decision: fired.decision.to_json(),
        stdout: String::from_utf8_lossy(&fired.reply.stdout).into_owned(),
        stderr: fired.reply.stderr,
        exit: fired.reply.exit,
        given: given.lock().unwrap().clone(),
    }
}

fn filled_hooks(ground: &Ground, case: &Case) -> BTreeMap<String, Behaviour> {
    let fill = |b: &Behaviour| Behaviour {
        stdout: ground.filled(&b.stdout),
        stderr: ground.filled(&b.stderr),
        ..b.clone()
    };
    case.hooks.iter().map(|(name, b)| (name.clone(), fill(b))).collect()
}

/// The action `shell`, as the case wrote it down.
struct Written {
    hooks: BTreeMap<String, Behaviour>,
    given: Arc<Mutex<BTreeMap<String, Vec<Handed>>>>,
}

impl Action for Written {
    fn name(&self) -> &'static str {
        "shell"
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        jobs.iter().map(|job| self.one(job)).collect()
    }
}

impl Written {
    fn one(&self, job: &Job<'_>) -> Outcome {
        let (text, words) = match &job.call.program {
            Program::Shell { text, .. } => (text.clone(), shell_words(text)),
            Program::Exec(argv) => (argv.join(" "), argv.clone()),
            Program::None => (String::new(), Vec::new()),
        };
        // The longest name that stands in the command is the hook that is meant.
        let fits = |name: &&String| {
            text.contains(name.trim_start_matches("./")) || text.contains(name.as_str())
        };
        let Some(name) = self.hooks.keys().filter(fits).max_by_key(|name| name.len()) else {
            return Outcome {
                command: words,
                ..Outcome::of(End::Unstarted(format!("no hook is written for `{text}`")))
            };
        };
        let behaviour = &self.hooks[name];
        let at = words.iter().position(|word| word.contains(name.trim_start_matches("./")));
        let handed = Handed {
            stdin: String::from_utf8_lossy(job.call.stdin.as_deref().unwrap_or_default())
                .into_owned(),
            env: job.call.env.iter().cloned().collect(),
            args: at.map_or_else(Vec::new, |at| words[at + 1..].to_vec()),
        };
        let mut attempts = 0;
        let mut end = End::Detached;
        let all = 1 + job.call.pace.retries;
        let mut given = self.given.lock().unwrap();
        let runs = given.entry(name.clone()).or_default();
        while attempts < all {
            attempts += 1;
            runs.push(handed.clone());
            end = behaved(behaviour, attempts);
            if end == End::Exited(0) {
                break;
            }
        }
        if !job.call.pace.waits {
            return Outcome { command: words, ..Outcome::of(End::Detached) };
        }
        let stdout = if behaviour.missing { "" } else { &behaviour.stdout };
        Outcome {
            stdout: Captured::from_text(stdout),
            stderr: Captured::from_text(&behaviour.stderr),
            attempts,
            command: words,
            took: Duration::from_millis(1),
            ..Outcome::of(end)
        }
    }
}

fn behaved(behaviour: &Behaviour, attempt: u32) -> End {
    match behaviour {
        b if b.missing => End::Unstarted("No such file or directory".into()),
        b if attempt <= b.fails_first => End::Exited(9),
        b if b.hangs => End::Late,
        Behaviour { signal: Some(signal), .. } => End::Signalled(*signal),
        b => End::Exited(b.exit),
    }
}

/// Words as a shell would split the plain commands that cases use.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut open) = (None, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (Some(q), c) if q == c => quote = None,
            (None, '\'' | '"') => (quote, open) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (_, c) => word.push(c),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    words
}
