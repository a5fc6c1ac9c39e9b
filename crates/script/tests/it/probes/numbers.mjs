import { Buffer } from "node:buffer";
export function probe() {
  const out = [];
  const bad = (run) => { try { const v = run(); return typeof v === "bigint" ? `${v}n` : v; } catch (e) { return [e.name, e.code, e.message]; } };
  const b = Buffer.from([1, 0x82, 3, 0xf4, 5, 6, 7, 0xff]);
  for (let size = 0; size <= 7; size++) for (const name of ["readUIntBE", "readUIntLE", "readIntBE", "readIntLE", "readUintBE"]) out.push([size, bad(() => b[name](0, size)), bad(() => b[name](2, size)), bad(() => b[name](8 - size, size)), bad(() => b[name](9 - size, size))]);
  for (let size = 1; size <= 6; size++) for (const name of ["UIntBE", "UIntLE", "IntBE", "IntLE"]) for (const value of [0, 1, -1, 127, 128, -128, -129, 255, 256, 2 ** 31, 2 ** 47 - 1, 2 ** 47, -(2 ** 47), 2 ** 48 - 1, 2 ** 48, 1.5, NaN, "7"]) { const w = Buffer.alloc(7); out.push([bad(() => w[`write${name}`](value, 1, size)), w.toString("hex")]); }
  for (const name of ["UInt8", "Int8", "UInt16LE", "Int16BE", "UInt32BE", "Int32LE"]) for (const value of [0, -1, 127, 128, 255, 256, 32768, 65536, 2 ** 31, 2 ** 32, -129, NaN, "3", 2.7, 12345678901]) { const w = Buffer.alloc(4); out.push([name, value, bad(() => w[`write${name}`](value)), w.toString("hex")]); }
  for (const value of [0n, -1n, 2n ** 63n, 2n ** 64n]) { const w = Buffer.alloc(8); out.push([bad(() => w.writeBigInt64LE(value)), bad(() => w.writeBigUInt64BE(value)), w.toString("hex")]); }
  const short = Buffer.alloc(1);
  for (const name of ["readUInt16LE", "readInt32BE", "readDoubleLE", "readBigInt64BE", "readFloatBE", "readUInt8"]) out.push([name, bad(() => short[name]()), bad(() => short[name](1)), bad(() => b[name](-1)), bad(() => b[name](9)), bad(() => b[name](0.5)), bad(() => b[name]("1")), bad(() => Buffer.alloc(0)[name]())]);
  out.push(bad(() => short.writeUInt32LE(1)), bad(() => b.readUIntBE()), bad(() => b.readUIntBE(0)), bad(() => b.readIntLE("0", 2)), bad(() => b.readIntLE(0.5, 2)), bad(() => b.readUIntBE(0, 2.5)), bad(() => short.readUIntBE(0, 3)), bad(() => short.writeIntLE(1, 0, 3)), bad(() => short.writeIntLE(1)));
  const of = () => Buffer.from("0102030405060708", "hex");
  out.push(of().swap16().toString("hex"), of().swap32().toString("hex"), of().swap64().toString("hex"), bad(() => Buffer.alloc(3).swap16()), bad(() => Buffer.alloc(6).swap32()), bad(() => Buffer.alloc(4).swap64()), Buffer.alloc(0).swap16().length, (() => { const x = of(); return x.subarray(2).swap16() && x.toString("hex"); })());
  out.unshift([b.readUInt8(0), b.readUIntBE(0, 1)]);
  return out;
}
