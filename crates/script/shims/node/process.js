// The part of `process` for hooks. It shows the environment of the call. An exit becomes an error,
// and output becomes a log effect.
const ambient = __op("ambient");
let argv;
let env;
let execPath;
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
const kill = (pid, signal) => {
  // A text that is a number is one.
  if (pid != (pid | 0)) throw need("errors").wrongType("pid", "of type number", pid);
  const { signals } = need("os").constants;
  const number = signal === (signal | 0) ? signal : signals[signal || "SIGTERM"];
  if (number === undefined) throw need("errors").coded(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${signal}`);
  return __op("kill", { pid: pid | 0, signal: number });
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
  // The call's folder, not the host's.
  chdir(directory) {
    need("errors").needText("directory", directory);
    try {
      __op("chdir", { path: directory });
    } catch (err) {
      if (err.syscall !== "chdir") throw err;
      const path = __op("cwd");
      const message = err.message.replace(/ '[^]*$/, ` ${need("inspect").inspect(path)} -> ${need("inspect").inspect(directory)}`);
      throw Object.assign(new Error(message), { errno: err.errno, code: err.code, syscall: "chdir", path, dest: directory });
    }
  },
  pid: ambient.pid,
  ppid: ambient.ppid,
  platform: ambient.platform,
  arch: ambient.arch,
  // Computed on first use, because few modules need it.
  get execPath() {
    return (execPath ??= __op("execPath"));
  },
  set execPath(value) {
    execPath = value;
  },
  get argv() {
    return (argv ??= [process.execPath]);
  },
  set argv(value) {
    argv = value;
  },
  execArgv: [],
  title: "gambrel",
  version: "v22.0.0",
  versions: { node: "22.0.0" },
  release: { name: "node" },
  exitCode: undefined,
  exit: leave,
  reallyExit: leave,
  abort: leave,
  kill,
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
