// `util.inspect`, with Node's layout.
const custom = Symbol.for("nodejs.util.inspect.custom");
const defaults = { depth: 2, breakLength: 80, compact: 3, maxArrayLength: 100, maxStringLength: 10000, sorted: false, showHidden: false, colors: false };
const marks = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };
const quote = (text) => {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") && !text.includes("${") ? "`" : "'";
  const shown = text.replace(/[\x00-\x1f\x7f-\x9f\\]|'/g, (c) => {
    if (c === "'") return mark === "'" ? "\\'" : c;
    return marks[c] ?? `\\x${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  });
  return `${mark}${shown}${mark}`;
};
const string = (ctx, text, nested) => {
  const cut = text.length > ctx.maxStringLength ? text.slice(0, ctx.maxStringLength) : text;
  const rest = text.length - cut.length;
  const more = rest ? `... ${rest} more character${rest > 1 ? "s" : ""}` : "";
  if (nested && cut.length > 16 && cut.length > ctx.breakLength - ctx.indent - 4) {
    return cut.split(/(?<=\n)/).map(quote).join(` +\n${" ".repeat(ctx.indent + 2)}`) + more;
  }
  return quote(cut) + more;
};
const simple = (ctx, value, nested) => {
  if (typeof value === "string") return string(ctx, value, nested);
  if (typeof value === "bigint") return `${value}n`;
  return Object.is(value, -0) ? "-0" : String(value);
};
const maker = (value) => {
  for (let at = value; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
    const own = Object.getOwnPropertyDescriptor(at, "constructor")?.value;
    if (typeof own === "function" && own.name !== "" && value instanceof own) return own.name;
  }
  return null;
};
const functionBase = (value, name) => {
  const text = Function.prototype.toString.call(value);
  if (/^class\b/.test(text)) {
    const parent = Object.getPrototypeOf(value)?.name;
    return `[class ${value.name || "(anonymous)"}${parent ? ` extends ${parent}` : ""}]`;
  }
  const kind = ["AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction"].includes(name) ? name : "Function";
  return `[${kind}${value.name ? `: ${value.name}` : " (anonymous)"}]`;
};
const errorBase = (err) => {
  const head = `${err.name ?? "Error"}${err.message ? `: ${err.message}` : ""}`;
  const stack = typeof err.stack === "string" ? err.stack.trimEnd() : "";
  if (!stack) return `[${head}]`;
  return stack.startsWith(head) ? stack : `${head}\n${stack}`;
};
const keyOf = (key) => {
  if (typeof key === "symbol") return `[${String(key)}]`;
  return /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key) ? key : quote(key);
};
const property = (ctx, value, key, level, list) => {
  const own = Object.getOwnPropertyDescriptor(value, key);
  let shown;
  ctx.indent += 2;
  if (own.get) shown = own.set ? "[Getter/Setter]" : "[Getter]";
  else if (own.set) shown = "[Setter]";
  else shown = format(ctx, own.value, level + 1, true);
  ctx.indent -= 2;
  return list ? shown : `${keyOf(key)}: ${shown}`;
};
const inside = (ctx, values) => {
  ctx.indent += 2;
  const shown = values();
  ctx.indent -= 2;
  return shown;
};
const items = (ctx, value, level) => {
  const out = [];
  const most = Math.min(ctx.maxArrayLength, value.length);
  let at = 0;
  while (at < value.length && out.length < most) {
    let gap = 0;
    while (at + gap < value.length && !Object.hasOwn(value, at + gap)) gap++;
    if (gap) out.push(`<${gap} empty item${gap > 1 ? "s" : ""}>`);
    else out.push(property(ctx, value, at, level, true));
    at += gap || 1;
  }
  const rest = value.length - at;
  if (rest > 0) out.push(`... ${rest} more item${rest > 1 ? "s" : ""}`);
  return out;
};
// Many short items stand in columns.
const columns = (ctx, out, value) => {
  const more = ctx.maxArrayLength < out.length || /^\.\.\. \d+ more items?$/.test(out.at(-1)) ? 1 : 0;
  const count = out.length - more;
  const widths = out.slice(0, count).map((one) => one.length + 2);
  const [total, widest] = [widths.reduce((sum, n) => sum + n, 0), Math.max(...widths)];
  if (widest * 3 + ctx.indent >= ctx.breakLength || !(total / widest > 5 || widest - 2 <= 6)) return out;
  const biased = Math.max(widest - 3 - Math.sqrt(widest - total / out.length), 1);
  const across = Math.min(Math.round(Math.sqrt(2.5 * biased * count) / biased), Math.floor((ctx.breakLength - ctx.indent) / widest), ctx.compact * 4, 15);
  if (across <= 1) return out;
  const right = value !== undefined && value.every((one) => typeof one === "number" || typeof one === "bigint");
  const room = Array.from({ length: across }, (_, column) => Math.max(...widths.filter((_, at) => at % across === column)));
  const made = [];
  for (let row = 0; row < count; row += across) {
    const last = Math.min(row + across, count);
    let line = "";
    for (let at = row; at < last; at++) {
      const end = at === last - 1;
      const text = end ? out[at] : `${out[at]}, `;
      const width = room[at - row] - (end ? 2 : 0);
      line += right ? text.padStart(width) : end ? text : text.padEnd(width);
    }
    made.push(line);
  }
  return more ? [...made, out.at(-1)] : made;
};
const laid = (ctx, out, base, [open, close], level, list) => {
  const count = out.length;
  if (list && count > 6) out = columns(ctx, out, list);
  const lead = base ? `${base} ` : "";
  if (ctx.current - level < ctx.compact && count === out.length) {
    const start = out.length + ctx.indent + open.length + base.length + 10;
    const total = out.reduce((sum, one) => sum + one.length, out.length + start);
    if (total <= ctx.breakLength && !out.some((one) => one.includes("\n")) && !base.includes("\n")) return `${lead}${open} ${out.join(", ")} ${close}`;
  }
  const gap = `\n${" ".repeat(ctx.indent)}`;
  return `${lead}${open}${gap}  ${out.join(`,${gap}  `)}${gap}${close}`;
};
const shape = (ctx, value, level, name) => {
  const tag = Object.prototype.propertyIsEnumerable.call(value, Symbol.toStringTag) ? "" : value[Symbol.toStringTag];
  const mark = typeof tag === "string" && tag !== "" && tag !== name ? ` [${tag}]` : "";
  const titled = (fallback, size) => `${name === null ? `[${fallback}${size}: null prototype]` : `${name}${size}`}${mark} `;
  if (Array.isArray(value)) {
    const prefix = name === "Array" && !mark ? "" : titled("Array", `(${value.length})`);
    return { open: `${prefix}[`, close: "]", list: value, make: () => items(ctx, value, level) };
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return { open: `${titled("TypedArray", `(${value.length})`).replace(mark, "")}[`, close: "]", list: value, make: () => items(ctx, value, level) };
  }
  if (value instanceof Set) return { open: `${titled("Set", `(${value.size})`)}{`.replace(mark, ""), make: () => inside(ctx, () => [...value].map((one) => format(ctx, one, level + 1, true))) };
  if (value instanceof Map) {
    const pair = ([k, v]) => `${format(ctx, k, level + 1, true)} => ${format(ctx, v, level + 1, true)}`;
    return { open: `${titled("Map", `(${value.size})`)}{`.replace(mark, ""), make: () => inside(ctx, () => [...value].map(pair)) };
  }
  if (typeof value === "function") return { base: functionBase(value, name) };
  if (value instanceof RegExp) return { base: RegExp.prototype.toString.call(value) };
  if (value instanceof Date) return { base: Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString() };
  if (value instanceof Error) return { base: errorBase(value), skip: ["stack", "message"] };
  if (value instanceof Promise) return { open: "Promise {", make: () => ["<pending>"] };
  if (value instanceof WeakMap || value instanceof WeakSet) return { open: `${name} {`, make: () => ["<items unknown>"] };
  if (value instanceof String || value instanceof Number || value instanceof Boolean) {
    return { base: `[${name}: ${simple(ctx, value.valueOf(), false)}]`, skip: value instanceof String ? Object.keys(`${value}`) : [] };
  }
  return { open: name === "Object" && !mark ? "{" : `${titled("Object", "")}{` };
};
const raw = (ctx, value, level) => {
  const { open = "{", close = "}", base = "", list, make, skip = [] } = shape(ctx, value, level, maker(value));
  const symbols = Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  let keys = Object.keys(value).filter((key) => !skip.includes(key) && !(list && /^\d+$/.test(key)));
  if (ctx.sorted) keys = keys.toSorted(typeof ctx.sorted === "function" ? ctx.sorted : undefined);
  keys = [...keys, ...symbols];
  if (base && keys.length === 0) return base;
  const empty = (list ?? value).length === 0 || value.size === 0 || (!make && !base);
  if (empty && keys.length === 0) return `${open}${close}`;
  if (level > ctx.depth) return `[${list && Array.isArray(value) ? "Array" : maker(value) ?? "Object: null prototype"}]`;
  ctx.seen.push(value);
  ctx.current = level;
  const out = [...(make?.() ?? []), ...keys.map((key) => property(ctx, value, key, level, false))];
  ctx.seen.pop();
  const ref = ctx.rings.get(value);
  const lead = ref ? `<ref *${ref}> ` : "";
  if (out.length === 0) return `${lead}${open}${close}`;
  return laid(ctx, out, base ? `${lead}${base}` : "", [base ? "{" : `${lead}${open}`, close], level, list);
};
const format = (ctx, value, level, nested) => {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return simple(ctx, value, nested);
  const own = value[custom];
  if (typeof own === "function" && own !== inspect) {
    const made = own.call(value, ctx.depth - level, { ...ctx.options }, inspect);
    return typeof made === "string" ? made.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`) : made === value ? raw(ctx, value, level) : format(ctx, made, level, nested);
  }
  if (ctx.seen.includes(value)) {
    if (!ctx.rings.has(value)) ctx.rings.set(value, ctx.rings.size + 1);
    return `[Circular *${ctx.rings.get(value)}]`;
  }
  return raw(ctx, value, level);
};
const inspect = (value, options, depth) => {
  const given = typeof options === "object" && options !== null ? options : { showHidden: options === true, ...(depth === undefined ? {} : { depth }) };
  const ctx = { ...defaults, ...given, options: { ...defaults, ...given }, seen: [], rings: new Map(), indent: 0, current: 0 };
  for (const name of ["depth", "maxArrayLength", "maxStringLength", "breakLength"]) ctx[name] ??= Infinity;
  ctx.compact = typeof ctx.compact === "number" ? ctx.compact : ctx.compact ? 3 : 0;
  return format(ctx, value, 0, false);
};
inspect.custom = custom;
inspect.defaultOptions = defaults;
const number = (value, read) => (typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN" : simple({}, read(value), false));
const place = {
  s: (value) => (typeof value === "object" && value !== null && !hasOwnText(value) ? inspect(value, { depth: 0 }) : typeof value === "bigint" ? `${value}n` : Object.is(value, -0) ? "-0" : String(value)),
  d: (value) => (typeof value === "object" ? "NaN" : number(value, Number)),
  i: (value) => (typeof value === "object" ? "NaN" : number(value, Number.parseInt)),
  f: (value) => (typeof value === "symbol" ? "NaN" : simple({}, Number.parseFloat(value), false)),
  o: (value) => inspect(value, { depth: 4, showHidden: true }),
  O: (value) => inspect(value),
  c: () => "",
  j: (value) => {
    try {
      return JSON.stringify(value);
    } catch {
      return "[Circular]";
    }
  },
};
const hasOwnText = (value) => value instanceof Error || value instanceof Date || (typeof value.toString === "function" && value.toString !== Object.prototype.toString && !Array.isArray(value));
const formatted = (...args) => {
  let at = 0;
  let text = "";
  if (typeof args[0] === "string") {
    at = 1;
    text = args[0].replace(/%([sdifoOcj%])/g, (whole, kind) => {
      if (kind === "%") return args.length > 1 ? "%" : whole;
      return at < args.length ? `${place[kind](args[at++])}` : whole;
    });
  }
  const rest = args.slice(at).map((one) => (typeof one === "string" ? one : inspect(one)));
  return at ? [text, ...rest].join(" ") : rest.join(" ");
};
module.exports = { inspect, format: formatted };
