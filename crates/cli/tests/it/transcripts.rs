//! The text that people read: `log`, `show`, `list`, `check`, `replay` and `test`, in one project.
//! Times, ids and durations are masked; every other character counts.

use serde_json::{Value, json};

use crate::test_project::{TestProject, text};

const GUARD: &str = "#!/bin/sh\ncase $(cat) in *'rm -rf'*) echo 'no recursive rm' >&2; exit 2;; \
    *--force*) echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\",\
    \"updatedInput\":{\"command\":\"git push\"}}}';; esac\n";
const REDACTION: &str = "export default (pi) => pi.on('tool_result', (event) => ({
    content: event.content.map((part) => ({...part, text: part.text.replaceAll(/key-[0-9]+/g, '***')}))
}));\n";
const YAML: &str = "hooks:\n  on_iteration_complete:\n    - {type: shell, name: lint, command: make lint, \
    await: true, when: \"${ITERATION} > 1\"}\n";
const CASES: &str = "cases:
  - name: denies rm -rf
    fire: {from: claude, event: PreToolUse, with: {tool_input: {command: rm -rf build}}}
    expect: {ruling: deny, reasons: [no recursive rm]}
  - name: lets rm pass
    fire: {from: claude, event: PreToolUse, with: {tool_input: {command: rm a.txt}}}
    expect: {ruling: deny}
";

fn project() -> TestProject {
    let project = TestProject::new();
    let hook = |command: &str| json!({"type": "command", "command": command, "timeout": 5});
    let group = |matcher: &str, hooks: &[Value]| json!([{"matcher": matcher, "hooks": hooks}]);
    let settings = json!({"hooks": {
        "PreToolUse": group("Bash", &[hook("\"$CLAUDE_PROJECT_DIR\"/guard.sh")]),
        "PostToolUse": group("", &[hook("cat > /dev/null; echo '{\"systemMessage\":\"lint is clean\"}'")]),
    }});
    project.file(".claude/settings.json", &format!("{settings:#}\n"));
    project.script("guard.sh", GUARD);
    project.file(".omp/hooks/post/redact.ts", REDACTION);
    project.file(".gambrel/hooks.yaml", YAML);
    project.file(".gambrel/tests/guard.case.yaml", CASES);
    project
}

/// Fires an event for Bash, and returns the id of the firing.
fn fire(project: &TestProject, event: &str, command: &str, output: Option<&str>) -> String {
    let mut payload = json!({"hook_event_name": event, "session_id": "night", "tool_name": "Bash",
        "tool_input": {"command": command}, "tool_use_id": "1"});
    if let Some(output) = output {
        payload["tool_response"] = json!({"stdout": output, "stderr": "", "interrupted": false});
    }
    project.decide("claude", &payload.to_string())["id"].as_str().unwrap().to_owned()
}

/// The output of a command, with `$ gambrel …` before it.
fn transcript(project: &TestProject, ids: &[String], args: &[&str]) -> String {
    let output = project.run(args, b"");
    let shown = text(&output.stdout) + &text(&output.stderr);
    let mut shown = shown.replace(&project.root.display().to_string(), "PROJECT");
    let mut line = format!("$ gambrel {}\n", args.join(" "));
    for (index, id) in ids.iter().enumerate() {
        let short: String = id.split_once('-').unwrap().1.chars().take(6).collect();
        for text in [&mut shown, &mut line] {
            *text =
                text.replace(id, &format!("ID{index}")).replace(&short, &format!("id-00{index}"));
        }
    }
    line + &mask_numbers(&shown)
}

/// Puts fixed digits in place of times, durations and ids of hooks.
fn mask_numbers(text: &str) -> String {
    let mask_word = |word: &str| {
        let is_time = word.len() == 8 && word.bytes().filter(|byte| *byte == b':').count() == 2;
        let is_date = word.len() == 10 && word.bytes().filter(|byte| *byte == b'-').count() == 2;
        let is_offset = word.len() == 6 && word.as_bytes()[3] == b':';
        let hook =
            ["claude-", "omp-", "unified-"].into_iter().find(|start| word.starts_with(start));
        match hook {
            Some(start) if word.len() == start.len() + 12 => format!("{start}{}", "0".repeat(12)),
            _ if is_time => "12:00:00".to_owned(),
            _ if is_date => "2026-01-01".to_owned(),
            _ if is_offset && word.starts_with(['+', '-']) => "+00:00".to_owned(),
            _ => word.to_owned(),
        }
    };
    let mask_line = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(mask_word).collect();
        for index in 1..words.len() {
            if words[index].trim_end_matches(',') == "ms" {
                let sign = if words[index - 1].starts_with('+') { "+" } else { "" };
                words[index - 1] = format!("{sign}1");
            }
        }
        words.join(" ")
    };
    text.split('\n').map(mask_line).collect::<Vec<_>>().join("\n")
}

#[test]
fn commands_print_what_people_read() {
    let project = project();
    let ids = [
        fire(&project, "PreToolUse", "ls", None),
        fire(&project, "PreToolUse", "rm -rf build", None),
        fire(&project, "PreToolUse", "git push --force", None),
        fire(&project, "PostToolUse", "cat .env", Some("A=key-1\nB=key-2\n")),
    ];
    let mut shown = String::new();
    for args in [
        &["log"][..],
        &["log", "--denied"],
        &["show", &ids[1]],
        &["show", &ids[2]],
        &["show", "last"],
        &["list"],
        &["check"],
        &["replay", &ids[1]],
    ] {
        shown += &transcript(&project, &ids, args);
    }
    project.script("guard.sh", "#!/bin/sh\nexit 0\n");
    shown += &transcript(&project, &ids, &["replay", "--session", "night"]);
    project.script("guard.sh", GUARD);
    shown += &transcript(&project, &ids, &["test"]);
    let broken = ".claude/settings.json";
    project.file(broken, "{\"hooks\": {\"PreToolCall\": [], \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"./gone.sh\"}]}]}}\n");
    project.file(".cursor/hooks.json", "{\"version\": 1, \"hooks\": {\"stop\": []}}\n");
    shown += &transcript(&project, &ids, &["check", broken, ".cursor/hooks.json"]);
    assert_eq!(shown, EXPECTED, "\n{shown}");
}

const EXPECTED: &str = r#"$ gambrel log
TIME      ID      RULING  EVENT        TOOL  RAN  ABOUT                 WHY
12:00:00  id-000  silent  PreToolUse   Bash  1/2  ls
12:00:00  id-001  deny    PreToolUse   Bash  1/2  rm -rf build          no recursive rm
12:00:00  id-002  allow   PreToolUse   Bash  1/2  git push --force      rewrote input
12:00:00  id-003  silent  PostToolUse  Bash  2/2  cat .env              rewrote output
$ gambrel log --denied
TIME      ID      RULING  EVENT        TOOL  RAN  ABOUT                 WHY
12:00:00  id-001  deny    PreToolUse   Bash  1/2  rm -rf build          no recursive rm
$ gambrel show ID1
firing ID1  finished
  time     2026-01-01 12:00:00 +00:00
  event    PreToolUse from claude (tool.before)
  tool     Bash
  command  rm -rf build
  session  night
  folder   PROJECT
  ruling   deny (reply to the caller: deny)
  trust    every hook may run, by GAMBREL_TRUST=all
  because  no recursive rm ("$CLAUDE_PROJECT_DIR"/guard.sh)
  hook     "$CLAUDE_PROJECT_DIR"/guard.sh · exited 2 · 1 ms · deny
           PROJECT/.claude/settings.json:7
           no recursive rm
  stderr   no recursive rm
  hook     redact.ts · skipped
           PROJECT/.omp/hooks/post/redact.ts
           denied already by "$CLAUDE_PROJECT_DIR"/guard.sh
  journal  accepted, finished +1 ms
$ gambrel show ID2
firing ID2  finished
  time     2026-01-01 12:00:00 +00:00
  event    PreToolUse from claude (tool.before)
  tool     Bash
  command  git push --force
  session  night
  folder   PROJECT
  ruling   allow (reply to the caller: allow)
  trust    every hook may run, by GAMBREL_TRUST=all
  hook     "$CLAUDE_PROJECT_DIR"/guard.sh · exited 0 · 1 ms · allow
           PROJECT/.claude/settings.json:7
  stdout   {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"git push"}}}
  hook     redact.ts · skipped
           PROJECT/.omp/hooks/post/redact.ts
           it has no handler for tool_call
  rewrite  input by "$CLAUDE_PROJECT_DIR"/guard.sh
           - command: git push --force
           + command: git push
  journal  accepted, finished +1 ms
$ gambrel show last
firing ID3  finished
  time     2026-01-01 12:00:00 +00:00
  event    PostToolUse from claude (tool.after)
  tool     Bash
  command  cat .env
  session  night
  folder   PROJECT
  record   `tool_response` is left out
  ruling   silent (reply to the caller: silent)
  trust    every hook may run, by GAMBREL_TRUST=all
  hook     cat > /dev/null; echo '{"systemMessage":"lint is clean"}' · exited 0 · 1 ms · silent
           PROJECT/.claude/settings.json:19
  stdout   {"systemMessage":"lint is clean"}
  hook     redact.ts · answered · 1 ms · silent
           PROJECT/.omp/hooks/post/redact.ts
  rewrite  output by redact.ts, 2 places changed (before: 16 bytes, sha256 e8b0847b889a…)
           + A=***
           + B=***
  message  to you, from cat > /dev/null; echo '{"systemMessage":"lint is clean"}':
           lint is clean
  journal  accepted, finished +1 ms
$ gambrel list
RUN  DIALECT  EVENT                  MATCHER  DESCRIPTION
run  claude   PreToolUse             Bash     "$CLAUDE_PROJECT_DIR"/guard.sh
      claude-000000000000 · .claude/settings.json:7 · trusted · shell · timeout 5 s
run  claude   PostToolUse            *        cat > /dev/null; echo '{"systemMessage":"lint is clea…
      claude-000000000000 · .claude/settings.json:19 · trusted · shell · timeout 5 s
run  omp      tool_result            *        .omp/hooks/post/redact.ts
      omp-000000000000 · .omp/hooks/post/redact.ts · trusted · module · timeout 30 s
run  unified  on_iteration_complete  *        lint: make lint
      unified-000000000000 · .gambrel/hooks.yaml:3 · trusted · shell · if ${ITERATION} > 1
      timeout 300 s
GAMBREL_TRUST=all lets every hook of this project run, also untrusted ones
$ gambrel check
4 hooks, no complaints
$ gambrel replay ID1
id-001 PreToolUse Bash rm -rf build
  DIALECT  HOOK                            OUTCOME   VERDICT  WHY
  claude   "$CLAUDE_PROJECT_DIR"/guard.sh  exited 2  deny     no recursive rm
  omp      redact.ts                       skipped   -
           denied already by "$CLAUDE_PROJECT_DIR"/guard.sh
  ruling: deny
    because no recursive rm ("$CLAUDE_PROJECT_DIR"/guard.sh)
  recorded: deny: no recursive rm
  unchanged
$ gambrel replay --session night
id-001 PreToolUse Bash rm -rf build
  deny (no recursive rm) -> silent
id-002 PreToolUse Bash git push --force
  allow -> silent
4 firings replayed, 2 decisions change; 1 event is recorded in part
$ gambrel test
.gambrel/tests/guard.case.yaml
  ok    denies rm -rf
  FAIL  lets rm pass
        step 1: PreToolUse from claude
          ruling
            expected  deny
            observed  silent
          hooks
            "$CLAUDE_PROJECT_DIR"/guard.sh · exited 0 · silent
            redact.ts · skipped · it has no handler for tool_call
2 cases: 1 passed, 1 failed
$ gambrel check .claude/settings.json .cursor/hooks.json
error: unknown event `PreToolCall`: its hooks run only if a caller sends that name
 --> PROJECT/.claude/settings.json:1:12
  |
1 | {"hooks": {"PreToolCall": [], "Stop": [{"hooks": [{"type": "command", "command": "./gone.sh"}]}]}}
  |            ^^^^^^^^^^^^^
  |
help: did you mean `PreToolUse`?

error: there is no file gone.sh: this hook fails every time
 --> PROJECT/.claude/settings.json:1:51
  |
1 | {"hooks": {"PreToolCall": [], "Stop": [{"hooks": [{"type": "command", "command": "./gone.sh"}]}]}}
  |                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: write the file, or correct its path

note: hooks of Cursor, which runs them itself: gambrel does not read them
 --> PROJECT/.cursor/hooks.json
help: put hooks for every agent into .gambrel/hooks.yaml

1 hook, 2 errors, 0 warnings, 1 note
"#;
