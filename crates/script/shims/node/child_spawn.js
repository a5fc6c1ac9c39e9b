// A program beside the module, with its streams and events.
const EventEmitter = need("events");
const { Readable, Writable } = need("flow");
const { inner } = need("buffer");
const { needText, coded, aborted } = need("errors");
const kinds = (stdio) => {
  const list = Array.isArray(stdio) ? [...stdio] : [stdio, stdio, stdio];
  return [0, 1, 2].map((at) => list[at] ?? "pipe");
};
// A file that the module has opened is given to the program itself; the host's own streams are not.
const fileOf = (kind) => {
  const fd = typeof kind === "number" ? kind : kind?.fd;
  return typeof fd === "number" && fd > 2 ? fd : undefined;
};
const asked = (kind) => {
  const fd = fileOf(kind);
  if (fd !== undefined) return fd - 2;
  return kind === "ignore" || kind === null ? "ignore" : "pipe";
};
// What a native needs to start a program.
const prepared = (file, args, options) => {
  const env = Object.entries(options.env ?? globalThis.process.env).filter(([, value]) => value !== undefined);
  const words = [...args].map((word) => {
    if (`${word}`.includes("\0")) throw coded(TypeError, "ERR_INVALID_ARG_VALUE", "The argument 'args' must be a string without null bytes.");
    return `${word}`.toWellFormed();
  });
  const shell = options.shell === true ? "/bin/sh" : options.shell || null;
  const cwd = options.cwd instanceof need("url").URL ? need("url").fileURLToPath(options.cwd) : options.cwd;
  return {
    file: shell ?? file.toWellFormed(),
    args: shell ? ["-c", [file, ...words].join(" ").toWellFormed()] : words,
    argv0: options.argv0, cwd,
    env: Object.fromEntries(env.map(([name, value]) => [name, `${value}`.toWellFormed()])),
    stdio: kinds(options.stdio).map(asked),
    timeout: options.timeout,
    killSignal: signalOf(options.killSignal ?? "SIGTERM"),
    shown: shell ? ["-c", [file, ...words].join(" ")] : words,
  };
};
const signalOf = (signal) => {
  const { signals } = need("os").constants;
  const name = typeof signal === "number" ? Object.keys(signals).find((known) => signals[known] === signal) : `${signal}`.toUpperCase();
  if (!(name in signals)) throw coded(TypeError, "ERR_UNKNOWN_SIGNAL", `Unknown signal: ${signal}`);
  return name;
};
class ChildProcess extends EventEmitter {
  pid = undefined;
  stdin = null;
  stdout = null;
  stderr = null;
  killed = false;
  exitCode = null;
  signalCode = null;
  connected = false;
  late = false;
  #line;
  #written = [];
  #ending;
  constructor(file, args, options) {
    super();
    const ask = prepared(file, args, options);
    // An inherited input is empty, because a module has no access to the host's.
    const wanted = kinds(options.stdio);
    if (wanted[0] !== "pipe" && fileOf(wanted[0]) === undefined) ask.stdio[0] = "ignore";
    this.spawnfile = ask.file;
    this.spawnargs = [options.argv0 ?? ask.file, ...ask.shown];
    this.#line = __open("spawn", ask, (said, last) => this.#hear(said, last, ask));
    try {
      this.pid = this.#line.send({ do: "pid" });
    } catch {
      // It did not start; its end says why.
    }
    this.#streams(wanted);
    this.stdio = [this.stdin, this.stdout, this.stderr];
    this.#heed(options.signal, options.killSignal);
    if (this.pid !== undefined) queueMicrotask(() => this.emit("spawn"));
  }
  #streams(wanted) {
    if (wanted[0] === "pipe") this.stdin = new Writable({ write: (bytes, done) => this.#write(bytes, done), final: (done) => this.#finish(done) });
    for (const [at, of] of [[1, "stdout"], [2, "stderr"]]) {
      if (wanted[at] === "ignore" || wanted[at] === null || fileOf(wanted[at]) !== undefined) continue;
      const stream = new Readable({ used: () => this.#say({ do: "used", of }) });
      this[`_${of}`] = stream;
      Object.defineProperty(this, `_${of}`, { enumerable: false });
      if (wanted[at] === "pipe" || wanted[at] === "overlapped") this[of] = stream;
      else stream.on("data", (chunk) => this.#passOn(wanted[at], of, chunk));
    }
  }
  #passOn(kind, of, chunk) {
    if (typeof kind?.write === "function") kind.write(chunk);
    else globalThis.process[kind === 2 ? "stderr" : kind === 1 ? "stdout" : of].write(chunk.toString());
  }
  #heed(signal, killSignal) {
    if (!signal) return;
    const stop = () => {
      this.kill(killSignal ?? "SIGTERM");
      queueMicrotask(() => this.emit("error", aborted(signal)));
    };
    if (signal.aborted) queueMicrotask(stop);
    else signal.addEventListener("abort", stop, { once: true });
  }
  #say(words) {
    try {
      return this.#line.send(words);
    } catch (err) {
      if (err.code === "ERR_CLOSED") return false;
      throw err;
    }
  }
  #write(bytes, done) {
    const data = inner.pack(inner.bytesOf(bytes));
    this.#written.push({ left: data.length, done });
    try {
      if (this.#say({ do: "write", data }) === false) throw coded(Error, "EPIPE", "write EPIPE", { errno: -32, syscall: "write" });
    } catch (err) {
      this.#written.pop();
      queueMicrotask(() => done(err));
    }
  }
  // What was written before goes first; the native keeps the order.
  #finish(done) {
    this.#ending = done;
    this.#say({ do: "end" });
    this.#ended();
  }
  #ended() {
    if (this.#written.length || !this.#ending) return;
    const done = this.#ending;
    this.#ending = null;
    queueMicrotask(() => done());
  }
  #hear(said, last, ask) {
    if (said.err) return this.#failed(said.err, ask);
    const word = said.ok;
    if (last) return this.#close(word);
    if (word.data !== undefined) this[`_${word.of}`]?.push(inner.unpack(word.data));
    else if (word.end) this[`_${word.end}`]?.push(null);
    else if (word.took !== undefined) this.#written.shift()?.done(), this.#ended();
    else if (word.refused) this.#refused(word.refused);
    else if (word.exited) this.#exit(word.exited);
  }
  #refused({ message, ...fields }) {
    const err = Object.assign(new Error(fields.code ? `write ${fields.code}` : message), fields);
    for (const { done } of this.#written.splice(0)) done(err);
    this.#ending = null;
  }
  #exit({ code, signal }) {
    if (this.exitCode !== null || this.signalCode !== null) return;
    [this.exitCode, this.signalCode] = [signal ? null : code, signal];
    this.stdin?.destroy();
    this.emit("exit", this.exitCode, this.signalCode);
    // Unread output must not delay the end.
    for (const stream of [this._stdout, this._stderr]) if (stream?.readableFlowing === null) stream.resume();
  }
  #close(word) {
    this.late = word.late;
    if (word.late) this.killed = true;
    this.#exit(word);
    this.#drained();
  }
  // The end is reported after all earlier output was read.
  #drained() {
    for (const stream of [this._stdout, this._stderr]) {
      stream?.push(null);
      if (stream?.readableFlowing === null) stream.resume();
    }
    const open = [this._stdout, this._stderr].filter((stream) => stream && !stream.readableEnded && !stream.destroyed);
    let left = open.length;
    const done = () => left-- <= 1 && this.emit("close", this.exitCode, this.signalCode);
    if (left === 0) return void queueMicrotask(done);
    for (const stream of open) stream.once("close", done);
  }
  #failed({ message, ...fields }, ask) {
    const err = Object.assign(new Error(message), fields, { spawnargs: ask.shown });
    this.exitCode = fields.errno ?? -1;
    this.emit("error", err);
    this.#drained();
  }
  kill(signal = "SIGTERM") {
    if (this.exitCode !== null || this.signalCode !== null || this.pid === undefined) return false;
    if (signal === 0) return true;
    const sent = this.#say({ do: "kill", signal: signalOf(signal) }) === true;
    this.killed ||= sent;
    return sent;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  disconnect() {}
  send() {
    return false;
  }
}
const spawn = (file, args, options) => {
  needText("file", file);
  if (!Array.isArray(args)) [args, options] = [[], args ?? options];
  return new ChildProcess(file, args, options ?? {});
};
module.exports = { spawn, prepared, fileOf, ChildProcess };
