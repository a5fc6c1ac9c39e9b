// Digests and codes of what is given piece by piece, also as streams: what is written is digested,
// what is read is the digest.
const { Readable, Writable } = need("flow");
const { inner } = need("buffer");
const { coded, wrongType } = need("errors");
const packs = (data, encoding) => (typeof data === "string" ? inner.encoded(data, encoding) : inner.pack(inner.bytesOf(data)));
const NAMES = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];
const nameOf = (name) => {
  const plain = String(name).toLowerCase().replace(/^rsa-/, "").replace(/^sha-/, "sha");
  if (!NAMES.includes(plain)) throw new Error("Digest method not supported");
  return plain;
};
const finalized = () => coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
class Digest extends Readable {
  #parts = [];
  #name;
  #key;
  #made;
  #done = false;
  #intake;
  constructor(name, key) {
    super();
    this.#name = nameOf(name);
    this.#key = key;
  }
  get made() {
    return (this.#made ??= __op("crypto.digest", { name: this.#name, data: this.#parts.join(""), key: this.#key }));
  }
  update(data, encoding) {
    if (this.#done) throw finalized();
    if (typeof data !== "string" && !ArrayBuffer.isView(data)) throw wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
    this.#parts.push(packs(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this.#done) return this.again(encoding);
    this.#done = true;
    return inner.decoded(this.made, encoding);
  }
  again() {
    throw finalized();
  }
  static twin(own) {
    if (own.#done) throw finalized();
    const made = new own.constructor(own.#name, own.#key);
    made.#parts = [...own.#parts];
    return made;
  }
  // The side that is written to; its events are ours, but for its end: ours comes when all is read.
  get intake() {
    if (this.#intake) return this.#intake;
    const write = (bytes, done) => (this.update(bytes), queueMicrotask(() => done()));
    const final = (done) => (this.push(inner.unpack(this.made)), this.push(null), queueMicrotask(() => done()));
    this.#intake = Object.assign(new Writable({ write, final }), {
      emit: (name, ...args) => name !== "close" && this.emit(name, ...args),
      once: (name, listener) => this.once(name, listener),
      listenerCount: (name) => this.listenerCount(name),
    });
    return this.#intake;
  }
  write(...args) {
    return this.intake.write(...args);
  }
  end(...args) {
    this.intake.end(...args);
    return this;
  }
  setDefaultEncoding(encoding) {
    this.intake.setDefaultEncoding(encoding);
    return this;
  }
  cork() {}
  uncork() {}
}
for (const name of ["writable", "writableEnded", "writableFinished", "writableLength", "writableNeedDrain", "writableHighWaterMark"]) {
  Object.defineProperty(Digest.prototype, name, { configurable: true, get() { return this.intake[name]; } });
}
for (const name of ["made", "intake", "again"]) Object.defineProperty(Digest.prototype, name, { enumerable: false });
const { twin } = Digest;
delete Digest.twin;
class Hash extends Digest {
  copy() {
    return twin(this);
  }
}
class Hmac extends Digest {
  constructor(name, key) {
    super(name, packs(key));
  }
  // An HMAC can be read once; a second read returns nothing.
  again(encoding) {
    return inner.decoded("", encoding);
  }
}
module.exports = { Hash, Hmac, NAMES };
