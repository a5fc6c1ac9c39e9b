//! Matches rules with commands, paths and tools. Starts no process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gambrel_model::{CallerContext, Event};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::shell::ShellScript;
use super::{IfQuery, IfRule, RuleMatch};
use crate::claude::CLAUDE;

fn event() -> Event {
    let env = Arc::new(BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]));
    let arrival = CallerContext { cwd: "/p/sub".into(), env, ..CallerContext::default() };
    let native = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash"});
    let mut event = CLAUDE.receive_event(native.to_string().as_bytes(), arrival).expect("an event");
    event.project = "/p".into();
    event
}

fn runs(rule: &str, name: &str, input: Value) -> bool {
    let asked = IfQuery { name, input: &input, event: &event(), base: Path::new("/p") };
    !matches!(IfRule::parse(rule).expect("a rule").match_call(&asked), RuleMatch::NoMatch(_))
}

fn bash(rule: &str, command: &str) -> bool {
    runs(&format!("Bash({rule})"), "Bash", json!({"command": command}))
}

fn edits(rule: &str, path: &str) -> bool {
    runs(rule, "Edit", json!({"file_path": path}))
}

#[test]
fn here_documents_match_every_rule_in_doubt() {
    let doubt = |rule: &str, command: &str| {
        let input = json!({"command": command});
        let asked = IfQuery { name: "Bash", input: &input, event: &event(), base: Path::new("/p") };
        IfRule::parse(rule).expect("a rule").match_call(&asked)
    };
    let why = RuleMatch::Doubtful("the command has a here-document");
    for rule in ["Bash(git push *)", "Bash(git *)", "Bash(git)", "Bash(npm run build)"] {
        for fed in ["cat <<EOF\ngit push\nEOF", "cat <<'E'\nx\nE", "x=$(cat <<-E\n\tx\n\tE\n)"] {
            assert_eq!(doubt(rule, fed), why, "{rule} {fed}");
        }
    }
    assert_eq!(doubt("Bash(cat *)", "cat <<E\nx\nE"), RuleMatch::Match);
    let none = RuleMatch::NoMatch("no sub-command matches".to_owned());
    assert_eq!(doubt("Bash(git *)", "cat <<< 'git push'"), none);
    assert!(matches!(doubt("Bash(git push *)", "echo $(date)"), RuleMatch::Doubtful(_)));
    assert!(matches!(doubt("Bash(git *)", "echo 'open"), RuleMatch::Doubtful(_)));
}

#[test]
fn finds_sub_commands_anywhere() {
    let push = [
        "git push",
        "git push origin main",
        "ls && git push x",
        "ls || git push",
        "ls; git push",
        "ls | git push",
        "ls & git push",
        "ls\ngit push",
        "(git push)",
        "{ git push; }",
        "A=1 B=2 git push",
        "if x; then git push; fi",
        "for i in 1 2; do git push; done",
        "while git push; do x; done",
        "case a in b) git push;; esac",
        "f() { git push; }",
        "! git push",
        "time git push",
        "git push > log 2>&1",
        "git \\\n push",
        "git 'push' x",
        "g\"it\" push",
        "$'git' push",
        "/usr/bin/git push",
        "\\git push",
        "coproc git push",
        "[[ -n x ]] && git push",
        "x=(a b); git push",
        "# note\ngit push",
        "env -i X=1 git push",
        "sudo -u root git push",
        "timeout -k 1 5s git push",
        "nice -n 5 nohup git push",
        "command git push",
        "exec git push",
        "echo | xargs git push",
        "echo push | xargs git",
        "find . -exec git push {} ;",
        "find . -name '*.x' -exec git {} +",
        "bash -c 'git push'",
        "bash -lc 'cd x && git push'",
        "sh -e -c \"git push\"",
        "sudo bash -c 'A=1 git push'",
        "bash -o pipefail -c 'git push'",
        "env -S 'git push'",
        "eval 'git push'",
        "eval git push",
        "bash -c \"bash -c 'git push'\"",
        "trap 'git push' EXIT",
    ];
    for command in push {
        assert!(bash("git push *", command), "{command}");
        assert!(bash("git push:*", command), "{command}");
    }
    let others = [
        "git pull",
        "git pushy",
        "echo git push",
        "echo 'git push'",
        "echo 'a; git push'",
        "ls",
        "# git push",
        "bash push.sh",
        "git status && ls",
        "bash -c 'git pull'",
        "gitpush",
        "env X=1 ls",
        "echo $HOME",
        "echo \"$A\" ${B}",
        "[[ git == push ]]",
    ];
    for command in others {
        assert!(!bash("git push *", command), "{command}");
    }
}

#[test]
fn finds_commands_inside_words() {
    let inside = [
        "echo $(rm x)",
        "echo `\\\\rm x`",
        "echo `echo \\`rm x\\``",
        "echo \"$((rm x) && a)\"",
        "((rm x) | a)",
        "echo `rm x`",
        "echo \"a $(rm x)\"",
        "cat <(rm x)",
        "x=$(rm y)",
        "echo ${a:-$(rm x)}",
        "echo $((1+$(rm x)))",
        "cat <<E\n$(rm x)\nE",
        "cat > $(rm x)",
        "[[ -n $(rm x) ]]",
        "a=(1 $(rm x))",
        "cat <<< $(rm x)",
        "for i in $(rm x); do y; done",
        "echo $(a $(b $(c $(d $(rm x)))))",
        "case $(rm x) in a) b;; esac",
        "(( $(rm x) ))",
    ];
    for command in inside {
        assert!(bash("rm *", command), "{command}");
    }
    for command in ["echo $(ls x)", "echo '$(rm x)'", "cat <<< '$(rm x)'", "echo \\$\\(rm x\\)"] {
        assert!(!bash("rm *", command), "{command}");
    }
}

#[test]
fn unknown_parts_match_in_doubt() {
    for command in [
        "git $X",
        "$X origin",
        "$GIT push",
        "git {push,pull}",
        "git p*",
        "bash -c \"$X\"",
        "eval $X",
        "echo 'open",
        "if x",
        "cat <<E\nx\nE",
        "echo $(date)",
        "echo `date`",
        "a )",
    ] {
        assert!(bash("git push *", command), "{command}");
    }
    for fed in [
        "bash <<E\ngit push\nE",
        "sh <<<'git push'",
        "curl x | sudo bash -s -- y",
        "echo git push | sh -e",
        "bash -o pipefail < script",
    ] {
        assert!(bash("git push *", fed) && bash("rm *", fed), "{fed}");
    }
    assert!(!bash("rm *", "bash -x build.sh") && !bash("git *", "echo $(date)"));
    assert!(bash("git *", "$X y") && !bash("git *", "echo $X"));
    assert!(runs("Bash(git *)", "Bash", json!({})) && runs("Edit(src/**)", "Edit", json!({})));
}

#[test]
fn matches_stars_anywhere_and_exact_rules() {
    assert!(bash("npm run build", "npm run build") && !bash("npm run build", "npm run build x"));
    assert!(bash("* --force", "git push --force") && !bash("* --force", "git push"));
    assert!(bash("git * main", "git push main") && !bash("git * main", "git main"));
    assert!(bash("echo \\*", "echo '*'") && !bash("echo \\*", "echo x"));
    assert!(bash("*", "ls") && bash("A=1 ls", "A=1 ls") && !bash("ls *", "lsof"));
}

#[test]
fn matches_paths_as_gitignore_patterns() {
    for (rule, path) in [
        ("Edit(src/**)", "/p/src/a/b.rs"),
        ("Edit(src/**)", "src/x"),
        ("Edit(*.ts)", "/p/a/b.ts"),
        ("Edit(//etc/**)", "/etc/x/y"),
        ("Edit(~/x)", "/h/x/y"),
        ("Edit(/src/*.ts)", "/p/src/a.ts"),
        ("Edit(./a)", "/p/sub/a"),
        ("Edit(a/**/b)", "/p/a/b"),
        ("Edit(a/**/b)", "/p/a/1/2/b"),
        ("Edit(.env*)", "/p/.env.local"),
        ("Edit(src/)", "/p/src/x"),
        ("Edit(src/**)", "/p/x/../src/y"),
        ("Edit([a-c]?.md)", "/p/b1.md"),
        ("Edit(**/secret)", "/p/sub/secret"),
        ("Edit", "/any"),
    ] {
        assert!(edits(rule, path), "{rule} {path}");
    }
    for (rule, path) in [
        ("Edit(src/**)", "/q/src/x"),
        ("Edit(src/**)", "/p/lib/src2/x"),
        ("Edit(*.ts)", "/p/a.tsx"),
        ("Edit(src/*.ts)", "/p/src/a/b.ts"),
        ("Edit(~/x)", "/p/x"),
        ("Edit([!a]x)", "/p/ax"),
        ("Edit(src/**)", "/p/src/../lib/x"),
        ("Write(*.ts)", "/p/a.ts"),
        ("Read(*.ts)", "/p/a.ts"),
    ] {
        assert!(!edits(rule, path), "{rule} {path}");
    }
    for tool in ["Write", "MultiEdit", "Edit"] {
        assert!(runs("Edit(*.ts)", tool, json!({"file_path": "/p/a.ts"})));
    }
    assert!(runs("Read(secret/**)", "Grep", json!({"pattern": "x"})));
    assert!(!runs("Read(secret/**)", "Grep", json!({"pattern": "x", "path": "/p/src"})));
}

#[test]
fn matches_tools_domains_and_agents_by_name() {
    let named = |rule: &str, name: &str| runs(rule, name, json!({}));
    assert!(named("mcp__srv__.*", "mcp__srv__t") && named("mcp__srv__*", "mcp__srv__t"));
    assert!(named("mcp__srv", "mcp__srv__t") && !named("mcp__srv", "mcp__srv2__t"));
    assert!(named("Task", "Agent") && !named("Bash", "Edit") && !named("Bas", "Bash"));
    let fetch = |rule: &str, url: &str| runs(rule, "WebFetch", json!({"url": url}));
    assert!(fetch("WebFetch(domain:example.com)", "https://me@Example.com:8/x"));
    assert!(fetch("WebFetch(domain:example.com)", "https://a.example.com"));
    assert!(!fetch("WebFetch(domain:example.com)", "https://notexample.com/example.com"));
    assert!(runs("Agent(Explore)", "Task", json!({"subagent_type": "Explore"})));
    assert!(!runs("Agent(Explore)", "Task", json!({"subagent_type": "Plan"})));
}

#[test]
fn refuses_malformed_rules_and_warns_of_doubtful_ones() {
    for rule in ["", "Bash(git", "Bash(a) Bash(b)", "Bash(a), Edit(b)", "Edit|Write", "(x)"] {
        assert!(IfRule::parse(rule).is_err(), "{rule}");
    }
    let doubt = |rule: &str| IfRule::parse(rule).expect("a rule").warning();
    assert!(doubt("Bsh(git *)").is_some() && doubt("TodoWrite(x)").is_some());
    assert!(doubt("Bash(f (x))").is_none() && doubt("mcp__a__b").is_none());
}

#[test]
fn texts_that_would_exhaust_the_parser_are_doubtful() {
    let deep = |open: &str, close: &str| open.repeat(5_000) + "x" + &close.repeat(5_000);
    for text in [
        deep("$(", ")"),
        deep("(", ")"),
        deep("$(echo ')' ", ")"),
        deep("\"$(", ")\""),
        deep("`", ""),
        deep("{ ", "; }"),
        deep("if ", ""),
        deep("i\\\nf ", ""),
        deep("[[ ! ", ""),
        deep("${x:-", "}"),
        deep("<(", ")"),
        "x".repeat(70_000),
    ] {
        assert!(ShellScript::parse_line(&text).doubtful, "{}", &text[..20]);
    }
    for text in [
        deep("a;", ""),
        deep("! ", ""),
        format!("echo $(({}1))", "-".repeat(60_000)),
        deep("f() ", ""),
        format!("[[ {} x ]]", "x && ".repeat(10_000)),
        format!("echo {}", deep("{a,", "}")),
        format!("echo $(({}1))", "1+".repeat(30_000)),
        format!("echo $(({}1))", "1?".repeat(30_000)),
        format!("echo $(({}1))", "~!".repeat(30_000)),
        format!("echo $(({}", "a[".repeat(30_000)),
        format!("echo $(({}1))", "a=".repeat(30_000)),
        format!("echo $(({}1))", "2**".repeat(20_000)),
    ] {
        drop(ShellScript::parse_line(&text));
    }
}

proptest! {
    #[test]
    fn never_panics_on_any_rule_or_command(
        command in r#"([a-z \n;&|(){}$`'"\\<>!#*?=\[\]~0-9é-]|\$\(|<<E|\$\{|\$'|if |do |bash -c )*"#,
        rule in r"[A-Za-z_]{1,4}(\([a-z *:/~\\.\[\]-]*\))?",
    ) {
        let input = json!({"command": command, "file_path": command, "url": command});
        if let Ok(rule) = IfRule::parse(&rule) {
            let asked = IfQuery { name: "Bash", input: &input, event: &event(), base: Path::new("/p") };
            drop(rule.match_call(&asked));
        }
        let rule = IfRule::parse(&format!("Edit({command})"));
        let asked = IfQuery { name: "Edit", input: &input, event: &event(), base: Path::new("/p") };
        drop(rule.map(|rule| rule.match_call(&asked)));
        drop(ShellScript::parse_line(&command));
    }

    #[test]
    fn finds_a_command_between_any_others(
        before in "[a-z ]{0,8}", after in "[a-z '\"$(){}`\\\\<|&;#]{0,12}", join in "&&|\\|\\||;|\\||\n|&",
    ) {
        let command = format!("{before}x {join} rm y; {after}");
        prop_assert!(bash("rm *", &command), "{}", command);
    }
}
