import util from "node:util";
export function probe() {
  const out = [];
  const plain = (v) => JSON.parse(JSON.stringify(v));
  const run = (config) => { try { return plain(util.parseArgs(config)); } catch (e) { return [e.name, e.code, e.message]; } };
  const options = { foo: { type: "boolean", short: "f" }, bar: { type: "string" }, many: { type: "string", multiple: true, short: "m" }, v: { type: "boolean", short: "v", multiple: true }, def: { type: "string", default: "d" }, b2: { type: "boolean", short: "b" }, s2: { type: "string", short: "s" } };
  out.push(run({ args: ["-f", "--bar", "b"], options: { foo: options.foo, bar: options.bar } }));
  const lists = [["-f", "--bar", "b"], ["--bar=b=c"], ["-fb"], ["-fsx"], ["-sx"], ["-s", "x"], ["-s=x"], ["-vvv"], ["-m1", "-m", "2", "--many=3"], ["a", "b"], ["--", "-f", "a"], ["-f", "--", "--bar"], ["--nope"], ["-z"], ["--foo=x"], ["--bar"], ["--bar", "-x"], ["--bar=-x"], ["--no-foo"], ["-"], ["--foo", "-", "x"], ["--bar="], [""], ["--bar", ""], ["-fz"], ["-ff"], ["--=x"], ["-s"], ["--foo", "x", "--", "y"]];
  for (const args of lists) for (const more of [{}, { allowPositionals: true }, { strict: false }, { tokens: true, allowPositionals: true }, { strict: false, tokens: true }, { allowNegative: false, allowPositionals: true }]) out.push([args, more, run({ args, options, ...more })]);
  out.push(run({ args: ["x"], options: { a: { type: "number" } } }), run({ args: [], options: { a: { type: "string", short: "ab" } } }), run({ args: "x" }), run({ args: [], options: 5 }), run({ args: [], options: { a: { type: "string", multiple: true, default: "x" } } }), run({ args: [], options: { a: { type: "boolean", default: "x" } } }), run({ args: [], options: { a: { type: "string", multiple: true, default: ["x"] } } }), run({ args: [], options: { a: 1 } }), run({ args: [], strict: 1 }));
  out.push(Object.getPrototypeOf(util.parseArgs({ args: [] }).values) === null);
  return out;
}
