// The part of `process` that a hook may have: what it reads is the call's, what would end or
// write for the host becomes an error or a log effect.
const ambient = __op("ambient");
let env;
const stream = (level) => ({
  isTTY: false,
  columns: 80,
  write(text) {
    console[level](String(text).replace(/\n$/, ""));
    return true;
  },
  on() {
    return this;
  },
  once() {
    return this;
  },
  end() {},
});
const leave = (code) => {
  const err = new Error(`process.exit(${code ?? ""}) was called`);
  err.code = "ERR_PROCESS_EXIT";
  throw err;
};
const chained = () => process;
const process = {
  get env() {
    return (env ??= __op("env"));
  },
  set env(value) {
    env = value;
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
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
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
  stdin: { isTTY: false, on: chained, once: chained, resume: chained, pause: chained, setRawMode: chained },
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
};
process.process = process;
module.exports = process;
