import EventEmitter, { once, errorMonitor } from "node:events";
import util from "node:util";
export async function probe() {
  const out = [];
  const bad = (run) => { try { return run(); } catch (e) { return [e.name, e.code, e.message]; } };
  const soon = () => new Promise((r) => setTimeout(r, 5));
  function A() { EventEmitter.call(this); } util.inherits(A, EventEmitter); let heard; const a = new A(); a.on("x", (n) => (heard = `heard ${n}`)); a.emit("x", 1); out.push([heard, a instanceof EventEmitter, A.super_ === EventEmitter]);
  function B() {} util.inherits(B, EventEmitter); const b = new B(); const all = []; b.once("y", (n) => all.push(n)); b.emit("y", 1); b.emit("y", 2); out.push(all, b.listenerCount("y"), b.eventNames());
  const o = Object.assign(Object.create(EventEmitter.prototype), { own: 1 }); o.on("z", () => all.push("z")); o.emit("z"); out.push(all);
  class C extends EventEmitter { constructor() { super(); this.c = 1; } } const c = new C(); out.push(c.constructor.name, c instanceof EventEmitter, EventEmitter.name, EventEmitter.prototype.constructor === EventEmitter, typeof EventEmitter.prototype.on, Object.keys(EventEmitter.prototype).includes("nothing"));
  const r = new EventEmitter(); const gone = []; const [f, g, h] = [() => {}, () => {}, () => {}]; r.on("a", f).on("a", g).once("b", h).on("removeListener", (n, l) => gone.push([n, [f, g, h].indexOf(l)])); r.removeAllListeners("a"); out.push(gone.splice(0)); r.on("a", f); r.removeAllListeners(); out.push(gone, r.eventNames()); r.on("q", f).on("p", g); r.removeAllListeners("q"); out.push(r.eventNames()); r.removeAllListeners(); out.push(r.eventNames());
  const caught = []; const k = new EventEmitter({ captureRejections: true }); k.on("error", (e) => caught.push(e.message)); k.on("go", async (n) => { throw new Error(`no ${n}`); }); k.emit("go", 1); await soon(); out.push(caught.splice(0));
  const own = new EventEmitter({ captureRejections: true }); own[Symbol.for("nodejs.rejection")] = (e, name, ...args) => caught.push([e.message, name, args]); own.on("go", async () => { throw new Error("mine"); }); own.emit("go", 1, 2); await soon(); out.push(caught.splice(0), EventEmitter.captureRejections, typeof EventEmitter.captureRejectionSymbol);
  const m = new EventEmitter(); m.on(errorMonitor, (e) => caught.push(`seen ${e?.message}`)); out.push(bad(() => m.emit("error", new Error("loud"))), caught.splice(0), bad(() => m.off("x")), bad(() => m.emit("error", { a: 1 })), bad(() => m.emit("error")));
  // The web's.
  const t = new EventTarget(); const e = new Event("x", { cancelable: true }); const seen = []; out.push([e.cancelable, e.defaultPrevented, e.target, e.currentTarget, e.bubbles, e.composed, e.eventPhase, e.returnValue, e.cancelBubble, e.isTrusted, typeof e.timeStamp]);
  t.addEventListener("x", (ev) => { ev.preventDefault(); seen.push([ev.target === t, ev.currentTarget === t, ev.defaultPrevented, ev.eventPhase, ev.composedPath().length]); }); out.push(t.dispatchEvent(e), seen, e.defaultPrevented, e.target === t, e.currentTarget, e.eventPhase, e.type);
  const plain = new Event("x"); out.push(t.dispatchEvent(plain), plain.defaultPrevented);
  const s = new EventTarget(); const order = []; s.addEventListener("x", (ev) => { order.push(1); ev.stopImmediatePropagation(); }); s.addEventListener("x", () => order.push(2)); s.dispatchEvent(new Event("x")); out.push(order);
  const ac = new AbortController(); const u = new EventTarget(); u.addEventListener("x", () => order.push("u"), { signal: ac.signal }); u.dispatchEvent(new Event("x")); ac.abort(); u.dispatchEvent(new Event("x")); out.push(order, bad(() => u.dispatchEvent({ type: "x" })).slice(0, 2));
  const ab = new AbortController(); ab.signal.onabort = (ev) => order.push([ev.type, ev.target === ab.signal]); ab.abort(); out.push(order.at(-1));
  u.addEventListener("y", { handleEvent(ev) { order.push([ev.type, typeof this.handleEvent]); } }, { once: true }); u.dispatchEvent(new Event("y")); u.dispatchEvent(new Event("y")); out.push(order.at(-1), order.length);
  setTimeout(() => k.emit("later", 5), 1); out.push(await once(k, "later"));
  return out;
}
