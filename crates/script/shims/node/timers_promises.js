// Timers that can be awaited.
const { aborted } = need("errors");
const waits = (arm, disarm) => (value, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(signal));
    const stop = () => (disarm(timer), reject(aborted(signal)));
    const timer = arm(() => (signal?.removeEventListener("abort", stop), resolve(value)));
    signal?.addEventListener("abort", stop);
  });
const setTimeout = (delay, value, options) =>
  waits((run) => globalThis.setTimeout(run, delay), globalThis.clearTimeout)(value, options?.signal);
const setImmediate = (value, options) => waits(globalThis.setImmediate, globalThis.clearImmediate)(value, options?.signal);
async function* setInterval(delay, value, options) {
  for (;;) yield await setTimeout(delay, value, options);
}
module.exports = { setTimeout, setImmediate, setInterval, scheduler: { wait: (delay, options) => setTimeout(delay, undefined, options), yield: () => setImmediate() } };
