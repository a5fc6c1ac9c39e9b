// Lists, creates, moves and removes files and directories.
const { constants, pathOf, optionsOf, modeOf, act } = need("fs_files");
const { Buffer } = need("buffer");
const { coded } = need("errors");
const path = need("path");
class Kinds {
  #kind;
  constructor(kind) {
    this.#kind = kind;
  }
  isFile() {
    return this.#kind === "file";
  }
  isDirectory() {
    return this.#kind === "folder";
  }
  isSymbolicLink() {
    return this.#kind === "link";
  }
  isFIFO() {
    return this.#kind === "pipe";
  }
  isSocket() {
    return this.#kind === "socket";
  }
  isCharacterDevice() {
    return this.#kind === "characters";
  }
  isBlockDevice() {
    return this.#kind === "blocks";
  }
}
class Stats extends Kinds {
  constructor({ kind, ...fields }, big) {
    super(kind);
    for (const [name, value] of Object.entries(fields)) this[name] = big ? BigInt(Math.floor(value)) : value;
    for (const name of ["atime", "mtime", "ctime", "birthtime"]) {
      this[name] = new Date(Math.round(fields[`${name}Ms`]));
      if (big) this[`${name}Ns`] = BigInt(Math.floor(fields[`${name}Ms`] * 1e6));
    }
  }
}
class Dirent extends Kinds {
  constructor(name, kind, parent) {
    super(kind);
    this.name = name;
    this.parentPath = parent;
    this.path = parent;
  }
}
const looked = (follow) => (file, options) => {
  try {
    return new Stats(__op("fs.stat", { path: pathOf(file), follow }), options?.bigint);
  } catch (err) {
    if (options?.throwIfNoEntry === false && (err.code === "ENOENT" || err.code === "ENOTDIR")) return undefined;
    throw err;
  }
};
const statSync = looked(true);
const lstatSync = looked(false);
const fstatSync = (fd, options) => new Stats(fd <= 2 ? { kind: "pipe", size: 0, mode: 0o10600 } : act("fstat", fd), options?.bigint);
const change = (what, file, fields) => __op("fs.change", { ...fields, do: what, path: pathOf(file) });
// Both names belong into the message.
const pair = (what, from, to, fields) => {
  const target = pathOf(to, "dest");
  try {
    change(what, from, { ...fields, to: target });
  } catch (err) {
    if (err.syscall) err.message = `${err.message} -> '${target}'`;
    throw Object.assign(err, { dest: target });
  }
};
const existsSync = (file) => {
  try {
    change("access", file, { mode: 0 });
    return true;
  } catch {
    return false;
  }
};
const readdirSync = (folder, options) => {
  const { recursive, withFileTypes, encoding } = optionsOf(options);
  const root = pathOf(folder);
  const name = (text) => (encoding === "buffer" ? Buffer.from(text) : text);
  return __op("fs.list", { path: root, recursive: recursive === true }).map(([own, kind, parent]) => {
    if (!withFileTypes) return name(parent ? `${parent}/${own}` : own);
    return new Dirent(name(own), kind, parent ? path.join(root, parent) : root);
  });
};
class Dir {
  #left;
  constructor(folder, options) {
    this.path = pathOf(folder);
    this.#left = readdirSync(folder, { ...optionsOf(options), withFileTypes: true });
  }
  #open() {
    if (!this.#left) throw coded(Error, "ERR_DIR_CLOSED", "Directory handle was closed");
    return this.#left;
  }
  readSync() {
    return this.#open().shift() ?? null;
  }
  async read() {
    return this.readSync();
  }
  closeSync() {
    this.#open();
    this.#left = null;
  }
  async close() {
    this.closeSync();
  }
  async *entries() {
    try {
      for (let one = this.readSync(); one; one = this.readSync()) yield one;
    } finally {
      this.closeSync();
    }
  }
  [Symbol.asyncIterator]() {
    return this.entries();
  }
}
const opendirSync = (folder, options) => new Dir(folder, options);
const mkdirSync = (folder, options) => {
  const { recursive, mode } = typeof options === "object" && options !== null ? options : { mode: options };
  const first = __op("fs.make", { path: pathOf(folder), recursive: recursive === true, mode: modeOf(mode, 0o777) });
  return first ?? undefined;
};
const rmSync = (file, options) => {
  const { recursive, force } = options ?? {};
  try {
    __op("fs.remove", { path: pathOf(file), recursive: recursive === true, force: force === true });
  } catch (err) {
    if (err.code === "ERR_FS_EISDIR") Object.assign(err, { name: "SystemError", errno: 21, syscall: "rm", path: pathOf(file) });
    throw err;
  }
};
const rmdirSync = (folder, options) => (options?.recursive ? rmSync(folder, { recursive: true }) : void change("rmdir", folder));
const realpathSync = (file) => {
  const whole = path.resolve(pathOf(file));
  try {
    return change("realpath", whole);
  } catch (err) {
    err.message = err.message.replace(/, realpath '.*'$/s, () => `, lstat '${whole}'`);
    throw Object.assign(err, { syscall: "lstat", path: whole });
  }
};
realpathSync.native = (file) => change("realpath", file);
const copyFileSync = (from, to, mode = 0) => pair("copyfile", from, to, { exclusive: (mode & constants.COPYFILE_EXCL) !== 0 });
const copyInto = (from, to, options) => {
  if (options.filter && !options.filter(from, to)) return;
  const stats = options.dereference ? statSync(from) : lstatSync(from);
  if (stats.isDirectory()) {
    if (!options.recursive) throw coded(Error, "ERR_FS_EISDIR", `Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${from} is a directory (not copied)) ${from}`);
    mkdirSync(to, { recursive: true });
    for (const name of readdirSync(from)) copyInto(path.join(from, name), path.join(to, name), options);
    return;
  }
  if (existsSync(to) && options.force === false) {
    if (options.errorOnExist) throw coded(Error, "ERR_FS_CP_EEXIST", `Target already exists: cp returned EEXIST (${to} already exists) ${to}`);
    return;
  }
  mkdirSync(path.dirname(to), { recursive: true });
  if (!stats.isSymbolicLink()) return copyFileSync(from, to);
  rmSync(to, { force: true });
  symlinkSync(readlinkSync(from), to);
};
const cpSync = (from, to, options) => {
  const [start, end] = [pathOf(from, "src"), pathOf(to, "dest")];
  if (`${path.resolve(end)}/`.startsWith(`${path.resolve(start)}/`)) {
    throw coded(Error, "ERR_FS_CP_EINVAL", `Invalid src or dest: cp returned EINVAL (cannot copy ${start} to a subdirectory of self ${end}) ${end}`);
  }
  copyInto(start, end, options ?? {});
};
const symlinkSync = (target, file) => pair("symlink", target, file);
const readlinkSync = (file) => change("readlink", file);
const seconds = (time) => (time instanceof Date ? time.getTime() / 1000 : Number(time));
module.exports = {
  Stats, Dirent, Dir, opendirSync, statSync, lstatSync, fstatSync, existsSync, readdirSync, mkdirSync, rmSync, rmdirSync, realpathSync, copyFileSync, cpSync, symlinkSync, readlinkSync,
  mkdtempSync: (prefix) => __op("fs.makeTemporary", { path: pathOf(prefix, "prefix") }),
  unlinkSync: (file) => void change("unlink", file),
  renameSync: (from, to) => pair("rename", from, to),
  linkSync: (from, to) => pair("link", from, to),
  accessSync: (file, mode = 0) => void change("access", file, { mode }),
  chmodSync: (file, mode) => void change("chmod", file, { mode: modeOf(mode) }),
  utimesSync: (file, atime, mtime) => void change("utime", file, { atime: seconds(atime), mtime: seconds(mtime) }),
  truncateSync: (file, length = 0) => void change("truncate", file, { length }),
  ftruncateSync: (fd, length = 0) => void act("ftruncate", fd, { length }),
  fsyncSync: (fd) => void act("fsync", fd),
  fdatasyncSync: (fd) => void act("fsync", fd),
};
