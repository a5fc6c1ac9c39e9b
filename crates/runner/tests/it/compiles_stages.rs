//! A stage that is run alone.

use gambrel_runner::{RunKind, TerminationKind};

use crate::fixture::{ProjectFixture, stage_files};

fn project(termination: &str) -> ProjectFixture {
    let fixture = ProjectFixture::new(&[]);
    for (path, text) in stage_files("work", termination) {
        fixture.write(&path, &text);
    }
    fixture
}

#[test]
fn finds_a_stage_by_name() {
    let mut fixture = project("termination: {type: fixed, iterations: 3}");
    let plan = fixture.compile("work").unwrap();
    assert_eq!(plan.pipeline.kind, RunKind::Loop);
    assert_eq!(plan.session.name, "work");
    let node = &plan.nodes[0];
    assert_eq!((node.id.as_str(), node.termination.max), ("work", 3));
    assert_eq!(node.prompt, "Do work in ${SESSION}.\n");
    assert!(node.hook_file.as_ref().unwrap().by_name);
}

#[test]
fn a_typed_path_is_not_found_by_name() {
    let mut fixture = project("termination: {type: fixed, iterations: 3}");
    let plan = fixture.compile(".gambrel/stages/work").unwrap();
    assert!(!plan.nodes[0].hook_file.as_ref().unwrap().by_name);
    let plan = fixture.compile(".gambrel/stages/work/stage.yaml").unwrap();
    assert!(!plan.nodes[0].hook_file.as_ref().unwrap().by_name);
}

#[test]
fn runs_at_most_25_iterations_by_default() {
    let mut fixture = project("termination: {type: queue, command: 'cat queue'}");
    let plan = fixture.compile("work").unwrap();
    let termination = &plan.nodes[0].termination;
    assert_eq!((termination.kind, termination.max), (TerminationKind::Queue, 25));
    assert_eq!(termination.command.as_deref(), Some("cat queue"));
    fixture.request.max = Some(7);
    assert_eq!(fixture.compile("work").unwrap().nodes[0].termination.max, 7);
}

#[test]
fn reads_the_older_completion_words() {
    for (word, kind) in [
        ("beads-empty", TerminationKind::Queue),
        ("plateau", TerminationKind::Judgment),
        ("fixed-n", TerminationKind::Fixed),
    ] {
        let mut fixture = project(&format!("completion: {word}\nmin_iterations: 4\nconsensus: 3"));
        let termination = fixture.compile("work").unwrap().nodes[0].termination.clone();
        assert_eq!(termination.kind, kind);
        let is_judgment = kind == TerminationKind::Judgment;
        assert_eq!(termination.min_iterations, is_judgment.then_some(4));
        assert_eq!(termination.consensus, is_judgment.then_some(3));
    }
}

#[test]
fn finds_loop_yaml_and_prompts_in_folders() {
    let mut fixture = ProjectFixture::new(&[
        (
            ".claude/stages/old/loop.yaml",
            "name: old\nprompt: main\ntermination: {type: fixed, iterations: 1}\n",
        ),
        (".claude/stages/old/prompts/main.md", "The main prompt."),
    ]);
    assert_eq!(fixture.compile("old").unwrap().nodes[0].prompt, "The main prompt.");
}

#[test]
fn chooses_the_agent_in_order() {
    let mut fixture = project("termination: {type: fixed}\nprovider: 'command:cat'");
    let provider = fixture.compile("work").unwrap().nodes[0].provider.clone();
    assert_eq!((provider.spec.as_str(), provider.from_project), ("command:cat", true));
    fixture.request.agent = Some("script:agent.yaml".into());
    let provider = fixture.compile("work").unwrap().nodes[0].provider.clone();
    assert_eq!((provider.spec.as_str(), provider.from_project), ("script:agent.yaml", false));

    let mut fixture = project("termination: {type: fixed}");
    fixture.request.roots.env.insert("GAMBREL_AGENT".into(), "command:parent".into());
    assert_eq!(fixture.compile("work").unwrap().nodes[0].provider.spec, "command:parent");
    fixture.request.roots.env.clear();
    fixture.request.model = Some("sonnet".into());
    assert_eq!(
        fixture.compile("work").unwrap().nodes[0].provider.spec,
        "command:claude -p --model sonnet --dangerously-skip-permissions"
    );
}

#[test]
fn a_prompt_alone_is_a_plan() {
    let mut fixture = ProjectFixture::new(&[]);
    fixture.request.prompt = Some("Say hello.".into());
    let plan = gambrel_runner::compile_plan(&fixture.request).unwrap().plan;
    assert_eq!(plan.session.name, "prompt-20261118-083000");
    assert_eq!((plan.nodes[0].prompt.as_str(), plan.nodes[0].termination.max), ("Say hello.", 1));
}
