//! Runs and firings on the page: what they show, how they follow the ledger, and the report.

use std::path::Path;
use std::sync::{Arc, Mutex};

use gambrel_model::{
    FiringPhase, IterationTimeline, JournalRecord, ProcessOrigin, RunSummary, RunTimeline,
    StageTimeline, TimelineHook, TimelineNote,
};
use gambrel_server::{ActivitySource, report_page};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::fixture::{KEY, ServerFixture, now_ms, wait_until};
use crate::page_layout::{PHONE, assert_readable, save_views};

const EVIL: &str = "</pre><script>alert(1)</script>\u{1b}[2J\u{202e}";

type SharedTimeline = Arc<Mutex<RunTimeline>>;

fn hook(title: &str, product: &str, moment: &str, verdict: &str) -> TimelineHook {
    TimelineHook {
        title: title.into(),
        product: product.into(),
        moment: moment.into(),
        verdict: verdict.into(),
        ms: 12,
        ..TimelineHook::default()
    }
}

fn call(hook: TimelineHook, call: &str, why: &str) -> TimelineHook {
    TimelineHook { tool: "shell".into(), call: call.into(), why: why.into(), ..hook }
}

/// A run of two stages whose last iteration goes on.
fn release_run() -> RunTimeline {
    let began = now_ms() - 252_000;
    let iteration = |number, from: u64, to: u64, agent: (u64, u64)| IterationTimeline {
        number,
        attempt: 1,
        began: began + from,
        ended: began + to,
        agent_spans: vec![(began + agent.0, began + agent.1)],
        ..IterationTimeline::default()
    };
    let first = IterationTimeline {
        decision: "stop".into(),
        reason: "the plan is complete".into(),
        summary: "wrote PLAN.md with seven steps".into(),
        hooks: vec![hook("scope check", "agent-pipelines", "iteration.end", "silent")],
        ..iteration(1, 1_000, 62_000, (1_400, 60_900))
    };
    let denied = call(
        hook("guard.sh", "Claude Code", "tool.before", "deny"),
        "rm -rf build /",
        "removing whole trees is not for agents; ask a person",
    );
    let asked = call(
        hook("deploys", "agent-pipelines", "tool.before", "ask"),
        "make deploy ENV=staging",
        "a person decides about deploys",
    );
    let cleaned = TimelineHook {
        rewrote: vec!["output".into()],
        ..call(hook("no keys", "agent-pipelines", "tool.after", "silent"), "cat .env", "")
    };
    let second = IterationTimeline {
        decision: "continue".into(),
        summary: "the parser handles empty text".into(),
        hooks: vec![
            denied,
            asked,
            cleaned,
            hook("guard.ts", "oh-my-pi", "tool.before", "silent"),
            hook("lint", "iteratr", "iteration.end", "silent"),
        ],
        notes: vec![TimelineNote {
            at: began + 150_000,
            text: "kept going by a hook: two tests fail".into(),
            is_trouble: false,
        }],
        ..iteration(1, 65_000, 158_000, (66_000, 140_000))
    };
    let third = IterationTimeline {
        is_agent_working: true,
        hooks: vec![hook("guard.ts", "oh-my-pi", "tool.before", "silent")],
        ..iteration(2, 161_000, 200_000, (162_000, 162_000))
    };
    let stage = |id: &str, reason: &str, iterations| StageTimeline {
        id: id.into(),
        agent: "acp:opencode acp".into(),
        reason: reason.into(),
        iterations,
        ..StageTimeline::default()
    };
    RunTimeline {
        summary: RunSummary {
            session: "release".into(),
            pipeline: "release.yaml".into(),
            status: "running".into(),
            began,
            stage: "build".into(),
            iteration: 2,
            revision: 31,
        },
        ended: began + 200_000,
        counts: "3 turns, 14 tool calls (1 blocked), 81,204 tokens".into(),
        stages: vec![
            stage("plan", "fixed_iterations", vec![first]),
            stage("build", "", vec![second, third]),
        ],
        notes: Vec::new(),
    }
}

fn source_of(run: &SharedTimeline) -> ActivitySource {
    let (listed, read) = (Arc::clone(run), Arc::clone(run));
    let earlier = RunSummary {
        session: "night".into(),
        pipeline: "review".into(),
        status: "complete".into(),
        began: now_ms() - 40_000_000,
        stage: "review".into(),
        iteration: 5,
        revision: 60,
    };
    ActivitySource {
        list_runs: Arc::new(move || vec![listed.lock().unwrap().summary.clone(), earlier.clone()]),
        read_run: Arc::new(move |session| {
            let run = read.lock().unwrap().clone();
            (run.summary.session == session).then_some(run)
        }),
        name_product: |dialect| match dialect {
            "claude" => "Claude Code".to_owned(),
            other => other.to_owned(),
        },
        summarize: |firing| match firing.id.as_str() {
            "0000000003-d7ed1f0b92a4" => "rm -rf build /".to_owned(),
            "0000000002-07f79571be20" => "src/checkout/total.rs".to_owned(),
            _ => "docs/guide.md".to_owned(),
        },
    }
}

fn start() -> (ServerFixture, SharedTimeline) {
    let run = Arc::new(Mutex::new(release_run()));
    (ServerFixture::with_activity(source_of(&run)), run)
}

/// A firing with a decision.
fn append_firing(fixture: &ServerFixture, id: &str, command: &str, ruling: &str, why: &str) {
    let record = |step, body| JournalRecord {
        id: id.to_owned(),
        at: now_ms(),
        step,
        session: "b7c1f0de".to_owned(),
        origin: ProcessOrigin::of_this_process(),
        body,
    };
    let accepted = json!({"from": "claude", "event": "PreToolUse", "moment": "tool.before",
        "tool": command});
    let reasons: Vec<Value> =
        (!why.is_empty()).then(|| json!({"hook": "h", "text": why})).into_iter().collect();
    let step = json!({"title": "guard.sh", "dialect": "claude", "ran": true, "outcome": "exited",
        "verdict": ruling, "ms": 3.4, "why": why});
    let skipped = json!({"title": "other", "dialect": "omp", "ran": false, "outcome": "skipped"});
    let finished = json!({"ruling": ruling, "reasons": reasons, "trail": [step, skipped]});
    let records =
        [record(FiringPhase::Accepted, accepted), record(FiringPhase::Finished, finished)];
    fixture.config.ledger.append_journal(&records).unwrap();
}

fn list(fixture: &ServerFixture) -> String {
    format!("{}/?key={}", fixture.listening.base(), KEY.replace(' ', "%20"))
}

#[test]
fn shows_runs_and_firings_as_they_happen() {
    let Some(mut browser) = Browser::start() else { return };
    let (fixture, run) = start();
    append_firing(&fixture, "0000000001-c44a65c4678c", "Bash", "deny", "not for agents");
    let mut tab = browser.open(&list(&fixture));
    for words in ["Recent firings", "deny", "Bash", "docs/guide.md", "Claude Code", "night"] {
        tab.wait_for_text(words);
    }
    assert!(!tab.text().contains("guard.sh"), "hooks are folded");
    tab.click("#firings summary");
    tab.wait_for_text("guard.sh");
    assert!(tab.text().contains("gambrel show c44a65"), "an id to type: {}", tab.text());
    assert_eq!(tab.text().matches("not for agents").count(), 1, "the hook says it: {}", tab.text());
    append_firing(&fixture, "0000000002-07f79571be20", "Edit", "allow", "a person approved");
    tab.wait_for_text("a person approved");
    assert!(tab.text().contains("guard.sh"), "the open firing stays open");
    run.lock().unwrap().summary.status = "failed".into();
    tab.wait_for_text("failed");
    assert_readable(&mut tab, "the list");
}

#[test]
fn shows_a_run_as_it_goes_on() {
    let Some(mut browser) = Browser::start() else { return };
    let (fixture, run) = start();
    let mut tab = browser.open(&list(&fixture));
    tab.click("#runs a.row");
    for words in [
        "release.yaml",
        "complete: fixed iterations",
        "wrote PLAN.md with seven steps",
        "rm -rf build /",
        "removing whole trees is not for agents",
        "kept going by a hook: two tests fail",
        "agent works",
        "1 hook without objection",
    ] {
        tab.wait_for_text(words);
    }
    assert_readable(&mut tab, "a run");
    tab.click("#silent-build-1-1 summary");
    tab.wait_for_text("lint");
    {
        let mut run = run.lock().unwrap();
        let last = run.stages[1].iterations.last_mut().unwrap();
        (last.decision, last.is_agent_working) = ("stop".into(), false);
        last.summary = "all tests pass".into();
        run.summary.revision += 1;
        run.summary.status = "complete".into();
    }
    tab.wait_for_text("all tests pass");
    assert!(!tab.text().contains("agent works"), "{}", tab.text());
    assert_eq!(tab.evaluate("document.querySelector('#silent-build-1-1').open"), true);
    let colors = "[...document.querySelectorAll('.hooks .state')].map((chip) => \
        [chip.textContent, getComputedStyle(chip).color])";
    let colors = tab.evaluate(colors);
    let color_of = |word: &str| {
        let chip = colors.as_array().unwrap().iter().find(|chip| chip[0] == word);
        chip.unwrap()[1].clone()
    };
    assert_ne!(color_of("deny"), color_of("ask"));
    assert_ne!(color_of("deny"), color_of("no objection"));
}

#[test]
fn draws_bars_as_long_as_iterations_took() {
    let Some(mut browser) = Browser::start() else { return };
    let (fixture, run) = start();
    run.lock().unwrap().summary.status = "failed".into();
    let mut tab = browser.open(&list(&fixture));
    tab.click("#runs a.row");
    tab.wait_for_text("release.yaml");
    let widths = "[...document.querySelectorAll('.bar .rest')].map((part) => \
        part.getBoundingClientRect().width)";
    let widths = tab.evaluate(widths);
    let width = |index: usize| widths[index].as_f64().unwrap();
    // 61 s, 93 s and 39 s.
    assert!((width(0) / width(1) - 61.0 / 93.0).abs() < 0.02, "{widths}");
    assert!((width(2) / width(1) - 39.0 / 93.0).abs() < 0.02, "{widths}");
}

#[test]
fn needs_the_key_for_runs() {
    let (fixture, _run) = start();
    for path in ["/runs/release", "/runs/release/events", "/history"] {
        let got = fixture.get(path).send();
        assert_eq!(got.status, 404, "{path}");
        assert!(!got.body.contains("PLAN.md"), "{path}: {}", got.body);
    }
    let cookie = fixture.cookie();
    assert_eq!(fixture.get("/runs/release").with_header(&cookie).send().status, 200);
    for unknown in ["/runs/nothing", "/runs/..%2f..%2fetc"] {
        assert_eq!(fixture.get(unknown).with_header(&cookie).send().status, 404, "{unknown}");
    }
    let proxied = fixture.get("/runs/release").with_header(&cookie);
    assert_eq!(proxied.with_header("X-Forwarded-For: 203.0.113.7").send().status, 404);
}

#[test]
fn escapes_every_text_of_runs_and_firings() {
    let (fixture, run) = start();
    {
        let mut run = run.lock().unwrap();
        run.counts = EVIL.into();
        run.summary.pipeline = EVIL.into();
        run.notes = vec![TimelineNote { at: 1, text: EVIL.into(), is_trouble: true }];
        let stage = &mut run.stages[0];
        (stage.agent, stage.reason) = (EVIL.into(), EVIL.into());
        let iteration = &mut stage.iterations[0];
        iteration.decision = EVIL.into();
        (iteration.reason, iteration.summary) = (EVIL.into(), EVIL.into());
        iteration.hooks = vec![call(hook(EVIL, EVIL, EVIL, EVIL), EVIL, EVIL)];
    }
    append_firing(&fixture, "0000000003-d7ed1f0b92a4", EVIL, EVIL, EVIL);
    let cookie = fixture.cookie();
    let timeline = run.lock().unwrap().clone();
    let pages =
        ["/", "/runs/release"].map(|path| fixture.get(path).with_header(&cookie).send().body);
    for page in pages.iter().chain([&report_page(&timeline, now_ms())]) {
        let (_, body) = page.split_once("</style>").unwrap();
        assert!(body.contains("&lt;script&gt;alert(1)"), "{body}");
        assert!(body.matches("<script").count() <= 1, "{body}");
        assert!(!body.contains(['\u{1b}', '\u{202e}']), "{body}");
    }
}

#[test]
fn the_report_is_one_file_without_requests() {
    let Some(mut browser) = Browser::start() else { return };
    let report = report_page(&release_run(), now_ms());
    for bad in
        ["<script", "<link", " src=", "url(", "@import", "http:", "https:", " style=", " href="]
    {
        assert!(!report.contains(bad), "{bad}: {report}");
    }
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-";
    assert!(report.contains(policy), "{report}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    std::fs::write(&path, &report).unwrap();
    let mut tab = browser.open(&format!("file://{}", path.display()));
    tab.wait_for_text("wrote PLAN.md with seven steps");
    let styled = tab.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius");
    assert_ne!(styled, "0px", "the policy lets the style sheet work");
    assert_readable(&mut tab, "the report");
    wait_until("it has no script", || (tab.evaluate("document.scripts.length") == 0).then_some(()));
}

/// An iteration without a decision says what it does, or that it ended before it had one.
#[test]
fn says_what_an_iteration_without_a_decision_does() {
    let report = |change: fn(&mut RunTimeline)| {
        let mut run = release_run();
        run.stages[1].iterations[1].is_agent_working = false;
        change(&mut run);
        report_page(&run, now_ms())
    };
    let shown = report(|_| {});
    assert!(shown.contains("hooks run") && !shown.contains("not finished"), "{shown}");
    let shown = report(|run| run.summary.status = "failed".into());
    assert!(!shown.contains("hooks run") && shown.contains("not finished"), "{shown}");
}

/// Draws the pictures of the documentation: `cargo test -p gambrel-server -- --ignored`.
#[test]
#[ignore = "writes docs/pictures"]
fn draws_documentation_pictures() {
    let Some(mut browser) = Browser::start() else { return };
    let (fixture, _run) = start();
    append_firing(&fixture, "0000000001-c44a65c4678c", "Read", "silent", "");
    append_firing(
        &fixture,
        "0000000002-07f79571be20",
        "Edit",
        "allow",
        "a person approved the change",
    );
    let why = "removing whole trees is not for agents; ask a person";
    append_firing(&fixture, "0000000003-d7ed1f0b92a4", "Bash", "deny", why);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let mut tab = browser.open(&list(&fixture));
    tab.show_as("light", (760, 600));
    tab.wait_for_text("deny");
    tab.click("#firings summary");
    tab.save_picture(&docs.join("serve.png"));
    save_views(&mut tab, "serve");
    tab.navigate(&format!("{}/runs/release", fixture.listening.base()));
    tab.wait_for_text("release.yaml");
    tab.show_as("light", (760, 600));
    tab.save_picture(&docs.join("run.png"));
    save_views(&mut tab, "run");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    let mut run = release_run();
    run.summary.status = "failed".into();
    let last = &mut run.stages[1].iterations[1];
    last.is_agent_working = false;
    last.agent_spans = vec![(last.began + 1_000, last.ended)];
    run.notes = vec![TimelineNote {
        at: run.ended,
        text: "the agent exited with code 1: connection lost".into(),
        is_trouble: true,
    }];
    std::fs::write(&path, report_page(&run, now_ms())).unwrap();
    tab.navigate(&format!("file://{}", path.display()));
    tab.show_as("dark", PHONE);
    tab.save_picture(&docs.join("report-phone.png"));
    save_views(&mut tab, "report");
}
