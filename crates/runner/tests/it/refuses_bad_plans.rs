//! Mistakes in plans, each with its place. Nothing runs.

use gambrel_runner::PlanError;

use crate::fixture::{ProjectFixture, stage_files};

fn pipeline_errors(text: &str) -> Vec<String> {
    let mut fixture = ProjectFixture::new(&[("p.yaml", text)]);
    for (path, text) in stage_files("work", "termination: {type: fixed, iterations: 1}") {
        fixture.write(&path, &text);
    }
    fixture.errors("p.yaml")
}

#[test]
fn an_unknown_name_lists_what_was_tried() {
    let mut fixture = ProjectFixture::new(&[]);
    let Err(PlanError::NotFound { name, tried }) = fixture.compile("nowhere") else {
        panic!("found");
    };
    assert_eq!(name, "nowhere");
    for path in [
        "nowhere",
        ".gambrel/pipelines/nowhere.yaml",
        ".claude/pipelines/nowhere.yml",
        ".gambrel/stages/nowhere/stage.yaml",
        ".claude/stages/nowhere/loop.yaml",
    ] {
        assert!(tried.contains(&fixture.path(path)), "{path} is not in {tried:?}");
    }
}

#[test]
fn names_the_place_of_an_unknown_stage() {
    let errors = pipeline_errors("name: p\nnodes:\n  - {stage: work}\n  - {stage: wrk}\n");
    assert_eq!(errors, ["4:5 no stage `wrk`"]);
}

#[test]
fn refuses_what_cannot_be_run_yet() {
    let errors = pipeline_errors(
        "name: p\nnodes:\n  - {id: b, parallel: {providers: [claude]}}\n  \
         - {id: c, pipeline: other}\n",
    );
    let all = errors.join("\n");
    assert!(all.contains("3:23 a parallel block cannot be run yet"), "{all}");
    assert!(all.contains("4:23 a pipeline node cannot be run yet"), "{all}");
}

#[test]
fn refuses_inputs_that_lead_backwards() {
    let errors = pipeline_errors(
        "name: p\nnodes:\n  - {id: a, stage: work, inputs: {from: [b]}}\n  \
         - {id: b, stage: work, inputs: {from: b}}\n",
    );
    assert_eq!(
        errors,
        [
            "3:42 `b` is no node before `a`, so its output cannot be read",
            "4:41 the node `b` reads its own output",
        ]
    );
}

#[test]
fn refuses_a_stage_without_prompt_or_termination() {
    let mut fixture = ProjectFixture::new(&[(".gambrel/stages/bare/stage.yaml", "name: bare\n")]);
    let errors = fixture.errors("bare").join("\n");
    assert!(errors.contains("`termination.type` is missing"), "{errors}");
    assert!(errors.contains("the stage `bare` has no prompt"), "{errors}");
}

#[test]
fn refuses_session_names_that_leave_the_folder() {
    for name in ["a/b", "..", "", "a b", &"x".repeat(65)] {
        let mut fixture = ProjectFixture::new(&[]);
        fixture.request.prompt = Some("hello".into());
        fixture.request.session = Some(name.to_owned());
        let refused = gambrel_runner::compile_plan(&fixture.request);
        assert!(matches!(refused, Err(PlanError::BadSession(_))), "{name}");
    }
}

#[test]
fn refuses_equal_ids_and_wrong_types() {
    let errors = pipeline_errors(
        "name: p\nnodes:\n  - {id: a, stage: work}\n  - {id: a, stage: work}\n  - work\n",
    );
    let all = errors.join("\n");
    assert!(all.contains("4:5 two nodes have the id `a`"), "{all}");
    assert!(all.contains("5:5 the node `work` should be a map"), "{all}");
}

#[test]
fn never_panics_on_arbitrary_bytes() {
    for text in
        ["", ":", "[]", "nodes: 3", "nodes: [[]]", "name: [a]\nstages: {}", "\u{0}", "- - -"]
    {
        let mut fixture = ProjectFixture::new(&[("p.yaml", text), ("s/stage.yaml", text)]);
        assert!(fixture.compile("p.yaml").is_err(), "{text:?}");
        assert!(fixture.compile("s").is_err(), "{text:?}");
    }
}
