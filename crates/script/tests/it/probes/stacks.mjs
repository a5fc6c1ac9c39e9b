export function probe() {
  const head = (err) => { const [first, second] = err.stack.split("\n"); return [first, /^ {4}at /.test(second), err.stack.endsWith("\n")]; };
  const caught = (run) => { try { run(); } catch (err) { return err; } };
  class Own extends Error { constructor(message) { super(message); this.extra = 1; Error.captureStackTrace(this, Own); } }
  class Named extends TypeError { get name() { return "Named"; } }
  const set = new Error("x"); set.stack = "mine";
  const bare = {}; Error.captureStackTrace(bare);
  return [
    head(new Error("a")), head(new TypeError("b")), head(new Error("")), head(new RangeError()), head(new Own("c")), head(new Named("d")),
    head(caught(() => new Array(-1)))[1], set.stack, Object.keys(set), JSON.stringify(set), Object.keys(new Own("c")), typeof bare.stack,
    `${new Error("e", { cause: 1 }).stack}`.split("\n")[0], String(new Own("c")), head(new Own("line\nmore"))[0],
  ];
}
