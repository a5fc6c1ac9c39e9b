// The few web globals that the language itself lacks.
class Event {
  constructor(type) {
    this.type = type;
    this.target = null;
  }
}
class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    const list = this.#listeners.get(type) ?? [];
    if (!list.some((l) => l.listener === listener)) list.push({ listener, once: options?.once === true });
    this.#listeners.set(type, list);
  }
  removeEventListener(type, listener) {
    this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((l) => l.listener !== listener));
  }
  dispatchEvent(event) {
    event.target = this;
    this[`on${event.type}`]?.(event);
    for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
      if (once) this.removeEventListener(event.type, listener);
      typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event);
    }
    return true;
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
