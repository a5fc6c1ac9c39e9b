// EventEmitter.
const { coded, needFunction, aborted } = need("errors");
const lists = Symbol("listeners");
const most = Symbol("most");
class EventEmitter {
  constructor() {
    this[lists] ??= new Map();
  }
  // A subclass may be set up without our constructor (`util.inherits`).
  #of(name) {
    this[lists] ??= new Map();
    return this[lists].get(name) ?? [];
  }
  #add(name, listener, first) {
    needFunction("listener", listener);
    const list = this.#of(name);
    if (this[lists].has("newListener")) this.emit("newListener", name, listener.listener ?? listener);
    const own = this.#of(name);
    this[lists].set(name, first ? [listener, ...own] : [...own, listener]);
    return list && this;
  }
  #single(name, listener) {
    needFunction("listener", listener);
    const once = (...args) => {
      this.removeListener(name, once);
      return listener.apply(this, args);
    };
    once.listener = listener;
    return once;
  }
  on(name, listener) {
    return this.#add(name, listener, false);
  }
  addListener(name, listener) {
    return this.on(name, listener);
  }
  prependListener(name, listener) {
    return this.#add(name, listener, true);
  }
  once(name, listener) {
    return this.on(name, this.#single(name, listener));
  }
  prependOnceListener(name, listener) {
    return this.prependListener(name, this.#single(name, listener));
  }
  removeListener(name, listener) {
    const list = this.#of(name);
    const at = list.findLastIndex((one) => one === listener || one.listener === listener);
    if (at < 0) return this;
    const rest = list.toSpliced(at, 1);
    rest.length ? this[lists].set(name, rest) : this[lists].delete(name);
    if (this[lists].has("removeListener")) this.emit("removeListener", name, listener.listener ?? listener);
    return this;
  }
  off(name, listener) {
    return this.removeListener(name, listener);
  }
  removeAllListeners(name) {
    if (!this[lists]) return this;
    name === undefined ? this[lists].clear() : this[lists].delete(name);
    return this;
  }
  emit(name, ...args) {
    const list = this.#of(name);
    if (list.length === 0) {
      if (name !== "error") return false;
      if (args[0] instanceof Error) throw args[0];
      throw coded(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${need("inspect").inspect(args[0])})`, { context: args[0] });
    }
    for (const listener of list) Reflect.apply(listener, this, args);
    return true;
  }
  listeners(name) {
    return this.#of(name).map((one) => one.listener ?? one);
  }
  rawListeners(name) {
    return [...this.#of(name)];
  }
  listenerCount(name, listener) {
    const all = this.listeners(name);
    return listener ? all.filter((one) => one === listener).length : all.length;
  }
  eventNames() {
    return [...(this[lists]?.keys() ?? [])];
  }
  setMaxListeners(count) {
    this[most] = count;
    return this;
  }
  getMaxListeners() {
    return this[most] ?? EventEmitter.defaultMaxListeners;
  }
}
const isTarget = (emitter) => typeof emitter?.addEventListener === "function";
const listen = (emitter, name, run) => {
  if (!isTarget(emitter)) return emitter.on(name, run), () => emitter.removeListener(name, run);
  emitter.addEventListener(name, run);
  return () => emitter.removeEventListener(name, run);
};
const once = (emitter, name, options) =>
  new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal?.aborted) return reject(aborted(signal));
    const ends = [];
    const end = (settle, value) => {
      for (const stop of ends) stop();
      settle(value);
    };
    ends.push(listen(emitter, name, (...args) => end(resolve, args)));
    if (name !== "error" && !isTarget(emitter)) ends.push(listen(emitter, "error", (err) => end(reject, err)));
    if (signal) ends.push(listen(signal, "abort", () => end(reject, aborted(signal))));
  });
const on = (emitter, name, options) => {
  const [ready, waiting, ends] = [[], [], []];
  let over;
  const settle = (give) => (waiting.length ? give(waiting.shift()) : ready.push(give));
  const stop = () => {
    for (const end of ends.splice(0)) end();
    over = true;
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  };
  ends.push(listen(emitter, name, (...args) => settle(({ resolve }) => resolve({ value: args, done: false }))));
  if (name !== "error") ends.push(listen(emitter, "error", (err) => settle(({ reject }) => (stop(), reject(err)))));
  if (options?.signal) ends.push(listen(options.signal, "abort", () => settle(({ reject }) => (stop(), reject(aborted(options.signal))))));
  return {
    next: () =>
      new Promise((resolve, reject) => {
        if (ready.length) ready.shift()({ resolve, reject });
        else if (over) resolve({ value: undefined, done: true });
        else waiting.push({ resolve, reject });
      }),
    return: stop,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
};
Object.assign(EventEmitter, {
  EventEmitter, once, on, defaultMaxListeners: 10,
  errorMonitor: Symbol("events.errorMonitor"),
  captureRejectionSymbol: Symbol.for("nodejs.rejection"),
  listenerCount: (emitter, name) => emitter.listenerCount(name),
  getEventListeners: (emitter, name) => emitter.listeners?.(name) ?? [],
  setMaxListeners() {},
});
module.exports = EventEmitter;
