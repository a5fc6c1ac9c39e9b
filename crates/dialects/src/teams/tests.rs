//! What no case can see from outside: the name of a log file at a given time.

use std::path::PathBuf;

use gambrel_model::{
    Arrival, Dialect, Duty, End, Entry, Found, Holding, Hook, Outcome, Place, Roots, Scope,
};

use super::Teams;

static TEAMS: Teams = Teams;

fn hook(name: &str) -> Hook {
    let folder = PathBuf::from("/hooks");
    let entry = Entry {
        name: name.into(),
        path: folder.join(name),
        executable: false,
        plain: true,
        special: false,
    };
    let place =
        Place { path: folder.clone(), scope: Scope::User, holding: Holding::Entries, tag: "hooks" };
    let found = Found { place, base: folder, text: String::new(), entries: vec![entry] };
    let (mut drafts, _) = TEAMS.load(&[found], &Roots::default());
    Hook::build(&TEAMS, drafts.remove(0)).0.unwrap()
}

#[test]
fn a_log_is_named_by_time_and_event_without_colons_and_dots() {
    // 2026-11-15T12:00:01.023Z
    let arrival = Arrival { at: 1_794_744_001_023, ..Arrival::default() };
    let native = br#"{"event":"task_completed","team":{"id":"a","dir":"/teams/a"},"task":null}"#;
    let event = TEAMS.receive(native, arrival).unwrap();
    let verdict = TEAMS.read(&event, &hook("on_task_completed.sh"), &Outcome::of(End::Exited(0)));
    let [Duty::WriteFile { path, .. }] = verdict.duties.as_slice() else {
        panic!("one log, not {:?}", verdict.duties);
    };
    let name = "/teams/a/hook-logs/2026-11-15T12-00-01-023Z_task_completed.json";
    assert_eq!(path, &PathBuf::from(name));
}
