//! Compares matchers with the regular expressions of Node: both must accept the same expressions
//! and match the same names. Skipped with a message if `node` is not installed.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use gambrel_dialects::DIALECTS;
use gambrel_model::{ConfigPath, Expect, Hook, LoadedFile, Scope, SearchRoots};
use serde_json::{Value, json};

const NAMES: [&str; 16] = [
    "Bash",
    "bash",
    "Edit",
    "MultiEdit",
    "mcp__srv__look",
    "mcp__srv-2__a.b",
    "A{1}",
    "a-b",
    "Z",
    "x1",
    "[x]",
    "aa",
    "Write\nRead",
    "é",
    "$&~",
    "p{L}",
];

/// Common expressions, and those in which regex engines are known to differ.
const WRITTEN: [&str; 51] = [
    "^Bash$",
    "Edit|Write.*",
    "mcp__.*",
    "mcp__.*__look",
    "(?i)bash",
    "[^]",
    "[]",
    "a{",
    "A{1}",
    r"A\{1\}",
    "{",
    "}",
    "]",
    r"\A",
    r"\Z",
    r"\z",
    r"\p{L}",
    r"[\w-.]",
    r"[.-\w]",
    r"[a-\d]",
    "[[:alpha:]]",
    "[a&&b]",
    "[a--b]",
    "[~~]",
    r"\d",
    r"\W",
    r"\S+$",
    r"\/",
    r"\-",
    r"\_",
    r"\x42ash",
    r"\u0042ash",
    r"\xZ",
    r"\u00",
    "a**",
    "a*+",
    "a++",
    "a{2}{3}",
    "*",
    "+a",
    "(a",
    "a)",
    "[a",
    "(?<name>a)",
    "(?P<name>a)",
    "(?#no)",
    "(?>a)",
    "(?<!Multi)Edit",
    "^(?!Bash)",
    r"(a)\1",
    "[z-a]",
];

/// Pseudo-random expressions from a fixed seed.
fn made(count: usize) -> Vec<String> {
    const PIECES: [&str; 34] = [
        "a", "B", "x", "1", "-", ".", "*", "+", "?", "|", "^", "$", "(", ")", "(?:", "(?=", "(?!",
        "[", "]", "[^", "{", "}", "{1}", "{0,2}", "\\", r"\w", r"\d", r"\s", r"\b", r"\.", "&&",
        "~", "__", "é",
    ];
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    // The group makes sure that none is a plain list of names.
    let one = |next: &mut dyn FnMut(usize) -> usize| {
        let pieces = 1 + next(6);
        (0..pieces).map(|_| PIECES[next(PIECES.len())]).collect::<String>() + "()"
    };
    (0..count).map(|_| one(&mut next)).collect()
}

fn node(patterns: &[String]) -> Option<Vec<Value>> {
    const PROGRAM: &str = "let t='';process.stdin.on('data',d=>t+=d).on('end',()=>{\
        const {patterns,names}=JSON.parse(t);\
        console.log(JSON.stringify(patterns.map(p=>{try{const r=new RegExp(p);\
        return names.map(n=>r.test(n))}catch{return null}})))})";
    let mut child = Command::new("node")
        .args(["-e", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let asked = json!({"patterns": patterns, "names": NAMES}).to_string();
    child.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ours(pattern: &str) -> Value {
    let settings = json!({"hooks": {"PreToolUse": [{
        "matcher": pattern, "hooks": [{"type": "command", "command": "true"}]
    }]}});
    let path = PathBuf::from("/p/.claude/settings.json");
    let place = ConfigPath { path, scope: Scope::User, expect: Expect::File, tag: "user" };
    let found =
        LoadedFile { place, base: "/p".into(), text: settings.to_string(), entries: vec![] };
    let claude = DIALECTS.iter().find(|dialect| dialect.name == "claude").unwrap();
    let (mut drafts, _) = claude
        .hooks
        .unwrap()
        .load_hooks(&[found], &SearchRoots { root: "/p".into(), ..SearchRoots::default() });
    let (hook, _) = Hook::from_draft(claude, drafts.remove(0));
    let hook = hook.unwrap();
    match hook.draft.disabled {
        Some(_) => Value::Null,
        None => json!(NAMES.map(|name| hook.matcher.matches([name].into_iter()))),
    }
}

#[test]
fn matchers_agree_with_javascript() {
    let mut patterns: Vec<String> = WRITTEN.iter().map(|text| (*text).to_owned()).collect();
    // JavaScript matches a back-reference to a later group with the empty text, so these are left
    // out.
    patterns.extend(made(3_000).into_iter().filter(|text| !text.contains(r"\1")));
    let plain =
        |text: &String| text.chars().all(|c| c.is_ascii_alphanumeric() || " _,|-".contains(c));
    patterns.retain(|text| !plain(text) && text != "*");
    let Some(theirs) = node(&patterns) else {
        eprintln!("skipped: `node` is not installed");
        return;
    };
    let differs = |(pattern, theirs): (&String, &Value)| {
        let ours = ours(pattern);
        (ours != *theirs).then(|| format!("{pattern:?}: {theirs} in JavaScript, {ours} here"))
    };
    let wrong: Vec<String> = patterns.iter().zip(&theirs).filter_map(differs).collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        patterns.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}
