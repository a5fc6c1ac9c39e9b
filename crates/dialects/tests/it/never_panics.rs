//! Runs every parser and reader of all dialects on arbitrary input.

use std::path::PathBuf;
use std::sync::Arc;

use gambrel_dialects::DIALECTS;
use gambrel_model::{
    CallerContext, Captured, Carry, ConfigPath, Decision, Dialect, DirEntry, End, Expect, Hook,
    HookFormat, LoadedFile, Outcome, Ruling, SearchRoots, Verdict,
};
use proptest::prelude::*;

fn roots() -> SearchRoots {
    SearchRoots {
        root: "/p".into(),
        project: "/p".into(),
        home: Some("/h".into()),
        config_home: Some("/h/.config".into()),
        env: Arc::new([("PI_TEAMS_HOOKS_ENABLED".to_owned(), "1".to_owned())].into()),
        extra_sources: vec![
            ("pipeline".into(), "/p/pipeline.yaml".into()),
            ("hook".into(), "/p/h.ts".into()),
        ],
        notes: Some(Default::default()),
        known_paths: Vec::new(),
    }
}

/// The same text in every file that a dialect searches.
fn found(format: &dyn HookFormat, text: &str) -> Vec<LoadedFile> {
    let entry = |name: &str| DirEntry {
        name: name.into(),
        path: PathBuf::from("/p").join(name),
        executable: true,
        is_file: true,
        special: false,
    };
    format
        .search(&roots())
        .into_iter()
        .map(|place| LoadedFile {
            place: ConfigPath { path: PathBuf::from("/p").join(&place.path), ..place.clone() },
            base: "/p".into(),
            text: if place.expect == Expect::File { text.into() } else { String::new() },
            entries: vec![
                entry("on_idle.sh"),
                entry(text.lines().next().unwrap_or("x")),
                entry("a.ts"),
            ],
        })
        .collect()
}

/// Loads a text as every file, then stages each hook and reads its outcomes.
fn all_the_way(dialect: &'static Dialect, text: &str, output: &[u8]) {
    let Some(format) = dialect.hooks else { return };
    let (drafts, _) = format.load_hooks(&found(format, text), &roots());
    for draft in drafts {
        let (Some(hook), _) = Hook::from_draft(dialect, draft) else { continue };
        for caller in DIALECTS {
            let row = hook.specs[0];
            let name = caller.events().iter().find(|r| r.moment == row.moment).map(|r| r.name);
            let native = native(caller.name, name.unwrap_or("x"));
            let Ok(event) = caller.receive_event(native.as_bytes(), CallerContext::default())
            else {
                continue;
            };
            let _call = format.stage_call(&event, &hook, &Carry::default());
            for end in [
                End::Exited(0),
                End::Exited(2),
                End::TimedOut,
                End::EndedUnobserved,
                End::Signalled(9),
                End::FailedToStart("x".into()),
            ] {
                let stdout = Captured {
                    bytes: output.to_vec(),
                    total: output.len() as u64,
                    ..Captured::default()
                };
                let outcome =
                    Outcome { stdout: stdout.clone(), stderr: stdout, ..Outcome::from_end(end) };
                let verdict = format.read_outcome(&event, &hook, &outcome).verdict;
                let decision = Decision::with_caller_verdict(verdict);
                let _reply = caller.caller.write_reply(&event, &decision);
            }
        }
    }
}

fn native(caller: &str, name: &str) -> String {
    let key = match caller {
        "claude" => "hook_event_name",
        "omp" => "type",
        "teams" => "event",
        "iteratr" => "hook",
        "unified" => "hook_point",
        _ => "moment",
    };
    serde_json::json!({
        key: name, "session_id": "s", "tool_name": "Bash", "toolName": "bash",
        "tool_input": {"command": "ls"}, "input": {"command": "ls"}, "prompt": "hi", "vars": {"ITERATION": 3},
    })
    .to_string()
}

const SEEDS: [&str; 6] = [
    r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./x","timeout":5}]}]}}"#,
    "hooks:\n  on_tool_before:\n    - type: shell\n      command: \"echo ${SESSION}\"\n      when: \"${ITERATION} > 1\"\n      await: true\n",
    "version: 1\nhooks:\n  pre_iteration:\n    - command: \"echo {{session}}\"\n      pipe_output: true\n",
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","updatedInput":{"command":"x"}}}"#,
    r#"{"continue":false,"stopReason":"x","decision":"block","reason":"y","systemMessage":"z"}"#,
    "&a [*a]\n",
];

/// A seed with characters changed, removed, inserted or cut off.
fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), any::<char>(), 0..4_u8);
    (prop::sample::select(SEEDS.to_vec()), proptest::collection::vec(change, 0..6)).prop_map(
        |(seed, changes)| {
            let mut text: Vec<char> = seed.chars().collect();
            for (at, c, how) in changes {
                let at = at.index(text.len().max(1)).min(text.len().saturating_sub(1));
                match how {
                    _ if text.is_empty() => text.push(c),
                    0 => text[at] = c,
                    1 => drop(text.remove(at)),
                    2 => text.insert(at, c),
                    _ => text.truncate(at),
                }
            }
            text.into_iter().collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn never_panics_on_any_event(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for dialect in DIALECTS {
            let _event = dialect.receive_event(&bytes, CallerContext::default());
        }
    }

    #[test]
    fn never_panics_on_any_configuration(text in ".{0,200}") {
        for dialect in DIALECTS {
            all_the_way(dialect, &text, text.as_bytes());
        }
    }

    #[test]
    fn never_panics_on_mutated_configuration_and_output(text in mutated(), output in mutated()) {
        for dialect in DIALECTS {
            all_the_way(dialect, &text, output.as_bytes());
        }
    }

    #[test]
    fn never_panics_on_mutated_events(text in mutated(), key in "[a-z_]{1,10}") {
        for dialect in DIALECTS {
            let odd = serde_json::json!({key.clone(): text, "hook_event_name": text, "type": text, "event": "idle",
                "hook": "pre_iteration", "hook_point": text, "moment": text, "vars": text, "tool_input": text, "team": text, "task": [text]});
            if let Ok(event) = dialect.receive_event(odd.to_string().as_bytes(), CallerContext::default()) {
                let decision = Decision::with_caller_verdict(Verdict::with_ruling(Ruling::Deny, "no"));
                let _reply = dialect.caller.write_reply(&event, &decision);
            }
        }
    }
}
