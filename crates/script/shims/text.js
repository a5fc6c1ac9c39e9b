// Text to bytes and back, as the web has it.
const labels = new Map();
const names = {
  "utf-8": ["unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "utf-8", "utf8", "x-unicode20utf8"],
  "utf-16le": ["utf-16le", "utf-16", "ucs-2", "unicode", "csunicode", "iso-10646-ucs-2", "unicodefeff"],
  "windows-1252": ["windows-1252", "latin1", "ascii", "us-ascii", "iso-8859-1", "iso8859-1", "iso_8859-1", "l1", "cp1252", "x-cp1252", "ansi_x3.4-1968"],
};
for (const [name, all] of Object.entries(names)) for (const label of all) labels.set(label, name);
// Characters of windows-1252 that latin1 lacks.
const high = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
const { toBase64 } = Uint8Array.prototype;
const coded = (Base, code, message) => Object.assign(new Base(message), { code });

class TextEncoder {
  encoding = "utf-8";
  encode(text = "") {
    return new Uint8Array(__bytes.of(String(text).toWellFormed(), "utf8"));
  }
  encodeInto(text, target) {
    let [read, written] = [0, 0];
    for (const character of String(text)) {
      const bytes = this.encode(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}
class TextDecoder {
  #decoder = null;
  #begun = false;
  #kept = [];
  constructor(label = "utf-8", options) {
    const name = labels.get(String(label).trim().toLowerCase());
    if (!name) throw coded(RangeError, "ERR_ENCODING_NOT_SUPPORTED", `The "${label}" encoding is not supported`);
    this.encoding = name;
    this.fatal = options?.fatal === true;
    this.ignoreBOM = options?.ignoreBOM === true;
  }
  decode(input, options) {
    const bytes = input === undefined ? new Uint8Array() : need("buffer").inner.bytesOf(input);
    const text = this.#unmarked(this.encoding === "windows-1252" ? this.#narrow(bytes) : this.#wide(bytes, options?.stream === true));
    if (options?.stream !== true) this.#begun = false;
    return text;
  }
  #narrow(bytes) {
    const packed = __bytes.recode(toBase64.call(bytes), "base64", "latin1");
    return packed.replace(/[\x80-\x9f]/g, (c) => high[c.charCodeAt(0) - 0x80]);
  }
  #wide(bytes, more) {
    if (this.fatal) return this.#strict(bytes, more);
    if (!more && !this.#decoder) return this.#plain(bytes, this.encoding === "utf-8" ? "utf8" : "utf16le");
    const { StringDecoder } = need("string_decoder");
    this.#decoder ??= new StringDecoder(this.encoding === "utf-8" ? "utf8" : "utf16le");
    const text = this.#decoder.write(bytes);
    if (more) return text;
    const rest = this.#decoder.end();
    this.#decoder = null;
    return text + rest;
  }
  // Invalid bytes are not replaced; an incomplete character waits for more.
  #strict(bytes, more) {
    const { Buffer } = need("buffer");
    const all = Buffer.concat([...this.#kept, bytes]);
    const { StringDecoder } = need("string_decoder");
    const decoder = new StringDecoder(this.encoding === "utf-8" ? "utf8" : "utf16le");
    const whole = more ? Buffer.byteLength(decoder.write(all), decoder.encoding) : all.length;
    const length = Math.min(whole, all.length);
    this.#kept = more ? [all.subarray(length)] : [];
    const wrong = () => coded(TypeError, "ERR_ENCODING_INVALID_ENCODED_DATA", `The encoded data was not valid for encoding ${this.encoding}`);
    if (this.encoding === "utf-16le") {
      const text = this.#plain(all.subarray(0, length), "utf16le");
      if (length % 2 || text.includes("\ufffd")) throw wrong();
      return text;
    }
    try {
      return this.#plain(all.subarray(0, length), "utf8!");
    } catch {
      throw wrong();
    }
  }
  #plain(bytes, name) {
    const text = __bytes.recode(toBase64.call(bytes), "base64", name);
    return name === "utf16le" && bytes.length % 2 ? `${text}\ufffd` : text;
  }
  #unmarked(text) {
    if (this.#begun || text === "") return text;
    this.#begun = true;
    return !this.ignoreBOM && text[0] === "\ufeff" ? text.slice(1) : text;
  }
}
module.exports = { TextEncoder, TextDecoder };
