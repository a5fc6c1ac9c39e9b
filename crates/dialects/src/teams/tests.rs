//! Tests the name of a log file, which no contract case can observe.

use std::path::PathBuf;

use gambrel_model::{
    CallerContext, ConfigPath, DirEntry, End, Expect, Hook, HookFormat, LoadedFile, Outcome, Scope,
    SearchRoots, SideEffect,
};

use super::{TEAMS, Teams};

fn hook(name: &str) -> Hook {
    let folder = PathBuf::from("/hooks");
    let entry = DirEntry {
        name: name.into(),
        path: folder.join(name),
        executable: false,
        is_file: true,
        special: false,
    };
    let place =
        ConfigPath { path: folder.clone(), scope: Scope::User, expect: Expect::Dir, tag: "hooks" };
    let found = LoadedFile { place, base: folder, text: String::new(), entries: vec![entry] };
    let (mut drafts, _) = Teams.load_hooks(&[found], &SearchRoots::default());
    Hook::from_draft(&TEAMS, drafts.remove(0)).0.unwrap()
}

#[test]
fn names_logs_by_time_and_event() {
    // 2026-11-15T12:00:01.023Z
    let arrival = CallerContext { at: 1_794_744_001_023, ..CallerContext::default() };
    let native = br#"{"event":"task_completed","team":{"id":"a","dir":"/teams/a"},"task":null}"#;
    let event = TEAMS.receive_event(native, arrival).unwrap();
    let verdict = Teams
        .read_outcome(&event, &hook("on_task_completed.sh"), &Outcome::from_end(End::Exited(0)))
        .verdict;
    let [SideEffect::AddFile { path, .. }, SideEffect::QualityGate(_)] =
        verdict.side_effects.as_slice()
    else {
        panic!("one log, not {:?}", verdict.side_effects);
    };
    let name = "/teams/a/hook-logs/2026-11-15T12-00-01-023Z_task_completed.json";
    assert_eq!(path, &PathBuf::from(name));
}
