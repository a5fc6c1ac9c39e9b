//! Code that loops, waits for ever, eats memory, throws oddly or writes where it must not: an
//! answer in time, and the module usable afterwards.

use std::time::{Duration, Instant};

use gambrel_model::End;
use serde_json::json;

use crate::stand::{Stand, bash, emit, unstarted};

fn hasty() -> Stand {
    Stand { timeout: Duration::from_millis(300), ..Stand::new() }
}

/// Misbehaves on "bad", answers on anything else.
fn late(code: &str) {
    let stand = hasty();
    let text = format!(
        "export default (pi) => {{ pi.on(\"tool_call\", async (event, ctx) => {{
            if (event.input.command !== \"bad\") return {{ fine: true }};
            {code}
        }}); }}"
    );
    stand.write("m.ts", &text);
    let began = Instant::now();
    let outcome = stand.call("m.ts", bash("bad"));
    assert_eq!(outcome.end, End::TimedOut, "{code}: {outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{code}: {:?}", began.elapsed());
    let patient = Stand { timeout: Duration::from_secs(20), ..stand };
    let answer = patient.answer("m.ts", bash("ls"));
    assert_eq!(answer["results"], json!([{"fine": true}]), "{code}");
}

#[test]
fn loops_are_interrupted() {
    late("while (true) {}");
    late("try { while (true) {} } catch { return 1; } finally { while (true) {} }");
    late("for (;;) await null;");
    late(
        "const step = () => void Promise.resolve().then(step); step(); await new Promise(() => {});",
    );
    late("for (;;) console.log('x');");
    late("setInterval(() => { for (;;); }, 1); await new Promise(() => {});");
}

/// Each waits for the next: time or memory ends it, whichever is over first.
#[test]
fn a_chain_of_promises_without_end_has_one() {
    let outcome = hasty().handler("const step = () => Promise.resolve().then(step); await step();");
    let failed = outcome.answer.is_some_and(|answer| answer["errors"] != json!([]));
    assert!(outcome.end == End::TimedOut || failed);
}

#[test]
fn a_regular_expression_that_backtracks_is_interrupted() {
    late("return /^(a+)+$/.test('a'.repeat(40) + 'b') ? 1 : 2;");
}

#[test]
fn a_sleep_on_the_spot_ends_at_the_deadline() {
    late("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); return { slept: true };");
    late("for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600_000);");
}

#[test]
fn a_promise_that_never_ends_is_late() {
    late("await new Promise((done) => setTimeout(done, 1e9));");
    late("await pi.exec('sleep', ['600']);");
}

#[test]
fn a_promise_that_nothing_can_settle_is_an_error_at_once() {
    let nothing = "nothing that the handler waits for can happen any more";
    assert_eq!(fails("await new Promise(() => {});"), nothing);
    assert_eq!(fails("await pi.exec('true'); await new Promise(() => {});"), nothing);
    let stand = Stand::new();
    let began = Instant::now();
    let waits = stand.body("pi.on('tool_call', () => 1); return new Promise(() => {});");
    let errors = &waits.answer.as_ref().unwrap()["errors"];
    let nothing = "Failed to load hook: nothing that the module waits for can happen any more";
    assert_eq!((&waits.end, &errors[0]["error"]), (&End::Answered, &json!(nothing)), "{waits:?}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_module_that_never_ends_loading_is_told_so() {
    let stand = hasty();
    for text in [
        "while (true) {}\nexport default () => {};",
        "export default (pi) => { pi.on('tool_call', () => 1); while (true) {} };",
        "await new Promise((done) => setTimeout(done, 1e9)); export default (pi) => pi.on('tool_call', () => 1);",
        "export default async (pi) => { pi.on('tool_call', () => 1); setInterval(() => {}, 5); await new Promise(() => {}); };",
    ] {
        stand.write("m.ts", text);
        let loaded = stand.call("m.ts", json!({"op": "load"}));
        assert!(unstarted(&loaded).starts_with("Failed to load hook: "), "{text}: {loaded:?}");
        if text.contains("tool_call") {
            let asked = stand.call("m.ts", bash("ls"));
            assert_eq!(asked.end, End::TimedOut, "a gate is not let through: {text}");
            assert!(asked.remarks[0].starts_with("Failed to load hook: "), "{text}: {asked:?}");
        }
    }
}

/// Fails in some way on the first call, and answers on the second.
fn fails(code: &str) -> String {
    let stand = Stand::new();
    let text = format!(
        "let calls = 0;\nexport default (pi) => {{ pi.on(\"tool_call\", async (event) => {{
            if (event.input.command !== \"bad\") return {{ fine: true }};
            {code}
        }}); }}"
    );
    stand.write("m.ts", &text);
    let outcome = stand.call("m.ts", bash("bad"));
    let answer = outcome.answer.clone().unwrap_or_default();
    let error = answer["errors"][0]["error"].as_str();
    assert!(outcome.end == End::TimedOut || error.is_some(), "{code}: {outcome:?}");
    let error = error.unwrap_or_default().to_owned();
    let answer = stand.answer("m.ts", bash("ls"));
    assert_eq!(answer["results"], json!([{"fine": true}]), "{code}");
    error
}

#[test]
fn memory_ends_before_the_process_does() {
    fails("const a = []; for (;;) a.push(new Array(1e6).fill(7));");
    fails("return { big: new Uint8Array(2 ** 31) };");
    fails("let s = 'x'; for (;;) s += s;");
    fails("const a = []; for (;;) a.push({ a: 'b'.repeat(1000) + a.length });");
    fails(
        "const all = []; const more = async () => { all.push('x'.repeat(1e5) + all.length); await null; return more(); }; await more();",
    );
}

#[test]
fn deep_recursion_is_an_error() {
    assert!(fails("const f = () => f() + 1; f();").contains("stack"));
    fails("let a = []; for (let i = 0; i < 200000; i++) a = [a]; return { a };");
    fails("let a = []; for (let i = 0; i < 1500; i++) a = [a]; return { a };");
}

#[test]
fn native_recursion_has_a_floor() {
    fails("JSON.parse('['.repeat(1e6));");
    fails("new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('x'); throw new Error('read');");
    fails("(0, eval)('('.repeat(1e5));");
    fails("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a); throw new Error('said');");
    fails(
        "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x; throw new Error('read');",
    );
    fails(
        "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f(); throw new Error('ran');",
    );
    fails("const o = { get x() { return this.x; } }; o.x;");
    fails("const o = { toString() { return `${this}`; } }; `${o}`;");
    fails(
        "let o = null; for (let i = 0; i < 5e5; i++) o = { o }; o = null; throw new Error('freed');",
    );
    fails("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a);");
    fails("const f = (n) => [1, 2].sort(() => f(n + 1)); f(0);");
    fails(
        "let c = class {}; for (let i = 0; i < 3e4; i++) c = class extends c {}; new c(); throw new Error('made');",
    );
    fails("'x'.repeat(2 ** 30);");
    fails("new ArrayBuffer(2 ** 40);");
}

#[test]
fn odd_things_are_thrown() {
    assert_eq!(fails("throw null;"), "null");
    assert_eq!(fails("throw undefined;"), "undefined");
    assert_eq!(fails("throw { toString() { throw 1; } };"), "unknown error");
    assert_eq!(fails("throw Symbol('s');"), "Symbol(s)");
    assert_eq!(fails("throw new Proxy({}, { getPrototypeOf() { throw 1; } });"), "unknown error");
    assert_eq!(fails("throw new Error('');"), "");
}

#[test]
fn results_that_cannot_be_read_are_errors() {
    fails("const a = {}; a.a = a; return a;");
    fails("return { get block() { throw new Error('no'); } };");
    fails("return new Proxy({}, { ownKeys() { throw new Error('no'); } });");
}

#[test]
fn leaving_the_process_ends_only_the_handler() {
    assert_eq!(fails("process.exit(3);"), "process.exit(3) was called");
    assert_eq!(fails("process.reallyExit(0);"), "process.exit(0) was called");
    assert_eq!(fails("process.kill(process.pid, 'SIGKILL');"), "a hook may not end its host");
    fails("process.kill(0, 'SIGKILL');");
    fails("process.kill(-process.pid);");
    let stand = Stand::new();
    let outcome = stand.body("pi.on('tool_call', () => 1); process.exit(0);");
    assert!(unstarted(&outcome).starts_with("Failed to load hook: process.exit(0) was called"));
}

#[test]
fn what_is_written_to_stdout_becomes_a_log() {
    let stand = Stand::new();
    let outcome = stand.handler("console.log('a', { b: 1 }); process.stdout.write('c\\n'); console.error(new Error('d').message);");
    let effects = outcome.answer.unwrap()["effects"].clone();
    let expected = json!([
        {"type": "log", "level": "info", "message": "a {\"b\":1}"},
        {"type": "log", "level": "info", "message": "c"},
        {"type": "log", "level": "error", "message": "d"}]);
    assert_eq!(effects, expected);
}

#[test]
fn tampering_with_the_language_harms_nobody_else() {
    let stand = Stand::new();
    stand.handler("JSON.stringify = () => 'x'; Promise.prototype.then = () => {}; Array.prototype.push = null; globalThis.__gambrel = 1;");
    stand.write("other.ts", "export default (pi) => { pi.on('tool_call', () => ({ n: 1 })); }");
    let answer = stand.answer("other.ts", bash("ls"));
    assert_eq!(answer["results"], json!([{"n": 1}]));
    let deaf = "Map.prototype.get = () => undefined; Map.prototype.set = () => {}; pi.on('tool_call', () => ({ block: true }));";
    assert_eq!(stand.body(deaf).answer.unwrap()["results"], json!([{"block": true}]));
}

#[test]
fn a_flood_of_effects_is_cut_and_says_so() {
    let stand = Stand::new();
    let outcome = stand.handler("for (let i = 0; i < 5000; i++) ctx.ui.notify('n' + i);");
    let answer = outcome.answer.unwrap();
    let effects = answer["effects"].as_array().unwrap();
    assert_eq!(effects.len(), 1001);
    assert_eq!(effects[1000]["type"], "warning");
}

/// The contract's own example over as much as an event may hold, in letters of two bytes.
#[test]
fn a_large_result_is_no_reason_to_fail() {
    let stand = Stand::new();
    stand.write(
        "m.ts",
        r#"export default (pi: any) => pi.on("tool_result", async (event: any) => ({
            content: event.content.map((c: any) => ({ ...c, text: c.text.replaceAll(/API_KEY=\S+/g, "API_KEY=[REDACTED]") })),
        }));"#,
    );
    let line = "API_KEY=abcdef some wörds → in here\n";
    let text = line.repeat((7 << 20) / line.len());
    let event = json!({"type": "tool_result", "toolName": "read", "toolCallId": "1", "input": {},
                       "content": [{"type": "text", "text": text}], "isError": false});
    let answer = stand.answer("m.ts", emit(event));
    assert_eq!(answer["errors"], json!([]));
    let told = answer["results"][0]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("[REDACTED]") && !told.contains("abcdef"));
    // What was given for it is taken back.
    let hog = stand.handler("const a = []; for (;;) a.push(new Uint8Array(1 << 20));");
    assert_ne!(hog.answer.unwrap()["errors"], json!([]));
}
