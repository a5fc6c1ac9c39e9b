// Streams, as far as files and programs need them: what is read waits until somebody listens.
const EventEmitter = need("events");
const { Buffer } = need("buffer");
const { coded } = need("errors");
class Readable extends EventEmitter {
  readable = true;
  destroyed = false;
  readableEnded = false;
  readableFlowing = null;
  #waiting = [];
  #decoder = null;
  #over = false;
  #busy = false;
  #pull;
  #used;
  // `pull` is asked for more while somebody listens; `used` is told of every chunk that was taken.
  constructor({ pull, used, encoding } = {}) {
    super();
    this.#pull = pull;
    this.#used = used;
    if (encoding) this.setEncoding(encoding);
  }
  setEncoding(encoding) {
    const { StringDecoder } = need("string_decoder");
    this.#decoder = new StringDecoder(encoding);
    this.readableEncoding = this.#decoder.encoding;
    return this;
  }
  push(chunk) {
    if (this.#over) return false;
    if (chunk === null) this.#over = true;
    else this.#waiting.push(chunk);
    if (this.readableFlowing) this.#drain();
    else if (this.listenerCount("readable")) queueMicrotask(() => this.emit("readable"));
    return true;
  }
  #drain() {
    if (this.#busy) return;
    this.#busy = true;
    queueMicrotask(() => {
      this.#busy = false;
      while (this.readableFlowing && this.#waiting.length) {
        const chunk = this.#take(this.#waiting.shift());
        if (chunk.length) this.emit("data", chunk);
      }
      if (!this.readableFlowing || this.destroyed) return;
      if (this.#over) this.#finish();
      else this.#pull?.(this);
    });
  }
  #take(chunk) {
    this.#used?.(chunk);
    return this.#decoder ? this.#decoder.write(chunk) : typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  }
  #finish() {
    if (this.readableEnded) return;
    const rest = this.#decoder?.end() ?? "";
    if (rest) this.emit("data", rest);
    this.readableEnded = true;
    this.readable = false;
    this.emit("end");
    this.destroyed = true;
    queueMicrotask(() => this.emit("close"));
  }
  on(name, listener) {
    super.on(name, listener);
    if (name === "data" && this.readableFlowing !== false) this.resume();
    if (name === "readable" && (this.#waiting.length || this.#over)) queueMicrotask(() => this.emit("readable"));
    else if (name === "readable") this.#pull?.(this);
    return this;
  }
  addListener(name, listener) {
    return this.on(name, listener);
  }
  resume() {
    this.readableFlowing = true;
    this.#drain();
    return this;
  }
  pause() {
    this.readableFlowing = false;
    return this;
  }
  isPaused() {
    return this.readableFlowing === false;
  }
  read() {
    if (this.#waiting.length) {
      const chunks = this.#waiting.splice(0).map((chunk) => this.#take(chunk));
      if (!this.#over) this.#pull?.(this);
      return this.#decoder ? chunks.join("") : Buffer.concat(chunks);
    }
    if (this.#over) queueMicrotask(() => this.#finish());
    return null;
  }
  pipe(target, options) {
    this.on("data", (chunk) => {
      if (target.write(chunk) === false && typeof target.once === "function" && target.writableNeedDrain) {
        this.pause();
        target.once("drain", () => this.resume());
      }
    });
    if (options?.end !== false) this.once("end", () => target.end?.());
    target.emit?.("pipe", this);
    return target;
  }
  unpipe() {
    this.removeAllListeners("data");
    return this.pause();
  }
  destroy(err) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.#over = true;
    for (const chunk of this.#waiting.splice(0)) this.#used?.(chunk);
    queueMicrotask(() => {
      if (err) this.emit("error", err);
      this.emit("close");
    });
    return this;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  async *[Symbol.asyncIterator]() {
    const ready = [];
    let wake = () => {};
    let failed;
    let done = this.readableEnded;
    const hear = (chunk) => (ready.push(chunk), this.pause(), wake());
    const end = () => ((done = true), wake());
    const fail = (err) => ((failed = { err }), wake());
    this.on("data", hear).once("end", end).once("error", fail).once("close", end);
    try {
      for (;;) {
        if (ready.length) yield ready.shift();
        else if (failed) throw failed.err;
        else if (done) return;
        else {
          const woken = new Promise((resolve) => (wake = resolve));
          this.resume();
          await woken;
        }
      }
    } finally {
      this.off("data", hear).off("end", end).off("error", fail).off("close", end);
      this.destroy();
    }
  }
}
class Writable extends EventEmitter {
  writable = true;
  destroyed = false;
  writableEnded = false;
  writableFinished = false;
  writableNeedDrain = false;
  #write;
  #final;
  #encoding = "utf8";
  // `write(bytes, done)` takes what was written; `final(done)` ends it.
  constructor({ write, final }) {
    super();
    this.#write = write;
    this.#final = final;
  }
  setDefaultEncoding(encoding) {
    this.#encoding = encoding;
    return this;
  }
  write(chunk, encoding, done) {
    if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    if (this.writableEnded || this.destroyed) {
      const late = this.writableEnded ? coded(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end") : coded(Error, "ERR_STREAM_DESTROYED", "Cannot call write after a stream was destroyed");
      queueMicrotask(() => (done?.(late), this.#fail(late)));
      return false;
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding ?? this.#encoding) : chunk;
    this.#write(bytes, (err) => {
      done?.(err ?? null);
      if (err) this.#fail(err);
    });
    return !this.writableNeedDrain;
  }
  #fail(err) {
    if (this.destroyed) return;
    this.destroyed = true;
    this.writable = false;
    // A program that does not read its input is no reason to fail for a module that does not ask.
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
module.exports = { Readable, Writable };
