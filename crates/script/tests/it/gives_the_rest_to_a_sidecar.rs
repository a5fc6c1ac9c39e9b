//! Modules that need npm packages or more of Node than the engine has: the same API, in a process
//! of their own that never outlives its deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::End;
use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::each;
use crate::stand::{Stand, bash, unstarted};

/// `node:net`, imported for its own sake, keeps it out of the embedded engine.
fn module(body: &str) -> String {
    format!("import 'node:net'; import net from 'node:net';\nimport {{ twice }} from './lib/twice';\nimport {{ say }} from 'some-package';\nimport {{ Text, type Gone }} from '@oh-my-pi/pi-tui';
enum Level {{ Low = 4 }}\nexport default async (pi: any) => {{ pi.on('tool_call', async (event: any, ctx: any) => {{\n{body}\n}}); }};")
}

fn stand(host: &FullHost, body: &str) -> Stand {
    let ask = |_: &gambrel_script::Ask| Some(json!(true));
    let full_host = host.clone();
    let stand =
        Stand::with(ScriptSettings { ask: Some(Arc::new(ask)), full_host, ..Default::default() });
    stand.write(
        "node_modules/some-package/package.json",
        r#"{"name":"some-package","type":"module","exports":"./index.js"}"#,
    );
    stand.write("node_modules/some-package/index.js", "export const say = (x) => 'said ' + x;");
    stand.write("lib/twice.ts", "export const twice = (n: number): number => n * 2;");
    stand.write("m.ts", &module(body));
    stand
}

#[test]
fn the_api_is_the_same() {
    each(|host| {
        let stand = stand(
        host,
        "console.log('to the log'); process.stdout.write('also\\n'); ctx.ui.notify('note'); pi.sendMessage({ content: 'x' });
         const run = await pi.exec('printf', ['%s', 'a b']); const yes = await ctx.ui.confirm('t', 'm');
         let missing; try { await pi.exec('no-such-program-here'); } catch (e) { missing = e.code; }
         new Text('x'); event.input.command = 'changed';
         return { twice: twice(Level.Low), say: say('hi'), net: typeof net.connect, out: run.stdout, yes, missing, cwd: ctx.cwd };",
    );
        let mut body = bash("ls");
        body["ctx"]["hasUI"] = json!(true);
        body["changes"] = json!(true);
        let answer = stand.answer("m.ts", body);
        assert_eq!(answer["errors"], json!([]), "{answer}");
        let expected = json!({"twice": 8, "say": "said hi", "net": "function", "out": "a b", "yes": true,
                          "missing": "ENOENT", "cwd": "/"});
        assert_eq!(answer["results"], json!([expected]));
        assert_eq!(answer["event"]["input"]["command"], "changed");
        let types: Vec<_> =
            answer["effects"].as_array().unwrap().iter().map(|e| e["type"].clone()).collect();
        assert_eq!(types, ["log", "log", "notify", "sendMessage", "warning"]);
    });
}

#[test]
fn the_process_is_kept_and_state_with_it() {
    each(|host| {
        let stand = stand(
            host,
            "globalThis.n = (globalThis.n ?? 0) + 1; return { n: globalThis.n, pid: process.pid };",
        );
        let first = stand.answer("m.ts", bash("ls"))["results"][0].clone();
        let second = stand.answer("m.ts", bash("ls"))["results"][0].clone();
        assert_eq!((&first["n"], &second["n"]), (&json!(1), &json!(2)));
        assert_eq!(first["pid"], second["pid"]);
    });
}

#[test]
fn errors_name_the_line_that_was_written() {
    each(|host| {
        let stand = stand(host, "\n\n throw new Error('here');");
        let answer = stand.answer("m.ts", bash("ls"));
        assert_eq!(answer["errors"][0]["error"], "here");
        assert_eq!(answer["errors"][0]["at"], format!("{}:9", stand.path("m.ts").display()));
        stand.write("m.ts", "import { gone } from 'no-such-package-at-all';\nexport default gone;");
        let outcome = stand.call("m.ts", json!({"op": "load"}));
        assert!(unstarted(&outcome).contains("no-such-package-at-all"), "{outcome:?}");
        stand.write("m.ts", "import 'node:net';\nexport default 1;");
        let outcome = stand.call("m.ts", json!({"op": "load"}));
        assert!(
            unstarted(&outcome).starts_with("Hook must export a default function"),
            "{outcome:?}"
        );
    });
}

#[test]
fn a_loop_is_killed_and_the_module_is_usable_afterwards() {
    each(|host| {
        let stand = stand(
            host,
            "const mark = event.input.command; if (mark.startsWith('/')) { (await import('node:fs')).writeFileSync(mark, `${process.pid}`); for (;;); } return { fine: true };",
        );
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"fine": true}]));
        let hasty = Stand { timeout: Duration::from_secs(2), ..stand };
        let mark = hasty.path("pid");
        let outcome = hasty.call("m.ts", bash(mark.to_str().unwrap()));
        assert_eq!(outcome.end, End::TimedOut);
        assert!(outcome.elapsed < Duration::from_secs(6));
        let pid = std::fs::read_to_string(&mark).unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        while cfg!(target_os = "linux") && std::path::Path::new(&format!("/proc/{pid}")).exists() {
            assert!(Instant::now() < until, "the process is still there");
            std::thread::yield_now();
        }
        let patient = Stand { timeout: Duration::from_secs(20), ..hasty };
        assert_eq!(patient.answer("m.ts", bash("ls"))["results"], json!([{"fine": true}]));
    });
}

#[test]
fn leaving_and_dying_are_errors() {
    each(|host| {
        let stand = stand(
            host,
            "if (event.input.command === 'exit') process.exit(2); if (event.input.command === 'die') process.kill(process.pid, 'SIGKILL'); await new Promise(r => setTimeout(r, event.input.command === 'die' ? 5000 : 0)); return { fine: true };",
        );
        assert_eq!(
            stand.answer("m.ts", bash("exit"))["errors"][0]["error"],
            "process.exit(2) was called"
        );
        let answer = stand.answer("m.ts", bash("die"));
        assert!(
            answer["errors"][0]["error"].as_str().unwrap().contains("process has gone"),
            "{answer}"
        );
        assert_eq!(stand.answer("m.ts", bash("ls"))["results"], json!([{"fine": true}]));
    });
}

#[test]
fn every_character_arrives_and_comes_back() {
    each(|host| {
        let stand = stand(host, "return { back: event.input.command };");
        let long = "\u{2028}\u{2029}\u{85}\r\n\u{0}\u{7f}é🎉\"\\".repeat(40_000);
        let answer = stand.answer("m.ts", bash(&long));
        assert!(answer["results"][0]["back"] == json!(long), "{host:?}: {}", answer["errors"]);
    });
}

#[test]
fn what_it_forks_and_its_workers_are_not_started_as_it_was() {
    each(|host| {
        let stand = stand(
            host,
            "const { fork } = await import('node:child_process'); const { Worker } = await import('node:worker_threads');
             const heard = (from: any) => new Promise((done, fail) => from.on('message', done).on('error', fail));
             const child = fork(new URL('./w.mjs', import.meta.url).pathname.replaceAll('%20', ' '));
             const forked = await heard(child); child.kill();
             const text = \"const { parentPort } = require('worker_threads'); parentPort.postMessage('worker');\";
             const worked = await heard(new Worker(text, { eval: true }));
             return { forked, worked, args: process.execArgv, open: [typeof module, typeof exports] };",
        );
        stand.write("w.mjs", "process.send('fork');");
        let answer = stand.answer("m.ts", bash("ls"));
        let expected = json!([{"forked": "fork", "worked": "worker", "args": [],
                               "open": ["undefined", "undefined"]}]);
        assert_eq!(answer["results"], expected, "{host:?}: {answer}");
    });
}
