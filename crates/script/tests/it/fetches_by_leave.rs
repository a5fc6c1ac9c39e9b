//! `fetch`: what a module asks for reaches whoever may make requests, the answer comes back as on
//! the web, and without leave it is told which switch gives it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gambrel_model::{FetchRequest, FetchResponse};
use gambrel_script::{Fetcher, FullHost, ScriptSettings};
use serde_json::{Value, json};

use crate::full_hosts::each;
use crate::stand::{Stand, bash};

type Asked = Arc<Mutex<Vec<FetchRequest>>>;

/// A stand whose requests are written down and answered like this.
fn stand(
    answer: impl Fn(&FetchRequest) -> Result<FetchResponse, String> + Send + Sync + 'static,
) -> (Stand, Asked) {
    let asked = Asked::default();
    let notes = Arc::clone(&asked);
    let fetcher: Fetcher = Arc::new(move |wanted| {
        notes.lock().unwrap().push(wanted.clone());
        answer(wanted)
    });
    let settings = ScriptSettings { fetch: Some(fetcher), ..ScriptSettings::default() };
    (Stand::with(settings), asked)
}

fn good(body: &[u8]) -> FetchResponse {
    let headers =
        [("Content-Type", "application/json"), ("set-cookie", "a=1"), ("set-cookie", "b=2")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    FetchResponse { status: 200, words: "OK".into(), headers, body: body.to_vec() }
}

fn result(stand: &Stand, code: &str) -> Value {
    let answer = stand.handler(code).answer.unwrap();
    assert_eq!(answer["errors"], json!([]), "{code}");
    answer["results"][0].clone()
}

#[test]
fn a_request_is_made_and_its_answer_read() {
    let (stand, asked) = stand(|_| Ok(good("{\"é\":[1]}".as_bytes())));
    let told = result(
        &stand,
        "const r = await fetch('https://example.test/a b?q=1', { method: 'post', headers: { 'X-One': '1' }, body: 'é' });
         const twice = r.clone();
         return { ok: r.ok, status: r.status, words: r.statusText, url: r.url, json: await r.json(), text: await twice.text(),
                  type: r.headers.get('content-type'), cookies: r.headers.getSetCookie(), names: [...r.headers.keys()], used: r.bodyUsed,
                  again: await r.text().catch((e) => e.name) };",
    );
    let expected = json!({"ok": true, "status": 200, "words": "OK", "url": "https://example.test/a%20b?q=1",
        "json": {"é": [1]}, "text": "{\"é\":[1]}", "type": "application/json", "cookies": ["a=1", "b=2"],
        "names": ["content-type", "set-cookie"], "used": true, "again": "TypeError"});
    assert_eq!(told, expected);
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
fn bytes_go_and_come_as_they_are() {
    let (stand, asked) = stand(|wanted| Ok(good(&wanted.body.clone().unwrap_or_default())));
    let code = "const body = new Uint8Array(70000).map((_, at) => at);
         const r = await fetch(new Request('https://example.test/', { method: 'PUT', body }));
         const back = new Uint8Array(await r.arrayBuffer());
         return { same: Buffer.compare(body, back), form: typeof r.headers.get('none') };";
    assert_eq!(result(&stand, code), json!({"same": 0, "form": "object"}));
    assert_eq!(asked.lock().unwrap()[0].body.as_ref().map(Vec::len), Some(70_000));
    result(
        &stand,
        "await fetch('https://example.test/', { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });",
    );
    assert_eq!(asked.lock().unwrap()[1].body.as_deref(), Some(&b"a=b+c"[..]));
    result(&stand, "await fetch('https://example.test/');");
    let last = asked.lock().unwrap()[2].clone();
    assert_eq!((last.method.as_str(), last.body, last.headers), ("GET", None, vec![]));
}

#[test]
fn what_goes_wrong_is_a_type_error_with_its_reason() {
    let (stand, _) = stand(|wanted| match wanted.url.ends_with("moved") {
        true => Ok(FetchResponse { status: 302, ..good(b"") }),
        false => Err("connection refused: example.test:443".into()),
    });
    let told = result(
        &stand,
        "const why = (run) => run().then((r) => r.status, (e) => `${e.name}: ${e.message}`);
         return [await why(() => fetch('https://example.test/')), await why(() => fetch('https://example.test/moved')),
                 await why(() => fetch('https://example.test/moved', { redirect: 'manual' })),
                 await why(() => fetch('no address')), await why(() => fetch('https://x.test/', { body: 'x' })),
                 await why(() => fetch('https://x.test/', { headers: { 'a b': 'c' } }))];",
    );
    assert_eq!(told[0], "TypeError: fetch failed: connection refused: example.test:443");
    assert!(told[1].as_str().unwrap().contains("HTTP 302: redirects are not followed"), "{told}");
    assert_eq!(told[2], 302);
    assert!(told[3].as_str().unwrap().contains("Invalid URL"), "{told}");
    assert!(told[4].as_str().unwrap().contains("cannot have body"), "{told}");
    assert!(told[5].as_str().unwrap().contains("Invalid header name"), "{told}");
}

#[test]
fn an_abort_does_not_wait_for_the_answer() {
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let (stand, _) = stand(move |_| {
        // Until the test lets go.
        let _ = gate.lock().unwrap().recv_timeout(Duration::from_secs(60));
        Ok(good(b""))
    });
    let code = "const c = new AbortController(); setTimeout(() => c.abort(), 20);
         const first = await fetch('https://example.test/', { signal: c.signal }).catch((e) => e.name);
         return [first, await fetch('https://example.test/', { signal: c.signal }).catch((e) => e.name)];";
    assert_eq!(result(&stand, code), json!(["AbortError", "AbortError"]));
    drop(go);
}

const WITHOUT: &str = "try { await fetch('https://example.test/'); } catch (e) { return { name: e.name, code: e.code, told: e.message }; }";

fn names_the_switch(told: &Value) {
    assert_eq!((&told["name"], &told["code"]), (&json!("TypeError"), &json!("ERR_ACCESS_DENIED")));
    assert!(told["told"].as_str().unwrap().contains("GAMBREL_FETCH=1"), "{told}");
}

#[test]
fn without_leave_the_switch_is_named() {
    names_the_switch(&result(&Stand::new(), WITHOUT));
    each(|host: &FullHost| {
        let settings = ScriptSettings { full_host: host.clone(), ..ScriptSettings::default() };
        let stand = Stand::with(settings);
        let text = format!(
            "import 'node:net';\nexport default (pi) => pi.on('tool_call', async () => {{ {WITHOUT} }});"
        );
        stand.write("m.ts", &text);
        names_the_switch(&stand.answer("m.ts", bash("ls"))["results"][0]);
    });
}
