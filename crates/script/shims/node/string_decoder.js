// Text out of bytes that come in pieces.
const { Buffer, inner } = need("buffer");
const whole = {
  utf8: (bytes) => {
    // How much of a character that has begun stands at the end.
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
      const byte = bytes[bytes.length - back];
      if ((byte & 0xc0) === 0x80) continue;
      const length = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
      return byte >= 0xf5 || length <= back ? 0 : back;
    }
    return 0;
  },
  utf16le: (bytes) => {
    const odd = bytes.length % 2;
    const high = bytes[bytes.length - 1 - odd];
    return high >= 0xd8 && high <= 0xdb ? odd + 2 : odd;
  },
  base64: (bytes) => bytes.length % 3,
  base64url: (bytes) => bytes.length % 3,
};
class StringDecoder {
  #kept = Buffer.alloc(0);
  constructor(encoding) {
    this.encoding = inner.encodingOf(encoding);
  }
  write(chunk) {
    if (typeof chunk === "string") return chunk;
    const all = this.#kept.length ? Buffer.concat([this.#kept, chunk]) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const rest = whole[this.encoding]?.(all) ?? 0;
    this.#kept = Buffer.from(all.subarray(all.length - rest));
    return all.toString(this.encoding, 0, all.length - rest);
  }
  end(chunk) {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this.#kept.toString(this.encoding);
    this.#kept = Buffer.alloc(0);
    return text + rest;
  }
}
module.exports = { StringDecoder };
