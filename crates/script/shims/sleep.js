// `Atomics.wait`: no other thread could wake a module, so it is a sleep.
const { load } = Atomics;
module.exports = (cells, index, value, timeout) => {
  const wide = cells instanceof BigInt64Array;
  const shown = Object.prototype.toString.call(cells);
  if (!wide && !(cells instanceof Int32Array)) throw new TypeError(`${shown} is not an int32 or BigInt64 typed array.`);
  if (!(cells.buffer instanceof SharedArrayBuffer)) throw new TypeError(`${shown} is not a shared typed array.`);
  const held = load(cells, index);
  if (held !== (wide ? BigInt.asIntN(64, value) : value | 0)) return "not-equal";
  const pause = timeout === undefined ? NaN : Number(timeout);
  __op("sleep", { ms: Number.isFinite(pause) ? Math.max(pause, 0) : pause === -Infinity ? 0 : null });
  return "timed-out";
};
