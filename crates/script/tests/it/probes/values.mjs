import util, { inspect, format, promisify } from "node:util";
import { EventEmitter, once } from "node:events";
import assert from "node:assert";
import { setTimeout as sleep } from "timers/promises";
import { AsyncLocalStorage } from "node:async_hooks";
import timers from "timers";
export async function probe() {
  const out = [];
  class Foo { a = 1; #p = 2; get g() { return 1; } } class Bar extends Foo { [Symbol("s")] = 1; "k-x" = null; }
  const cyc = { n: 1 }; cyc.self = cyc; cyc.list = [cyc];
  const many = Array.from({ length: 30 }, (_, i) => i * 7); const words = Array.from({ length: 12 }, (_, i) => "w".repeat(i % 5 + 1));
  for (const v of ["a'b", 'a', "a'\"b", "x\ny\u0001", 1, -0, 1n, null, undefined, true, Symbol("q"), [], {}, [1, "a", null, undefined], [, 1, , ,], { a: 1, "b-c": { d: { e: { f: 1 } } } }, new Foo(), new Bar(), new Map([["a", { b: 1 }], [1, 2]]), new Set([1, "x"]), new Date(0), /x/gi, () => {}, function named() {}, class A {}, class B extends Foo {}, async () => {}, Object.create(null), Object.assign(Object.create(null), { x: 1 }), cyc, many, words, Array(120).fill(1), new Uint8Array(3), Buffer.from("hi"), { get a() { return 1; }, set a(v) {}, get b() { return 2; }, set c(v) {} }, Object.assign(() => {}, { p: 1 }), new String("s"), [[1, [2, [3, [4]]]]], { long: "x".repeat(90), other: "y".repeat(30) }, { t: "line one\nline two is long enough to be broken up, is it not? yes it is long enough now" }, Object.assign([1], { k: 2 }), { a: { b: { c: {} } } }, { f() {}, g: async function* () {} }, [undefined, null], new (class extends Map {})(), new (class X extends Array {})(), { [Symbol.toStringTag]: "T" }, "x".repeat(200)])
    out.push(inspect(v));
  out.push(inspect({ a: { b: { c: { d: 1 } } } }, { depth: 0 }), inspect({ a: { b: { c: { d: 1 } } } }, { depth: null }), inspect({ b: 1, a: 2 }, { sorted: true }), inspect({ [inspect.custom]: () => "mine" }), inspect({ a: 1, b: { c: 2 } }, { breakLength: Infinity }), inspect({ a: 1, b: { c: 2 } }, { compact: false }));
  out.push(format("%s %d %i %f %j %o %O %% %c|", "a", 1.5, 2.7, "3.1", { a: 1 }, 1, { b: 2 }, "css"), format("x", 1, { a: 1 }, "y"), format(1, "a"), format("%s", null, undefined), format("%s", { a: { b: 1 } }), format("%d", "x"), format("100%"), format("%s", Symbol("a")), format("%s", [1, [2]]));
  out.push(await promisify((a, cb) => cb(null, a + 1))(1), await promisify((cb) => cb(new Error("no")))().catch((e) => e.message), util.stripVTControlCharacters("\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007l\u001b]8;;\u0007"), util.types.isDate(new Date()), util.isDeepStrictEqual({ a: [1, new Set([1])] }, { a: [1, new Set([1])] }), util.isDeepStrictEqual([1], ["1"]), new util.TextDecoder().decode(new util.TextEncoder().encode("é")));
  const e = new EventEmitter(); const log = [];
  e.on("x", (...a) => log.push(["on", ...a])); e.once("x", (...a) => log.push(["once", ...a])); e.prependListener("x", () => log.push("first")); const f = () => log.push("f"); e.on("x", f); e.on("x", f); e.off("x", f);
  out.push(e.emit("x", 1, 2), e.emit("x", 3), e.emit("y"), log, e.listenerCount("x"), e.eventNames(), e.getMaxListeners(), e.on("z", f) === e);
  try { e.emit("error", new Error("boom")); } catch (x) { out.push(x.message); } try { e.emit("error", { a: 1 }); } catch (x) { out.push([x.code, x.message]); } try { e.on("q", 1); } catch (x) { out.push([x.code, x.message]); }
  setTimeout(() => e.emit("later", 7), 1); out.push(await once(e, "later")); setTimeout(() => e.emit("error", new Error("bad")), 1); out.push(await once(e, "never").catch((x) => x.message));
  out.push(await sleep(1, "v"), await sleep(1000, 0, { signal: AbortSignal.abort() }).catch((x) => [x.name, x.code, x.message]), timers.setTimeout === setTimeout);
  const bad = (run) => { try { run(); return "held"; } catch (x) { return [x.name, x.code, x.operator]; } };
  out.push(bad(() => assert(0)), bad(() => assert.equal(1, "1")), bad(() => assert.strictEqual(1, "1")), bad(() => assert.deepStrictEqual({ a: 1 }, { a: 1 })), bad(() => assert.deepEqual({ a: 1 }, { a: "1" })), bad(() => assert.throws(() => { throw new TypeError("x"); }, TypeError)), bad(() => assert.throws(() => {})), bad(() => assert.throws(() => { throw new Error("abc"); }, /abc/)), bad(() => assert.match("a", /b/)), bad(() => assert.ok(1)), bad(() => assert.notStrictEqual(1, 1)), await assert.rejects(Promise.reject(new Error("r")), { message: "r" }));
  const als = new AsyncLocalStorage(); out.push(als.getStore() ?? "none", als.run({ id: 1 }, () => als.getStore()), await als.run({ id: 2 }, async () => { await sleep(1); return als.getStore(); }), als.getStore() ?? "none");
  return out;
}
