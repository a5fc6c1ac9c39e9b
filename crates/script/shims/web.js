// The few web globals that the language itself lacks.
const dispatch = Symbol("dispatch");
class Event {
  #cancelable;
  #bubbles;
  #composed;
  #prevented = false;
  #halted = false;
  #stopped = false;
  #target = null;
  #under = false;
  #since = performance.now();
  constructor(type, options) {
    this.type = `${type}`;
    this.#cancelable = !!options?.cancelable;
    this.#bubbles = !!options?.bubbles;
    this.#composed = !!options?.composed;
  }
  // Calls each listener, until one of them wants no more.
  [dispatch](target, listeners) {
    [this.#target, this.#under] = [target, true];
    for (const listener of listeners) {
      if (this.#halted) break;
      listener(this);
    }
    this.#under = false;
    return !this.#prevented;
  }
  preventDefault() {
    this.#prevented ||= this.#cancelable;
  }
  stopPropagation() {
    this.#stopped = true;
  }
  stopImmediatePropagation() {
    this.#stopped = this.#halted = true;
  }
  composedPath() {
    return this.#under ? [this.#target] : [];
  }
  get target() {
    return this.#target;
  }
  get srcElement() {
    return this.#target;
  }
  get currentTarget() {
    return this.#under ? this.#target : null;
  }
  get eventPhase() {
    return this.#under ? 2 : 0;
  }
  get cancelable() {
    return this.#cancelable;
  }
  get bubbles() {
    return this.#bubbles;
  }
  get composed() {
    return this.#composed;
  }
  get defaultPrevented() {
    return this.#prevented;
  }
  get returnValue() {
    return !this.#prevented;
  }
  get cancelBubble() {
    return this.#stopped;
  }
  set cancelBubble(value) {
    this.#stopped ||= !!value;
  }
  get timeStamp() {
    return this.#since;
  }
  get isTrusted() {
    return false;
  }
}
class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    const list = this.#listeners.get(type) ?? [];
    if (options?.signal?.aborted || !listener) return;
    if (!list.some((l) => l.listener === listener)) list.push({ listener, once: options?.once === true });
    this.#listeners.set(type, list);
    options?.signal?.addEventListener("abort", () => this.removeEventListener(type, listener), { once: true });
  }
  removeEventListener(type, listener) {
    this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((l) => l.listener !== listener));
  }
  dispatchEvent(event) {
    if (!(event instanceof Event)) throw need("errors").wrongType("event", "an instance of Event", event);
    const own = (event) => this[`on${event.type}`]?.(event);
    const all = [...(this.#listeners.get(event.type) ?? [])].map(({ listener, once }) => (event) => {
      if (once) this.removeEventListener(event.type, listener);
      typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event);
    });
    return event[dispatch](this, [own, ...all]);
  }
}
const codes = { NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12, NetworkError: 19, AbortError: 20, TimeoutError: 23, DataCloneError: 25 };
class DOMException extends Error {
  constructor(message = "", options = "Error") {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    const name = typeof options === "object" ? (options?.name ?? "Error") : `${options}`;
    const hidden = (value) => ({ value, writable: true, configurable: true, enumerable: false });
    Object.defineProperties(this, { name: hidden(name), code: hidden(codes[name] ?? 0) });
  }
}
const abortError = () => new DOMException("This operation was aborted", "AbortError");
const fire = Symbol("fire");
class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;
  [fire](reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason === undefined ? abortError() : reason;
    this.dispatchEvent(new Event("abort"));
  }
  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }
  static abort(reason) {
    const signal = new AbortSignal();
    signal[fire](reason);
    return signal;
  }
  static timeout(ms) {
    const signal = new AbortSignal();
    setTimeout(() => signal[fire](new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
    return signal;
  }
  static any(signals) {
    const signal = new AbortSignal();
    for (const one of signals) {
      if (one.aborted) signal[fire](one.reason);
      else one.addEventListener("abort", () => signal[fire](one.reason));
    }
    return signal;
  }
}
class AbortController {
  signal = new AbortSignal();
  abort(reason) {
    this.signal[fire](reason);
  }
}

const copy = (value, seen) => {
  if (typeof value === "function" || typeof value === "symbol") {
    throw new DOMException(`${String(value)} could not be cloned.`, "DataCloneError");
  }
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (made) => (seen.set(value, made), made);
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (ArrayBuffer.isView(value)) return keep(value.slice());
  if (value instanceof Map) {
    const made = keep(new Map());
    for (const [k, v] of value) made.set(copy(k, seen), copy(v, seen));
    return made;
  }
  if (value instanceof Set) {
    const made = keep(new Set());
    for (const v of value) made.add(copy(v, seen));
    return made;
  }
  if (value instanceof Error) {
    const made = keep(new (globalThis[value.name] ?? Error)(value.message));
    made.stack = value.stack;
    return made;
  }
  const made = keep(Array.isArray(value) ? [] : {});
  for (const key of Object.keys(value)) made[key] = copy(value[key], seen);
  return made;
};
const structuredClone = (value) => copy(value, new Map());
module.exports = { Event, EventTarget, AbortSignal, AbortController, DOMException, structuredClone, ...need("text") };
