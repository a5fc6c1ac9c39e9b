// The part of `process` that a hook may have: what it reads is the call's, what would end or
// write for the host becomes an error or a log effect.
const ambient = __op("ambient");
let env;
let stdin;
const stream = (level) => ({
  isTTY: false,
  columns: 80,
  fd: level === "error" ? 2 : 1,
  writable: true,
  write(text, encoding, done) {
    console[level](typeof text === "string" ? text.replace(/\n$/, "") : new TextDecoder().decode(text).replace(/\n$/, ""));
    const told = typeof encoding === "function" ? encoding : done;
    if (told) queueMicrotask(() => told(null));
    return true;
  },
  off() {
    return this;
  },
  emit: () => false,
  removeListener() {
    return this;
  },
  getWindowSize: () => [80, 24],
  hasColors: () => false,
  on() {
    return this;
  },
  once() {
    return this;
  },
  end(text) {
    if (text !== undefined && typeof text !== "function") this.write(text);
  },
});
const leave = (code) => {
  const err = new Error(`process.exit(${code ?? ""}) was called`);
  err.code = "ERR_PROCESS_EXIT";
  throw err;
};
const chained = () => process;
// Every value of an environment is text.
const worded = (fields) => {
  if (typeof fields !== "object" || fields === null) return fields;
  for (const name of Object.keys(fields)) fields[name] = `${fields[name]}`;
  return new Proxy(fields, {
    set: (all, name, value) => ((all[name] = typeof name === "symbol" ? value : `${value}`), true),
  });
};
const process = {
  get env() {
    return (env ??= worded(__op("env")));
  },
  set env(value) {
    env = worded(value);
  },
  cwd: () => __op("cwd"),
  chdir() {
    throw new Error("process.chdir() is not available in a hook");
  },
  pid: ambient.pid,
  ppid: ambient.ppid,
  platform: ambient.platform,
  arch: ambient.arch,
  execPath: ambient.execPath,
  argv: [ambient.execPath],
  execArgv: [],
  title: "gambrel",
  version: "v22.0.0",
  versions: { node: "22.0.0" },
  release: { name: "node" },
  exitCode: undefined,
  exit: leave,
  reallyExit: leave,
  abort: leave,
  kill: (pid, signal) => __op("kill", { pid, signal: signal ?? "SIGTERM" }),
  uptime: () => performance.now() / 1000,
  memoryUsage: Object.assign(() => ({ ...__op("memory"), external: 0, arrayBuffers: 0 }), { rss: () => __op("memory").rss }),
  nextTick: (run, ...args) => queueMicrotask(() => run(...args)),
  hrtime: Object.assign(
    (since) => {
      const now = performance.now() * 1e6;
      const [s, n] = [Math.floor(now / 1e9), Math.floor(now % 1e9)];
      if (!since) return [s, n];
      const carry = n < since[1] ? 1 : 0;
      return [s - since[0] - carry, n - since[1] + carry * 1e9];
    },
    { bigint: () => BigInt(Math.floor(performance.now() * 1e6)) },
  ),
  stdout: stream("info"),
  stderr: stream("error"),
  // The host's input is not a hook's: this one has ended before it began.
  get stdin() {
    if (!stdin) {
      const { Readable } = need("flow");
      stdin = Object.assign(new Readable(), { isTTY: false, fd: 0, setRawMode: () => stdin });
      stdin.push(null);
    }
    return stdin;
  },
  on: chained,
  once: chained,
  off: chained,
  addListener: chained,
  removeListener: chained,
  removeAllListeners: chained,
  emit: () => false,
  emitWarning: (warning) => console.warn(warning),
  listeners: () => [],
  listenerCount: () => 0,
  umask: () => 0o22,
  getuid: () => ambient.uid,
  geteuid: () => ambient.uid,
  getgid: () => need("os").userInfo().gid,
  getegid: () => need("os").userInfo().gid,
  cpuUsage: () => ({ user: Math.floor(performance.now() * 1000), system: 0 }),
  config: {},
  features: {},
};
process.process = process;
module.exports = process;
