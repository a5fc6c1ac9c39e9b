// Digests and randomness.
const { inner } = need("buffer");
const { coded, wrongType } = need("errors");
const { unpack } = inner;
const packs = (data, encoding) => (typeof data === "string" ? inner.encoded(data, encoding) : inner.pack(inner.bytesOf(data)));
const NAMES = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const nameOf = (name) => {
  const plain = String(name).toLowerCase().replace(/^rsa-/, "").replace(/^sha-/, "sha");
  if (!NAMES.includes(plain)) throw new Error("Digest method not supported");
  return plain;
};
class Hash {
  #parts = [];
  #name;
  #key;
  #done = false;
  constructor(name, key) {
    this.#name = nameOf(name);
    this.#key = key;
  }
  update(data, encoding) {
    if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    if (typeof data !== "string" && !ArrayBuffer.isView(data)) throw wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
    this.#parts.push(packs(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this.#done) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    this.#done = true;
    const made = __op("crypto.digest", { name: this.#name, data: this.#parts.join(""), key: this.#key });
    return inner.decoded(made, encoding);
  }
  copy() {
    const made = new Hash(this.#name, this.#key);
    made.#parts = [...this.#parts];
    return made;
  }
}
const createHash = (name) => new Hash(name);
const createHmac = (name, key) => new Hash(name, packs(key));
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
  getHashes: () => [...NAMES], getRandomValues: webcrypto.getRandomValues, subtle: webcrypto.subtle, Hash, Hmac: Hash,
  constants: {},
};
