// What a handler sees as `ctx`: the dialogs, the session's read-only view, and what only a
// command may do. Everything that acts is recorded as an effect; nothing is done here.
(host, effect, now) => {
  "use strict";
  const { parse, stringify } = JSON;
  const none = [];
  const theme = new Proxy({}, {
    get: (_, key) => (typeof key === "symbol" ? undefined : (...words) => String(words.at(-1) ?? "")),
  });
  const labels = (options) =>
    (Array.isArray(options) ? options : []).map((o) => (typeof o === "object" && o ? String(o.label ?? o.value) : String(o)));

  // Plain objects of closures: modules take them apart and spread them.
  const dialogs = (shown, session) => {
    const ask = async (kind, fields, how, fallback) => {
      if (!shown || how?.signal?.aborted) return fallback;
      const asked = host.ask(stringify({ kind, event: now.event, about: now.text, session, ...fields }));
      const waits = [asked.answer];
      let timer;
      if (how?.timeout > 0) waits.push(new Promise((done) => (timer = setTimeout(done, how.timeout))));
      if (how?.signal) waits.push(new Promise((done) => how.signal.addEventListener("abort", () => done(undefined))));
      const answer = await (waits.length > 1 ? Promise.race(waits) : asked.answer);
      if (timer !== undefined) clearTimeout(timer);
      // Whoever gave it up may not be answered with what the next question is told.
      if (waits.length > 1) asked.drop();
      return answer ?? fallback;
    };
    const worded = (text) => (text === undefined ? undefined : String(text));
    const text = async (kind, fields, how) => {
      const answer = await ask(kind, fields, how);
      return typeof answer === "string" ? answer : undefined;
    };
    return {
      select: async (title, options, how) => text("select", { title: String(title), options: labels(options) }, how),
      confirm: async (title, message, how) => (await ask("confirm", { title: String(title), message: worded(message) }, how, false)) === true,
      input: async (title, placeholder, how) => text("input", { title: String(title), placeholder: worded(placeholder) }, how),
      editor: async (title, prefill, how) => text("editor", { title: String(title), placeholder: worded(prefill) }, how),
      notify: (message, level) => effect("notify", { message: String(message), level: level ?? "info" }),
      setStatus: (key, text) => effect("setStatus", { key: String(key), text: text === undefined || text === null ? null : String(text) }),
      setEditorText: (text) => void (shown && effect("setEditorText", { text: String(text) })),
      setTitle: (title) => void (shown && effect("setTitle", { title: String(title) })),
      ...unseen,
    };
  };
  const quiet = () => {};
  const unseen = {
    getEditorText: () => "",
    custom: async () => undefined,
    setWidget: quiet,
    setFooter: quiet,
    setHeader: quiet,
    setEditorComponent: quiet,
    setWorkingMessage: quiet,
    setToolsExpanded: quiet,
    getToolsExpanded: () => false,
    onTerminalInput: () => () => {},
    pasteToEditor: quiet,
    getAllThemes: () => [],
    getTheme: () => undefined,
    setTheme: () => ({ success: false }),
    theme,
  };

  const sessions = (session, cwd) => {
    const s = session ?? {};
    const getEntries = () => [...(s.entries ?? none)];
    const getEntry = (id) => getEntries().find((e) => e?.id === id);
    const getLeafId = () => s.leafId ?? s.entries?.at(-1)?.id ?? null;
    const getBranch = (from) => {
      if (from === undefined && s.branch) return [...s.branch];
      const byId = new Map(getEntries().map((e) => [e?.id, e]));
      const path = [];
      const seen = new Set();
      for (let at = byId.get(from ?? getLeafId()); at && !seen.has(at); at = byId.get(at.parentId)) {
        seen.add(at);
        path.unshift(at);
      }
      return path;
    };
    // Entries without a parent here are roots.
    const getTree = () => {
      const nodes = new Map(getEntries().map((entry) => [entry?.id, { entry, children: [] }]));
      const roots = [];
      for (const node of nodes.values()) (nodes.get(node.entry?.parentId)?.children ?? roots).push(node);
      return roots;
    };
    return {
      getEntries, getEntry, getLeafId, getBranch,
      getLeafEntry: () => getEntry(getLeafId()),
      getSessionFile: () => s.file ?? undefined,
      getSessionId: () => s.id ?? "",
      getSessionDir: () => s.dir ?? "",
      getSessionName: () => s.name ?? undefined,
      getCwd: () => s.cwd ?? cwd,
      getHeader: () => s.header ?? null,
      getTree,
      getLabel: () => undefined,
      isPersisted: () => s.file !== undefined && s.file !== null,
    };
  };

  const modelRegistry = {
    find: () => undefined,
    getAll: () => [],
    getAvailable: () => [],
    getApiKey: async () => undefined,
    getApiKeyForProvider: async () => undefined,
    getApiKeyAndHeaders: async () => ({ ok: false, error: "no model registry here" }),
  };

  // This is made for every event: what does not differ is shared, and what is seldom looked at is
  // made when it is.
  const abort = () => effect("abort", {});
  const shutdown = () => effect("shutdown", {});
  const compact = (options) => effect("compact", { customInstructions: options?.customInstructions });
  const no = () => false;
  const context = (given) => {
    const from = given ?? {};
    const cwd = from.cwd ?? "";
    const hasUI = from.hasUI === true && host.hasUI;
    let ui, session;
    return {
      cwd, hasUI, modelRegistry, abort, shutdown, compact,
      model: from.model ?? undefined,
      get ui() {
        return (ui ??= dialogs(hasUI, from.session?.id));
      },
      get sessionManager() {
        return (session ??= sessions(from.session, cwd));
      },
      isIdle: () => from.idle ?? true,
      hasQueuedMessages: no,
      hasPendingMessages: no,
      getContextUsage: () => from.contextUsage ?? undefined,
      getSystemPrompt: () => from.systemPrompt ?? "",
    };
  };

  const went = { cancelled: false };
  const gone = (type, fields) => (effect(type, fields), { ...went });
  const newSession = async (options) => {
    const setup = [];
    const recorder = new Proxy(Object.create(null), {
      get: (_, method) =>
        typeof method === "symbol" || method === "then"
          ? undefined
          : (...args) => void setup.push({ method, args: parse(stringify(args)) }),
    });
    await options?.setup?.(recorder);
    return gone("newSession", { parentSession: options?.parentSession, setup });
  };
  const branch = async (entryId) => gone("branch", { entryId });
  const moves = {
    newSession, branch,
    fork: branch,
    waitForIdle: async () => effect("waitForIdle", {}),
    navigateTree: async (targetId, options) => gone("navigateTree", { targetId, options }),
    switchSession: async (path) => gone("switchSession", { path }),
    reload: async () => effect("reload", {}),
  };
  const commandContext = (given) => ({ ...context(given), ...moves });

  return { context, commandContext };
}
