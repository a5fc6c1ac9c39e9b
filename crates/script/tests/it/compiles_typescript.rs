//! Compiles TypeScript and newer syntax that the engine lacks.

use serde_json::json;

use crate::module_dir::{ModuleDir, bash_body, load_error};

fn first_result(dir: &ModuleDir, name: &str) -> serde_json::Value {
    let answer = dir.answer(name, bash_body("ls"));
    assert_eq!(answer["errors"], json!([]));
    answer["results"][0].clone()
}

#[test]
fn compiles_types_enums_and_namespaces() {
    let dir = ModuleDir::new();
    let text = r#"#!/usr/bin/env bun
import { HookAPI, type Other } from "@oh-my-pi/pi-coding-agent/hooks";
import type Nothing from "no-such-package";
enum Level { Low = 1, High = Low << 3, Word = "w" as any }
const enum Fixed { A = 5 }
namespace Space { export const inner = "in"; export namespace Deep { export const er = 2; } }
abstract class Base<T> { constructor(private readonly kept: T, public other = 2) {} get(): T { return this.kept; } }
class Child extends Base<string> { declare ghost: string; field!: number; #secret = 1; override get() { return super.get() + this.#secret; } }
function over(a: string): string; function over(a: number): number; function over(a: any) { return a; }
const checked = { a: 1 } satisfies Record<string, number>;
let forced = <any>"x";
type Alias = { a?: string } & Other;
declare global { interface Window { x: number } }
export default function (pi: HookAPI) {
  pi.on("tool_call", (event: Alias, ctx): unknown => ({
    low: Level.High, fixed: Fixed.A, space: Space.inner + Space.Deep.er, name: Level[1],
    child: new Child("k").get(), over: over(1 as number)!, checked, forced,
  }));
}
"#;
    dir.write_file("m.ts", text);
    let expected = json!({"low": 8, "fixed": 5, "space": "in2", "name": "Low", "child": "k1",
                          "over": 1, "checked": {"a": 1}, "forced": "x"});
    assert_eq!(first_result(&dir, "m.ts"), expected);
}

#[test]
fn using_disposes_in_reverse_order() {
    let dir = ModuleDir::new();
    let text = r#"const dispose = Symbol.dispose ?? (Symbol as any).for("dispose");
export default (pi) => { pi.on("tool_call", async () => {
  const log: string[] = [];
  const made = (name: string) => ({ [Symbol.dispose]() { log.push(name); } });
  { using a = made("a"); using b = made("b"); log.push("body"); }
  { await using c = { async [Symbol.asyncDispose]() { log.push("c"); } }; }
  return { log };
}); };
"#;
    dir.write_file("m.ts", text);
    assert_eq!(first_result(&dir, "m.ts"), json!({"log": ["body", "b", "a", "c"]}));
}

#[test]
fn runs_javascript_with_top_level_await() {
    let dir = ModuleDir::new();
    let text = "const n = await Promise.resolve(4);\nexport default async (pi) => { await null; pi.on('tool_call', () => ({ n, last: [1, 2].at(-1), g: Object.groupBy([1, 2], (x) => x > 1) })); };";
    for name in ["m.js", "m.mjs", "m.ts", "m.mts"] {
        dir.write_file(name, text);
        let expected = json!({"n": 4, "last": 2, "g": {"false": [1], "true": [2]}});
        assert_eq!(first_result(&dir, name), expected);
    }
}

#[test]
fn offers_web_globals() {
    let dir = ModuleDir::new();
    let outcome = dir.run_handler(
        r#"const c = new AbortController(); let heard = 0; c.signal.addEventListener("abort", () => heard++);
        c.abort(); c.abort();
        const m = structuredClone({ d: new Date(0), m: new Map([[1, { a: 1 }]]) });
        const bytes = new TextEncoder().encode("ä€😀");
        let ticks = 0; const t = setInterval(() => { if (++ticks === 3) clearInterval(t); }, 1);
        await new Promise(r => setTimeout(r, 30));
        const order = []; setTimeout(() => order.push(2), 5); setTimeout(() => order.push(1), 1); setTimeout((x) => order.push(x), 6, 3);
        const gone = setTimeout(() => order.push("never"), 2); clearTimeout(gone);
        await new Promise(r => setTimeout(r, 30));
        return { heard, aborted: c.signal.aborted, name: c.signal.reason.name, date: m.d.toISOString(), deep: m.m.get(1).a,
            text: new TextDecoder().decode(bytes), length: bytes.length, ticks, order,
            env: typeof process.env.PATH, cwd: process.cwd(), pid: process.pid > 0 };"#,
    );
    let answer = outcome.answer.unwrap();
    let expected = json!({"heard": 1, "aborted": true, "name": "AbortError", "date": "1970-01-01T00:00:00.000Z",
        "deep": 1, "text": "ä€😀", "length": 9, "ticks": 3, "order": [1, 2, 3], "env": "string",
        "cwd": "/", "pid": true});
    assert_eq!(answer["results"][0], expected, "{answer}");
}

#[test]
fn accepts_only_legacy_decorators() {
    let dir = ModuleDir::new();
    let text = "const tag = (target: any, key: string) => { target.tagged = key; };\nclass A {\n  @tag run() {}\n}
export default (pi: any) => pi.on('tool_call', () => ({ tagged: (new A() as any).tagged }));";
    dir.write_file("lib/m.ts", text);
    let outcome = dir.call("lib/m.ts", bash_body("ls"));
    let error = load_error(&outcome);
    let position = format!("({}:3:3)", dir.path("lib/m.ts").display());
    assert!(error.contains("standard decorators are not supported"), "{error}");
    assert!(error.ends_with(&position), "{error}");

    let config = "{ // ours\n  \"compilerOptions\": { \"experimentalDecorators\": true, },\n}";
    dir.write_file("tsconfig.json", config);
    assert_eq!(first_result(&dir, "lib/m.ts"), json!({"tagged": "run"}));
}

#[test]
fn merges_namespace_blocks() {
    let dir = ModuleDir::new();
    let text = r#"const up = (s: string) => "outer " + s;
export namespace U { export const up = (s: string): string => s.toUpperCase(); export enum Kind { A = 4 } export class Made { n = 1; } const hidden = 1; }
export namespace U { export const e = up("x"); export const kind: Kind = Kind.A; export const both = { up, made: new Made().n, hidden: typeof hidden }; }
namespace A.B { export const b = 1; }
namespace A.B { export function c() { return b + 1; } export const local = ((b: number) => b)(7); }
export default (pi: any) => { pi.on("tool_call", () => ({ e: U.e, kind: U.kind, both: U.both.up("y"), made: U.both.made, hidden: U.both.hidden, c: A.B.c(), local: A.B.local, outer: up("z") })); };
"#;
    dir.write_file("m.ts", text);
    let expected = json!({"e": "X", "kind": 4, "both": "Y", "made": 1, "hidden": "undefined", "c": 2,
                          "local": 7, "outer": "outer z"});
    assert_eq!(first_result(&dir, "m.ts"), expected);
}
