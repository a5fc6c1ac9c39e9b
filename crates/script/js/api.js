// The `pi` and `ctx` objects of a module. The same text runs in the embedded engine and in a
// sidecar. It uses only `host` (effect, ask, exec, show, typebox, stub, path, hasUI, NotAFactory).
// `contexts` is context.js.
(host, contexts) => {
  "use strict";
  const { parse, stringify } = JSON;
  const Own = Promise;
  // By event. Not a Map, because a module may change the methods of Map.
  const handlers = Object.create(null);
  const commands = new Map();
  const renderers = new Map();
  const none = [];
  const now = { event: "", text: "" };
  let ready = false;

  const isError = (err) => {
    try {
      return err instanceof Error;
    } catch {
      return false;
    }
  };
  const messageOf = (err) => {
    try {
      return `${err instanceof Error ? err.message : String(err)}`;
    } catch {
      return "unknown error";
    }
  };
  const stackOf = (err) => {
    try {
      return typeof err?.stack === "string" ? err.stack : "";
    } catch {
      return "";
    }
  };
  const effect = (type, fields) => host.effect(stringify({ type, ...fields }));
  const log = (level) => (...words) => effect("log", { level, message: words.map(host.show).join(" ") });
  const act = (type, ...names) => (...args) => {
    const fields = {};
    names.forEach((name, at) => (fields[name] = args[at]));
    effect(type, fields);
  };

  // ── pi ──
  const channels = new Map();
  const initialised = (word) => {
    if (!ready) throw new Error(`${word} handler not initialized`);
  };
  const pi = {
    on(event, handler) {
      const list = (handlers[event] ??= []);
      list[list.length] = handler;
    },
    sendMessage(message, options) {
      initialised("sendMessage");
      const how = typeof options === "boolean" ? { triggerTurn: options } : (options ?? {});
      effect("sendMessage", { message, options: how });
    },
    sendUserMessage(content, options) {
      initialised("sendUserMessage");
      effect("sendUserMessage", { content, options: options ?? {} });
    },
    appendEntry(customType, data) {
      initialised("appendEntry");
      effect("appendEntry", { customType, data });
    },
    registerCommand(name, options) {
      commands.set(name, options ?? {});
    },
    registerMessageRenderer(customType, renderer) {
      renderers.set(customType, renderer);
    },
    exec: (command, args, options) => host.exec(command, args, options),
    logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error"), trace: log("debug") },
    events: {
      on(channel, listener) {
        const list = channels.get(channel) ?? [];
        list.push(listener);
        channels.set(channel, list);
        return () => list.splice(list.indexOf(listener) >>> 0, 1);
      },
      emit(channel, value) {
        for (const listener of [...(channels.get(channel) ?? none)]) {
          try {
            listener(value);
          } catch (err) {
            effect("log", { level: "error", message: messageOf(err) });
          }
        }
      },
    },
    registerTool: (tool) => effect("registerTool", { name: tool?.name, description: tool?.description }),
    registerShortcut: act("registerShortcut", "key"),
    registerFlag: act("registerFlag", "name"),
    registerProvider: act("registerProvider", "name"),
    setSessionName: act("setSessionName", "name"),
    setLabel: act("setLabel", "label"),
    setActiveTools: act("setActiveTools", "tools"),
    setThinkingLevel: act("setThinkingLevel", "level"),
    setModel: async () => false,
    getFlag: () => undefined,
    getSessionName: () => undefined,
    getThinkingLevel: () => "off",
    getActiveTools: () => [],
    getAllTools: () => [],
    getCommands: () => [...commands].map(([name, c]) => ({ name, description: c?.description })),
  };
  // A later host has more methods. A call of an unknown method does nothing and warns once. A name
  // that does not start with one of these verbs stays undefined, so that a test for it fails.
  const ACTS = /^(?:un)?(?:register|set)(?=[A-Z]|$)|^(?:add|append|disable|enable|get|refresh|remove|send|show|update)[A-Z]/;
  const warned = new Set();
  const stranger = (name) => () => {
    if (warned.has(name)) return;
    warned.add(name);
    effect("warning", { message: `pi.${name} is not known here and does nothing` });
  };
  const unknown = (above, name, api) =>
    name in above || typeof name === "symbol" || !ACTS.test(name) ? Reflect.get(above, name, api) : stranger(name);
  Object.setPrototypeOf(pi, new Proxy({}, { get: unknown }));
  const late = (name, make) => Object.defineProperty(pi, name, { get: make, enumerable: true, configurable: true });
  late("typebox", () => host.typebox());
  late("pi", () => host.stub("pi"));
  late("zod", () => host.stub("zod"));
  late("arktype", () => host.stub("arktype"));

  // ── what the host calls ──
  const { context, commandContext } = contexts(host, effect, now);
  const load = async (space) => {
    if (typeof space.default !== "function") throw new host.NotAFactory();
    await space.default(pi);
    ready = true;
  };

  const report = (handlers, results, truthy, errors, event) =>
    `{"handlers":${handlers},"results":[${results}],"truthy":[${truthy}],` +
    `"errors":${errors.length ? stringify(errors) : "[]"}${event === undefined ? "" : `,"event":${event}`}}`;
  const failure = (err, event) => ({ hookPath: host.path, event, error: messageOf(err), thrown: isError(err) ? "error" : "value", stack: stackOf(err), fatal: err === null });
  // ── results as JSON ──
  const { getPrototypeOf, prototype, keys } = Object;
  const isEnumerable = prototype.propertyIsEnumerable;
  const isPlain = (said) => typeof said === "object" && getPrototypeOf(said) === prototype && said.toJSON === undefined;
  // Whether a field's value is the same in JSON, and whether JSON.stringify sees the field.
  const isSimple = (value) => typeof value === "boolean" || typeof value === "string" || value === null || Number.isFinite(value);
  const isOpen = (said, name) => said[name] === undefined || (isSimple(said[name]) && isEnumerable.call(said, name));
  // Fields that are read also from a class, a getter or a proxy. Of the first ones only the
  // truthiness counts.
  const TRUTHS = ["block", "cancel", "handled"];
  const READ = [...TRUTHS, "reason", "decision", "input", "content", "details", "isError", "messages", "message", "systemPrompt", "text", "images"];
  // JSON of values without a JSON form: bigints as strings, circular references as a marker.
  const leniently = (value, circles) => {
    const above = [];
    return stringify(value, function (_, inner) {
      if (typeof inner === "bigint") return String(inner);
      if (typeof inner !== "object" || inner === null) return inner;
      while (above.length && above.at(-1) !== this) above.pop();
      if (above.includes(inner)) return circles.push(inner), "[Circular]";
      above.push(inner);
      return inner;
    });
  };
  const jsonOf = (value, circles = []) => {
    try {
      return stringify(value);
    } catch {
      return leniently(value, circles);
    }
  };
  const fieldOf = (result, name, circles) => {
    const value = result[name];
    if (value === undefined) return undefined;
    if (name === "reason" && !isSimple(value)) return stringify(String(value));
    const text = jsonOf(value, circles);
    const lies = TRUTHS.includes(name) && (text !== undefined && !!parse(text)) !== !!value;
    return lies ? String(!!value) : text;
  };
  // A circular reference is an error, except in a result that blocks.
  const written = (result, errors) => {
    const circles = [];
    const text = textOf(result, circles);
    if (circles.length && !result.block) errors.push(failure(new TypeError("circular reference"), now.event));
    return text;
  };
  const textOf = (result, circles) => {
    if (typeof result !== "object" && typeof result !== "function") return isSimple(result) ? stringify(result) : "true";
    // Read the field itself: a proxy may hide that it has it.
    const told = READ.filter((name) => result[name] !== undefined);
    if (Array.isArray(result) && !told.length) return jsonOf(result, circles);
    if (isPlain(result) && TRUTHS.every((name) => isOpen(result, name)) && isOpen(result, "reason")) return jsonOf(result, circles);
    const names = new Set([...(Array.isArray(result) ? none : keys(result)), ...told]);
    const fields = [...names].map((name) => [stringify(name), fieldOf(result, name, circles)]);
    return `{${fields.filter(([, text]) => text !== undefined).map((pair) => pair.join(":"))}}`;
  };
  const lone = (said) => {
    try {
      const errors = [];
      return report(1, [written(said, errors)], [true], errors);
    } catch (err) {
      return report(1, ["null"], [false], [failure(err, now.event)]);
    }
  };

  // The policy is mostly that of the call before. Nothing that a handler could change is cached.
  let known = { text: "", rest: undefined };
  const plain = (value) => typeof value !== "object" || value === null;
  const terms = (text) => {
    if (text === known.text) return known.rest;
    const rest = parse(text);
    const keeps = ([key, value]) => plain(value) || (key === "session" && Object.values(value).every(plain));
    if (Object.entries(rest.ctx ?? {}).every(keeps)) known = { text, rest };
    return rest;
  };

  // Whether a result ends the round: any truthy one, one with a truthy field, or one with exactly
  // these values.
  const ends = (stop, result) => {
    if (!stop || stop === true) return stop === true;
    if (typeof stop === "string") return !!result[stop];
    return Object.entries(stop).every(([field, value]) => result[field] === value);
  };
  // The value of a result's field in the next handler's event, or undefined.
  const passed = (how, value) => {
    if (how === "true") return value || undefined;
    return how === "list" && value !== undefined && !Array.isArray(value) ? [value] : value;
  };
  // The engine finds the layout of a new object at once while objects with its first field, its
  // first two fields and so on exist. Those of `ctx` and of the last events are kept.
  const { isArray } = Array;
  const [MAX_FIELDS, MAX_LAYOUTS, LOOK_INTERVAL] = [32, 4, 64];
  const layouts = [];
  let [calls, newest, ctxLayout] = [0, 0, undefined];
  const addLayout = (kept, names) => {
    let text = "";
    for (let at = 0; at < names.length && at < MAX_FIELDS; at++) {
      text += `${at ? "," : ""}${stringify(names[at])}:0`;
      kept[kept.length] = parse(`{${text}}`);
    }
    return kept;
  };
  // The names of an event's fields, and those of each object in it.
  const namesIn = (event) => {
    const names = keys(event);
    const all = [names];
    for (let at = 0; at < names.length; at++) {
      const value = event[names[at]];
      if (typeof value === "object" && value !== null && !isArray(value)) all[all.length] = keys(value);
    }
    return all;
  };
  // Not at the first call, because most processes have only one.
  const keepLayouts = (event, ctx) => {
    if (calls++ % LOOK_INTERVAL !== 1) return;
    ctxLayout ??= addLayout([], keys(ctx));
    const all = namesIn(event);
    const outline = stringify(all);
    for (let at = 0; at < layouts.length; at++) if (layouts[at].outline === outline) return;
    const kept = [];
    for (let at = 0; at < all.length; at++) addLayout(kept, all[at]);
    layouts[newest++ % MAX_LAYOUTS] = { outline, kept };
  };
  // A null signal becomes one that never aborts.
  const opened = (text) => {
    const event = parse(text);
    if (event.signal === null) event.signal = new AbortController().signal;
    return event;
  };
  // The event for the next handler: shared, its own copy, or a shallow copy.
  const before = ({ rest, eventText, shared, chained, at }) => {
    if (rest.fresh === "shell") return { ...shared };
    if (!rest.fresh || at === 0) return shared;
    const event = opened(eventText);
    for (const [field, text] of Object.entries(chained)) event[field] = parse(text);
    return event;
  };

  // ── rounds of handlers ──
  // A job is one call: a round for the event and one for each event that follows. It stores its
  // progress, so that a hung handler can be abandoned without losing the results of the others.
  let job;
  const roundOf = (eventText, rest, shared, list) =>
    ({ eventText, rest, shared, list, at: 0, results: [], truthy: [], errors: [], chained: {}, ended: false, over: false });
  const begun = (first, ctx, said) => {
    job = { ctx, said, round: first, queue: [...(first.rest.then ?? none)], texts: [], turn: 0 };
    return promised();
  };
  const promised = () => {
    const told = new Own((done, fail) => Object.assign(job, { done, fail }));
    go(job);
    return told;
  };

  const call = ({ ctx }, round) => {
    if (round.at > 0) host.lap?.();
    const handler = round.list[round.at];
    return handler(before(round), ctx);
  };
  // The result of the current handler. That of the first handler may exist already.
  const heard = (job, round) => {
    if (round.together) {
      const { value, reason, failed } = round.together[round.at];
      if (failed) throw reason;
      return value;
    }
    if (!job.said) return call(job, round);
    const { said } = job;
    job.said = undefined;
    return said.value;
  };
  const together = async (job, round) => {
    const ends = (round.together = []);
    const begun = [];
    const one = async (handler, at) => {
      try {
        ends[at] ??= { value: await handler(before(round), job.ctx) };
      } catch (reason) {
        ends[at] ??= { failed: true, reason };
      }
    };
    // Handlers registered by a handler are called as well.
    for (let at = 0; at < round.list.length; at++) begun.push(one(round.list[at], at));
    await Own.all(begun);
  };
  const taken = (round, result) => {
    const { rest, shared, errors, chained } = round;
    round.results.push(result ? written(result, errors) : "null");
    round.truthy.push(!!result);
    if (!result) return;
    if (errors.length && !rest.catch) return void (round.over = true);
    for (const [field, how] of Object.entries(rest.chain ?? {})) {
      const value = passed(how, result[field]);
      if (value === undefined) continue;
      if (rest.fresh === true) chained[field] = jsonOf(value);
      else shared[field] = value;
    }
    round.ended = ends(rest.stop, result);
  };
  const failed = (round, err) => {
    if (round.results.length === round.at) round.results.push("null"), round.truthy.push(false);
    round.errors.push(failure(err, round.shared.type));
    round.over = !round.rest.catch;
  };
  const finished = ({ rest, eventText, shared, list, results, truthy, errors }) => {
    const told = rest.changes && rest.fresh !== true ? changed(eventText, shared) : undefined;
    return report(list.length, results, truthy, errors, told);
  };
  const next = (job) => {
    const next = job.queue.shift();
    if (!next) return undefined;
    const own = stringify(next.event);
    now.event = next.event.type;
    now.text = own;
    host.lap?.();
    return roundOf(own, next, opened(own), handlers[next.event.type] ?? none);
  };
  // Continues a job: runs its handlers in order, round after round.
  const go = async (job) => {
    const turn = ++job.turn;
    try {
      for (let round = job.round; round; round = job.round) {
        if (round.rest.together && !round.together) await together(job, round);
        while (round.at < (round.together ?? round.list).length && !round.ended && !round.over) {
          let result, thrown;
          try {
            result = await heard(job, round);
          } catch (err) {
            thrown = { err };
          }
          if (turn !== job.turn) return;
          try {
            if (thrown) failed(round, thrown.err);
            else taken(round, result);
          } catch (err) {
            failed(round, err);
          }
          round.at++;
        }
        if (turn !== job.turn) return;
        job.texts.push(finished(round));
        job.round = round.ended && round.rest.closes ? undefined : next(job);
      }
      const [first, ...more] = job.texts;
      job.done(more.length ? `${first.slice(0, -1)},"then":[${more}]}` : first);
    } catch (err) {
      job.fail(err);
    }
  };
  // Continues the job without the hung handler, or ends it. Undefined if there is no other handler
  // and no result.
  const giveUp = (message, here) => {
    const round = job?.round;
    if (!round?.rest.catch) return undefined;
    job.turn++;
    if (round.together) {
      round.list.forEach((_, at) => (round.together[at] ??= { failed: true, reason: new Error(message) }));
    } else {
      failed(round, new Error(message));
      round.at++;
    }
    if (here) {
      job.queue = [];
      for (; !round.together && round.at < round.list.length; round.at++) failed(round, new Error("no time was left for it"));
    }
    const others = round.together || job.queue.length || (!here && round.at < round.list.length);
    if (!others && !job.texts.length && !round.truthy.includes(true)) return undefined;
    return promised();
  };

  // The fields of the event that handlers have changed.
  const changed = (before, shared) => {
    if (jsonOf(shared) === before) return undefined;
    const [sent, told] = [parse(before), []];
    for (const name of keys(shared)) {
      const text = jsonOf(shared[name]);
      if (text !== undefined && text !== stringify(sent[name])) told.push(`${stringify(name)}:${text}`);
    }
    return told.length ? `{${told}}` : undefined;
  };

  // The report, a promise of it, or a plain result for which `lone` builds the report. The result
  // of a single synchronous handler is not awaited, because that would cost more than the handler.
  const emit = (eventText, restText) => {
    const rest = terms(restText);
    const event = opened(eventText);
    const list = handlers[event.type] ?? none;
    now.event = event.type;
    now.text = eventText;
    job = undefined;
    if (list.length !== 1 || rest.changes || rest.then || rest.together || !host.peek) {
      return begun(roundOf(eventText, rest, event, list), context(rest.ctx));
    }
    const ctx = context(rest.ctx);
    keepLayouts(event, ctx);
    try {
      const handler = list[0];
      let said = handler(rest.fresh === "shell" ? { ...event } : event, ctx);
      if (said instanceof Own) said = host.peek(said);
      // Handlers that it has registered are called as well.
      if (list.length > 1 || typeof said?.then === "function") return begun(roundOf(eventText, rest, event, list), ctx, { value: said });
      if (!said) return '{"handlers":1,"results":[null],"truthy":[false],"errors":[]}';
      return isPlain(said) && (typeof rest.stop !== "string" || isOpen(said, rest.stop)) ? said : lone(said);
    } catch (err) {
      if (list.length > 1) return begun(roundOf(eventText, rest, event, list), ctx, { value: Own.reject(err) });
      return report(1, ["null"], [false], [failure(err, event.type)]);
    }
  };

  const command = async (name, args, restText) => {
    const found = commands.get(name);
    now.event = `command:${name}`;
    now.text = String(args);
    if (typeof found?.handler !== "function") {
      return report(0, [], [], [failure(new Error(`no command named ${name}`), now.event)]);
    }
    try {
      const result = await found.handler(args, commandContext(parse(restText).ctx));
      const errors = [];
      return report(1, [result ? written(result, errors) : "null"], [!!result], errors);
    } catch (err) {
      return report(1, ["null"], [false], [failure(err, now.event)]);
    }
  };

  const listed = () =>
    stringify({
      commands: [...commands].map(([name, c]) => ({ name, description: c?.description })),
      events: keys(handlers).map((name) => ({ name, handlers: handlers[name].length })),
      renderers: [...renderers.keys()],
    });

  return { load, emit, giveUp, lone, command, listed, messageOf, stackOf };
}
