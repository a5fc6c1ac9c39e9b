//! Effects that a module requests come back as data, in order, and are not carried out.

use serde_json::json;

use crate::module_dir::{ModuleDir, load_error};

#[test]
fn records_messages_entries_and_notifications() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler(
        "pi.sendMessage({ customType: 't', content: 'c', display: true }, true);
         pi.sendMessage({ customType: 't' }, { triggerTurn: false, deliverAs: 'steer' });
         pi.appendEntry('state', { n: 1 });
         ctx.ui.notify('note', 'warning'); ctx.ui.setStatus('k', 'text'); ctx.ui.setStatus('k', undefined);
         pi.logger.warn('careful', 1); ctx.abort();",
    );
    let expected = json!([
        {"type": "sendMessage", "message": {"customType": "t", "content": "c", "display": true}, "options": {"triggerTurn": true}},
        {"type": "sendMessage", "message": {"customType": "t"}, "options": {"triggerTurn": false, "deliverAs": "steer"}},
        {"type": "appendEntry", "customType": "state", "data": {"n": 1}},
        {"type": "notify", "message": "note", "level": "warning"},
        {"type": "log", "level": "warn", "message": "careful 1"},
        {"type": "abort"},
        {"type": "setStatus", "key": "k", "text": null}]);
    let answer = outcome.answer.unwrap();
    assert_eq!(answer["effects"], expected);
    assert_eq!(answer["errors"], json!([]));
}

#[test]
fn keeps_the_last_clean_status_text_of_each_key() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler(
        r#"const s = (k, t) => ctx.ui.setStatus(k, t);
         s('z', 'first'); s('z', 'last'); s('b', '  two\r\n\tlines \u0007 here\u009f '); s('c', '');
         s('a', '\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ \u202eback'); s('gone', undefined);
         s('long', 'x'.repeat(81)); s('wide', '漢'.repeat(41)); s('fits', 'y'.repeat(80)); s(7, 8);"#,
    );
    let status =
        |key: &str, text: serde_json::Value| json!({"type": "setStatus", "key": key, "text": text});
    let expected = json!([
        status("7", json!("8")),
        status("a", json!("red link back")),
        status("b", json!("two lines here")),
        status("c", json!(null)),
        status("fits", json!("y".repeat(80))),
        status("gone", json!(null)),
        status("long", json!(format!("{}…", "x".repeat(79)))),
        status("wide", json!(format!("{}…", "漢".repeat(39)))),
        status("z", json!("last")),
    ]);
    assert_eq!(outcome.answer.unwrap()["effects"], expected);
}

#[test]
fn the_factory_cannot_send_messages() {
    for word in ["sendMessage", "appendEntry"] {
        let dir = ModuleDir::new();
        let outcome =
            dir.run_factory(&format!("pi.on('tool_call', () => 1); pi.{word}('x', {{}});"));
        let why = format!("Failed to load hook: {word} handler not initialized (");
        assert!(load_error(&outcome).starts_with(&why), "{outcome:?}");
    }
}

#[test]
fn lists_and_runs_commands() {
    let dir = ModuleDir::new();
    let text = "export default (pi) => {
        pi.registerCommand('a', { description: 'first', handler: () => 1 });
        pi.registerCommand('a', { description: 'second', handler: async (args, ctx) => { ctx.ui.notify(args); const r = await ctx.branch('e1'); await ctx.navigateTree('t', { summarize: true }); return r; } });
        pi.registerCommand('bad', { handler: () => { throw new Error('no') } });
        pi.registerMessageRenderer('t', () => {});
    };";
    dir.write_file("m.ts", text);
    let listed = dir.answer("m.ts", json!({"op": "commands"}));
    assert_eq!(
        listed["commands"],
        json!([{"name": "a", "description": "second"}, {"name": "bad"}])
    );
    assert_eq!(listed["renderers"], json!(["t"]));

    let run = |name: &str| {
        dir.answer("m.ts", json!({"op": "command", "name": name, "args": "x y", "ctx": {}}))
    };
    let answer = run("a");
    assert_eq!(answer["results"], json!([{"cancelled": false}]));
    let types: Vec<_> =
        answer["effects"].as_array().unwrap().iter().map(|e| e["type"].clone()).collect();
    assert_eq!(types, ["notify", "branch", "navigateTree"]);
    assert_eq!(run("bad")["errors"][0]["error"], "no");
    assert_eq!(run("gone")["errors"][0]["error"], "no command named gone");
}

#[test]
fn warns_about_unhandled_rejections() {
    let dir = ModuleDir::new();
    let code = "Promise.reject(new Error('lost')); const kept = Promise.reject(1); await kept.catch(() => {}); (async () => { throw new Error('gone') })();";
    let answer = dir.run_handler(code).answer.unwrap();
    let messages: Vec<_> =
        answer["effects"].as_array().unwrap().iter().map(|e| e["message"].clone()).collect();
    let warning = |word: &str| json!(format!("a promise was rejected and nobody listened: {word}"));
    assert_eq!(messages, [warning("lost"), warning("gone")]);
}
