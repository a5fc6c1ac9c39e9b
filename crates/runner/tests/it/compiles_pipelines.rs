//! Pipelines: nodes, the older `stages`, terminations, inputs.

use gambrel_runner::{InputSelect, RunKind, TerminationKind};

use crate::fixture::{ProjectFixture, stage_files};

fn project(pipeline: &str) -> ProjectFixture {
    let fixture = ProjectFixture::new(&[(".gambrel/pipelines/release.yaml", pipeline)]);
    let stages = [
        stage_files("plan", "termination: {type: judgment, consensus: 3}"),
        stage_files("work", "termination: {type: fixed, iterations: 4}"),
        stage_files("queue", "termination: {type: queue, command: 'cat left'}"),
    ];
    for (path, text) in stages.iter().flatten() {
        fixture.write(path, text);
    }
    fixture
}

#[test]
fn compiles_nodes_in_order() {
    let mut fixture = project(
        "name: release\nnodes:\n  - {id: first, stage: plan, runs: 5}\n  - {stage: work}\n  \
         - {id: last, prompt: 'Check ${SESSION}'}\n",
    );
    let plan = fixture.compile("release").unwrap();
    assert_eq!(plan.pipeline.kind, RunKind::Pipeline);
    assert_eq!(plan.session.name, "release-20261118-083000");
    let ids: Vec<&str> = plan.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["first", "work", "last"]);
    assert_eq!(plan.nodes[2].prompt, "Check ${SESSION}");
    assert!(plan.pipeline.hook_file.as_ref().unwrap().by_name);
}

#[test]
fn a_pipeline_file_is_found_with_and_without_its_ending() {
    let mut fixture = project("name: release\nnodes: [{stage: work}]\n");
    for target in ["release", "release.yaml", ".gambrel/pipelines/release.yaml"] {
        let plan = fixture.compile(target).unwrap();
        let by_name = plan.pipeline.hook_file.as_ref().unwrap().by_name;
        assert_eq!(by_name, !target.contains('/'), "{target}");
    }
}

#[test]
fn merges_terminations_as_agent_pipelines_does() {
    let mut fixture = project(
        "name: release\nnodes:\n  - {id: a, stage: work, runs: 3}\n  - {id: b, stage: plan}\n  \
         - {id: c, stage: plan, runs: '6'}\n  - {id: d, stage: work, termination: {max: 9}}\n  \
         - {id: e, stage: plan, runs: {max: 8, consensus: 4}}\n",
    );
    let plan = fixture.compile("release").unwrap();
    let max: Vec<u32> = plan.nodes.iter().map(|node| node.termination.max).collect();
    // The stage's iterations win over runs; a node without both runs once.
    assert_eq!(max, [4, 1, 6, 9, 8]);
    let consensus = |index: usize| plan.nodes[index].termination.consensus;
    assert_eq!((consensus(1), consensus(4)), (Some(3), Some(4)));
    assert_eq!(plan.nodes[0].termination.kind, TerminationKind::Fixed);
}

#[test]
fn the_older_word_stages_still_works() {
    let mut fixture = project(
        "name: release\nstages:\n  - {name: one, loop: plan}\n  - {name: two, loop: work}\n",
    );
    let plan = fixture.compile("release").unwrap();
    let ids: Vec<&str> = plan.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["one", "two"]);
}

#[test]
fn reads_inputs_of_nodes_and_of_the_run() {
    let mut fixture = project(
        "name: release\ninputs: [docs, 'src/*.rs']\nnodes:\n  - {id: a, stage: plan}\n  \
         - {id: b, stage: work, inputs: {from: a, select: all, from_initial: false}}\n",
    );
    for file in ["docs/b.md", "docs/deep/a.txt", "docs/skip.bin", "src/main.rs", "extra.md"] {
        fixture.write(file, "text");
    }
    fixture.request.inputs = vec!["extra.md".into()];
    let plan = fixture.compile("release").unwrap();
    let inputs = &plan.nodes[1].inputs;
    assert_eq!(inputs.from, ["a"]);
    assert_eq!((inputs.select, inputs.from_initial), (InputSelect::All, false));
    let expected =
        ["docs/b.md", "docs/deep/a.txt", "src/main.rs", "extra.md"].map(|name| fixture.path(name));
    assert_eq!(plan.session.inputs, expected);
}

#[test]
fn resolves_models_and_agents_of_nodes() {
    let mut fixture = project(
        "name: release\ndefaults: {provider: codex, model: 'gpt:low'}\nnodes:\n  \
         - {id: a, stage: work}\n  - {id: b, stage: work, provider: claude}\n  \
         - {id: c, stage: work, model: big}\n",
    );
    let plan = fixture.compile("release").unwrap();
    let specs: Vec<&str> = plan.nodes.iter().map(|node| node.provider.spec.as_str()).collect();
    assert!(specs[0].contains("-m gpt ") && specs[0].contains("low"), "{}", specs[0]);
    assert!(specs[1].contains("claude -p --model opus"), "{}", specs[1]);
    assert!(specs[2].contains("-m big "), "{}", specs[2]);
}

#[test]
fn a_stored_plan_is_read_back() {
    let mut fixture = project("name: release\nnodes: [{stage: work, context: 'be brief'}]\n");
    let plan = fixture.compile("release").unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<gambrel_runner::Plan>(&text).unwrap(), plan);
}

#[test]
fn knows_when_its_files_have_changed() {
    let mut fixture = project("name: release\nnodes: [{stage: work}]\n");
    let plan = fixture.compile("release").unwrap();
    assert!(!plan.source.has_changed());
    fixture.write(".gambrel/stages/work/prompt.md", "Something else");
    assert!(plan.source.has_changed());
}

#[test]
fn names_agents_of_the_agent_client_protocol() {
    let mut fixture = project(
        "name: release\nnodes:\n  - {id: a, stage: work, provider: opencode}\n  \
         - {id: b, stage: work, provider: gemini}\n  - {id: c, stage: work, provider: claude-acp}\n  \
         - {id: d, stage: work, provider: codex-acp}\n  \
         - {id: e, stage: work, provider: 'acp:my agent'}\n",
    );
    let plan = fixture.compile("release").unwrap();
    let specs: Vec<&str> = plan.nodes.iter().map(|node| node.provider.spec.as_str()).collect();
    let expected = [
        "acp:opencode acp",
        "acp:gemini --acp",
        "acp:claude-agent-acp",
        "acp:codex-acp",
        "acp:my agent",
    ];
    assert_eq!(specs, expected);
}
