// EventEmitter.
const { coded, needFunction, aborted } = need("errors");
const lists = Symbol("listeners");
const most = Symbol("most");
const catches = Symbol("catches");
const rejection = Symbol.for("nodejs.rejection");
const errorMonitor = Symbol("events.errorMonitor");
// A function, and nothing private: it is also called on what others have made (`util.inherits`,
// `EventEmitter.call(this)`), with our constructor or without.
function EventEmitter(options) {
  this[lists] ??= new Map();
  if (options?.captureRejections ?? EventEmitter.captureRejections) this[catches] = true;
}
const listOf = (own, name) => {
  own[lists] ??= new Map();
  return own[lists].get(name) ?? [];
};
const add = (own, name, listener, first) => {
  needFunction("listener", listener);
  listOf(own, name);
  if (own[lists].has("newListener")) own.emit("newListener", name, listener.listener ?? listener);
  const list = listOf(own, name);
  own[lists].set(name, first ? [listener, ...list] : [...list, listener]);
  return own;
};
const single = (own, name, listener) => {
  needFunction("listener", listener);
  const once = (...args) => {
    own.removeListener(name, once);
    return listener.apply(own, args);
  };
  once.listener = listener;
  return once;
};
// A rejection of a listener's promise becomes an error of the emitter.
const heed = (own, promise, name, args) => {
  promise.then(undefined, (err) =>
    queueMicrotask(() => {
      if (typeof own[rejection] === "function") return own[rejection](err, name, ...args);
      const before = own[catches];
      own[catches] = false;
      try {
        own.emit("error", err);
      } finally {
        own[catches] = before;
      }
    }),
  );
};
const methods = class {
  on(name, listener) {
    return add(this, name, listener, false);
  }
  addListener(name, listener) {
    return this.on(name, listener);
  }
  prependListener(name, listener) {
    return add(this, name, listener, true);
  }
  once(name, listener) {
    return this.on(name, single(this, name, listener));
  }
  prependOnceListener(name, listener) {
    return this.prependListener(name, single(this, name, listener));
  }
  removeListener(name, listener) {
    needFunction("listener", listener);
    const list = listOf(this, name);
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
  removeAllListeners(...names) {
    if (!this[lists]) return this;
    const [name] = names;
    if (!this[lists].has("removeListener")) names.length ? this[lists].delete(name) : this[lists].clear();
    else if (names.length) for (const one of listOf(this, name).toReversed()) this.removeListener(name, one);
    else {
      // The `removeListener` listeners are removed last.
      for (const one of this.eventNames()) if (one !== "removeListener") this.removeAllListeners(one);
      this.removeAllListeners("removeListener");
    }
    return this;
  }
  emit(name, ...args) {
    if (name === "error") for (const listener of listOf(this, errorMonitor)) Reflect.apply(listener, this, args);
    const list = listOf(this, name);
    if (list.length === 0) {
      if (name !== "error") return false;
      if (args[0] instanceof Error) throw args[0];
      throw coded(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${need("inspect").inspect(args[0])})`, { context: args[0] });
    }
    for (const listener of list) {
      const made = Reflect.apply(listener, this, args);
      if (this[catches] && typeof made?.then === "function") heed(this, made, name, args);
    }
    return true;
  }
  listeners(name) {
    return listOf(this, name).map((one) => one.listener ?? one);
  }
  rawListeners(name) {
    return [...listOf(this, name)];
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
};
EventEmitter.prototype = Object.defineProperty(methods.prototype, "constructor", { value: EventEmitter, writable: true, configurable: true });
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
  EventEmitter, once, on, errorMonitor, defaultMaxListeners: 10, captureRejections: false, captureRejectionSymbol: rejection,
  listenerCount: (emitter, name) => emitter.listenerCount(name),
  getEventListeners: (emitter, name) => emitter.listeners?.(name) ?? [],
  setMaxListeners() {},
});
module.exports = EventEmitter;
