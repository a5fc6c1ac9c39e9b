// What a module sees as `pi` and `ctx`. The same text runs in the embedded engine and in a
// sidecar: all it knows of the world is `host` (effect, ask, exec, show, typebox, stub, path,
// hasUI, NotAFactory). `contexts` is context.js.
(host, contexts) => {
  "use strict";
  const { parse, stringify } = JSON;
  const Own = Promise;
  const handlers = new Map();
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
      const list = handlers.get(event);
      if (list) list.push(handler);
      else handlers.set(event, [handler]);
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
  // Whether a field's value means the same in JSON, and stands where JSON sees it.
  const isSimple = (value) => typeof value === "boolean" || typeof value === "string" || value === null || Number.isFinite(value);
  const isOpen = (said, name) => said[name] === undefined || (isSimple(said[name]) && isEnumerable.call(said, name));
  // What is read of a result wherever it has it from: itself, its class, a getter, a proxy. Of
  // the first ones the truth counts.
  const TRUTHS = ["block", "cancel", "handled"];
  const READ = [...TRUTHS, "reason", "decision", "input", "content", "details", "isError", "messages", "message", "systemPrompt", "text", "images"];
  // JSON of what JSON has no words for: long numbers in digits, a circle cut where it closes.
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
  // A circle is a mistake, but for a refusal that says so itself.
  const written = (result, errors) => {
    const circles = [];
    const text = textOf(result, circles);
    if (circles.length && !result.block) errors.push(failure(new TypeError("circular reference"), now.event));
    return text;
  };
  const textOf = (result, circles) => {
    if (typeof result !== "object" && typeof result !== "function") return isSimple(result) ? stringify(result) : "true";
    if (Array.isArray(result)) return jsonOf(result, circles);
    if (isPlain(result) && TRUTHS.every((name) => isOpen(result, name)) && isOpen(result, "reason")) return jsonOf(result, circles);
    const names = new Set([...keys(result), ...READ.filter((name) => name in result)]);
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

  // Terms are mostly those of the call before. What a handler could change is not kept.
  let known = { text: "", rest: undefined };
  const plain = (value) => typeof value !== "object" || value === null;
  const terms = (text) => {
    if (text === known.text) return known.rest;
    const rest = parse(text);
    const keeps = ([key, value]) => plain(value) || (key === "session" && Object.values(value).every(plain));
    if (Object.entries(rest.ctx ?? {}).every(keeps)) known = { text, rest };
    return rest;
  };

  // Whether a result ends the round: any true one, one whose field is true, or one that has these
  // very values.
  const ends = (stop, result) => {
    if (!stop || stop === true) return stop === true;
    if (typeof stop === "string") return !!result[stop];
    return Object.entries(stop).every(([field, value]) => result[field] === value);
  };
  // What a field of a result makes of the next handler's event, or nothing.
  const passed = (how, value) => {
    if (how === "true") return value || undefined;
    return how === "list" && value !== undefined && !Array.isArray(value) ? [value] : value;
  };
  // A place for a signal is filled with one that nobody aborts.
  const opened = (text) => {
    const event = parse(text);
    if (event.signal === null) event.signal = new AbortController().signal;
    return event;
  };
  // The event as the next handler sees it: shared, a copy of its own, or a new shell around what
  // is shared.
  const before = (rest, eventText, shared, chained, at) => {
    if (rest.fresh === "shell") return { ...shared };
    if (!rest.fresh || at === 0) return shared;
    const event = opened(eventText);
    for (const [field, text] of Object.entries(chained)) event[field] = parse(text);
    return event;
  };

  // Handlers one after another. Of the first one the answer may be there already.
  const walk = async (eventText, rest, shared, list, first) => {
    const ctx = first?.ctx ?? context(rest.ctx);
    const [results, truthy, errors, chained] = [[], [], [], {}];
    let ended = false;
    const call = (at) => {
      if (at > 0) host.lap?.();
      const handler = list[at];
      return handler(before(rest, eventText, shared, chained, at), ctx);
    };
    let said;
    if (rest.together) {
      said = [];
      for (let at = 0; at < list.length; at++) said.push((async () => call(at))());
      said = await Own.allSettled(said);
    }
    const heard = (at) => {
      if (!said) return first && at === 0 ? first.said : call(at);
      if (said[at].status === "rejected") throw said[at].reason;
      return said[at].value;
    };
    for (let at = 0; at < (said ?? list).length && !ended; at++) {
      try {
        const result = await heard(at);
        results.push(result ? written(result, errors) : "null");
        truthy.push(!!result);
        if (!result) continue;
        if (errors.length && !rest.catch) break;
        for (const [field, how] of Object.entries(rest.chain ?? {})) {
          const value = passed(how, result[field]);
          if (value === undefined) continue;
          if (rest.fresh === true) chained[field] = jsonOf(value);
          else shared[field] = value;
        }
        ended = ends(rest.stop, result);
      } catch (err) {
        if (results.length === at) results.push("null"), truthy.push(false);
        errors.push(failure(err, shared.type));
        if (!rest.catch) break;
      }
    }
    const told = rest.changes && rest.fresh !== true ? changed(eventText, shared) : undefined;
    return { ended, text: report(list.length, results, truthy, errors, told) };
  };

  // One event, and those that follow it in the same moment unless it was the last word.
  const rounds = async (eventText, rest, shared, list, first) => {
    const { ended, text } = await walk(eventText, rest, shared, list, first);
    if ((ended && rest.closes) || !rest.then?.length) return text;
    const more = [];
    for (const next of rest.then) {
      const own = stringify(next.event);
      now.event = next.event.type;
      now.text = own;
      host.lap?.();
      const round = await walk(own, { ...next, ctx: rest.ctx }, opened(own), handlers.get(next.event.type) ?? none);
      more.push(round.text);
      if (round.ended && next.closes) break;
    }
    return `${text.slice(0, -1)},"then":[${more}]}`;
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

  // The report, or a promise of it, or a plain result for which `lone` makes the report. A lone
  // handler that has its answer at once is not waited for: the turns of promises would cost more
  // than the handler does.
  const emit = (eventText, restText) => {
    const rest = terms(restText);
    const event = opened(eventText);
    const list = handlers.get(event.type) ?? none;
    now.event = event.type;
    now.text = eventText;
    if (list.length !== 1 || rest.changes || rest.then || rest.together || !host.peek) return rounds(eventText, rest, event, list);
    const ctx = context(rest.ctx);
    try {
      const handler = list[0];
      let said = handler(rest.fresh === "shell" ? { ...event } : event, ctx);
      if (said instanceof Own) said = host.peek(said);
      // Should it have registered more handlers, they are called as well.
      if (list.length > 1 || typeof said?.then === "function") return rounds(eventText, rest, event, list, { said, ctx });
      if (!said) return '{"handlers":1,"results":[null],"truthy":[false],"errors":[]}';
      return isPlain(said) && (typeof rest.stop !== "string" || isOpen(said, rest.stop)) ? said : lone(said);
    } catch (err) {
      if (list.length > 1) return rounds(eventText, rest, event, list, { said: Own.reject(err), ctx });
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
      events: [...handlers].map(([name, list]) => ({ name, handlers: list.length })),
      renderers: [...renderers.keys()],
    });

  return { load, emit, lone, command, listed, messageOf, stackOf };
}
