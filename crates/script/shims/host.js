// Stand-ins for the host's own packages: names that policy modules rely on are real, the rest can
// be imported, called, extended and constructed without doing anything.
const { Type } = need("typebox");
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
};
const warned = new Set();
const warn = (name) => {
  if (warned.has(name)) return;
  warned.add(name);
  __op("warn", { message: `${name} belongs to the host and does nothing here` });
};
// What a subclass may call through `super`.
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
