// `os`: facts about the machine and the account.
const ambient = __op("ambient");
let known;
const machine = () => (known ??= __op("machine"));
const env = (name) => globalThis.process.env[name];
const errno = { E2BIG: 7, EACCES: 13, EADDRINUSE: 98, EAGAIN: 11, EBADF: 9, EBUSY: 16, ECONNREFUSED: 111, ECONNRESET: 104, EEXIST: 17, EINVAL: 22, EISDIR: 21, EMFILE: 24, ENOENT: 2, ENOTDIR: 20, ENOTEMPTY: 39, EPERM: 1, EPIPE: 32, ETIMEDOUT: 110 };
const os = {
  EOL: "\n",
  devNull: "/dev/null",
  homedir: () => env("HOME") ?? machine().account.homedir ?? "/",
  tmpdir() {
    const path = env("TMPDIR") || env("TMP") || env("TEMP") || "/tmp";
    return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  },
  platform: () => ambient.platform,
  arch: () => ambient.arch,
  type: () => machine().type,
  release: () => machine().release,
  version: () => machine().version,
  machine: () => machine().machine,
  hostname: () => machine().hostname,
  endianness: () => "LE",
  userInfo() {
    const { uid, gid, username, homedir, shell } = machine().account;
    return { uid, gid, username: username ?? env("USER") ?? `${uid}`, homedir: homedir ?? os.homedir(), shell: shell ?? null };
  },
  cpus: () => Array.from({ length: machine().processors }, () => ({ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } })),
  availableParallelism: () => machine().processors,
  totalmem: () => machine().total,
  freemem: () => __op("machine").free,
  uptime: () => performance.now() / 1000,
  loadavg: () => [0, 0, 0],
  networkInterfaces: () => ({}),
  getPriority: () => 0,
  setPriority() {},
  constants: { get signals() { return machine().signals; }, errno, priority: {} },
};
module.exports = os;
