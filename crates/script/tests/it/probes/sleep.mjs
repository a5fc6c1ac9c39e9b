export function probe() {
  const bad = (run) => { try { return run(); } catch (e) { return [e.name, e.message]; } };
  const cells = () => new Int32Array(new SharedArrayBuffer(8));
  const began = Date.now();
  const out = [Atomics.wait(cells(), 0, 0, 40), Date.now() - began >= 39];
  out.push(Atomics.wait(cells(), 1, 1, 1e9), Atomics.wait(cells(), 0, 0, 0), Atomics.wait(cells(), 0, 0, -5), Atomics.wait(new BigInt64Array(new SharedArrayBuffer(8)), 0, 1n), Atomics.wait(new BigInt64Array(new SharedArrayBuffer(8)), 0, 0n, 1));
  out.push(bad(() => Atomics.wait(new Int32Array(2), 0, 0, 1)), bad(() => Atomics.wait([1], 0, 0, 1)), bad(() => Atomics.wait(new Uint8Array(new SharedArrayBuffer(8)), 0, 0, 1)), bad(() => Atomics.wait(cells(), 9, 0, 1))[0], Atomics.notify(cells(), 0, 1));
  return out;
}
