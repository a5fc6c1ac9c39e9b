//! Every recipe of `examples/cookbook` has cases that pass, no mistakes, and stands in
//! docs/cookbook.md as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::blocks::read_blocks;
use super::cargo_lines::repository;
use super::fresh_root::read_repository_file;
use crate::http_server::HttpServer;
use crate::test_project::{TestProject, text, wait_until};

/// What the cookbook promises.
const MIN_RECIPE_COUNT: usize = 20;
/// Cases and what they need; readers do not copy it.
const CASE_FOLDER: &str = ".gambrel/tests";

fn recipes() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(repository().join("examples/cookbook")).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let named = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), path);
    let mut found: Vec<(String, PathBuf)> = folders.map(named).collect();
    found.sort();
    found
}

/// The files that a reader copies, by their path in the recipe.
fn files_to_copy(recipe: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![recipe.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(recipe).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.extend((name != CASE_FOLDER).then_some(path));
            } else {
                files.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn the_cases_of_every_recipe_pass() {
    let recipes = recipes();
    assert!(recipes.len() >= MIN_RECIPE_COUNT, "{recipes:?}");
    let project = TestProject::new();
    for (name, folder) in recipes {
        let folder = folder.to_str().unwrap();
        let report = project.json(&["-C", folder, "test", "--json"]);
        let counts = (&report["failed"], &report["skipped"]);
        assert_eq!(counts, (&0.into(), &0.into()), "{name}: {report}");
        assert!(report["passed"].as_u64().unwrap() > 0, "{name}: {report}");
        let check = project.run(&["-C", folder, "check"], b"");
        assert_eq!(check.status.code(), Some(0), "{name}: {}", text(&check.stdout));
    }
}

#[test]
fn the_cookbook_shows_every_recipe_as_it_is() {
    let page = read_repository_file("docs/cookbook.md");
    let mut sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    for (name, folder) in recipes() {
        let link = format!("(../examples/cookbook/{name})");
        let at = sections.iter().position(|section| section.contains(&link));
        let section = sections.remove(at.unwrap_or_else(|| panic!("no section has {link}")));
        let blocks = read_blocks(section).unwrap();
        let shown = blocks.iter().filter_map(|block| Some((block.file()?, block.text.as_str())));
        let files = files_to_copy(&folder);
        let files: BTreeMap<&str, &str> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(shown.collect::<BTreeMap<_, _>>(), files, "{name}");
    }
    assert!(sections.is_empty(), "sections without a recipe: {sections:?}");
}

/// A project with the hooks of a recipe, whose webhook leads to a server.
fn project_with_recipe(name: &str, variable: &str, server: &HttpServer) -> TestProject {
    let project = TestProject::new().with(variable, &server.url("/hook"));
    let path = format!("examples/cookbook/{name}/.gambrel/hooks.yaml");
    project.file(".gambrel/hooks.yaml", &read_repository_file(&path));
    project
}

fn fire(project: &TestProject, event: &Value) {
    let output = project.run(&["fire", "--from", "unified"], event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn the_notification_is_sent() {
    let server = HttpServer::start();
    let project = project_with_recipe("notify-completion", "SLACK_WEBHOOK", &server);
    let vars = json!({"SESSION": "release", "ITERATION": 4});
    fire(&project, &json!({"hook_point": "on_session_complete", "vars": vars}));
    wait_until("the request", || !server.received().is_empty());
    let body = server.received()[0].json();
    assert_eq!(body, json!({"text": "release is done after 4 iterations"}));
}

#[test]
fn the_report_of_an_error_is_sent_again_with_its_signature() {
    let server = HttpServer::with_answer({
        let count = AtomicUsize::new(0);
        move |_| Some(if count.fetch_add(1, Ordering::SeqCst) == 0 { 503 } else { 200 })
    });
    let project = project_with_recipe("report-errors", "ERROR_WEBHOOK", &server);
    let key = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let project = project.with("ERROR_WEBHOOK_SECRET", key);
    let vars = json!({"SESSION": "s", "STAGE": "plan", "ERROR": "no model"});
    fire(&project, &json!({"hook_point": "on_error", "vars": vars}));
    wait_until("the second request", || server.received().len() == 2);
    let requests = server.received();
    assert_eq!(requests[1].json()["error"], "no model");
    assert_eq!(requests[0].header("webhook-id"), requests[1].header("webhook-id"));
    assert!(requests.iter().all(|request| request.header("webhook-signature").is_some()));
}
