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

  class Ui {
    #shown;
    constructor(shown) {
      this.#shown = shown;
    }
    async #ask(kind, fields, how, fallback) {
      if (!this.#shown || how?.signal?.aborted) return fallback;
      const asked = host.ask(stringify({ kind, event: now.event, ...fields }));
      const waits = [asked];
      let timer;
      if (how?.timeout > 0) waits.push(new Promise((done) => (timer = setTimeout(done, how.timeout))));
      if (how?.signal) waits.push(new Promise((done) => how.signal.addEventListener("abort", () => done(undefined))));
      const answer = await (waits.length > 1 ? Promise.race(waits) : asked);
      if (timer !== undefined) clearTimeout(timer);
      return answer ?? fallback;
    }
    async select(title, options, how) {
      const offered = labels(options);
      const answer = await this.#ask("select", { title: String(title), options: offered }, how);
      return typeof answer === "string" ? answer : undefined;
    }
    async confirm(title, message, how) {
      const fields = { title: String(title), message: message === undefined ? undefined : String(message) };
      return (await this.#ask("confirm", fields, how, false)) === true;
    }
    async input(title, placeholder, how) {
      const fields = { title: String(title), placeholder: placeholder === undefined ? undefined : String(placeholder) };
      const answer = await this.#ask("input", fields, how);
      return typeof answer === "string" ? answer : undefined;
    }
    async editor(title, prefill, how) {
      const fields = { title: String(title), placeholder: prefill === undefined ? undefined : String(prefill) };
      const answer = await this.#ask("editor", fields, how);
      return typeof answer === "string" ? answer : undefined;
    }
    notify(message, level) {
      effect("notify", { message: String(message), level: level ?? "info" });
    }
    setStatus(key, text) {
      effect("setStatus", { key: String(key), text: text === undefined || text === null ? null : String(text) });
    }
    setEditorText(text) {
      if (this.#shown) effect("setEditorText", { text: String(text) });
    }
    getEditorText() {
      return "";
    }
    async custom() {
      return undefined;
    }
    setTitle(title) {
      if (this.#shown) effect("setTitle", { title: String(title) });
    }
    setWidget() {}
    setFooter() {}
    setHeader() {}
    setEditorComponent() {}
    setWorkingMessage() {}
    setToolsExpanded() {}
    getToolsExpanded() {
      return false;
    }
    onTerminalInput() {
      return () => {};
    }
    pasteToEditor() {}
    getAllThemes() {
      return [];
    }
    getTheme() {
      return undefined;
    }
    setTheme() {
      return { success: false };
    }
    get theme() {
      return theme;
    }
  }

  class Sessions {
    #s;
    #cwd;
    constructor(session, cwd) {
      this.#s = session ?? {};
      this.#cwd = cwd;
    }
    getEntries() {
      return [...(this.#s.entries ?? none)];
    }
    getBranch(from) {
      if (from === undefined && this.#s.branch) return [...this.#s.branch];
      const byId = new Map(this.getEntries().map((e) => [e?.id, e]));
      const path = [];
      const seen = new Set();
      for (let at = byId.get(from ?? this.getLeafId()); at && !seen.has(at); at = byId.get(at.parentId)) {
        seen.add(at);
        path.unshift(at);
      }
      return path;
    }
    getEntry(id) {
      return this.getEntries().find((e) => e?.id === id);
    }
    getLeafId() {
      return this.#s.leafId ?? this.#s.entries?.at(-1)?.id ?? null;
    }
    getLeafEntry() {
      return this.getEntry(this.getLeafId());
    }
    getSessionFile() {
      return this.#s.file ?? undefined;
    }
    getSessionId() {
      return this.#s.id ?? "";
    }
    getSessionDir() {
      return this.#s.dir ?? "";
    }
    getSessionName() {
      return this.#s.name ?? undefined;
    }
    getCwd() {
      return this.#s.cwd ?? this.#cwd;
    }
    getHeader() {
      return this.#s.header ?? null;
    }
    getTree() {
      return [];
    }
    getLabel() {
      return undefined;
    }
    isPersisted() {
      return this.#s.file !== undefined && this.#s.file !== null;
    }
  }

  const registry = {
    find: () => undefined,
    getAll: () => [],
    getAvailable: () => [],
    getApiKey: async () => undefined,
    getApiKeyForProvider: async () => undefined,
    getApiKeyAndHeaders: async () => ({ ok: false, error: "no model registry here" }),
  };

  // Symbols, not private fields: this object is made for every event, and they cost less.
  const [given, sessions, ui] = [Symbol("given"), Symbol("sessions"), Symbol("ui")];
  class Context {
    constructor(c) {
      const from = c ?? {};
      this[given] = from;
      this.cwd = from.cwd ?? "";
      this.hasUI = from.hasUI === true && host.hasUI;
      this.model = from.model ?? undefined;
    }
    get ui() {
      return (this[ui] ??= new Ui(this.hasUI));
    }
    get sessionManager() {
      return (this[sessions] ??= new Sessions(this[given].session, this.cwd));
    }
    get modelRegistry() {
      return registry;
    }
    abort() {
      effect("abort", {});
    }
    shutdown() {
      effect("shutdown", {});
    }
    compact(options) {
      effect("compact", { customInstructions: options?.customInstructions });
    }
    isIdle() {
      return this[given].idle ?? true;
    }
    hasQueuedMessages() {
      return false;
    }
    hasPendingMessages() {
      return false;
    }
    getContextUsage() {
      return this[given].contextUsage ?? undefined;
    }
    getSystemPrompt() {
      return this[given].systemPrompt ?? "";
    }
  }

  const went = { cancelled: false };
  class CommandContext extends Context {
    async waitForIdle() {
      effect("waitForIdle", {});
    }
    async newSession(options) {
      const setup = [];
      const recorder = new Proxy(Object.create(null), {
        get: (_, method) =>
          typeof method === "symbol" || method === "then"
            ? undefined
            : (...args) => void setup.push({ method, args: parse(stringify(args)) }),
      });
      await options?.setup?.(recorder);
      effect("newSession", { parentSession: options?.parentSession, setup });
      return { ...went };
    }
    async branch(entryId) {
      effect("branch", { entryId });
      return { ...went };
    }
    async fork(entryId) {
      effect("branch", { entryId });
      return { ...went };
    }
    async navigateTree(targetId, options) {
      effect("navigateTree", { targetId, options });
      return { ...went };
    }
    async switchSession(path) {
      effect("switchSession", { path });
      return { ...went };
    }
    async reload() {
      effect("reload", {});
    }
  }

  return { Context, CommandContext };
}
