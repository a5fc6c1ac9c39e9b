//! Modules, and the person whom they may ask: at a terminal where there is one, through a ticket
//! where the user wants that, else nobody.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::ledger::WatchTarget;
use gambrel_model::ticket::{Answer, AnswerKind};
use gambrel_model::{Action, AnswerEffects, Job, Ledger, Outcome, QuestionContext, Ticket};
use gambrel_process::settings::SignalPolicy;
use gambrel_process::signals::SignalGuard;
use gambrel_script::{
    AskFn, FetchFn, ModuleAction, Question, QuestionKind, ScriptSettings, TimeBoundModules,
};
use serde_json::{Value, json};

use crate::app::process_settings;
use crate::question_facts::add_question_facts;
use crate::setup::{QuestionNotice, Setup};
use crate::terminal::Terminal;

/// How long a ticket of a module waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Between two looks at whether the module still waits.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The row of modules.
pub fn build_module_action(setup: &Setup, ledger: Option<&Arc<dyn Ledger>>) -> Box<dyn Action> {
    let allowed = setup.env.get("GAMBREL_FETCH").is_some_and(|value| value == "1");
    let fetch = allowed.then(build_fetch);
    let ask = build_asker(setup, ledger);
    let settings = ScriptSettings {
        ask,
        fetch,
        watchdog: process_settings(setup).watchdog_client(),
        subreaper: setup.is_own_process,
        ..ScriptSettings::default()
    };
    match setup.signals {
        SignalPolicy::HostHandles => Box::new(ModuleAction::new(settings)),
        // A program that is told to end must do so in time, whatever a module does.
        policy => Box::new(SignalAware(TimeBoundModules::new(settings), policy)),
    }
}

/// Modules whose calls a signal ends.
struct SignalAware(TimeBoundModules, SignalPolicy);

impl Action for SignalAware {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Vec<Outcome> {
        let signals = SignalGuard::install();
        let may_continue = || signals.as_ref().is_none_or(|guard| guard.triggered().is_none());
        let outcomes = self.0.run_while(jobs, &may_continue);
        if let Some(guard) = signals.filter(|_| self.1 == SignalPolicy::ExitProcess) {
            guard.exit_if_triggered();
        }
        outcomes
    }
}

/// Who makes the requests of modules, where the user lets them make any.
fn build_fetch() -> FetchFn {
    #[cfg(feature = "http")]
    {
        let fetcher = gambrel_actions::Fetcher::new(&gambrel_actions::WebSettings::default());
        Arc::new(move |wanted| Ok(fetcher.fetch(wanted)?))
    }
    #[cfg(not(feature = "http"))]
    Arc::new(|_| Err("this build of gambrel makes no requests".into()))
}

/// `tty`, `page` or `none`: as the user says; without a word a terminal where stderr is one.
pub fn select_ui(setup: &Setup) -> &'static str {
    match setup.env.get("GAMBREL_UI").map(String::as_str) {
        Some("page") => "page",
        Some("tty") => "tty",
        Some("none") => "none",
        _ if std::io::stderr().is_terminal() => "tty",
        _ => "none",
    }
}

fn build_asker(setup: &Setup, ledger: Option<&Arc<dyn Ledger>>) -> Option<AskFn> {
    match select_ui(setup) {
        "tty" => {
            let (terminal, use_of) = (Terminal::default(), setup.on_terminal.clone());
            let report = move |is_used| use_of.iter().for_each(|user| user.report(is_used));
            Some(Arc::new(move |ask: &Question| {
                report(true);
                let answer = terminal.ask_user(ask);
                report(false);
                answer
            }))
        }
        "page" => {
            let (ledger, project) =
                (Arc::clone(ledger?), setup.working_dir().display().to_string());
            let notice = setup.on_question.clone();
            Some(Arc::new(move |ask: &Question| {
                ask_by_ticket(&*ledger, &project, ask, notice.as_ref())
            }))
        }
        _ => None,
    }
}

fn answer_kind(ask: &Question) -> AnswerKind {
    let there = ask.placeholder.clone().unwrap_or_default();
    match ask.kind {
        QuestionKind::Confirm => AnswerKind::Ruling,
        QuestionKind::Select => AnswerKind::Choice(ask.options.clone()),
        QuestionKind::Input => AnswerKind::Line(there),
        QuestionKind::Editor => AnswerKind::Text(there),
    }
}

/// Asks through a ticket: yes or no is its action, everything else its message. One that asks the
/// same again about the same call, because it was killed or its time was over, finds its ticket
/// and perhaps an answer in it.
fn ask_by_ticket(
    ledger: &dyn Ledger,
    project: &str,
    ask: &Question,
    notice: Option<&QuestionNotice>,
) -> Option<Value> {
    let mut asked = build_ticket(project, ask);
    add_question_facts(&mut asked, None);
    let ticket = ledger.open_ticket(&asked).ok()?.ticket;
    if let Some(notice) = notice {
        notice.send(&ticket, is_served(ledger));
    }
    loop {
        let known = ledger.find_ticket(&ticket.id).ok()??;
        if let Some(answer) = known.answer {
            // Spent when the firing ends, which also reports a failure.
            let _noted = ledger.take_answer(&ticket.id);
            return read_answer(ask, &answer);
        }
        if gambrel_engine::now_ms() >= known.expires || ask.handle.is_over() {
            return None;
        }
        let soon = Instant::now() + POLL_INTERVAL;
        ledger.wait_for_change(WatchTarget::Ticket(&ticket.id), soon);
    }
}

/// Whether a page shows the question for as long as it waits.
fn is_served(ledger: &dyn Ledger) -> bool {
    #[cfg(feature = "http")]
    {
        gambrel_server::is_served(ledger)
    }
    #[cfg(not(feature = "http"))]
    {
        let _no_server = ledger;
        false
    }
}

fn build_ticket(project: &str, ask: &Question) -> Ticket {
    let now = gambrel_engine::now_ms();
    let mut shown =
        vec![("Module".to_owned(), ask.module.clone()), ("Event".to_owned(), ask.event.clone())];
    shown.extend(ask.message.clone().map(|message| ("About".to_owned(), message)));
    let effects = AnswerEffects {
        approve: "answers yes".to_owned(),
        reject: "answers no".to_owned(),
        silence: "the hook decides by itself".to_owned(),
        reader: String::new(),
    };
    let is_ruling = matches!(ask.kind, QuestionKind::Confirm);
    Ticket {
        key: json!([
            ask.module,
            ask.session,
            ask.about,
            ask.kind,
            ask.title,
            ask.message,
            ask.options
        ])
        .to_string(),
        at: now,
        expires: now + u64::try_from(ANSWER_TIMEOUT.as_millis()).unwrap_or(0),
        session: ask.session.clone().unwrap_or_default(),
        project: project.to_owned(),
        hook: ask.module.clone(),
        title: ask.title.clone(),
        shown,
        context: QuestionContext {
            why: ask.message.clone().unwrap_or_default(),
            effects: if is_ruling { effects } else { AnswerEffects::default() },
            ..QuestionContext::default()
        },
        wants: answer_kind(ask),
        ..Ticket::default()
    }
}

/// The value that the module receives.
fn read_answer(ask: &Question, answer: &Answer) -> Option<Value> {
    let yes = matches!(answer.action.as_str(), "approve" | "continue" | "ok");
    match ask.kind {
        QuestionKind::Confirm => Some(json!(yes)),
        QuestionKind::Select => {
            let answers = [answer.message.trim(), answer.action.trim()];
            let chosen = ask.options.iter().find(|o| answers.contains(&o.trim()));
            chosen.map(|option| json!(option))
        }
        QuestionKind::Input | QuestionKind::Editor => yes.then(|| json!(answer.message)),
    }
}
