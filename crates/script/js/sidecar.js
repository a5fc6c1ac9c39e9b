// The same API in a full host (bun or node), for modules that need more than the embedded engine
// has. Each message is one line of JSON. Every line to the parent starts with a secret marker,
// because a module's own children may write to the same stream.
const fs = await import("node:fs");
const nodeModule = await import("node:module");
const { dirname } = await import("node:path");
const { fileURLToPath, pathToFileURL } = await import("node:url");
const { format, inspect } = await import("node:util");
const { parse, stringify } = JSON;

// Programs of the module must not inherit the options of this process. Node also defines globals
// for a script on its command line that modules do not have.
process.execArgv = [];
for (const name of ["__dirname", "__filename", "exports", "module", "require"]) delete globalThis[name];

let mark = "";
let next = 1;
const waiting = new Map();
const line = (value) => {
  const bytes = Buffer.from(`${mark}${stringify(value)}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(1, bytes, at);
    } catch (err) {
      // The parent is gone: finish the work without output.
      if (err.code === "EPIPE") return;
      if (err.code !== "EAGAIN") throw err;
    }
  }
};
const unwrap = (said) => {
  if (said.err === undefined) return said.ok;
  const { message, ...fields } = said.err;
  throw Object.assign(new Error(message), fields);
};
const wait = (word) =>
  new Promise((resolve, reject) => {
    const id = next++;
    waiting.set(id, (said) => {
      try {
        resolve(unwrap(said));
      } catch (err) {
        reject(err);
      }
    });
    line({ ...word, id });
  });
const effect = (text) => line({ effect: text });

const show = (value) => {
  if (typeof value === "string") return value;
  if (value instanceof Map || value instanceof Set) return inspect(value);
  if (value instanceof Error) return value.stack ?? String(value);
  try {
    return (typeof value === "object" && stringify(value)) || String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
};
const filled = (words) =>
  words.length > 1 && typeof words[0] === "string" && /%[sdifoOcj%]/.test(words[0]) ? format(...words) : words.map(show).join(" ");
const log = (level) => (...words) => effect(stringify({ type: "log", level, message: filled(words) }));
for (const [name, level] of [["log", "info"], ["info", "info"], ["debug", "debug"], ["trace", "debug"], ["warn", "warn"], ["error", "error"], ["dir", "info"]]) {
  console[name] = log(level);
}
const write = (level) => (text, encoding, done) => {
  log(level)(String(text).replace(/\n$/, ""));
  const after = typeof encoding === "function" ? encoding : done;
  if (typeof after === "function") queueMicrotask(after);
  return true;
};
process.stdout.write = write("info");
process.stderr.write = write("error");
const leave = process.reallyExit.bind(process);
process.exit = process.reallyExit = process.abort = (code) => {
  throw Object.assign(new Error(`process.exit(${code ?? ""}) was called`), { code: "ERR_PROCESS_EXIT" });
};
const unnoticed = (err) => effect(stringify({ type: "warning", message: `a callback failed: ${worded(err)}` }));
process.on("uncaughtException", unnoticed);
process.on("unhandledRejection", unnoticed);
let worded = String;

const exec = (command, args, options) => {
  const { signal, ...rest } = options ?? {};
  const id = next;
  const run = wait({ start: "exec", args: { ...rest, command: String(command), args: [...(args ?? [])].map(String) } });
  const stop = () => line({ send: id, value: { kill: true } });
  if (signal?.aborted) stop();
  else signal?.addEventListener?.("abort", stop);
  return run;
};

// Stubs: the same texts as in the embedded engine.
const modules = new Map();
const needed = (shims) => {
  const need = (name) => {
    if (!modules.has(name)) {
      const module = { exports: {} };
      modules.set(name, module);
      const ops = (op, args) => op === "warn" && effect(stringify({ type: "warning", message: args.message }));
      new Function("module", "exports", "need", "__op", shims[name])(module, module.exports, need, ops);
    }
    return modules.get(name).exports;
  };
  return need;
};

// ── module loading: compiled JavaScript for the module's own files, stubs for host packages that
// are not installed, and everything else as the full host finds it ──
const HOOKS = `import { statSync } from "node:fs";
let known;
let asked = 0;
const waiting = new Map();
export const initialize = (given) => {
  known = given;
  known.port.on("message", ({ id, ...said }) => waiting.get(id)(said));
};
const ask = async (url) => {
  const said = await new Promise((resolve) => {
    waiting.set(++asked, resolve);
    known.port.postMessage({ id: asked, url });
  });
  if (said.failed !== undefined) throw new Error(said.failed);
  Object.assign(known.inner, said.inner);
  known.links[url] = said.links;
  return said.source;
};
const isFile = (url) => statSync(url, { throwIfNoEntry: false })?.isFile();
// The same candidates as TypeScript bundlers.
const ENDINGS = ["", ".ts", ".tsx", ".mts", ".js", ".mjs", ".jsx", ".json", "/index.ts", "/index.js"];
const spellings = (specifier, parent) => {
  if (!/^(\\.{0,2}\\/|file:)/.test(specifier)) return [];
  const typed = specifier.replace(/\\.(m?)js(x?)$/, ".$1ts$2");
  return [...ENDINGS.map((ending) => specifier + ending), typed].map((one) => new URL(one, parent));
};
export const resolve = async (specifier, context, next) => {
  if (specifier.startsWith("gambrel:")) return { url: specifier, shortCircuit: true };
  const url = known.links[context.parentURL]?.[specifier];
  if (url) return { url, shortCircuit: true };
  // A computed name.
  const urls = spellings(specifier, context.parentURL);
  const read = urls.find(({ href }) => href in known.sources);
  if (read) return { url: read.href, shortCircuit: true };
  try {
    return await next(specifier, context);
  } catch (err) {
    const found = specifier in known.stubs ? "gambrel:" + specifier : urls.find(isFile)?.href;
    if (found === undefined) throw err;
    return { url: found, shortCircuit: true };
  }
};
// Whether node cannot load a file itself.
const foreign = (url, { importAttributes, importAssertions }) => {
  if (!url.startsWith("file:")) return false;
  const { pathname } = new URL(url);
  return /\\.([cm]?ts|[jt]sx)$/.test(pathname) || (pathname.endsWith(".json") && !(importAttributes ?? importAssertions)?.type);
};
export const load = async (url, context, next) => {
  const source = url.startsWith("gambrel:") ? (known.inner[url] ?? known.stubs[url.slice(8)]) : known.sources[url];
  if (source === undefined && !foreign(url, context)) return next(url, context);
  return { format: "module", source: source ?? (await ask(url)), shortCircuit: true };
};`;

// Node has no `require` in ES modules, and bun's knows no stubs. This one resolves from the file.
const requires = (need, stubs) => (url) => {
  const own = nodeModule.createRequire(url);
  // Bun resolves a stub to its own name.
  const installed = (name) => {
    try {
      return own.resolve(name) !== name;
    } catch {
      return false;
    }
  };
  const require = (name) => {
    if (!Object.hasOwn(stubs, name) || installed(name)) return own(name);
    return name.endsWith("typebox") ? need("typebox") : need("host").space(name);
  };
  return Object.assign(require, own);
};
const handOut = ({ sources, requires }) => {
  const inner = {};
  for (const file of requires) {
    const name = `gambrel:require?${encodeURIComponent(file)}`;
    inner[name] = `export default globalThis.__gambrel.requires(${stringify(file)});`;
    // Imports are hoisted, so one at the end keeps the line numbers.
    sources[file] += `\nimport require from ${stringify(name)};`;
  }
  return inner;
};
// Adds the `import.meta` fields of bun that node lacks, on the file's first line.
const placed = (file, text) => {
  const told = stringify({ dir: dirname(file), dirname: dirname(file), filename: file, path: file });
  return text.includes("import.meta") ? text.replace(/^(?:#!.*\n)?/, (head) => `${head}Object.assign(import.meta, ${told}); `) : text;
};
const href = (file) => pathToFileURL(file).href;
const mapped = (fields, key, value) => Object.fromEntries(Object.entries(fields).map(([k, v]) => [key(k), value(v, k)]));
const same = (text) => text;
// A file with a computed name: the parent reads and compiles it.
const fetched = async (url) => {
  const file = fileURLToPath(url);
  const { code, leads, requires } = await wait({ read: file });
  const sources = { [file]: code };
  const inner = handOut({ sources, requires: requires ? [file] : [] });
  return { source: placed(file, sources[file]), links: mapped(leads, same, href), inner };
};
const furnishNode = (word, inner) => {
  const sources = mapped(word.sources, href, (text, file) => placed(file, text));
  const links = mapped(word.links, href, (leads) => mapped(leads, same, href));
  const { stubs } = word;
  const hooks = `data:text/javascript,${encodeURIComponent(HOOKS)}`;
  // Node runs loader hooks on their own thread, which cannot write to the parent.
  const { port1, port2 } = new MessageChannel();
  port1.on("message", ({ id, url }) => {
    const say = (said) => port1.postMessage({ id, ...said });
    fetched(url).then(say, (err) => say({ failed: err.message }));
  });
  port1.unref();
  nodeModule.register(hooks, { data: { sources, links, stubs, inner, port: port2 }, transferList: [port2] });
};
const furnishBun = ({ path, sources, stubs }, inner) => {
  const texts = new Map(Object.entries(sources));
  const exact = [...texts.keys()].map((file) => file.replace(/[^\w/]/g, "\\$&")).join("|");
  const there = (name) => {
    try {
      return Bun.resolveSync(name, dirname(path));
    } catch {}
  };
  const setup = (build) => {
    build.onLoad({ filter: new RegExp(`^(?:${exact})$`) }, (file) => ({ contents: texts.get(file.path), loader: "js" }));
    const missing = Object.entries(stubs).filter(([name]) => !there(name));
    for (const [name, contents] of [...missing, ...Object.entries(inner)]) {
      build.module(name, () => ({ contents, loader: "js" }));
    }
  };
  Bun.plugin({ name: "gambrel", setup });
};

class NotAFactory extends Error {}
let module;
const told = (err) =>
  line({ settled: stringify({ failed: module ? module.messageOf(err) : show(err), stack: module?.stackOf(err), bare: err instanceof NotAFactory }) });

const begin = async (word) => {
  const need = needed(word.shims);
  globalThis.__gambrel = { need, requires: requires(need, word.stubs) };
  Object.defineProperty(globalThis, "babelHelpers", { get: () => need("lowered").babelHelpers });
  const host = {
    path: word.path, hasUI: word.hasUI, effect, exec, show, NotAFactory,
    ask: (text) => {
      const id = next;
      return { answer: wait({ ask: text }), drop: () => (waiting.delete(id), line({ drop: id })) };
    },
    lap: () => line({ lap: true }),
    typebox: () => need("typebox"),
    stub: (name) => need("host").stub(name),
  };
  if (word.offline) {
    globalThis.fetch = async () => {
      throw Object.assign(new TypeError(`fetch failed: ${word.offline}`), { code: "ERR_ACCESS_DENIED" });
    };
  }
  module = api(host, contexts);
  worded = module.messageOf;
  const furnish = typeof Bun === "undefined" ? furnishNode : furnishBun;
  furnish(word, handOut(word));
  await module.load(await import(pathToFileURL(word.path).href));
  return "{}";
};

const receive = (word) => {
  if (word.answer !== undefined) {
    waiting.get(word.answer)?.(word.said);
    waiting.delete(word.answer);
    return;
  }
  const done = (text) => line({ settled: text });
  if (word.op === "load") {
    mark = word.mark;
    try {
      process.chdir(word.cwd);
    } catch {}
    begin(word).then(done, told);
  } else if (word.op === "emit") module.emit(word.event, word.rest).then(done, told);
  else if (word.op === "command") module.command(word.name, word.args, word.rest).then(done, told);
  // An empty text means that there is no report.
  else if (word.op === "giveUp") (module.giveUp(word.message, true) ?? Promise.resolve("")).then(done, told);
  else if (word.op === "listed") done(module.listed());
};
const heard = (text) => {
  try {
    receive(parse(text));
  } catch (err) {
    told(err);
  }
};
// Only a newline ends a line. A line reader would also split at U+2028, which JSON does not escape.
let begun = [];
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = chunk.split("\n");
  begun.push(lines[0]);
  if (lines.length === 1) return;
  const first = begun.join("");
  begun = [lines.pop()];
  for (const line of [first, ...lines.slice(1)]) heard(line);
});
// Work that no one awaits has two seconds to finish.
process.stdin.on("end", () => setTimeout(leave, 2000, 0).unref());
