// The same rule in a process that stays: RUNTIME modules.mjs MODULE [PACKAGE]. Says when it is
// ready, then what one dispatch takes in the middle, in nanoseconds. With a package, its own
// loader and runner do it; without one, the handler is called and nothing else is done.
const [module, from] = process.argv.slice(2);
const rounds = 1000;
const event = () => ({ type: "tool_call", toolName: "bash", toolCallId: "1", input: { command: "rm -rf /" } });
let dispatch;
if (from) {
  const { loadHooks } = await import(`${from}/src/extensibility/hooks/loader.ts`);
  const { HookRunner } = await import(`${from}/src/extensibility/hooks/runner.ts`);
  const { hooks, errors } = await loadHooks([module], process.cwd());
  if (errors.length) throw new Error(errors[0].error);
  const runner = new HookRunner(hooks, process.cwd(), {}, {});
  dispatch = () => runner.emitToolCall(event());
} else {
  const handlers = [];
  (await import(module)).default({ on: (_, handler) => handlers.push(handler) });
  dispatch = () => handlers[0](event(), { hasUI: false });
}
const first = await dispatch();
if (first?.block !== true) throw new Error("the rule does not block");
console.log("ready");
const took = [];
for (let at = 0; at < 2 * rounds; at++) {
  const began = process.hrtime.bigint();
  await dispatch();
  // The first half warms the compiler up.
  if (at >= rounds) took.push(Number(process.hrtime.bigint() - began));
}
took.sort((a, b) => a - b);
console.log(took[rounds / 2]);
process.exit(0);
