// The `ctx` object of a handler: dialogs, a read-only view of the session, and actions that only a
// command may request. Actions are recorded as effects and not carried out here.
(host, effect, now) => {
  "use strict";
  const { parse, stringify } = JSON;
  const none = [];
  // Data of the current call. A `ctx` that a module keeps shows the current session.
  let given = {};
  const shown = () => given.hasUI === true && host.hasUI;
  const theme = new Proxy({}, {
    get: (_, key) => (typeof key === "symbol" ? undefined : (...words) => String(words.at(-1) ?? "")),
  });
  const labels = (options) =>
    (Array.isArray(options) ? options : []).map((o) => (typeof o === "object" && o ? String(o.label ?? o.value) : String(o)));

  const ask = async (kind, fields, how, fallback) => {
    if (!shown() || how?.signal?.aborted) return fallback;
    const asked = host.ask(stringify({ kind, event: now.event, about: now.text, session: given.session?.id, ...fields }));
    const waits = [asked.answer];
    let timer;
    if (how?.timeout > 0) waits.push(new Promise((done) => (timer = setTimeout(done, how.timeout))));
    if (how?.signal) waits.push(new Promise((done) => how.signal.addEventListener("abort", () => done(undefined))));
    const answer = await (waits.length > 1 ? Promise.race(waits) : asked.answer);
    if (timer !== undefined) clearTimeout(timer);
    // A question that was given up must not receive a later answer.
    if (waits.length > 1) asked.drop();
    return answer ?? fallback;
  };
  const worded = (text) => (text === undefined ? undefined : String(text));
  const text = async (kind, fields, how) => {
    const answer = await ask(kind, fields, how);
    return typeof answer === "string" ? answer : undefined;
  };
  const quiet = () => {};
  // Plain objects with closures, because modules destructure and spread them.
  const ui = {
    select: async (title, options, how) => text("select", { title: String(title), options: labels(options) }, how),
    confirm: async (title, message, how) => (await ask("confirm", { title: String(title), message: worded(message) }, how, false)) === true,
    input: async (title, placeholder, how) => text("input", { title: String(title), placeholder: worded(placeholder) }, how),
    editor: async (title, prefill, how) => text("editor", { title: String(title), placeholder: worded(prefill) }, how),
    notify: (message, level) => effect("notify", { message: String(message), level: level ?? "info" }),
    setStatus: (key, text) => effect("setStatus", { key: String(key), text: text === undefined || text === null ? null : String(text) }),
    setEditorText: (text) => void (shown() && effect("setEditorText", { text: String(text) })),
    setTitle: (title) => void (shown() && effect("setTitle", { title: String(title) })),
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

  const session = () => given.session ?? {};
  const getEntries = () => [...(session().entries ?? none)];
  const getEntry = (id) => getEntries().find((e) => e?.id === id);
  const getLeafId = () => session().leafId ?? session().entries?.at(-1)?.id ?? null;
  const sessionManager = {
    getEntries, getEntry, getLeafId,
    getBranch: (from) => {
      if (from === undefined && session().branch) return [...session().branch];
      const byId = new Map(getEntries().map((e) => [e?.id, e]));
      const path = [];
      const seen = new Set();
      for (let at = byId.get(from ?? getLeafId()); at && !seen.has(at); at = byId.get(at.parentId)) {
        seen.add(at);
        path.unshift(at);
      }
      return path;
    },
    // Entries without a parent here are roots.
    getTree: () => {
      const nodes = new Map(getEntries().map((entry) => [entry?.id, { entry, children: [] }]));
      const roots = [];
      for (const node of nodes.values()) (nodes.get(node.entry?.parentId)?.children ?? roots).push(node);
      return roots;
    },
    getLeafEntry: () => getEntry(getLeafId()),
    getSessionFile: () => session().file ?? undefined,
    getSessionId: () => session().id ?? "",
    getSessionDir: () => session().dir ?? "",
    getSessionName: () => session().name ?? undefined,
    getCwd: () => session().cwd ?? given.cwd ?? "",
    getHeader: () => session().header ?? null,
    getLabel: () => undefined,
    isPersisted: () => (session().file ?? null) !== null,
  };

  const modelRegistry = {
    find: () => undefined,
    getAll: () => [],
    getAvailable: () => [],
    getApiKey: async () => undefined,
    getApiKeyForProvider: async () => undefined,
    getApiKeyAndHeaders: async () => ({ ok: false, error: "no model registry here" }),
  };

  // Created for every event, so its functions are shared.
  const abort = () => effect("abort", {});
  const shutdown = () => effect("shutdown", {});
  const compact = (options) => effect("compact", { customInstructions: options?.customInstructions });
  const no = () => false;
  const isIdle = () => given.idle ?? true;
  const getContextUsage = () => given.contextUsage ?? undefined;
  const getSystemPrompt = () => given.systemPrompt ?? "";
  const context = (from) => {
    given = from ?? {};
    return {
      ui, sessionManager, modelRegistry, abort, shutdown, compact, isIdle, getContextUsage, getSystemPrompt,
      hasUI: shown(),
      cwd: given.cwd ?? "",
      model: given.model ?? undefined,
      hasQueuedMessages: no,
      hasPendingMessages: no,
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
  const commandContext = (from) => ({ ...context(from), ...moves });

  return { context, commandContext };
}
