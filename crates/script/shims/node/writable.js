// Writable streams: chunks are written in order, and `write` returns false if the queue is full.
const EventEmitter = need("events");
const { Buffer } = need("buffer");
const { coded } = need("errors");
class Writable extends EventEmitter {
  writable = true;
  destroyed = false;
  writableEnded = false;
  writableFinished = false;
  writableNeedDrain = false;
  writableLength = 0;
  #write;
  #final;
  #encoding = "utf8";
  // `write(bytes, done)` takes what was written; `final(done)` ends it.
  constructor({ write, final, highWaterMark }) {
    super();
    this.#write = write;
    this.#final = final;
    this.writableHighWaterMark = highWaterMark ?? 16 << 10;
  }
  setDefaultEncoding(encoding) {
    this.#encoding = encoding;
    return this;
  }
  write(chunk, encoding, done) {
    if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    if (this.writableEnded || this.destroyed) {
      const late = this.writableEnded ? coded(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end") : coded(Error, "ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed");
      const gone = this.destroyed;
      queueMicrotask(() => (done?.(late), this.#fail(late, gone)));
      return false;
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding ?? this.#encoding) : chunk;
    this.writableLength += bytes.length;
    const room = this.writableLength < this.writableHighWaterMark;
    this.writableNeedDrain ||= !room;
    this.#write(bytes, (err) => {
      this.writableLength -= bytes.length;
      if (!err) this.#drained();
      done?.(err ?? null);
      if (err) this.#fail(err);
    });
    return room && !this.destroyed;
  }
  #drained() {
    if (!this.writableNeedDrain || this.writableLength || this.writableEnded || this.destroyed) return;
    this.writableNeedDrain = false;
    this.emit("drain");
  }
  #fail(err, gone = this.destroyed) {
    if (gone) return;
    this.destroyed = true;
    this.writable = false;
    // Ignore a program that does not read its input, if the module does not listen for errors.
    if (this.listenerCount("error") || err.code !== "EPIPE") this.emit("error", err);
    this.emit("close");
  }
  end(chunk, encoding, done) {
    if (typeof chunk === "function") [chunk, done] = [undefined, chunk];
    else if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    if (this.writableEnded) return this;
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    this.writableEnded = true;
    this.writable = false;
    if (done) this.once("finish", done);
    this.#final((err) => {
      if (err) return this.#fail(err);
      this.writableFinished = true;
      this.emit("finish");
      this.destroyed = true;
      this.emit("close");
    });
    return this;
  }
  destroy(err) {
    if (this.destroyed) return this;
    if (!this.writableEnded) this.#final(() => {});
    this.destroyed = true;
    queueMicrotask(() => {
      if (err) this.emit("error", err);
      this.emit("close");
    });
    return this;
  }
  cork() {}
  uncork() {}
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}
module.exports = { Writable };
