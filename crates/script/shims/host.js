// Stubs of the host's own packages. Names that policy modules rely on are real. The rest can be
// imported, called, extended and constructed, and does nothing.
const { Type } = need("typebox");
const cut = (name) => (...args) => need("cuts")[name](...args);
// Normalizes a path by its text, so that two spellings of one file are equal.
const placed = (path) => {
  const parts = [];
  for (const part of (path.startsWith("/") ? path : `${process.cwd()}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
};
const queues = new Map();
const inTurn = (path, run) => {
  const key = placed(`${path}`);
  const mine = (queues.get(key) ?? Promise.resolve()).then(() => run());
  const over = () => void (queues.get(key) === last && queues.delete(key));
  const last = mine.then(over, over);
  queues.set(key, last);
  return mine;
};
const UNITS = ["B", "KB", "MB", "GB"];
const formatSize = (bytes) => {
  const unit = UNITS.findLastIndex((_, power) => power === 0 || bytes >= 1024 ** power);
  return unit === 0 ? `${bytes}B` : `${(bytes / 1024 ** unit).toFixed(1)}${UNITS[unit]}`;
};
const tool = (name) => (event) => event?.toolName === name;
const real = {
  isToolCallEventType: (name, event) => event?.toolName === name,
  isBashToolResult: tool("bash"),
  isReadToolResult: tool("read"),
  isEditToolResult: tool("edit"),
  isWriteToolResult: tool("write"),
  isGrepToolResult: tool("grep"),
  isFindToolResult: tool("find"),
  isLsToolResult: tool("ls"),
  visibleWidth: (text) => [...String(text).replace(/\x1b\[[0-9;]*m/g, "")].length,
  truncateToWidth: (text, width) => [...String(text)].slice(0, width).join(""),
  StringEnum: (values, options) => Type.Unsafe({ type: "string", enum: [...values], ...(options ?? {}) }),
  Type,
  getAgentDir: () => placed(process.env.PI_CODING_AGENT_DIR || `${process.env.HOME ?? ""}/.omp/agent`),
  truncateHead: cut("truncateHead"),
  truncateTail: cut("truncateTail"),
  formatSize,
  parseFrontmatter: (text) => need("frontmatter").parseFrontmatter(text),
  withFileMutationQueue: inTurn,
  get DEFAULT_MAX_LINES() {
    return need("cuts").DEFAULT_MAX_LINES;
  },
  get DEFAULT_MAX_BYTES() {
    return need("cuts").DEFAULT_MAX_BYTES;
  },
};
const warned = new Set();
const warn = (name) => {
  if (warned.has(name)) return;
  warned.add(name);
  __op("warn", { message: `${name} belongs to the host and does nothing here` });
};
// Methods that a subclass may call through `super`.
const nothing = () => {};
class Part {}
for (const method of ["render", "invalidate", "setText", "addChild", "removeChild", "clear", "handleInput", "dispose"]) {
  Part.prototype[method] = nothing;
}
const instance = new Proxy(Object.create(null), {
  get: (_, key) => (typeof key === "symbol" || key === "then" || key === "toJSON" ? undefined : nothing),
  set: () => true,
});
const stub = (name) => {
  const self = new Proxy(class extends Part {}, {
    get(target, key, receiver) {
      if (key === "prototype") return target.prototype;
      if (key === "then" || key === "toJSON") return undefined;
      if (key === Symbol.toPrimitive) return () => "";
      if (key === Symbol.iterator) return [][Symbol.iterator];
      if (typeof key === "symbol") return Reflect.get(target, key, receiver);
      return stub(`${name}.${key}`);
    },
    apply: () => void warn(name),
    construct(target, args, made) {
      warn(name);
      return made === self ? instance : Reflect.construct(target, [], made);
    },
    set: () => true,
  });
  return self;
};
const space = (specifier) =>
  new Proxy(Object.create(null), {
    get: (_, key) => (typeof key === "symbol" || key === "then" ? undefined : (real[key] ?? stub(`${specifier}: ${key}`))),
  });
module.exports = { stub, space };
