// `fs`: what can be done at once, the same with a callback, and with a promise.
const EventEmitter = need("events");
const { needFunction, unaborted } = need("errors");
const { constants, openSync, closeSync, readSync, writeSync, readFileSync, writeFileSync, appendFileSync } = need("fs_files");
const { Stats, Dirent, Dir, ...tree } = need("fs_tree");
const sync = { openSync, closeSync, readSync, writeSync, readFileSync, writeFileSync, appendFileSync, ...tree };
// A watcher exists but never reports a change.
class FSWatcher extends EventEmitter {
  close() {
    queueMicrotask(() => this.emit("close"));
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}
const calls = (run, answers) =>
  (...args) => {
    const done = args.pop();
    needFunction("cb", done);
    let made;
    try {
      unaborted(args.at(-1));
      made = run(...args);
    } catch (err) {
      return void globalThis.setTimeout(() => done(err), 0);
    }
    globalThis.setTimeout(() => done(null, ...answers(made, args)), 0);
  };
const fs = { ...sync, constants, Stats, Dirent, Dir, FSWatcher, ...need("fs_streams") };
const silent = ["closeSync", "writeFileSync", "appendFileSync", "rmSync", "rmdirSync", "unlinkSync", "renameSync", "copyFileSync", "accessSync", "chmodSync", "utimesSync", "truncateSync", "ftruncateSync", "fsyncSync", "cpSync", "symlinkSync", "linkSync"];
for (const [name, run] of Object.entries(sync)) {
  const answers = silent.includes(name) ? () => [] : name === "readSync" || name === "writeSync" ? (made, args) => [made, args[1]] : (made) => [made];
  fs[name.slice(0, -4)] = calls(run, answers);
}
fs.exists = (path, done) => void globalThis.setTimeout(() => done(sync.existsSync(path)), 0);
fs.exists[Symbol.for("nodejs.util.promisify.custom")] = async (path) => sync.existsSync(path);
fs.realpath.native = fs.realpath;
fs.watch = (_path, options, listener) => {
  const watcher = new FSWatcher();
  const heard = typeof options === "function" ? options : listener;
  if (heard) watcher.on("change", heard);
  return watcher;
};
fs.watchFile = () => new FSWatcher();
fs.unwatchFile = () => {};
Object.assign(fs, { F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4 });
Object.defineProperty(fs, "promises", { enumerable: true, get: () => need("fs/promises") });
module.exports = fs;
