// `fs/promises`.
const { unaborted } = need("errors");
const { constants, openSync, closeSync, readSync, writeSync, readFileSync, writeFileSync, appendFileSync } = need("fs_files");
const { Stats, Dirent, Dir, existsSync, ...tree } = need("fs_tree");
class FileHandle {
  constructor(fd) {
    this.fd = fd;
  }
  async read(buffer, ...rest) {
    const target = ArrayBuffer.isView(buffer) ? buffer : buffer?.buffer ?? need("buffer").Buffer.alloc(16384);
    const bytesRead = ArrayBuffer.isView(buffer) ? readSync(this.fd, buffer, ...rest) : readSync(this.fd, target, buffer ?? {});
    return { bytesRead, buffer: target };
  }
  async write(data, ...rest) {
    return { bytesWritten: writeSync(this.fd, data, ...rest), buffer: data };
  }
  async readFile(options) {
    unaborted(options);
    return readFileSync(this.fd, options);
  }
  async writeFile(data, options) {
    unaborted(options);
    writeFileSync(this.fd, await gathered(data, options), options);
  }
  async appendFile(data, options) {
    unaborted(options);
    writeFileSync(this.fd, data, options);
  }
  async stat(options) {
    return tree.fstatSync(this.fd, options);
  }
  async truncate(length) {
    tree.ftruncateSync(this.fd, length);
  }
  async sync() {
    tree.fsyncSync(this.fd);
  }
  async datasync() {
    tree.fsyncSync(this.fd);
  }
  async close() {
    if (this.fd >= 0) closeSync(this.fd);
    this.fd = -1;
  }
  readLines(options) {
    return need("readline").createInterface({ input: this.createReadStream(options) });
  }
  createReadStream(options) {
    return need("fs_streams").createReadStream("", { ...options, fd: this.fd });
  }
  createWriteStream(options) {
    return need("fs_streams").createWriteStream("", { ...options, fd: this.fd });
  }
  [Symbol.asyncDispose ?? "asyncDispose"]() {
    return this.close();
  }
}
const promises = { constants, open: async (...args) => new FileHandle(openSync(...args)) };
// What is given piece by piece, now or later, is written as one.
const gathered = async (data, options) => {
  if (typeof data !== "object" || data === null || ArrayBuffer.isView(data)) return data;
  if (!data[Symbol.iterator] && !data[Symbol.asyncIterator]) return data;
  const { Buffer } = need("buffer");
  const encoding = typeof options === "string" ? options : options?.encoding;
  const pieces = [];
  for await (const piece of data) pieces.push(typeof piece === "string" ? Buffer.from(piece, encoding ?? "utf8") : piece);
  return Buffer.concat(pieces);
};
const whole = (run) => async (path, ...rest) => {
  unaborted(rest.at(-1));
  return run(path instanceof FileHandle ? path.fd : path, ...rest);
};
Object.assign(promises, {
  readFile: whole(readFileSync),
  writeFile: async (path, data, options) => (unaborted(options), whole(writeFileSync)(path, await gathered(data, options), options)),
  appendFile: whole(appendFileSync),
});
for (const [name, run] of Object.entries(tree)) {
  if (!/^f(stat|truncate|sync|datasync)Sync$/.test(name)) promises[name.slice(0, -4)] = async (...args) => run(...args);
}
module.exports = promises;
