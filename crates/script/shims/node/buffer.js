// Buffer: bytes with encodings. Bytes cross to natives as text with one character a byte.
const { coded, wrongType } = need("errors");
const NAMES = {
  "utf8": "utf8", "utf-8": "utf8", "hex": "hex", "base64": "base64", "base64url": "base64url", "ascii": "ascii",
  "latin1": "latin1", "binary": "latin1", "ucs2": "utf16le", "ucs-2": "utf16le", "utf16le": "utf16le", "utf-16le": "utf16le",
};
const encodingOf = (name) => {
  if (name === undefined || name === null || name === "") return "utf8";
  const known = NAMES[String(name).toLowerCase()];
  if (!known) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
  return known;
};
// Shorter texts are converted here; host functions are faster for longer ones.
const SHORT = 256;
const { toHex, toBase64 } = Uint8Array.prototype;
const { fromBase64 } = Uint8Array;
// Bytes as text, one character each. The engine itself writes base64: the quickest way out.
const pack = (bytes) =>
  bytes.length <= SHORT ? String.fromCharCode.apply(null, bytes) : __bytes.recode(toBase64.call(bytes), "base64", "latin1");
const narrow = ["utf8", "latin1", "ascii"];
const beyond = /[^\x00-\x7f]/;
const recode = (text, from, to) => {
  if (from === to) return text;
  if (text.length <= SHORT && narrow.includes(from) && narrow.includes(to) && !beyond.test(text)) return text;
  return __bytes.recode(from === "latin1" ? text : text.toWellFormed(), from, to);
};
// Packed text in the encoding that was asked for, or as a Buffer.
const decoded = (packed, encoding) =>
  !encoding || encoding === "buffer" ? unpack(packed) : recode(packed, "latin1", encodingOf(encoding));
const coders = {
  hex: (bytes) => toHex.call(bytes),
  base64: (bytes) => toBase64.call(bytes),
  base64url: (bytes) => toBase64.call(bytes, { alphabet: "base64url", omitPadding: true }),
  utf8: (bytes) => (bytes.length <= SHORT ? undefined : __bytes.recode(toBase64.call(bytes), "base64", "utf8")),
};
const narrowed = (text) => text.replace(/[^\x00-\xff]/g, (c) => String.fromCharCode(c.charCodeAt(0) & 255));
const encoded = (text, encoding) => {
  const name = encodingOf(encoding);
  return name === "latin1" || name === "ascii" ? narrowed(text) : recode(text, name, "latin1");
};
const unpack = (packed) => new Buffer(__bytes.of(packed, "latin1"));
// Lone surrogates cannot cross to the host: they are replaced, or cut to a byte in byte encodings.
const whole = (text, name) => (text.isWellFormed() ? text : name === "latin1" || name === "ascii" ? narrowed(text) : text.toWellFormed());
const made = (text, encoding) => {
  const name = encodingOf(encoding);
  return new Buffer(__bytes.of(whole(text, name), name));
};
const STRETCH = 1 << 16;
const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const bytesOf = (value) => (ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value));

class Buffer extends Uint8Array {
  static poolSize = 8192;
  static from(value, second, third) {
    if (typeof value === "string") return made(value, second);
    if (value instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer)) {
      return new Buffer(value, second ?? 0, third ?? value.byteLength - (second ?? 0));
    }
    if (value?.type === "Buffer" && Array.isArray(value.data)) return Buffer.from(value.data);
    if (value !== null && typeof value === "object" && (typeof value.length === "number" || value[Symbol.iterator])) {
      return new Buffer(value);
    }
    const inner = value?.valueOf?.();
    if (inner !== null && inner !== undefined && inner !== value) return Buffer.from(inner, second, third);
    const err = wrongType("first", "of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object", value);
    err.message = err.message.replace('"first"', "first");
    throw err;
  }
  static of(...bytes) {
    return Buffer.from(bytes);
  }
  static alloc(size, filling, encoding) {
    if (typeof size !== "number") throw wrongType("size", "of type number", size);
    const made = new Buffer(size);
    return filling === undefined || filling === 0 ? made : made.fill(filling, 0, size, encoding);
  }
  static allocUnsafe(size) {
    return Buffer.alloc(size);
  }
  static allocUnsafeSlow(size) {
    return Buffer.alloc(size);
  }
  static concat(list, length) {
    const total = length ?? list.reduce((sum, one) => sum + one.length, 0);
    const made = new Buffer(total);
    let at = 0;
    for (const one of list) {
      if (at >= total) break;
      const part = one.length > total - at ? one.subarray(0, total - at) : one;
      made.set(part, at);
      at += part.length;
    }
    return made;
  }
  static isBuffer(value) {
    return value instanceof Buffer;
  }
  static isEncoding(name) {
    return typeof name === "string" && NAMES[name.toLowerCase()] !== undefined;
  }
  static byteLength(value, encoding) {
    if (typeof value !== "string") return value.byteLength;
    const name = encodingOf(encoding);
    // The length of hex and base64 text is computed without decoding.
    if (name === "hex") return value.length >>> 1;
    if (name.startsWith("base64")) return (value.replace(/={1,2}$/, "").length * 3) >>> 2;
    return name === "utf8" ? __bytes.of(value.toWellFormed(), name).byteLength : value.length * (name === "utf16le" ? 2 : 1);
  }
  static compare(a, b) {
    const most = Math.min(a.length, b.length);
    // Text of one character a byte is compared in one go.
    for (let at = 0; at < most; at += STRETCH) {
      const end = Math.min(at + STRETCH, most);
      const told = order(pack(a.subarray(at, end)), pack(b.subarray(at, end)));
      if (told) return told;
    }
    return Math.sign(a.length - b.length);
  }
  get parent() {
    return this.buffer;
  }
  toString(encoding, start = 0, end = this.length) {
    const part = start > 0 || end < this.length ? this.subarray(Math.max(start, 0), Math.max(end, 0)) : this;
    const name = encodingOf(encoding);
    return coders[name]?.(part) ?? recode(pack(part), "latin1", name);
  }
  toLocaleString(encoding) {
    return this.toString(encoding);
  }
  toJSON() {
    return { type: "Buffer", data: Array.from(this) };
  }
  equals(other) {
    return Buffer.compare(this, other) === 0;
  }
  compare(other, start = 0, end = other.length, own = 0, ownEnd = this.length) {
    return Buffer.compare(this.subarray(own, ownEnd), other.subarray(start, end));
  }
  slice(start, end) {
    return this.subarray(start, end);
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + Math.max(target.length - at, 0)));
    target.set(part, at);
    return part.length;
  }
  write(text, offset, length, encoding) {
    if (typeof offset === "string") [offset, encoding] = [0, offset];
    else if (typeof length === "string") [length, encoding] = [undefined, length];
    const at = offset ?? 0;
    let packed = encoded(text, encoding);
    const room = Math.min(length ?? Infinity, this.length - at);
    if (packed.length > room) {
      packed = packed.slice(0, room);
      // Half a character is not written.
      if (encodingOf(encoding) === "utf8") packed = packed.replace(/(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})$/, "");
    }
    this.set(unpack(packed), at);
    return packed.length;
  }
  fill(value, start = 0, end = this.length, encoding) {
    if (typeof start === "string") [start, end, encoding] = [0, this.length, start];
    if (typeof value === "number" || typeof value === "boolean") return super.fill(Number(value) & 255, start, end);
    const bytes = typeof value === "string" ? Buffer.from(value, encoding) : value;
    if (!bytes.length) return super.fill(0, start, end);
    this.set(bytes.subarray(0, Math.max(end - start, 0)), start);
    // What is there already is doubled, in whole turns of the pattern.
    for (let done = bytes.length; start + done < end; done *= 2) this.copyWithin(start + done, start, Math.min(start + done, end - done));
    return this;
  }
  indexOf(value, from = 0, encoding) {
    return seek(this, "indexOf", value, from, encoding);
  }
  lastIndexOf(value, from = Infinity, encoding) {
    return seek(this, "lastIndexOf", value, from, encoding);
  }
  includes(value, from, encoding) {
    return this.indexOf(value, from, encoding) !== -1;
  }
  [Symbol.for("nodejs.util.inspect.custom")]() {
    const shown = Array.from(this.subarray(0, 50), (b) => b.toString(16).padStart(2, "0"));
    const more = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? "s" : ""}` : "";
    return `<Buffer${shown.length ? " " : ""}${shown.join(" ")}${more}>`;
  }
}
const seek = (own, method, value, from, encoding) => {
  if (typeof from === "string") [from, encoding] = [method === "indexOf" ? 0 : Infinity, from];
  const what = typeof value === "number" ? String.fromCharCode(value & 255) : typeof value === "string" ? encoded(value, encoding) : pack(bytesOf(value));
  return pack(own)[method](what, from < 0 ? Math.max(own.length + from, 0) : from);
};
need("buffer_numbers")(Buffer);
const invalid = (text) => Object.assign(new Error(text), { name: "InvalidCharacterError", code: 5 });
const btoa = (text) => {
  if (/[^\x00-\xff]/.test(`${text}`)) throw invalid("Invalid character");
  return toBase64.call(unpack(`${text}`));
};
const atob = (text) => {
  try {
    return pack(fromBase64.call(Uint8Array, `${text}`));
  } catch {
    throw invalid("The string to be decoded is not correctly encoded.");
  }
};
module.exports = {
  Buffer, atob, btoa, kMaxLength: 2 ** 31 - 1, constants: { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 },
};
// For the other shims; a module does not see these.
Object.defineProperty(module.exports, "inner", { value: { pack, unpack, decoded, encoded, encodingOf, bytesOf } });
