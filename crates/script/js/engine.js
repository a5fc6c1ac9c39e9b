// The script of the embedded engine: takes the host functions, and defines the globals of a module.
// The host functions stay in this closure; a module reaches them only through shims.
(natives, path, hasUI, api, contexts) => {
  "use strict";
  const { parse, stringify } = JSON;
  const Own = Promise;
  const waiting = new Map();
  const modules = new Map();

  // ── host functions: see src/node/host/mod.rs ──
  const unwrap = (said) => {
    if (said.err === undefined) return said.ok;
    const { message, ...fields } = said.err;
    throw Object.assign(new Error(message), fields);
  };
  const __op = (name, args) => unwrap(parse(natives.op(name, stringify(args ?? null))));
  const __open = (name, args, onEvent) => {
    const id = natives.start(name, stringify(args ?? null));
    waiting.set(id, onEvent);
    return {
      id,
      send: (value) => unwrap(parse(natives.send(id, stringify(value ?? null)))),
      close: () => (waiting.delete(id), natives.close(id)),
    };
  };
  const wait = (id) =>
    new Promise((resolve, reject) => {
      waiting.set(id, (said) => {
        try {
          resolve(unwrap(said));
        } catch (err) {
          reject(err);
        }
      });
    });
  const __start = (name, args) => wait(natives.start(name, stringify(args ?? null)));
  const __bytes = { of: natives.bytesOf, recode: natives.recode };
  const deliver = (id, text, last) => {
    const receive = waiting.get(id);
    if (last) waiting.delete(id);
    receive?.(parse(text), last);
  };

  // ── shims: CommonJS bodies, run when first asked for ──
  const missing = (name) => Object.assign(new Error(`Cannot find module '${name}'`), { code: "MODULE_NOT_FOUND" });
  const need = (name) => {
    const key = name.startsWith("node:") ? name.slice(5) : name;
    const known = modules.get(key);
    if (known) return known.exports;
    const body = natives.shim(key);
    if (!body) throw missing(name);
    const module = { exports: {} };
    modules.set(key, module);
    body(module, module.exports, need, __op, __start, __open, __bytes);
    return module.exports;
  };

  // ── globals ──
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  const lazily = (shim, ...names) => {
    for (const name of names) {
      Object.defineProperty(globalThis, name, {
        configurable: true,
        get() {
          let value;
          try {
            value = need(shim)[name];
          } catch {}
          define(name, value);
          return value;
        },
        set: (value) => define(name, value),
      });
    }
  };

  // ── stacks begin with the error's own words, which the engine leaves out ──
  const { get: traced } = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
  const { captureStackTrace } = Error;
  const words = Error.prototype.toString;
  const headed = (err, trace) => {
    if (typeof trace !== "string" || (trace !== "" && !trace.startsWith("    at "))) return trace;
    try {
      return `${words.call(err)}\n${trace}`.trimEnd();
    } catch {
      return trace;
    }
  };
  const setStack = (err, value) =>
    void Object.defineProperty(err, "stack", { value, writable: true, configurable: true, enumerable: false });
  Object.defineProperty(Error.prototype, "stack", {
    configurable: true,
    get() {
      return headed(this, traced.call(this));
    },
    set(value) {
      setStack(this, value);
    },
  });
  Error.captureStackTrace = function capture(target, above) {
    captureStackTrace(target, above ?? capture);
    setStack(target, headed(target, target.stack));
  };

  class Timer {
    constructor(id) {
      this.id = id;
    }
    #counts = true;
    ref() {
      this.#counts = true;
      return this;
    }
    unref() {
      this.#counts = false;
      return this;
    }
    hasRef() {
      return this.#counts;
    }
    refresh() {
      this.renew?.();
      return this;
    }
    close() {
      disarm(this);
      return this;
    }
    [Symbol.toPrimitive]() {
      return this.id;
    }
  }
  const arm = (run, delay, args, again) => {
    if (typeof run !== "function") throw new TypeError("The callback must be a function");
    const pause = Math.min(Math.max(Number(delay) || 0, again ? 1 : 0), 0x7fffffff);
    const timer = new Timer();
    const begin = () => {
      timer.id = natives.timer(pause);
      waiting.set(timer.id, ring);
    };
    const ring = () => {
      if (again) begin();
      run(...args);
    };
    const renew = () => (waiting.delete(timer.id), natives.close(timer.id), begin());
    Object.defineProperty(timer, "renew", { value: renew, writable: true, enumerable: false });
    begin();
    return timer;
  };
  const disarm = (timer) => {
    const id = timer instanceof Timer ? timer.id : timer;
    if (typeof id === "number") waiting.delete(id), natives.close(id);
    // A timer that was cleared must not restart.
    if (timer instanceof Timer) timer.renew = undefined;
  };
  define("setTimeout", (run, delay, ...args) => arm(run, delay, args, false));
  define("setInterval", (run, delay, ...args) => arm(run, delay, args, true));
  define("setImmediate", (run, ...args) => arm(run, 0, args, false));
  for (const name of ["setTimeout", "setImmediate"]) {
    const promised = { get: () => need("timers/promises")[name], configurable: true };
    Object.defineProperty(globalThis[name], Symbol.for("nodejs.util.promisify.custom"), promised);
  }
  define("clearTimeout", disarm);
  define("clearInterval", disarm);
  define("clearImmediate", disarm);

  const show = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Map || value instanceof Set) return need("inspect").inspect(value);
    if (value instanceof Error) return value.stack || String(value);
    try {
      return (typeof value === "object" && stringify(value)) || String(value);
    } catch {
      return Object.prototype.toString.call(value);
    }
  };
  const filled = (words) =>
    words.length > 1 && typeof words[0] === "string" && /%[sdifoOcj%]/.test(words[0])
      ? need("inspect").format(...words)
      : words.map(show).join(" ");
  const log = (level, words) => natives.effect(stringify({ type: "log", level, message: filled(words) }));
  const says = (level) => (...words) => log(level, words);
  const quiet = () => {};
  define("console", {
    log: says("info"), info: says("info"), debug: says("debug"), trace: says("debug"),
    warn: says("warn"), error: says("error"), dir: says("info"), table: says("info"),
    assert: (ok, ...words) => ok || log("error", ["Assertion failed", ...words]),
    group: says("info"), groupCollapsed: says("info"), groupEnd: quiet, dirxml: says("info"),
    time: quiet, timeEnd: quiet, timeLog: quiet, timeStamp: quiet, count: quiet, countReset: quiet, clear: quiet,
  });
  // Performance entries are created but not stored.
  const entry = (entryType) => (name) => ({ name: String(name), entryType, startTime: performance.now(), duration: 0, detail: null });
  Object.assign(performance, {
    mark: entry("mark"), measure: entry("measure"), clearMarks: quiet, clearMeasures: quiet,
    getEntries: () => [], getEntriesByName: () => [], getEntriesByType: () => [],
  });
  lazily("process", "process");
  lazily("lowered", "babelHelpers");
  lazily("web", "AbortController", "AbortSignal", "DOMException", "Event", "EventTarget", "TextEncoder", "TextDecoder", "structuredClone");
  lazily("url", "URL", "URLSearchParams");
  lazily("buffer", "Buffer", "atob", "btoa");
  lazily("fetch", "fetch", "Headers", "Request", "Response");
  Object.defineProperty(globalThis, "crypto", {
    configurable: true,
    get() {
      const value = need("crypto").webcrypto ?? need("crypto");
      define("crypto", value);
      return value;
    },
  });
  define("require", (name) => {
    const shim = natives.shimFor(String(name));
    if (!shim) throw missing(name);
    return shim === "host" ? need(shim).space(String(name)) : need(shim);
  });
  define("global", globalThis);

  // ── methods that the engine lacks: locale (English only) and Atomics.wait ──
  const method = (type, name) => {
    const value = { [name](...args) { return need("locale")[type.name][name](this, ...args); } }[name];
    Object.defineProperty(type.prototype, name, { value, writable: true, configurable: true });
  };
  for (const type of [Number, BigInt, Date]) method(type, "toLocaleString");
  method(Date, "toLocaleDateString");
  method(Date, "toLocaleTimeString");
  method(String, "localeCompare");
  Atomics.wait = (...args) => need("sleep")(...args);

  // ── the API ──
  const exec = (command, args, options) =>
    new Promise((resolve, reject) => {
      const { signal, ...rest } = options ?? {};
      const ask = { ...rest, command: String(command), args: [...(args ?? [])].map(String) };
      const run = __open("exec", ask, (said) => {
        if (said.err === undefined) return resolve(said.ok);
        try {
          unwrap(said);
        } catch (err) {
          reject(err);
        }
      });
      const stop = () => run.send({ kill: true });
      if (signal?.aborted) stop();
      else signal?.addEventListener?.("abort", stop);
    });
  // The value of a promise, or the promise itself while it is pending.
  const peek = (promise) => {
    try {
      return natives.peek(promise);
    } catch (err) {
      unheard.delete(promise);
      throw err;
    }
  };
  class NotAFactory extends Error {}
  const host = {
    path, hasUI, exec, show, peek, NotAFactory,
    effect: natives.effect,
    lap: natives.lap,
    ask: (text) => {
      const id = natives.ask(text);
      return { answer: wait(id), drop: () => (waiting.delete(id), natives.close(id)) };
    },
    typebox: () => need("typebox"),
    stub: (name) => need("host").stub(name),
  };
  const { load, emit, giveUp, lone, command, listed, messageOf, stackOf } = api(host, contexts);

  // Rejections without a handler. The end of a call reports those that remain.
  const unheard = new Map();
  const rejected = (promise, reason, handled) => void (handled ? unheard.delete(promise) : unheard.set(promise, reason));
  const tell = () => {
    for (const reason of unheard.values()) {
      const message = `a promise was rejected and nobody listened: ${messageOf(reason)}`;
      natives.effect(stringify({ type: "warning", message }));
    }
    unheard.clear();
  };
  const settle = (text) => {
    if (unheard.size) tell();
    natives.settle(text);
  };
  const failed = (err) => settle(stringify({
    failed: messageOf(err), stack: stackOf(err), bare: err instanceof NotAFactory, fatal: err === null,
  }));
  const settled = (promise, done) => void promise.then(done, failed);
  return Object.freeze({
    deliver,
    need,
    rejected,
    load: (space) => settled(load(space), () => settle("{}")),
    imported: settled,
    tell: () => void (unheard.size && tell()),
    lone,
    // Returns a report or a single result if it exists at once; otherwise `settle` sends it later.
    emit: (event, rest) => {
      try {
        const told = emit(event, rest);
        if (told instanceof Own) return settled(told, settle);
        if (unheard.size) tell();
        return told;
      } catch (err) {
        failed(err);
      }
    },
    // Whether the call can continue or end without the current handler.
    giveUp: (message, here) => {
      const told = giveUp(message, here);
      if (told) settled(told, settle);
      return told !== undefined;
    },
    command: (name, args, rest) => settled(command(name, args, rest), settle),
    listed,
  });
}
