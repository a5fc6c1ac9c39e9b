//! `fetch` passes requests to the fetch function and returns its responses as on the web. Without
//! permission the error names the setting.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gambrel_model::{FetchRequest, FetchResponse};
use gambrel_script::{FetchFn, FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body};

type Requests = Arc<Mutex<Vec<FetchRequest>>>;

/// Records the requests of modules and answers them with `answer`.
fn prepare_dir(
    answer: impl Fn(&FetchRequest) -> Result<FetchResponse, String> + Send + Sync + 'static,
) -> (ModuleDir, Requests) {
    let asked = Requests::default();
    let notes = Arc::clone(&asked);
    let fetch_fn: FetchFn = Arc::new(move |wanted| {
        notes.lock().unwrap().push(wanted.clone());
        Ok(answer(wanted)?)
    });
    let settings = ScriptSettings { fetch: Some(fetch_fn), ..ScriptSettings::default() };
    (ModuleDir::with_settings(settings), asked)
}

fn ok_response(body: &[u8]) -> FetchResponse {
    let headers =
        [("Content-Type", "application/json"), ("set-cookie", "a=1"), ("set-cookie", "b=2")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    FetchResponse { status: 200, words: "OK".into(), headers, body: body.to_vec() }
}

fn first_result(dir: &ModuleDir, code: &str) -> Value {
    let answer = dir.run_handler(code).answer.unwrap();
    assert_eq!(answer["errors"], json!([]), "{code}");
    answer["results"][0].clone()
}

#[test]
fn fetch_returns_the_response() {
    let (dir, asked) = prepare_dir(|_| Ok(ok_response("{\"é\":[1]}".as_bytes())));
    let value = first_result(
        &dir,
        "const r = await fetch('https://example.test/a b?q=1', { method: 'post', headers: { 'X-One': '1' }, body: 'é' });
         const twice = r.clone();
         return { ok: r.ok, status: r.status, words: r.statusText, url: r.url, json: await r.json(), text: await twice.text(),
                  type: r.headers.get('content-type'), cookies: r.headers.getSetCookie(), names: [...r.headers.keys()], used: r.bodyUsed,
                  again: await r.text().catch((e) => e.name) };",
    );
    let expected = json!({"ok": true, "status": 200, "words": "OK", "url": "https://example.test/a%20b?q=1",
        "json": {"é": [1]}, "text": "{\"é\":[1]}", "type": "application/json", "cookies": ["a=1", "b=2"],
        "names": ["content-type", "set-cookie"], "used": true, "again": "TypeError"});
    assert_eq!(value, expected);
    let asked = asked.lock().unwrap();
    let headers = vec![
        ("content-type".to_owned(), "text/plain;charset=UTF-8".to_owned()),
        ("x-one".to_owned(), "1".to_owned()),
    ];
    assert_eq!((&asked[0].method[..], &asked[0].headers), ("POST", &headers));
    assert_eq!(asked[0].body.as_deref(), Some("é".as_bytes()));
    assert!(asked[0].limit <= Duration::from_secs(30));
}

#[test]
fn fetch_preserves_bytes() {
    let (dir, asked) =
        prepare_dir(|wanted| Ok(ok_response(&wanted.body.clone().unwrap_or_default())));
    let code = "const body = new Uint8Array(70000).map((_, at) => at);
         const r = await fetch(new Request('https://example.test/', { method: 'PUT', body }));
         const back = new Uint8Array(await r.arrayBuffer());
         return { same: Buffer.compare(body, back), form: typeof r.headers.get('none') };";
    assert_eq!(first_result(&dir, code), json!({"same": 0, "form": "object"}));
    assert_eq!(asked.lock().unwrap()[0].body.as_ref().map(Vec::len), Some(70_000));
    first_result(
        &dir,
        "await fetch('https://example.test/', { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });",
    );
    assert_eq!(asked.lock().unwrap()[1].body.as_deref(), Some(&b"a=b+c"[..]));
    first_result(&dir, "await fetch('https://example.test/');");
    let last = asked.lock().unwrap()[2].clone();
    assert_eq!((last.method.as_str(), last.body, last.headers), ("GET", None, vec![]));
}

#[test]
fn fetch_failures_are_type_errors() {
    let (dir, _) = prepare_dir(|wanted| match wanted.url.ends_with("moved") {
        true => Ok(FetchResponse { status: 302, ..ok_response(b"") }),
        false => Err("connection refused: example.test:443".into()),
    });
    let value = first_result(
        &dir,
        "const why = (run) => run().then((r) => r.status, (e) => `${e.name}: ${e.message}`);
         return [await why(() => fetch('https://example.test/')), await why(() => fetch('https://example.test/moved')),
                 await why(() => fetch('https://example.test/moved', { redirect: 'manual' })),
                 await why(() => fetch('no address')), await why(() => fetch('https://x.test/', { body: 'x' })),
                 await why(() => fetch('https://x.test/', { headers: { 'a b': 'c' } }))];",
    );
    assert_eq!(value[0], "TypeError: fetch failed: connection refused: example.test:443");
    assert!(value[1].as_str().unwrap().contains("HTTP 302: redirects are not followed"), "{value}");
    assert_eq!(value[2], 302);
    assert!(value[3].as_str().unwrap().contains("Invalid URL"), "{value}");
    assert!(value[4].as_str().unwrap().contains("cannot have body"), "{value}");
    assert!(value[5].as_str().unwrap().contains("Invalid header name"), "{value}");
}

#[test]
fn abort_does_not_wait_for_the_response() {
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let (dir, _) = prepare_dir(move |_| {
        // Until the test drops the sender.
        let _ = gate.lock().unwrap().recv_timeout(Duration::from_secs(60));
        Ok(ok_response(b""))
    });
    let code = "const c = new AbortController(); setTimeout(() => c.abort(), 20);
         const first = await fetch('https://example.test/', { signal: c.signal }).catch((e) => e.name);
         return [first, await fetch('https://example.test/', { signal: c.signal }).catch((e) => e.name)];";
    assert_eq!(first_result(&dir, code), json!(["AbortError", "AbortError"]));
    drop(go);
}

const WITHOUT: &str = "try { await fetch('https://example.test/'); } catch (e) { return { name: e.name, code: e.code, told: e.message }; }";

fn assert_names_setting(error: &Value) {
    assert_eq!(
        (&error["name"], &error["code"]),
        (&json!("TypeError"), &json!("ERR_ACCESS_DENIED"))
    );
    assert!(error["told"].as_str().unwrap().contains("GAMBREL_FETCH=1"), "{error}");
}

#[test]
fn names_the_setting_without_permission() {
    assert_names_setting(&first_result(&ModuleDir::new(), WITHOUT));
    run_in_each_host(|host: &FullHost| {
        let settings = ScriptSettings { full_host: host.clone(), ..ScriptSettings::default() };
        let dir = ModuleDir::with_settings(settings);
        let text = format!(
            "import 'node:net';\nexport default (pi) => pi.on('tool_call', async () => {{ {WITHOUT} }});"
        );
        dir.write_file("m.ts", &text);
        assert_names_setting(&dir.answer("m.ts", bash_body("ls"))["results"][0]);
    });
}
