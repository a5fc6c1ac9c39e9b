// Digests and randomness.
const { inner } = need("buffer");
const { coded, wrongType } = need("errors");
const { unpack } = inner;
// Not before something is digested: they bring streams with them.
const digests = () => need("digests");
const createHash = (name) => new (digests().Hash)(name);
const createHmac = (name, key) => new (digests().Hmac)(name, key);
const later = (make, done) => {
  if (!done) return make();
  let made;
  try {
    made = make();
  } catch (err) {
    return void queueMicrotask(() => done(err));
  }
  queueMicrotask(() => done(null, made));
};
const some = (size) => {
  if (typeof size !== "number") throw wrongType("size", "of type number", size);
  if (!Number.isInteger(size) || size < 0 || size > 2 ** 31 - 1) {
    throw coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "size" is out of range. It must be >= 0 && <= 2147483647. Received ${size}`);
  }
  return unpack(__op("crypto.random", { length: size }));
};
const randomBytes = (size, done) => later(() => some(size), done);
const randomFillSync = (target, offset = 0, size = target.byteLength - offset) => {
  inner.bytesOf(target).set(some(size), offset);
  return target;
};
const randomUUID = () => {
  const bytes = some(16);
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
};
const randomInt = (low, high, done) => {
  if (high === undefined || typeof high === "function") [low, high, done] = [0, low, high];
  return later(() => low + Math.floor((Number(some(8).readBigUInt64LE() >> 11n) / 2 ** 53) * (high - low)), done);
};
const timingSafeEqual = (a, b) => {
  const [one, two] = [inner.bytesOf(a), inner.bytesOf(b)];
  if (one.length !== two.length) throw coded(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= one[at] ^ two[at];
  return difference === 0;
};
const webcrypto = {
  randomUUID,
  getRandomValues: (target) => randomFillSync(target),
  subtle: {
    digest: async (name, data) => {
      const made = createHash(name.name ?? name).update(inner.bytesOf(data)).digest();
      return made.buffer.slice(made.byteOffset, made.byteOffset + made.byteLength);
    },
  },
};
// The web's object is also what `crypto` means without an import.
module.exports = {
  createHash, createHmac, randomBytes, randomFillSync, randomUUID, randomInt, timingSafeEqual, webcrypto,
  hash: (name, data, encoding = "hex") => createHash(name).update(data).digest(encoding),
  getHashes: () => [...digests().NAMES], getRandomValues: webcrypto.getRandomValues, subtle: webcrypto.subtle,
  constants: {},
};
// Not enumerable, so that a namespace import does not load the digests.
for (const name of ["Hash", "Hmac"]) Object.defineProperty(module.exports, name, { configurable: true, get: () => digests()[name] });
