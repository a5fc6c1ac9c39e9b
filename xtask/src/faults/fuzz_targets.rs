//! The parsers of the row `fuzz`, their seeds, and the mutation of seeds.

use std::path::PathBuf;
use std::sync::Arc;

use gambrel_dialects::DIALECTS;
use gambrel_model::condition::{Condition, Fact};
use gambrel_model::template::{Style, expand_json, expand_plain, expand_shell, expand_url};
use gambrel_model::{
    CallerContext, Captured, Carry, Decision, Dialect, DirEntry, End, Expect, Hook, LoadedFile,
    Outcome, Pattern, Ruling, SearchRoots, Verdict,
};
use serde_json::Value;

use super::random::Random;

pub struct Target {
    pub name: &'static str,
    pub seeds: &'static [&'static str],
    /// Parses the input. Returns whether it was valid.
    pub parse: fn(&[u8]) -> bool,
}

const CLAUDE_CONFIG: &str = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash|Edit.*","hooks":[{"type":"command","command":"./x","timeout":5,"if":"Bash(git push *)"},{"type":"http","url":"http://localhost:1/x"}]}],"Stop":[{"hooks":[{"type":"command","command":"y","async":true}]}]}}"#;
const UNIFIED_CONFIG: &str = "hooks:\n  on_tool_before:\n    - type: shell\n      command: \"echo ${SESSION}\"\n      when: \"${ITERATION} > 1\"\n      await: true\n    - rule: {block: 'rm -rf', fact: TOOL_COMMAND, message: no}\n  on_stage_complete:\n    - &a {type: webhook, url: 'https://x/y', body: {text: '${STAGE}'}}\n    - *a\n";
const ITERATR_CONFIG: &str = "version: 1\nhooks:\n  pre_iteration:\n    - command: \"echo {{session}}\"\n      pipe_output: true\n      timeout: 30\n  post_iteration: {command: x}\n";
const SKILL: &str = "---\nname: s\ndescription: a b\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - {type: command, command: ./x, once: true}\n---\n# text\n";
const CLAUDE_OUTPUT: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r","updatedInput":{"command":"x"},"additionalContext":"c"},"continue":false,"stopReason":"x","decision":"block","reason":"y","systemMessage":"z","suppressOutput":true}"#;
const MODULES: &str = "a.ts\nb.js\non_idle.sh\n";

/// All parsers.
pub const TARGETS: &[Target] = &[
    Target {
        name: "config-claude",
        seeds: &[CLAUDE_CONFIG],
        parse: |input| load_config("claude", input),
    },
    Target { name: "config-omp", seeds: &[MODULES], parse: |input| load_config("omp", input) },
    Target { name: "config-teams", seeds: &[MODULES], parse: |input| load_config("teams", input) },
    Target {
        name: "config-iteratr",
        seeds: &[ITERATR_CONFIG],
        parse: |input| load_config("iteratr", input),
    },
    Target {
        name: "config-unified",
        seeds: &[UNIFIED_CONFIG],
        parse: |input| load_config("unified", input),
    },
    Target { name: "frontmatter", seeds: &[SKILL], parse: load_skill },
    Target {
        name: "event-claude",
        seeds: &[
            r#"{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p","tool_name":"Bash","tool_input":{"command":"ls -l \u00e9"},"tool_use_id":"1"}"#,
            r#"{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Edit","tool_input":{"file_path":"/a"},"tool_response":{"success":true}}"#,
        ],
        parse: |input| receive_event("claude", input),
    },
    Target {
        name: "event-omp",
        seeds: &[
            r#"{"type":"tool_call","toolName":"bash","toolCallId":"1","input":{"command":"ls"},"ctx":{"hasUI":false,"cwd":"/p"}}"#,
            r#"{"type":"context","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}"#,
        ],
        parse: |input| receive_event("omp", input),
    },
    Target {
        name: "event-teams",
        seeds: &[
            r#"{"version":1,"event":"task_completed","team":{"id":"t","dir":"/t"},"member":"m","task":{"id":"1","subject":"s","status":"completed","metadata":{}}}"#,
        ],
        parse: |input| receive_event("teams", input),
    },
    Target {
        name: "event-iteratr",
        seeds: &[
            r#"{"hook":"pre_iteration","vars":{"session":"s","iteration":"3","task_id":"","task_content":"","error":""}}"#,
        ],
        parse: |input| receive_event("iteratr", input),
    },
    Target {
        name: "event-unified",
        seeds: &[
            r#"{"hook_point":"on_iteration_complete","vars":{"SESSION":"s","ITERATION":3,"STAGE":"plan"}}"#,
        ],
        parse: |input| receive_event("unified", input),
    },
    Target {
        name: "event-gambrel",
        seeds: &[
            r#"{"moment":"tool.before","session":"s","facts":{"tool":{"kind":"shell","args":{"command":"ls"}}}}"#,
        ],
        parse: |input| receive_event("gambrel", input),
    },
    Target { name: "output-claude", seeds: &[CLAUDE_OUTPUT], parse: read_output },
    Target {
        name: "if-rule",
        seeds: &[
            "git status && (cd x; git push --force) | tee \"$(date)\" > a <<'E'\nb\nE\n",
            "bash -c 'env A=1 timeout 5 git push' `rm -rf ${x:-$(y)}`",
        ],
        parse: check_if_rule,
    },
    Target {
        name: "condition",
        seeds: &[
            "${ITERATION} > 1 && (${STAGE} == 'plan' || !(${X} == \"y\"))",
            "${ITERATION} >= 2",
        ],
        parse: evaluate_condition,
    },
    Target {
        name: "matcher",
        seeds: &["Bash|Edit.*", "^(?:mcp__[a-z]+__\\w{1,9})+$", "(a)?(?<=a)b(?!c)\\1[^x-z]"],
        parse: match_pattern,
    },
    Target {
        name: "template",
        seeds: &[
            "echo ${A} \"${B}\" '${C}' $(x ${D}) <<E\n${E}\nE\n",
            "https://x/{{a}}?b={{c}}&${D}",
        ],
        parse: expand_templates,
    },
];

/// Tokens that mutations insert.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\n",
    "\t",
    "- ",
    "&a ",
    "*a",
    "!!str ",
    "|\n",
    "${",
    "}",
    "{{",
    "`",
    "$(",
    ")",
    "\\",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "1e999",
    "-0",
    "\u{feff}",
    "\0",
    "---\n",
    "é",
    "\u{202e}",
    "<<E\n",
    "&&",
    "||",
    "==",
    "(?:",
    ")*",
    "{1,99}",
    "%",
    "#",
    "18446744073709551616",
    "hooks",
    "PreToolUse",
    "command",
    "\"\"",
    "?",
    "*",
    "+",
];

/// Mutates a random seed a few times.
pub fn mutate(seeds: &[&str], random: &mut Random) -> Vec<u8> {
    let mut bytes = random.pick(seeds).copied().unwrap_or_default().as_bytes().to_vec();
    for _ in 0..=random.number_below(8) {
        let at = random.number_below(bytes.len() + 1);
        let end = (at + random.number_below(40)).min(bytes.len());
        match random.number_below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.extend_from_within(at..end),
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.number_below(8);
                }
            }
            4 => {
                let part = bytes[at..end].repeat(random.number_below(200));
                drop(bytes.splice(at..at, part));
            }
            5 => {
                let other = random.pick(seeds).copied().unwrap_or_default().as_bytes();
                let from = random.number_below(other.len());
                drop(bytes.splice(at..end, other[from..].iter().copied()));
            }
            _ => {
                let word = random.pick(TOKENS).copied().unwrap_or_default();
                drop(bytes.splice(at..at, word.bytes()));
            }
        }
        bytes.truncate(64 * 1024);
    }
    bytes
}

fn find_dialect(name: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.name == name)
}

fn search_roots() -> SearchRoots {
    let env = [("PI_TEAMS_HOOKS_ENABLED", "1"), ("PI_TEAMS_HOOKS_DIR", "/p/_hooks")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    SearchRoots {
        root: "/p".into(),
        project: "/p".into(),
        home: Some("/h".into()),
        config_home: Some("/h/.config".into()),
        env: Arc::new(env.into()),
        extra_sources: vec![
            ("pipeline".into(), "/p/p.yaml".into()),
            ("hook".into(), "/p/h.ts".into()),
        ],
        notes: Some(Arc::default()),
        known_paths: Vec::new(),
    }
}

/// Loads the input as the text of every file that a dialect searches, and its lines as file names.
fn load_config(name: &str, input: &[u8]) -> bool {
    load_matching(name, input, |expect| !matches!(expect, Expect::Glob(_)))
}

fn load_skill(input: &[u8]) -> bool {
    load_matching("claude", input, |expect| matches!(expect, Expect::Glob(_)))
}

fn load_matching(name: &str, input: &[u8], is_wanted: fn(Expect) -> bool) -> bool {
    let Some(dialect) = find_dialect(name) else { return false };
    let text = String::from_utf8_lossy(input).into_owned();
    let roots = search_roots();
    let entry = |name: &str| DirEntry {
        name: name.into(),
        path: PathBuf::from("/p").join(name),
        executable: true,
        is_file: true,
        special: false,
    };
    let Some(format) = dialect.hooks else { return false };
    let places = format.search(&roots).into_iter().filter(|place| is_wanted(place.expect));

    let found: Vec<LoadedFile> = places
        .map(|mut place| {
            place.path = PathBuf::from("/p").join(&place.path);
            if let Expect::Glob(_) = place.expect {
                place.path.push("skill/SKILL.md");
            }
            let entries = text.lines().take(20).map(entry).collect();
            LoadedFile { place, base: "/p".into(), text: text.clone(), entries }
        })
        .collect();

    for one in &found {
        let _places = format.referenced_files(one, &roots);
    }
    let (drafts, _complaints) = format.load_hooks(&found, &roots);
    let understood = drafts.iter().any(|draft| draft.disabled.is_none());
    for draft in drafts.into_iter().take(20) {
        let (Some(hook), _complaints) = Hook::from_draft(dialect, draft) else { continue };
        let _complaint = hook.matcher_complaint();
        stage_for_a_tool(&hook);
    }
    understood
}

const TOOL_EVENT: &str = r#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}"#;

fn stage_for_a_tool(hook: &Hook) {
    let Some(claude) = self::find_dialect("claude") else { return };
    if let Ok(event) = claude.receive_event(TOOL_EVENT.as_bytes(), CallerContext::default()) {
        let _objection = hook.format.skip_reason(&event, hook);
        let _call = hook.format.stage_call(&event, hook, &Carry::default());
    }
}

fn receive_event(name: &str, input: &[u8]) -> bool {
    let Some(dialect) = find_dialect(name) else { return false };
    let Ok(event) = dialect.receive_event(input, CallerContext::default()) else { return false };
    let verdict = Verdict::with_ruling(Ruling::Deny, "no");
    let _reply = dialect.caller.write_reply(&event, &Decision::with_caller_verdict(verdict));
    true
}

fn claude_hook(config: &str) -> Option<Hook> {
    let claude = find_dialect("claude")?;
    let roots = search_roots();
    let format = claude.hooks?;
    let place = format.search(&roots).into_iter().find(|place| place.expect == Expect::File)?;
    let found = LoadedFile { place, base: "/p".into(), text: config.into(), entries: Vec::new() };
    let (mut drafts, _complaints) = format.load_hooks(&[found], &roots);
    drafts.truncate(1);
    Hook::from_draft(claude, drafts.pop()?).0
}

fn read_output(input: &[u8]) -> bool {
    let Some(hook) = claude_hook(CLAUDE_CONFIG) else { return false };
    let Ok(event) = hook.dialect.receive_event(TOOL_EVENT.as_bytes(), CallerContext::default())
    else {
        return false;
    };
    let mut understood = false;
    for end in [End::Exited(0), End::Exited(2), End::TimedOut] {
        let by_output = end == End::Exited(0);
        let total = u64::try_from(input.len()).unwrap_or_default();
        let stdout = Captured { bytes: input.to_vec(), total, ..Captured::default() };
        let outcome = Outcome { stdout: stdout.clone(), stderr: stdout, ..Outcome::from_end(end) };
        let verdict = hook.format.read_outcome(&event, &hook, &outcome).verdict;
        understood |= by_output && verdict.ruling >= Ruling::Deny;
        let _reply =
            hook.dialect.caller.write_reply(&event, &Decision::with_caller_verdict(verdict));
    }
    understood
}

/// Tests the shell parser of `if` with the input as a tool's command.
fn check_if_rule(input: &[u8]) -> bool {
    let Some(hook) = claude_hook(CLAUDE_CONFIG) else { return false };
    let command = String::from_utf8_lossy(input);
    let event = serde_json::json!({"hook_event_name": "PreToolUse", "session_id": "s",
        "tool_name": "Bash", "tool_input": {"command": command}});
    let event = event.to_string();
    let Ok(event) = hook.dialect.receive_event(event.as_bytes(), CallerContext::default()) else {
        return false;
    };
    let is_met = hook.format.skip_reason(&event, &hook).is_none();
    let _remark = hook.format.run_remark(&event, &hook);
    is_met
}

fn evaluate_condition(input: &[u8]) -> bool {
    let Ok(condition) = Condition::parse(&String::from_utf8_lossy(input)) else { return false };
    for fact in [Fact::Is("3".into()), Fact::Unset, Fact::Absent] {
        let _truth = condition.eval(&|_| fact.clone());
    }
    true
}

fn match_pattern(input: &[u8]) -> bool {
    let Ok(pattern) = Pattern::compile(&String::from_utf8_lossy(input)) else { return false };
    let _matches = pattern.is_match("mcp__memory__create_entities aaaaaaaaaaaaaaaaaaaaaaaaaa!");
    true
}

fn expand_templates(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let lookup = |_: &str| Some("a'b\"c$(d)`e`\n".to_owned());
    let mut filled = false;
    for style in [Style::Dollar, Style::Braces] {
        filled |= expand_plain(&text, style, &lookup) != text;
        let _shell = expand_shell(&text, style, &lookup);
        let _url = expand_url(&text, style, &lookup);
        let _json = expand_json(&Value::from(text.as_ref()), style, &lookup);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::TARGETS;

    #[test]
    fn every_parser_accepts_its_seeds() {
        for target in TARGETS {
            for seed in target.seeds {
                assert!((target.parse)(seed.as_bytes()), "{}: {seed}", target.name);
            }
        }
    }
}
