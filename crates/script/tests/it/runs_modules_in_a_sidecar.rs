//! Modules that need npm packages or more of Node run in a sidecar, with the same API. The process
//! never outlives its deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gambrel_model::End;
use gambrel_script::{FullHost, ScriptSettings};
use serde_json::json;

use crate::full_hosts::run_in_each_host;
use crate::module_dir::{ModuleDir, bash_body, load_error};

/// A module that needs a full host because it imports `node:net`.
fn module_text(body: &str) -> String {
    format!("import 'node:net'; import net from 'node:net';\nimport {{ twice }} from './lib/twice';\nimport {{ say }} from 'some-package';\nimport {{ Text, type Gone }} from '@oh-my-pi/pi-tui';
enum Level {{ Low = 4 }}\nexport default async (pi: any) => {{ pi.on('tool_call', async (event: any, ctx: any) => {{\n{body}\n}}); }};")
}

fn prepare_dir(host: &FullHost, body: &str) -> ModuleDir {
    let ask = |_: &gambrel_script::Question| Some(json!(true));
    let full_host = host.clone();
    let dir = ModuleDir::with_settings(ScriptSettings {
        ask: Some(Arc::new(ask)),
        full_host,
        ..Default::default()
    });
    dir.write_file(
        "node_modules/some-package/package.json",
        r#"{"name":"some-package","type":"module","exports":"./index.js"}"#,
    );
    dir.write_file("node_modules/some-package/index.js", "export const say = (x) => 'said ' + x;");
    dir.write_file("lib/twice.ts", "export const twice = (n: number): number => n * 2;");
    dir.write_file("m.ts", &module_text(body));
    dir
}

#[test]
fn offers_the_same_api() {
    run_in_each_host(|host| {
        let dir = prepare_dir(
        host,
        "console.log('to the log'); process.stdout.write('also\\n'); ctx.ui.notify('note'); pi.sendMessage({ content: 'x' });
         const run = await pi.exec('printf', ['%s', 'a b']); const yes = await ctx.ui.confirm('t', 'm');
         let missing; try { await pi.exec('no-such-program-here'); } catch (e) { missing = e.code; }
         new Text('x'); event.input.command = 'changed';
         return { twice: twice(Level.Low), say: say('hi'), net: typeof net.connect, out: run.stdout, yes, missing, cwd: ctx.cwd };",
    );
        let mut body = bash_body("ls");
        body["ctx"]["hasUI"] = json!(true);
        body["changes"] = json!(true);
        let answer = dir.answer("m.ts", body);
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
fn keeps_the_process_and_its_state() {
    run_in_each_host(|host| {
        let dir = prepare_dir(
            host,
            "globalThis.n = (globalThis.n ?? 0) + 1; return { n: globalThis.n, pid: process.pid };",
        );
        let first = dir.answer("m.ts", bash_body("ls"))["results"][0].clone();
        let second = dir.answer("m.ts", bash_body("ls"))["results"][0].clone();
        assert_eq!((&first["n"], &second["n"]), (&json!(1), &json!(2)));
        assert_eq!(first["pid"], second["pid"]);
    });
}

#[test]
fn errors_name_the_source_line() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host, "\n\n throw new Error('here');");
        let answer = dir.answer("m.ts", bash_body("ls"));
        assert_eq!(answer["errors"][0]["error"], "here");
        assert_eq!(answer["errors"][0]["at"], format!("{}:9", dir.path("m.ts").display()));
        dir.write_file(
            "m.ts",
            "import { gone } from 'no-such-package-at-all';\nexport default gone;",
        );
        let outcome = dir.call("m.ts", json!({"op": "load"}));
        assert!(load_error(&outcome).contains("no-such-package-at-all"), "{outcome:?}");
        dir.write_file("m.ts", "import 'node:net';\nexport default 1;");
        let outcome = dir.call("m.ts", json!({"op": "load"}));
        assert!(
            load_error(&outcome).starts_with("Hook must export a default function"),
            "{outcome:?}"
        );
    });
}

#[test]
fn kills_a_looping_process_and_starts_another() {
    run_in_each_host(|host| {
        let dir = prepare_dir(
            host,
            "const mark = event.input.command; if (mark.startsWith('/')) { (await import('node:fs')).writeFileSync(mark, `${process.pid}`); for (;;); } return { fine: true };",
        );
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"fine": true}]));

        let hasty = ModuleDir { timeout: Duration::from_secs(2), ..dir };
        let mark = hasty.path("pid");
        let outcome = hasty.call("m.ts", bash_body(mark.to_str().unwrap()));
        assert_eq!(outcome.end, End::TimedOut);
        assert!(outcome.elapsed < Duration::from_secs(6));

        let pid = std::fs::read_to_string(&mark).unwrap();
        let until = Instant::now() + Duration::from_secs(5);
        while cfg!(target_os = "linux") && std::path::Path::new(&format!("/proc/{pid}")).exists() {
            assert!(Instant::now() < until, "the process is still there");
            std::thread::yield_now();
        }

        let patient = ModuleDir { timeout: Duration::from_secs(20), ..hasty };
        assert_eq!(patient.answer("m.ts", bash_body("ls"))["results"], json!([{"fine": true}]));
    });
}

#[test]
fn exits_and_crashes_are_errors() {
    run_in_each_host(|host| {
        let dir = prepare_dir(
            host,
            "if (event.input.command === 'exit') process.exit(2); if (event.input.command === 'die') process.kill(process.pid, 'SIGKILL'); await new Promise(r => setTimeout(r, event.input.command === 'die' ? 5000 : 0)); return { fine: true };",
        );
        assert_eq!(
            dir.answer("m.ts", bash_body("exit"))["errors"][0]["error"],
            "process.exit(2) was called"
        );
        let answer = dir.answer("m.ts", bash_body("die"));
        assert!(
            answer["errors"][0]["error"].as_str().unwrap().contains("process has ended"),
            "{answer}"
        );
        assert_eq!(dir.answer("m.ts", bash_body("ls"))["results"], json!([{"fine": true}]));
    });
}

#[test]
fn transfers_every_character() {
    run_in_each_host(|host| {
        let dir = prepare_dir(host, "return { back: event.input.command };");
        let long = "\u{2028}\u{2029}\u{85}\r\n\u{0}\u{7f}é🎉\"\\".repeat(40_000);
        let answer = dir.answer("m.ts", bash_body(&long));
        assert!(answer["results"][0]["back"] == json!(long), "{host:?}: {}", answer["errors"]);
    });
}

#[test]
fn forks_and_workers_start_normally() {
    run_in_each_host(|host| {
        let dir = prepare_dir(
            host,
            "const { fork } = await import('node:child_process'); const { Worker } = await import('node:worker_threads');
             const heard = (from: any) => new Promise((done, fail) => from.on('message', done).on('error', fail));
             const child = fork(new URL('./w.mjs', import.meta.url).pathname.replaceAll('%20', ' '));
             const forked = await heard(child); child.kill();
             const text = \"const { parentPort } = require('worker_threads'); parentPort.postMessage('worker');\";
             const worked = await heard(new Worker(text, { eval: true }));
             return { forked, worked, args: process.execArgv, open: [typeof module, typeof exports] };",
        );
        dir.write_file("w.mjs", "process.send('fork');");
        let answer = dir.answer("m.ts", bash_body("ls"));
        let expected = json!([{"forked": "fork", "worked": "worker", "args": [],
                               "open": ["undefined", "undefined"]}]);
        assert_eq!(answer["results"], expected, "{host:?}: {answer}");
    });
}
