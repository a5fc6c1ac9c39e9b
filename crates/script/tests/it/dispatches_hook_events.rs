//! Order, truthiness, stop results, chained fields, shared events, and errors of handlers.

use std::collections::BTreeSet;

use gambrel_model::End;
use serde_json::{Value, json};

use crate::module_dir::{ModuleDir, bash_body, emit_body};

fn run(factory: &str, body: Value) -> Value {
    let dir = ModuleDir::new();
    dir.write_file("m.ts", &format!("export default function (pi) {{\n{factory}\n}}\n"));
    dir.answer("m.ts", body)
}

#[test]
fn runs_handlers_in_registration_order() {
    let factory = r#"
        const seen: string[] = [];
        pi.on("tool_call", async () => { await new Promise(r => setTimeout(r, 20)); seen.push("a"); return { n: 1 }; });
        pi.on("tool_call", () => { seen.push("b"); return { seen: [...seen] }; });"#;
    let answer = run(factory, bash_body("ls"));
    assert_eq!(answer["results"], json!([{"n": 1}, {"seen": ["a", "b"]}]));
    assert_eq!(answer["handlers"], 2);
}

#[test]
fn a_truthy_stop_field_ends_the_round() {
    let factory = r#"
        pi.on("tool_call", () => ({ block: 0, n: 1 }));
        pi.on("tool_call", () => ({ block: 1, n: 2 }));
        pi.on("tool_call", () => ({ n: 3 }));"#;
    let answer = run(factory, bash_body("ls"));
    assert_eq!(answer["results"], json!([{"block": 0, "n": 1}, {"block": 1, "n": 2}]));
    assert_eq!(answer["handlers"], 3);
    let mut body = bash_body("ls");
    body["stop"] = Value::Null;
    assert_eq!(run(factory, body)["results"].as_array().unwrap().len(), 3);
}

#[test]
fn reports_results_with_their_truthiness() {
    let factory = r#"for (const r of [{}, "", 0, undefined, null, [], "x", false]) pi.on("tool_call", () => r);"#;
    let answer = run(factory, bash_body("ls"));
    assert_eq!(answer["truthy"], json!([true, false, false, false, false, true, true, false]));
    assert_eq!(answer["results"], json!([{}, null, null, null, null, [], "x", null]));
}

#[test]
fn an_error_ends_the_round_unless_caught() {
    let factory = r#"
        pi.on("tool_call", () => { throw new TypeError("bad day"); });
        pi.on("tool_call", () => { throw "words"; });
        pi.on("tool_call", () => ({ n: 3 }));"#;
    let answer = run(factory, bash_body("ls"));
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1);
    assert_eq!(answer["errors"][0]["error"], "bad day");
    assert_eq!(answer["errors"][0]["event"], "tool_call");
    assert!(answer["errors"][0]["hookPath"].as_str().unwrap().ends_with("/m.ts"));
    assert_eq!(answer["results"], json!([null]));
    let mut body = bash_body("ls");
    body["catch"] = json!(true);
    let answer = run(factory, body);
    assert_eq!(answer["errors"][1]["error"], "words");
    assert_eq!(answer["results"], json!([null, null, {"n": 3}]));
}

#[test]
fn reports_changes_to_a_shared_event() {
    let factory = r#"
        pi.on("tool_call", (event) => { event.input.command = "pwd"; });
        pi.on("tool_call", (event) => ({ saw: event.input.command }));"#;
    let mut body = bash_body("ls");
    body["changes"] = json!(true);
    let answer = run(factory, body);
    assert_eq!(answer["results"], json!([null, {"saw": "pwd"}]));
    assert_eq!(answer["event"]["input"]["command"], "pwd");
    let mut body = bash_body("ls");
    body["fresh"] = json!(true);
    body["changes"] = json!(true);
    let answer = run(factory, body);
    assert_eq!(answer["results"], json!([null, {"saw": "ls"}]));
    assert_eq!(answer.get("event"), None);
}

#[test]
fn reports_the_serializable_part_of_a_change() {
    let factory = r#"pi.on("tool_call", (event) => {
        event.self = event; event.long = 12n; return { n: 1 }; });"#;
    let mut body = bash_body("ls");
    body["changes"] = json!(true);
    let answer = run(factory, body);
    assert_eq!((&answer["errors"], &answer["results"]), (&json!([]), &json!([{"n": 1}])));
    assert_eq!(answer["event"]["long"], "12");
}

#[test]
fn a_single_handler_behaves_like_several() {
    // Positions are not compared, because every run has its own directory.
    let summarize = |factory: &str| {
        let mut answer = run(factory, bash_body("ls"));
        for error in answer["errors"].as_array_mut().unwrap() {
            error.as_object_mut().unwrap().retain(|key, _| key == "error" || key == "thrown");
        }
        let of_first = |list: &str| answer[list][0].clone();
        json!([of_first("results"), of_first("truthy"), answer["errors"], answer["effects"]])
    };
    let codes = [
        "() => 0",
        "() => ({ n: 1 })",
        "async () => ({ n: 1 })",
        "async () => { await null; return { n: 1 }; }",
        "async () => { throw new Error('bad'); }",
        "async () => { await null; throw new Error('bad'); }",
        "() => { throw null; }",
        "() => Promise.reject('words')",
        "() => ({ then: (done) => done({ n: 1 }) })",
        "() => ({ then: (_, refuse) => refuse(new Error('bad')) })",
        "() => ({ get then() { throw new Error('bad'); } })",
        "() => { const Own = Promise; globalThis.Promise = class {}; return Own.resolve({ n: 1 }); }",
        "() => { Promise.resolve().then(() => pi.appendEntry('late')); return { n: 1 }; }",
        "() => { Promise.resolve().then(() => { throw new Error('stray'); }); return { n: 1 }; }",
        "() => { Promise.reject(new Error('stray')); return { n: 1 }; }",
    ];
    for code in codes {
        let lone = format!("pi.on('tool_call', {code});");
        let many = format!("{lone} pi.on('tool_call', () => {{}});");
        assert_eq!(summarize(&lone), summarize(&many), "{code}");
    }
}

#[test]
fn calls_handlers_registered_by_handlers() {
    for end in ["", "throw new Error('bad');", "return { n: 1 };"] {
        let inner = "pi.on('tool_call', () => ({ inner: true }))";
        let mut body = bash_body("ls");
        body["catch"] = json!(true);
        let answer = run(&format!("pi.on('tool_call', () => {{ {inner}; {end} }});"), body);
        assert_eq!(answer["results"][1], json!({"inner": true}), "{end}: {answer}");
        assert_eq!(answer["errors"].as_array().unwrap().len(), usize::from(end.contains("bad")));
    }
}

#[test]
fn passes_messages_to_the_next_handler() {
    let factory = r#"
        pi.on("context", (event) => ({ messages: [...event.messages, "b"] }));
        pi.on("context", () => { throw new Error("skipped"); });
        pi.on("context", (event) => ({ messages: [...event.messages, "c"] }));"#;
    for fresh in [true, false] {
        let mut body = emit_body(json!({"type": "context", "messages": ["a"]}));
        body["chain"] = json!({"messages": "true"});
        body["fresh"] = json!(fresh);
        let answer = run(factory, body);
        assert_eq!(answer["results"][2]["messages"], json!(["a", "b", "c"]));
        assert_eq!(answer["errors"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn skips_modules_without_a_handler_for_the_event() {
    // The factory would fail if it ran.
    let dir = ModuleDir::new();
    let text =
        "export default (pi) => { pi.on(\"agent_end\", () => 1); throw new Error(\"ran\"); }";
    dir.write_file("m.ts", text);
    let passed = dir.call("m.ts", bash_body("ls"));
    assert_eq!(
        (passed.end, &*passed.remarks),
        (End::NotApplicable, &["it has no handler for tool_call".to_owned()][..])
    );
    for hidden in [
        r#"const on = "o" + "n"; pi[on]("tool_call", () => ({ n: 1 }));"#,
        r#"for (const e of ["tool_", "x"]) pi.on(e + "call", () => ({ n: 1 }));"#,
        r#"const { on } = pi; on.call(pi, "tool" + "_call", () => ({ n: 1 }));"#,
        r#"const p = pi["on"]; p("tool" + "_call", () => ({ n: 1 }));"#,
        r#"const f = pi.on; f("tool" + "_call", () => ({ n: 1 }));"#,
        r#"pi.on("\x74ool_call", () => ({ n: 1 }));"#,
        r#"Reflect.apply(Object.entries(pi)[0][1], pi, ["tool_" + "call", () => ({ n: 1 })]);"#,
    ] {
        let answer = run(hidden, bash_body("ls"));
        assert_eq!(answer["results"], json!([{"n": 1}]), "{hidden}");
    }
}

#[test]
fn loads_modules_whose_api_escapes() {
    let one = "(\"tool\" + \"_call\", () => ({ n: 1 }))";
    let dir = ModuleDir::new();
    dir.write_file("o.ts", "export const take = (api, k) => api[k];");
    for hidden in [
        "const k = 'o' + 'n'; export default (pi) => { const reg = pi[k]; reg@; };",
        "export default (pi) => { const [reg] = Object.values(pi); reg@; };",
        "export default (pi) => { const reg = Object.entries({ ...pi })[0][1]; reg@; };",
        "const take = (api) => Object.values(api)[0]; export default (pi) => { const reg = take(pi); reg@; };",
        "import { take } from './o.ts'; export default (pi) => { const reg = take(pi, 'o' + 'n'); reg@; };",
        "export default function () { const [reg] = Object.values(arguments[0]); reg@; }",
        "export default (...all) => { const [reg] = Object.values(all[0]); reg@; };",
        "const [make] = [(pi) => { const [reg] = Object.values(pi); reg@; }]; export default make;",
        "let kept; const go = () => { const [reg] = Object.values(kept); reg@; }; const main = (pi) => { kept = pi; go(); }; export { main as default };",
        "module.exports = (pi) => { const [reg] = Object.values(pi); reg@; };",
    ] {
        dir.write_file("m.ts", &hidden.replace('@', one));
        let answer = dir.answer("m.ts", bash_body("ls"));
        assert_eq!(answer["results"], json!([{"n": 1}]), "{hidden}");
    }
}

#[test]
fn follows_the_api_within_a_file() {
    let dir = ModuleDir::new();
    for plain in [
        "const later = (api) => api.on('agent_end', () => 1); export default (pi) => { later(pi); throw new Error('ran'); };",
        "function main(pi) { pi?.on('agent_end', () => 1); throw new Error('ran'); } export { main as default };",
        "export { default } from './n.ts';",
    ] {
        dir.write_file(
            "n.ts",
            "export default function (pi) { pi.on('agent_end', () => 1); throw new Error('ran'); }",
        );
        dir.write_file("m.ts", plain);
        assert_eq!(dir.call("m.ts", bash_body("ls")).end, End::NotApplicable, "{plain}");
    }
}

#[test]
fn handlers_receive_the_context() {
    let factory = r#"pi.on("tool_call", (event, ctx) => ({
        cwd: ctx.cwd, hasUI: ctx.hasUI, model: ctx.model, branch: ctx.sessionManager.getBranch().map(e => e.id),
        leaf: ctx.sessionManager.getLeafId(), file: ctx.sessionManager.getSessionFile(),
        styled: ctx.ui.theme.fg("accent", "text"), typed: ctx.ui.getEditorText(), idle: ctx.isIdle() }));"#;
    let mut body = bash_body("ls");
    body["ctx"] = json!({"cwd": "/somewhere", "hasUI": true, "model": {"id": "m"}, "session": {
        "file": "/s", "leafId": "3", "entries": [{"id": "1"}, {"id": "2", "parentId": "1"}, {"id": "3", "parentId": "1"}]}});
    let answer = run(factory, body);
    let expected = json!({"cwd": "/somewhere", "hasUI": false, "model": {"id": "m"}, "branch": ["1", "3"],
        "leaf": "3", "file": "/s", "styled": "text", "typed": "", "idle": true});
    assert_eq!(answer["results"][0], expected);
}

#[test]
fn reports_results_as_json_does() {
    // Each value alone and inside a list, because the two take different code paths.
    let odd = [
        "{ a: undefined, b: null, c: true, d: -0, e: 5.0, f: 0.1, g: 1e21, h: NaN, i: Infinity, j: 2 ** 53 - 1, k: 'é\\n\\u2028' }",
        "{ large: 2 ** 60, larger: -(2 ** 64), whole: 2 ** 53 }",
        "{ 2: 'b', 1: 'a', z: 1, [Symbol('s')]: 1 }",
        "{ deep: { er: [1, { undefined }] }, date: new Date(0) }",
        "{ f() {}, g: Symbol('x'), big: new Map([[1, 2]]) }",
        "new (class A { own = 1; get not() { return 2; } })()",
        "Object.create({ inherited: 1 }, { hidden: { value: 1 }, shown: { value: 2, enumerable: true } })",
        "Object.assign(Object.create(null), { bare: 1 })",
        "{ get got() { return this.other; }, other: 'x' }",
        "[1, undefined]",
        "'text'",
        "true",
        "7.25",
    ];
    let dir = ModuleDir::new();
    for code in odd {
        let alone = dir.run_handler(&format!("return {code};")).answer.unwrap();
        let listed = dir.run_handler(&format!("return [{code}];")).answer.unwrap();
        assert_eq!(alone["errors"], json!([]), "{code}");
        assert_eq!(alone["results"][0], listed["results"][0][0], "{code}");
    }
    let answer =
        dir.run_handler("return { get bad() { throw new Error('got'); } };").answer.unwrap();
    assert_eq!((&answer["results"], &answer["truthy"]), (&json!([null]), &json!([false])));
    assert_eq!(answer["errors"][0]["error"], "got");
}

#[test]
fn reads_inherited_and_computed_result_fields() {
    let dir = ModuleDir::new();
    let first = |code: &str| {
        let answer = dir.run_handler(code).answer.unwrap();
        assert_eq!(answer["errors"], json!([]), "{code}");
        answer["results"][0].clone()
    };
    let blocks = [
        "return new (class { get block() { return true; } get reason() { return 'r'; } })();",
        "return Object.create({ block: true, reason: 'r' });",
        "return new Proxy({}, { get: (_, k) => ({ block: true, reason: 'r' })[k], has: () => true });",
        "return new Proxy({}, { get: (_, k) => ({ block: true, reason: 'r' })[k] });",
        "return new Proxy({}, { get: (_, k) => ({ block: true, reason: 'r' })[k], ownKeys: () => [] });",
        "return Object.assign([], { block: true, reason: 'r' });",
        "return Object.defineProperty({ reason: 'r' }, 'block', { value: 1 });",
        "return { block: true, reason: 'r', toJSON: () => ({}) };",
        "return { block() {}, reason: 'r' };",
        "return { block: Symbol('s'), reason: 'r' };",
        "return { block: Infinity, reason: 'r' };",
        "return { block: new Date(NaN), reason: 'r' };",
        "return { block: 1n, reason: 'r' };",
        "const r = { block: true, reason: 'r' }; r.self = r; return r;",
    ];
    for code in blocks {
        let result = first(code);
        let block = &result["block"];
        assert!(*block == true || *block == 1 || *block == "1", "{code}: {result}");
        assert_eq!(result["reason"], "r", "{code}: {result}");
    }
    for not in ["NaN", "0n", "new String('').valueOf()"] {
        let block = first(&format!("return {{ block: {not} }};"))["block"].clone();
        assert!(block == json!(null) || block == false || block == "", "{not}: {block}");
    }
    assert_eq!(first("return { block: 1, reason: new Error('in') };")["reason"], "Error: in");
    assert_eq!(first("return { content: [], details: { took: 12n } };")["details"]["took"], "12");
    for nothing in ["return 12n;", "return Symbol('s');", "return () => 1;"] {
        assert_eq!(first(nothing)["block"], json!(null), "{nothing}");
    }
}

#[test]
fn calls_handlers_with_undefined_this() {
    let factory = r#"
        pi.on("tool_call", function () { return { is: typeof this }; });
        pi.on("tool_call", function () { return { is: typeof this }; });"#;
    assert_eq!(
        run(factory, bash_body("ls"))["results"],
        json!([{"is": "undefined"}, {"is": "undefined"}])
    );
}

#[test]
fn the_context_can_be_destructured() {
    let ask = |_: &gambrel_script::Question| Some(json!(true));
    let settings = gambrel_script::ScriptSettings {
        ask: Some(std::sync::Arc::new(ask)),
        ..Default::default()
    };
    let dir = ModuleDir::with_settings(settings);
    let handlers = [
        "async (e, { ui: { confirm, notify }, isIdle, sessionManager: { getSessionId } }) => { notify('n'); return { yes: await confirm('t', 'm'), idle: isIdle(), id: getSessionId() }; }",
        "async (e, ctx) => { const c = { ...ctx }; c.ui.notify('n'); return { yes: await c.ui.confirm('t'), idle: c.isIdle(), id: c.sessionManager.getSessionId() }; }",
        "async (e, ctx) => { const { confirm, notify } = { ...ctx.ui }; notify('n'); return { yes: await confirm('t'), idle: Object.keys(ctx).includes('isIdle'), id: Object.assign({}, ctx).sessionManager.getSessionId() }; }",
        "async (e, ctx) => { ctx.ui.notify('n'); return { yes: typeof ctx.modelRegistry.find === 'function' && ctx.ui === ctx.ui, idle: ctx.sessionManager === ctx.sessionManager, id: ctx.sessionManager.getSessionId() }; }",
    ];
    for handler in handlers {
        dir.write_file(
            "m.ts",
            &format!("export default (pi: any) => {{ pi.on('tool_call', {handler}); }};"),
        );
        let mut body = bash_body("ls");
        body["ctx"] = json!({"cwd": "/", "hasUI": true, "idle": true, "session": {"id": "s-7"}});
        let answer = dir.answer("m.ts", body);
        assert_eq!(
            answer["results"],
            json!([{"yes": true, "idle": true, "id": "s-7"}]),
            "{answer}"
        );
        assert_eq!(answer["effects"][0]["message"], "n");
    }
}

#[test]
fn events_of_changing_layouts_arrive_unchanged() {
    let dir = ModuleDir::new();
    dir.write_file(
        "m.ts",
        "Object.defineProperty(Object.prototype, 'other', { set() { throw new Error('set'); } });
        export default (pi) => {
            pi.on('tool_call', (event, ctx) => ({ reason: JSON.stringify(event), n: Object.keys(ctx).length }));
        };",
    );
    let mut counts = BTreeSet::new();
    // More calls than layouts are kept, and every call of a turn in which they are looked at.
    for turn in 0..700_usize {
        let mut event = json!({"type": "tool_call", "toolName": "x", "toolCallId": turn});
        event[format!("own{}", turn / 65)] = json!({"a": turn, "other": [1], "__proto__": null});
        if turn / 65 % 3 == 0 {
            (0..50).for_each(|at| event[format!("field {at}\"")] = json!(at));
            event["__proto__"] = json!({"b": 1});
        }
        let answer = dir.answer("m.ts", emit_body(event.clone()));
        let result = &answer["results"][0];
        let seen: Value = serde_json::from_str(result["reason"].as_str().unwrap()).unwrap();
        assert_eq!(seen, event, "turn {turn}");
        counts.insert(result["n"].to_string());
    }
    assert_eq!(counts.len(), 1, "{counts:?}");
}
