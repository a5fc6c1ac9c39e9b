// Streams, as far as files and programs need them: what is read waits until somebody listens.
const EventEmitter = need("events");
const { Buffer } = need("buffer");
class Readable extends EventEmitter {
  readable = true;
  destroyed = false;
  readableEnded = false;
  readableFlowing = null;
  #waiting = [];
  // What was taken and not read yet: the end of what `read(size)` left.
  #rest = null;
  #decoder = null;
  #over = false;
  #busy = false;
  #told = false;
  #pipes = [];
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
    else if (this.listenerCount("readable")) this.#tell();
    return true;
  }
  #tell() {
    if (this.#told) return;
    this.#told = true;
    queueMicrotask(() => {
      this.#told = false;
      if (!this.destroyed && (this.#rest || this.#waiting.length || this.#over)) this.emit("readable");
    });
  }
  #drain() {
    if (this.#busy) return;
    this.#busy = true;
    queueMicrotask(() => {
      this.#busy = false;
      while (this.readableFlowing && (this.#rest || this.#waiting.length)) {
        const chunk = this.#rest ?? this.#take(this.#waiting.shift());
        this.#rest = null;
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
    if (name === "readable") this.#heed();
    return this;
  }
  // A `readable` listener reads the data itself, so the stream does not flow.
  #heed() {
    this.readableFlowing = false;
    if (this.#rest || this.#waiting.length || this.#over) this.#tell();
    else this.#pull?.(this);
  }
  addListener(name, listener) {
    return this.on(name, listener);
  }
  removeListener(name, listener) {
    super.removeListener(name, listener);
    return name === "readable" ? this.#unheed() : this;
  }
  removeAllListeners(...names) {
    const heeded = this.listenerCount("readable");
    super.removeAllListeners(...names);
    return heeded ? this.#unheed() : this;
  }
  #unheed() {
    if (this.listenerCount("readable")) return this;
    this.readableFlowing = null;
    return this.listenerCount("data") ? this.resume() : this;
  }
  resume() {
    this.readableFlowing = !this.listenerCount("readable");
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
  read(size) {
    if (size === 0) return null;
    const all = this.#gathered();
    const short = size > all.length && !this.#over;
    const part = short || !all.length ? null : size < all.length ? all.slice(0, size) : all;
    const rest = part === null ? all : all.slice(part.length);
    this.#rest = rest.length ? rest : null;
    if (!this.#over) this.#pull?.(this);
    else if (!this.#rest) queueMicrotask(() => this.#finish());
    return part;
  }
  #gathered() {
    const chunks = this.#waiting.splice(0).map((chunk) => this.#take(chunk));
    if (this.#rest) chunks.unshift(this.#rest);
    if (!this.#decoder) return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    if (this.#over) chunks.push(this.#decoder.end());
    return chunks.join("");
  }
  pipe(target, options) {
    const waits = () => this.#pipes.some((pipe) => pipe.waits);
    const pipe = { target, waits: false };
    const ends = () => options?.end !== false && target.end?.();
    const hear = (chunk) => {
      if (target.write(chunk) !== false || typeof target.once !== "function") return;
      pipe.waits = true;
      this.pause();
    };
    const drained = () => {
      pipe.waits = false;
      if (!waits() && !this.listenerCount("readable")) this.resume();
    };
    const fails = (err) => {
      this.unpipe(target);
      if (!target.listenerCount("error")) target.emit("error", err);
    };
    pipe.stop = () => {
      this.off("data", hear).off("end", ends);
      target.off?.("drain", drained);
      target.off?.("error", fails);
    };
    this.#pipes.push(pipe);
    target.on?.("drain", drained);
    target.prependListener?.("error", fails);
    this.once("end", ends);
    this.on("data", hear);
    target.emit?.("pipe", this);
    return target;
  }
  unpipe(target) {
    const gone = this.#pipes.filter((pipe) => target === undefined || pipe.target === target);
    this.#pipes = this.#pipes.filter((pipe) => !gone.includes(pipe));
    for (const pipe of gone) {
      pipe.stop();
      pipe.target.emit?.("unpipe", this, { hasUnpiped: false });
    }
    return gone.length && !this.#pipes.length ? this.pause() : this;
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
  async toArray() {
    const all = [];
    for await (const chunk of this) all.push(chunk);
    return all;
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
module.exports = { Readable, ...need("writable") };
