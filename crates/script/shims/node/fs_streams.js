// Files as streams.
const { Readable, Writable } = need("flow");
const { Buffer } = need("buffer");
const { openSync, closeSync, readSync, writeSync, optionsOf } = need("fs_files");
class ReadStream extends Readable {
  bytesRead = 0;
  constructor(path, given) {
    const options = optionsOf(given);
    super({ encoding: options.encoding, pull: () => this.#more() });
    this.path = path;
    this.fd = options.fd ?? null;
    this.#at = options.start;
    this.#left = options.end === undefined ? Infinity : options.end - (options.start ?? 0) + 1;
    this.#size = options.highWaterMark ?? 64 << 10;
    queueMicrotask(() => this.#open(options));
  }
  #at;
  #left;
  #size;
  #open({ flags = "r", mode }) {
    if (this.destroyed) return;
    try {
      this.fd ??= openSync(this.path, flags, mode);
    } catch (err) {
      return void this.destroy(err);
    }
    this.emit("open", this.fd);
    this.emit("ready");
    if (this.readableFlowing || this.listenerCount("readable")) this.#more();
  }
  #more() {
    if (this.fd === null || this.destroyed) return;
    try {
      const chunk = Buffer.alloc(Math.min(this.#size, this.#left));
      const read = chunk.length ? readSync(this.fd, chunk, 0, chunk.length, this.#at) : 0;
      if (this.#at !== undefined) this.#at += read;
      this.#left -= read;
      this.bytesRead += read;
      if (read) return void this.push(chunk.subarray(0, read));
      this.push(null);
      this.#close();
    } catch (err) {
      this.destroy(err);
    }
  }
  #close() {
    if (this.fd !== null) closeSync(this.fd);
    this.fd = null;
  }
  destroy(err) {
    this.#close();
    return super.destroy(err);
  }
  close(done) {
    if (done) this.once("close", done);
    this.destroy();
  }
}
class WriteStream extends Writable {
  bytesWritten = 0;
  pending = true;
  constructor(path, given) {
    const options = optionsOf(given);
    super({
      write: (bytes, done) => this.#later(() => this.#put(bytes), done),
      final: (done) => this.#later(() => this.#close(), done),
      highWaterMark: options.highWaterMark,
    });
    this.path = path;
    this.fd = options.fd ?? null;
    this.#at = options.start;
    if (options.encoding) this.setDefaultEncoding(options.encoding);
    this.#later(() => this.#open(options), (err) => {
      if (err) return void this.destroy(err);
      this.emit("open", this.fd);
      this.emit("ready");
    });
  }
  #at;
  #failed;
  #queue = Promise.resolve();
  // One after the other, none before the file is open.
  #later(work, done) {
    this.#queue = this.#queue.then(() => {
      if (this.#failed) return;
      try {
        work();
      } catch (err) {
        this.#failed = err;
        return done(err);
      }
      done();
    });
  }
  #open({ flags = "w", mode }) {
    this.fd ??= openSync(this.path, flags, mode);
    this.pending = false;
  }
  #put(bytes) {
    this.bytesWritten += writeSync(this.fd, bytes, 0, bytes.length, this.#at);
    if (this.#at !== undefined) this.#at += bytes.length;
  }
  #close() {
    if (this.fd !== null) closeSync(this.fd);
    this.fd = null;
  }
  close(done) {
    if (done) this.once("close", done);
    this.end();
  }
}
module.exports = {
  ReadStream, WriteStream,
  createReadStream: (path, options) => new ReadStream(path, options),
  createWriteStream: (path, options) => new WriteStream(path, options),
};
