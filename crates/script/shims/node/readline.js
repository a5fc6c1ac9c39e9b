// Lines of a stream.
const EventEmitter = need("events");
class Interface extends EventEmitter {
  closed = false;
  line = "";
  terminal = false;
  #input;
  #rest = "";
  #kept = [];
  #questions = [];
  #stop;
  constructor(input, options) {
    super();
    this.#input = input;
    this.prompted = options.prompt ?? "> ";
    const { StringDecoder } = need("string_decoder");
    const decoder = new StringDecoder("utf8");
    const hear = (chunk) => this.#hear(decoder.write(chunk));
    const end = () => {
      this.#hear(decoder.end());
      if (this.#rest) this.#tell(this.#rest);
      this.#rest = "";
      this.close();
    };
    const fail = (err) => this.emit("error", err);
    this.#stop = () => input?.off?.("data", hear) && input.off("end", end);
    input?.on?.("data", hear);
    input?.on?.("end", end);
    if (options.listensToErrors) input?.on?.("error", fail);
    options.signal?.addEventListener?.("abort", () => this.close());
  }
  #hear(text) {
    const lines = `${this.#rest}${text}`.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    for (const line of lines) this.#tell(line);
  }
  #tell(line) {
    if (this.closed) return;
    const answer = this.#questions.shift();
    if (answer) answer(line);
    else this.emit("line", line);
  }
  question(_text, options, done) {
    this.#questions.push(done ?? options);
  }
  setPrompt(text) {
    this.prompted = text;
  }
  getPrompt() {
    return this.prompted;
  }
  prompt() {}
  write() {}
  pause() {
    this.#input?.pause?.();
    this.emit("pause");
    return this;
  }
  resume() {
    this.#input?.resume?.();
    this.emit("resume");
    return this;
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    this.#stop();
    this.#input?.pause?.();
    this.emit("close");
  }
  [Symbol.asyncIterator]() {
    const [ready, waiting] = [this.#kept, []];
    this.on("line", (line) => (waiting.length ? waiting.shift()({ value: line, done: false }) : ready.push(line)));
    this.once("close", () => waiting.splice(0).forEach((give) => give({ value: undefined, done: true })));
    return {
      next: () =>
        new Promise((resolve) => {
          if (ready.length) resolve({ value: ready.shift(), done: false });
          else if (this.closed) resolve({ value: undefined, done: true });
          else waiting.push(resolve);
        }),
      return: async () => (this.close(), { value: undefined, done: true }),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}
const createInterface = (input, output) => {
  const options = input?.input || input?.output ? input : { input, output };
  return new Interface(options.input, options);
};
const nothing = () => true;
module.exports = { createInterface, Interface, clearLine: nothing, cursorTo: nothing, moveCursor: nothing, clearScreenDown: nothing, emitKeypressEvents() {} };
