//! Code that loops, hangs, uses too much memory or throws odd values is answered in time, and the
//! module stays usable.

use std::time::{Duration, Instant};

use gambrel_model::End;
use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body, emit_body, load_error};

fn short_timeout_dir() -> ModuleDir {
    ModuleDir { timeout: Duration::from_millis(300), ..ModuleDir::new() }
}

/// Runs `code` on the input "bad" and expects a timeout. The next call must succeed.
fn assert_times_out(code: &str) {
    let dir = short_timeout_dir();
    let text = format!(
        "export default (pi) => {{ pi.on(\"tool_call\", async (event, ctx) => {{
            if (event.input.command !== \"bad\") return {{ fine: true }};
            {code}
        }}); }}"
    );
    dir.write_file("m.ts", &text);
    let began = Instant::now();
    let outcome = dir.call("m.ts", bash_body("bad"));
    assert_eq!(outcome.end, End::TimedOut, "{code}: {outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{code}: {:?}", began.elapsed());

    let patient = ModuleDir { timeout: Duration::from_secs(20), ..dir };
    let answer = patient.answer("m.ts", bash_body("ls"));
    assert_eq!(answer["results"], json!([{"fine": true}]), "{code}");
}

#[test]
fn interrupts_loops() {
    assert_times_out("while (true) {}");
    assert_times_out("try { while (true) {} } catch { return 1; } finally { while (true) {} }");
    assert_times_out("for (;;) await null;");
    assert_times_out(
        "const step = () => void Promise.resolve().then(step); step(); await new Promise(() => {});",
    );
    assert_times_out("for (;;) console.log('x');");
    assert_times_out("setInterval(() => { for (;;); }, 1); await new Promise(() => {});");
}

/// Time or memory ends the chain, whichever is used up first.
#[test]
fn ends_an_endless_promise_chain() {
    let outcome = short_timeout_dir()
        .run_handler("const step = () => Promise.resolve().then(step); await step();");
    let failed = outcome.answer.is_some_and(|answer| answer["errors"] != json!([]));
    assert!(outcome.end == End::TimedOut || failed);
}

#[test]
fn interrupts_a_backtracking_regex() {
    assert_times_out("return /^(a+)+$/.test('a'.repeat(40) + 'b') ? 1 : 2;");
}

#[test]
fn ends_a_synchronous_sleep_at_the_deadline() {
    assert_times_out(
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return { slept: true };",
    );
    assert_times_out(
        "for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600_000);",
    );
}

#[test]
fn times_out_on_a_pending_promise() {
    assert_times_out("await new Promise((done) => setTimeout(done, 1e9));");
    assert_times_out("await pi.exec('sleep', ['600']);");
}

#[test]
fn a_promise_without_open_work_fails_at_once() {
    let nothing = "the handler waits for something that can no longer happen";
    assert_eq!(run_failing("await new Promise(() => {});"), nothing);
    assert_eq!(run_failing("await pi.exec('true'); await new Promise(() => {});"), nothing);
    let dir = ModuleDir::new();
    let began = Instant::now();
    let waits = dir.run_factory("pi.on('tool_call', () => 1); return new Promise(() => {});");

    let errors = &waits.answer.as_ref().unwrap()["errors"];
    let nothing = "Failed to load hook: the module waits for something that can no longer happen";
    assert_eq!((&waits.end, &errors[0]["error"]), (&End::Answered, &json!(nothing)), "{waits:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn times_out_on_endless_loading() {
    let dir = short_timeout_dir();
    for text in [
        "while (true) {}\nexport default () => {};",
        "export default (pi) => { pi.on('tool_call', () => 1); while (true) {} };",
        "await new Promise((done) => setTimeout(done, 1e9)); export default (pi) => pi.on('tool_call', () => 1);",
        "export default async (pi) => { pi.on('tool_call', () => 1); setInterval(() => {}, 5); await new Promise(() => {}); };",
    ] {
        dir.write_file("m.ts", text);
        let loaded = dir.call("m.ts", json!({"op": "load"}));
        assert!(load_error(&loaded).starts_with("Failed to load hook: "), "{text}: {loaded:?}");
        if text.contains("tool_call") {
            let asked = dir.call("m.ts", bash_body("ls"));
            assert_eq!(asked.end, End::TimedOut, "a gate must fail: {text}");
            assert!(asked.remarks[0].starts_with("Failed to load hook: "), "{text}: {asked:?}");
        }
    }
}

/// Runs `code` and expects an error or a timeout. The next call must succeed.
fn run_failing(code: &str) -> String {
    let dir = ModuleDir::new();
    let text = format!(
        "let calls = 0;\nexport default (pi) => {{ pi.on(\"tool_call\", async (event) => {{
            if (event.input.command !== \"bad\") return {{ fine: true }};
            {code}
        }}); }}"
    );
    dir.write_file("m.ts", &text);
    let outcome = dir.call("m.ts", bash_body("bad"));
    let answer = outcome.answer.clone().unwrap_or_default();
    let error = answer["errors"][0]["error"].as_str();
    assert!(outcome.end == End::TimedOut || error.is_some(), "{code}: {outcome:?}");

    let error = error.unwrap_or_default().to_owned();
    let answer = dir.answer("m.ts", bash_body("ls"));
    assert_eq!(answer["results"], json!([{"fine": true}]), "{code}");
    error
}

#[test]
fn limits_memory() {
    run_failing("const a = []; for (;;) a.push(new Array(1e6).fill(7));");
    run_failing("return { big: new Uint8Array(2 ** 31) };");
    run_failing("let s = 'x'; for (;;) s += s;");
    run_failing("const a = []; for (;;) a.push({ a: 'b'.repeat(1000) + a.length });");
    run_failing(
        "const all = []; const more = async () => { all.push('x'.repeat(1e5) + all.length); await null; return more(); }; await more();",
    );
}

#[test]
fn deep_recursion_is_an_error() {
    assert!(run_failing("const f = () => f() + 1; f();").contains("stack"));
    run_failing("let a = []; for (let i = 0; i < 200000; i++) a = [a]; return { a };");
    run_failing("let a = []; for (let i = 0; i < 1500; i++) a = [a]; return { a };");
}

#[test]
fn limits_native_recursion() {
    run_failing("JSON.parse('['.repeat(1e6));");
    run_failing(
        "new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('x'); throw new Error('read');",
    );
    run_failing("(0, eval)('('.repeat(1e5));");
    run_failing(
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a); throw new Error('said');",
    );
    run_failing(
        "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x; throw new Error('read');",
    );
    run_failing(
        "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f(); throw new Error('ran');",
    );
    run_failing("const o = { get x() { return this.x; } }; o.x;");
    run_failing("const o = { toString() { return `${this}`; } }; `${o}`;");
    run_failing(
        "let o = null; for (let i = 0; i < 5e5; i++) o = { o }; o = null; throw new Error('freed');",
    );
    run_failing("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a);");
    run_failing("const f = (n) => [1, 2].sort(() => f(n + 1)); f(0);");
    run_failing(
        "let c = class {}; for (let i = 0; i < 3e4; i++) c = class extends c {}; new c(); throw new Error('made');",
    );
    run_failing("'x'.repeat(2 ** 30);");
    run_failing("new ArrayBuffer(2 ** 40);");
}

#[test]
fn reports_odd_exceptions() {
    assert_eq!(run_failing("throw null;"), "null");
    assert_eq!(run_failing("throw undefined;"), "undefined");
    assert_eq!(run_failing("throw { toString() { throw 1; } };"), "unknown error");
    assert_eq!(run_failing("throw Symbol('s');"), "Symbol(s)");
    assert_eq!(
        run_failing("throw new Proxy({}, { getPrototypeOf() { throw 1; } });"),
        "unknown error"
    );
    assert_eq!(run_failing("throw new Error('');"), "");
}

#[test]
fn unreadable_results_are_errors() {
    run_failing("const a = {}; a.a = a; return a;");
    run_failing("return { get block() { throw new Error('no'); } };");
    run_failing("return new Proxy({}, { ownKeys() { throw new Error('no'); } });");
}

#[test]
fn process_exit_ends_only_the_handler() {
    assert_eq!(run_failing("process.exit(3);"), "process.exit(3) was called");
    assert_eq!(run_failing("process.reallyExit(0);"), "process.exit(0) was called");
    assert_eq!(run_failing("process.kill(process.pid, 'SIGKILL');"), "a hook may not end its host");
    run_failing("process.kill(0, 'SIGKILL');");
    run_failing("process.kill(-process.pid);");
    let dir = ModuleDir::new();
    let outcome = dir.run_factory("pi.on('tool_call', () => 1); process.exit(0);");
    assert!(load_error(&outcome).starts_with("Failed to load hook: process.exit(0) was called"));
}

#[test]
fn logs_stdout() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler("console.log('a', { b: 1 }); process.stdout.write('c\\n'); console.error(new Error('d').message);");
    let effects = outcome.answer.unwrap()["effects"].clone();
    let expected = json!([
        {"type": "log", "level": "info", "message": "a {\"b\":1}"},
        {"type": "log", "level": "info", "message": "c"},
        {"type": "log", "level": "error", "message": "d"}]);
    assert_eq!(effects, expected);
}

#[test]
fn isolates_modules_that_change_builtins() {
    let dir = ModuleDir::new();
    dir.run_handler("JSON.stringify = () => 'x'; Promise.prototype.then = () => {}; Array.prototype.push = null; globalThis.__gambrel = 1;");
    dir.write_file("other.ts", "export default (pi) => { pi.on('tool_call', () => ({ n: 1 })); }");
    let answer = dir.answer("other.ts", bash_body("ls"));
    assert_eq!(answer["results"], json!([{"n": 1}]));
    let deaf = "Map.prototype.get = () => undefined; Map.prototype.set = () => {}; pi.on('tool_call', () => ({ block: true }));";
    assert_eq!(dir.run_factory(deaf).answer.unwrap()["results"], json!([{"block": true}]));
}

#[test]
fn limits_the_number_of_effects() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler("for (let i = 0; i < 5000; i++) ctx.ui.notify('n' + i);");
    let answer = outcome.answer.unwrap();
    let effects = answer["effects"].as_array().unwrap();
    assert_eq!(effects.len(), 1001);
    assert_eq!(effects[1000]["type"], "warning");
}

/// The contract's redaction example on the largest event, with two-byte characters.
#[test]
fn handles_large_results() {
    let dir = ModuleDir::new();
    dir.write_file(
        "m.ts",
        r#"export default (pi: any) => pi.on("tool_result", async (event: any) => ({
            content: event.content.map((c: any) => ({ ...c, text: c.text.replaceAll(/API_KEY=\S+/g, "API_KEY=[REDACTED]") })),
        }));"#,
    );
    let line = "API_KEY=abcdef some wörds → in here\n";
    let text = line.repeat((7 << 20) / line.len());
    let event = json!({"type": "tool_result", "toolName": "read", "toolCallId": "1", "input": {},
                       "content": [{"type": "text", "text": text}], "isError": false});
    let answer = dir.answer("m.ts", emit_body(event));
    assert_eq!(answer["errors"], json!([]));
    let redacted = answer["results"][0]["content"][0]["text"].as_str().unwrap();
    assert!(redacted.contains("[REDACTED]") && !redacted.contains("abcdef"));
    // The extra memory is taken back afterwards.
    let hog = dir.run_handler("const a = []; for (;;) a.push(new Uint8Array(1 << 20));");
    assert_ne!(hog.answer.unwrap()["errors"], json!([]));
}
