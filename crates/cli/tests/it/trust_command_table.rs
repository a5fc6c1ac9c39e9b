//! For each command, trust covers the files that it runs, or the record marks it as opaque.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;
use serde_json::Value;

use crate::test_project::{BASH_LS, TestProject, text};

const TABLE: &str = include_str!("trust_commands.yaml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    run: String,
    files: BTreeMap<String, String>,
    #[serde(default)]
    covers: Vec<String>,
    #[serde(default)]
    hidden: Vec<String>,
    #[serde(default)]
    appears: Vec<String>,
    #[serde(default)]
    writes: Vec<String>,
    opaque: Option<String>,
    needs: Option<String>,
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !there {
        eprintln!("{program} is not installed: its commands are trusted and not run");
    }
    there
}

fn table() -> Vec<Row> {
    serde_saphyr::from_str(TABLE).unwrap()
}

fn trusted_project(row: &Row) -> TestProject {
    let project = TestProject::new().with("GAMBREL_TRUST", "store");
    for (path, text) in &row.files {
        project.script(path, text);
    }
    project.guard(&row.run, 20);
    let output = project.run(&["trust", "--all", "--yes"], b"");
    assert!(output.status.success(), "{}: {}", row.run, text(&output.stderr));
    project
}

/// Whether trust let the hook run, and the reason and ruling.
fn is_let_run(project: &TestProject) -> (bool, String) {
    let decision = project.decide("claude", BASH_LS);
    let step = &decision["trail"][0];
    let why = step["why"].as_str().unwrap_or_default().to_owned();
    let distrusted = why.contains("trusted") && step["ran"] == false;
    (!distrusted, format!("{why} {}", decision["ruling"]))
}

fn trust_record(project: &TestProject) -> Value {
    let listed = project.json(&["trust", "--list", "--json"]);
    listed[0].clone()
}

fn check_row(row: &Row) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            wrong.push(format!("`{}`: {what}", row.run));
        }
    };
    let project = trusted_project(row);
    let listed = trust_record(&project);
    let (ran, why) = is_let_run(&project);
    let runs = row.needs.as_deref().is_none_or(is_installed);
    expect(ran && (!runs || why.ends_with("\"deny\"")), format!("does not run: {why}"));
    for file in &row.covers {
        let path = project.root.join(file);
        let before = fs::read(&path).unwrap();
        fs::write(&path, [before.as_slice(), b"\n# changed\n"].concat()).unwrap();
        let (ran, why) = is_let_run(&project);
        expect(!ran && why.contains("changed"), format!("runs with another {file}: {why}"));
        fs::write(&path, before).unwrap();
    }
    for file in &row.appears {
        let path = project.script(file, "exit 0\n");
        let (ran, why) = is_let_run(&project);
        expect(!ran && why.contains("changed"), format!("runs with a new {file}: {why}"));
        fs::remove_file(path).unwrap();
    }
    for file in &row.hidden {
        project.script(file, "exit 0 # hidden\n");
    }
    let opaque = listed["opaque"].to_string();
    match &row.opaque {
        Some(words) => expect(opaque.contains(words), format!("`{words}` is not in {opaque}")),
        None => expect(opaque == "[]", format!("says that it cannot be seen: {opaque}")),
    }
    for file in &row.writes {
        let bytes = fs::read(project.root.join(file)).unwrap();
        expect(!bytes.is_empty(), format!("did not write {file}"));
    }
    let (ran, why) = is_let_run(&project);
    expect(ran, format!("lost its trust: {why}"));
    wrong
}

#[test]
fn covers_or_reports_the_files_of_every_command() {
    let rows = table();
    assert!(rows.len() >= 60, "{} commands", rows.len());
    let (first, second) = rows.split_at(rows.len() / 2);
    let all = |rows: &[Row]| rows.iter().flat_map(check_row).collect::<Vec<_>>();
    let wrong = std::thread::scope(|scope| {
        let other = scope.spawn(|| all(second));
        [all(first), other.join().unwrap()].concat()
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
