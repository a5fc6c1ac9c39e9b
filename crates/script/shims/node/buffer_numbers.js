// Numbers in bytes: readUInt16LE and its kin, over one view; and bytes in another order.
const { coded, wrongType } = need("errors");
const shown = (value) => {
  const whole = typeof value === "bigint" || (Number.isInteger(value) && Math.abs(value) > 2 ** 32);
  return `${whole ? `${value}`.replace(/\B(?=(?:\d{3})+$)/g, "_") : value}${typeof value === "bigint" ? "n" : ""}`;
};
const outside = (name, wanted, value) =>
  coded(RangeError, "ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be ${wanted}. Received ${shown(value)}`);
const beyond = (name, value, least, most) => {
  if (typeof value !== "number") return wrongType(name, "of type number", value);
  if (!Number.isInteger(value)) return outside(name, "an integer", value);
  if (most < 0) return coded(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
  return outside(name, `>= ${least} and <= ${most}`, value);
};
const viewed = (own, at, size) => {
  if (Number.isInteger(at) && at >= 0 && at + size <= own.length) return new DataView(own.buffer, own.byteOffset, own.byteLength);
  throw beyond("offset", at, 0, own.length - size);
};
// What fits: `>= 0 and <= 255`, and as powers where the number would be long.
const fits = (value, bits, signed, big) => {
  const n = big ? "n" : "";
  const most = big ? 2n ** BigInt(signed ? bits - 1 : bits) : 2 ** (signed ? bits - 1 : bits);
  const least = signed ? -most : big ? 0n : 0;
  if (value >= least && value < most) return;
  if (Number.isNaN(value)) return;
  const power = `2${n} ** ${signed ? bits - 1 : bits}${n}`;
  throw outside("value", bits > 32 ? `>= ${signed ? `-(${power})` : `0${n}`} and < ${power}` : `>= ${least} and <= ${most - 1}`, value);
};
const add = (Buffer, name, value) => {
  for (const spelling of new Set([name, name.replace("UInt", "Uint")])) {
    Object.defineProperty(Buffer.prototype, spelling, { value, writable: true, configurable: true });
  }
};
const fixed = (Buffer, name, method, size) => {
  const [get, set, whole] = [`get${method}`, `set${method}`, name.includes("Int")];
  for (const order of size === 1 ? [""] : ["LE", "BE"]) {
    add(Buffer, `read${name}${order}`, function (at = 0) {
      return viewed(this, at, size)[get](at, order === "LE");
    });
    add(Buffer, `write${name}${order}`, function (value, at = 0) {
      if (whole) fits(size === 8 ? value : (value = +value), size * 8, !name.includes("UInt"), size === 8);
      viewed(this, at, size)[set](at, value, order === "LE");
      return at + size;
    });
  }
};
const sized = (size) => {
  if (!Number.isInteger(size) || size < 1 || size > 6) throw beyond("byteLength", size, 1, 6);
};
// Numbers of one to six bytes.
const varied = (Buffer, name, order) => {
  const signed = name === "Int";
  const place = (nth, size) => (order === "LE" ? nth : size - 1 - nth);
  add(Buffer, `read${name}${order}`, function (at, size) {
    if (at === undefined) throw wrongType("offset", "of type number", at);
    sized(size);
    viewed(this, at, size);
    let sum = 0;
    for (let nth = 0; nth < size; nth++) sum += this[at + place(nth, size)] * 2 ** (8 * nth);
    return signed && sum >= 2 ** (8 * size - 1) ? sum - 2 ** (8 * size) : sum;
  });
  add(Buffer, `write${name}${order}`, function (value, at, size) {
    sized(size);
    value = +value;
    if (typeof at !== "number") throw wrongType("offset", "of type number", at);
    fits(value, size * 8, signed, false);
    viewed(this, at, size);
    let left = value < 0 ? value + 2 ** (8 * size) : value;
    for (let nth = 0; nth < size; nth++, left = Math.floor(left / 256)) this[at + place(nth, size)] = left % 256;
    return at + size;
  });
};
const swapped = (Buffer, bits) => {
  const size = bits / 8;
  add(Buffer, `swap${bits}`, function () {
    if (this.length % size) throw coded(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${bits}-bits`);
    for (let at = 0; at < this.length; at += size) this.subarray(at, at + size).reverse();
    return this;
  });
};
module.exports = (Buffer) => {
  for (const [name, method, size] of [
    ["UInt8", "Uint8", 1], ["Int8", "Int8", 1], ["UInt16", "Uint16", 2], ["Int16", "Int16", 2], ["UInt32", "Uint32", 4], ["Int32", "Int32", 4],
    ["Float", "Float32", 4], ["Double", "Float64", 8], ["BigUInt64", "BigUint64", 8], ["BigInt64", "BigInt64", 8],
  ]) fixed(Buffer, name, method, size);
  for (const name of ["UInt", "Int"]) for (const order of ["LE", "BE"]) varied(Buffer, name, order);
  for (const bits of [16, 32, 64]) swapped(Buffer, bits);
};
