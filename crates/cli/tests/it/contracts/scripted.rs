//! The scripted run of a case, without processes: the library, a ledger in memory, and scripted
//! hooks. It tests only the translation between dialects.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gambrel::{Gambrel, Setup, TrustMode};
use gambrel_actions::RuleAction;
use gambrel_ledger::MemoryLedger;
use gambrel_model::request::from_body;
use gambrel_model::{
    Action, Call, Captured, End, Job, Outcome, Program, SpawnRequestBody, ToolRequest,
    WebhookRequest,
};
use gambrel_script::{ModuleAction, ScriptSettings};

use super::case::{Behaviour, Case, Fire};
use super::check::{HookInput, Observed, differences};
use super::real::{CaseProject, is_script, substitute_expect};

pub fn run(case: &Case) -> Vec<String> {
    if let Some(only) = case.only.as_ref().filter(|only| only.way != "scripted") {
        eprintln!("{}: {}: not run scripted: {}", case.file, case.name, only.because);
        return Vec::new();
    }
    if case.runs_commands() {
        return Vec::new();
    }
    let project = CaseProject::create(case);
    // Hook discovery reads file names and executable bits from disk in both runs.
    for (name, behaviour) in case.hooks.iter().filter(|(name, b)| is_script(name) && !b.missing) {
        let path = project.path(name);
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
        let event = step.fire.as_ref().expect("a step needs `fire` or `run`");
        let observed = fire(&project, case, event, &ledger, &given);
        let expect = substitute_expect(&project, step.expect.clone());
        wrong.extend(
            differences(&expect, &observed, &project.root)
                .into_iter()
                .map(|w| format!("scripted, step {}: {w}", n + 1)),
        );
    }
    wrong
}

fn fire(
    project: &CaseProject,
    case: &Case,
    fire: &Fire,
    ledger: &Arc<MemoryLedger>,
    given: &Arc<Mutex<BTreeMap<String, Vec<HookInput>>>>,
) -> Observed {
    let env = Arc::new(project.env(case));
    let root = Some(project.root.clone());
    let mut setup = Setup { env, cwd: project.root.clone(), folder: root, ..Setup::default() };
    setup.options.trust = match case.env.get("GAMBREL_TRUST").map(String::as_str) {
        Some("store") => TrustMode::Store,
        Some("none") => TrustMode::None,
        _ => TrustMode::All,
    };
    setup.options.strict = case.env.get("GAMBREL_STRICT").is_some_and(|v| v == "1");
    let mut words = fire.args.iter();
    while let Some(word) = words.next() {
        let mut value = || project.substitute(words.next().expect("an argument's value"));
        match word.as_str() {
            "--hosted" => setup.options.hosted = true,
            "--strict" => setup.options.strict = true,
            "--only" => setup.options.only.push(value()),
            "--budget" => {
                setup.options.budget = Some(Duration::from_secs_f64(value().parse().unwrap()))
            }
            named => {
                let option = named.trim_start_matches("--").to_owned();
                setup.extra_sources.push((option, PathBuf::from(value())));
            }
        }
    }
    let runner = setup.runner_command();
    let scripted =
        ScriptedHooks { hooks: substitute_hooks(project, case), given: Arc::clone(given), runner };
    let scripted = Arc::new(scripted);
    let words = ["shell", "webhook", "mcp_tool", "spawn"];
    let action = |word| Box::new(ScriptedAction(word, Arc::clone(&scripted))) as Box<dyn Action>;
    let mut actions: Vec<_> = words.into_iter().map(action).collect();
    // A rule starts no process, so both runs use the real action.
    actions.push(Box::new(RuleAction::default()));
    actions.push(Box::new(ModuleAction::new(ScriptSettings::default())));
    let gambrel = Gambrel::with_parts(setup, Arc::clone(ledger) as _, actions);
    let event = project.substitute(&fire.event.to_string());
    let event = match gambrel.receive(&fire.from, event.as_bytes()) {
        Ok(event) => event,
        Err(complaint) => {
            return Observed { stderr: complaint.message, exit: 64, ..Observed::default() };
        }
    };
    let fired = gambrel.fire(event);
    gambrel.mark_delivered(&fired.decision).unwrap();
    Observed {
        decision: fired.decision.to_json(),
        stdout: String::from_utf8_lossy(&fired.reply.stdout).into_owned(),
        stderr: fired.reply.stderr,
        exit: fired.reply.exit,
        given: given.lock().unwrap().clone(),
    }
}

fn substitute_hooks(project: &CaseProject, case: &Case) -> BTreeMap<String, Behaviour> {
    let fill = |b: &Behaviour| Behaviour {
        stdout: project.substitute(&b.stdout),
        stderr: project.substitute(&b.stderr),
        ..b.clone()
    };
    case.hooks.iter().map(|(name, b)| (name.clone(), fill(b))).collect()
}

/// The action with this name. It answers as the case describes.
struct ScriptedAction(&'static str, Arc<ScriptedHooks>);

struct ScriptedHooks {
    runner: Vec<String>,
    hooks: BTreeMap<String, Behaviour>,
    given: Arc<Mutex<BTreeMap<String, Vec<HookInput>>>>,
}

impl Action for ScriptedAction {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        let run_job = |job| match self.0 {
            "webhook" => self.1.send_request(job),
            "mcp_tool" => self.1.call_tool(job),
            "spawn" => self.1.spawn_child(job),
            _ => self.1.run_command(job),
        };
        jobs.iter().map(run_job).collect()
    }
}

impl ScriptedHooks {
    fn behaviour(&self, name: &str, input: HookInput, times: u32) -> Option<(&Behaviour, u32)> {
        let behaviour = self.hooks.get(name)?;
        let tries = (behaviour.fails_first + 1).min(times);
        let mut given = self.given.lock().unwrap();
        let runs = given.entry(name.to_owned()).or_default();
        runs.extend(std::iter::repeat_n(input, tries as usize));
        Some((behaviour, tries))
    }

    /// The outcome of the action `webhook`.
    fn send_request(&self, job: &Job<'_>) -> Outcome {
        let request: WebhookRequest = from_body(&job.call.body).unwrap();
        if let Some(why) = request.refused {
            return Outcome::from_end(End::FailedToStart(why));
        }
        let target = request.url.split_once("://").map_or("", |(_, rest)| rest);
        let target = target.find('/').map_or("/", |at| &target[at..]).to_owned();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let headers = request.headers.iter().map(|(k, v)| (k.to_lowercase(), v.clone())).collect();
        let body = if request.body.is_null() { String::new() } else { request.body.to_string() };
        let input = HookInput { stdin: body, env: headers, args: vec![request.method, target] };
        let tries = if request.ask.is_some() || job.call.limits.retries > 0 {
            1 + job.call.limits.retries
        } else {
            1
        };
        let Some((behaviour, attempts)) = self.behaviour(&path, input, tries) else {
            return Outcome::from_end(End::FailedToStart("connection refused".into()));
        };
        if !job.call.limits.blocking {
            return Outcome::from_end(End::Detached);
        }
        if behaviour.hangs {
            return Outcome { attempts, ..Outcome::from_end(End::TimedOut) };
        }
        let failed = attempts <= behaviour.fails_first;
        let status = if failed { 503 } else { behaviour.status.unwrap_or(200) };
        let fault = (status >= 300).then(|| format!("HTTP {status} Said"));
        let mut answer = serde_json::json!({"status": status});
        if request.ask.is_some() && fault.is_none() {
            let Some(posted) = &behaviour.answers else {
                return Outcome { attempts, ..Outcome::from_end(End::TimedOut) };
            };
            answer = posted.clone();
            answer["body"] = posted.to_string().into();
        }
        Outcome {
            stdout: Captured::from_text(&behaviour.stdout),
            answer: Some(answer),
            failure: fault,
            attempts,
            ..Outcome::from_end(End::Answered)
        }
    }

    /// The outcome of the action `spawn`.
    fn spawn_child(&self, job: &Job<'_>) -> Outcome {
        let spawn: SpawnRequestBody = from_body(&job.call.body).unwrap();
        let folder = spawn.children.join(&spawn.name);
        std::fs::create_dir_all(&folder).unwrap();
        let inputs = folder.join("inputs.json");
        std::fs::write(&inputs, spawn.inputs.to_string()).unwrap();
        let text = |path: &PathBuf| path.display().to_string();
        let own = [spawn.pipeline, "--session-dir".into(), text(&folder), "--inputs".into()];
        let argv = self.runner.iter().cloned().chain(own).chain([text(&inputs)]).collect();
        let call = Call { program: Program::Exec(argv), ..job.call.clone() };
        let mut outcome = self.run_command(&Job { call: &call, record: None });
        let name = self.hooks.keys().find(|name| self.runner.iter().any(|w| w.contains(*name)));
        let output = name.and_then(|name| self.hooks[name].output.clone());
        let output = output.map(|output| output.to_string()).unwrap_or_default();
        outcome.answer = Some(serde_json::json!({"output": output}));
        outcome
    }

    /// The outcome of the action `mcp_tool`.
    fn call_tool(&self, job: &Job<'_>) -> Outcome {
        let request: ToolRequest = from_body(&job.call.body).unwrap();
        let name = format!("mcp:{}/{}", request.server, request.tool);
        let env = job.call.env.iter().cloned().collect();
        let input = HookInput { stdin: request.input.to_string(), env, args: Vec::new() };
        let Some((behaviour, _)) = self.behaviour(&name, input, 1) else {
            let fault = Some("unknown tool".to_owned());
            return Outcome { failure: fault, ..Outcome::from_end(End::Answered) };
        };
        if behaviour.hangs {
            return Outcome::from_end(End::TimedOut);
        }
        let fault = (behaviour.exit != 0).then(|| behaviour.stdout.clone());
        let stdout = Captured::from_text(&behaviour.stdout);
        Outcome { stdout, failure: fault, ..Outcome::from_end(End::Answered) }
    }

    fn run_command(&self, job: &Job<'_>) -> Outcome {
        let (text, words) = match &job.call.program {
            Program::Shell { text, .. } => (text.clone(), shell_words(text)),
            Program::Exec(argv) => (argv.join(" "), argv.clone()),
            Program::None => (String::new(), Vec::new()),
        };
        // The longest hook name in the command identifies the hook.
        let fits = |name: &&String| {
            text.contains(name.trim_start_matches("./")) || text.contains(name.as_str())
        };
        let Some(name) = self.hooks.keys().filter(fits).max_by_key(|name| name.len()) else {
            return Outcome {
                command: words,
                ..Outcome::from_end(End::FailedToStart(format!("no hook is written for `{text}`")))
            };
        };
        let behaviour = &self.hooks[name];
        let at = words.iter().position(|word| word.contains(name.trim_start_matches("./")));
        let input = HookInput {
            stdin: String::from_utf8_lossy(
                job.call.stdin.as_ref().map_or(&[][..], |bytes| bytes.as_slice()),
            )
            .into_owned(),
            env: job.call.env.iter().cloned().collect(),
            args: at.map_or_else(Vec::new, |at| words[at + 1..].to_vec()),
        };
        let mut attempts = 0;
        let mut end = End::Detached;
        let all = 1 + job.call.limits.retries;
        let mut given = self.given.lock().unwrap();
        let runs = given.entry(name.clone()).or_default();
        while attempts < all {
            attempts += 1;
            runs.push(input.clone());
            end = scripted_end(behaviour, attempts);
            if end == End::Exited(0) {
                break;
            }
        }
        if !job.call.limits.blocking {
            return Outcome { command: words, ..Outcome::from_end(End::Detached) };
        }
        let stdout = if behaviour.missing { "" } else { &behaviour.stdout };
        Outcome {
            stdout: Captured::from_text(stdout),
            stderr: Captured::from_text(&behaviour.stderr),
            attempts,
            command: words,
            elapsed: Duration::from_millis(1),
            ..Outcome::from_end(end)
        }
    }
}

fn scripted_end(behaviour: &Behaviour, attempt: u32) -> End {
    match behaviour {
        b if b.missing => End::FailedToStart("No such file or directory".into()),
        b if attempt <= b.fails_first => End::Exited(9),
        b if b.hangs => End::TimedOut,
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
