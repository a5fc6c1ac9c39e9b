import { createHash, createHmac, randomUUID, randomBytes, timingSafeEqual, randomInt, getHashes } from "node:crypto";
import { Buffer as B, atob as at } from "buffer";
import { StringDecoder } from "string_decoder";
export async function probe() {
  const out = [];
  const text = "héllo → 🎉 wörld";
  for (const e of ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le", "binary", "ucs2", "UTF-8"]) { out.push([e, B.from(text).toString(e), [...B.from("68656c6c6f", e)], B.byteLength(text, e)]); }
  out.push(B.from("aGk=", "base64").toString(), B.from("_-8", "base64url").toString("hex"), B.from("a\nGk", "base64").toString(), B.from("zz", "hex").length, B.from("616", "hex").length);
  const b = B.alloc(8, "ab"); out.push(b.toString(), b.length, b.subarray(1, 3).toString(), b.slice(-2).toString(), B.concat([b, B.from("!")]).toString(), B.concat([b, b], 3).toString());
  out.push(B.isBuffer(b), B.isBuffer(new Uint8Array(1)), b instanceof Uint8Array, b.equals(B.from("abababab")), B.compare(B.from("a"), B.from("b")), JSON.stringify(B.from("hi")));
  const s = b.slice(0, 2); s[0] = 120; out.push(b.toString(), b.indexOf("b"), b.indexOf("ba", 2), b.lastIndexOf("a"), b.includes("xb"), b.indexOf(98), b.indexOf("zz"));
  out.push(b.write("é", 0), b.write("ééé", 5), b.toString("hex"), b.fill(0).toString("hex"), b.fill("é").toString());
  b.writeUInt32BE(0xdeadbeef, 0); b.writeInt16LE(-2, 4); out.push(b.readUInt32BE(0), b.readUInt32LE(0), b.readInt16LE(4), b.readUint8(0), b.readInt8(0), b.readDoubleLE(0));
  const err = (f) => { try { f(); return "none"; } catch (e) { return [e.name, e.code, e.message]; } };
  out.push(err(() => b.readUInt32BE(6)), err(() => B.from("x", "nope")), err(() => B.from(5)), err(() => B.from(null)), err(() => B.alloc("1")));
  out.push(B.from([255, 256, -1, 1.5]).toString("hex"), B.from(new Uint8Array([1, 2])).toString("hex"), B.from(new Uint8Array([1, 2, 3]).buffer, 1, 1).toString("hex"), B.from([0xff, 0xe2, 0x82]).toString(), B.from("\ud800x").toString("hex"));
  out.push(at("aGk="), btoa("hi\xff"), typeof Buffer, Buffer === B, b.toString("utf8", 1, 3).length);
  for (const h of ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "SHA256"]) out.push([h, createHash(h).update("a").update(B.from("b")).update("é").digest("hex"), createHmac(h, "key").update("x").digest("base64"), createHmac(h, B.alloc(200, 1)).update("").digest("hex")]);
  out.push(createHash("sha256").digest().length, err(() => createHash("nope")), err(() => { const h = createHash("md5"); h.digest(); h.digest(); }), err(() => createHash("md5").update(1)));
  out.push(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(randomUUID()), randomBytes(7).length, timingSafeEqual(B.from("a"), B.from("a")), timingSafeEqual(B.from("a"), B.from("b")), err(() => timingSafeEqual(B.from("a"), B.from("bb"))), randomInt(3) < 3);
  out.push(crypto.randomUUID().length, crypto.getRandomValues(new Uint8Array(3)).length, B.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("a"))).toString("hex"));
  const d = new StringDecoder("utf8"); out.push([...B.from("a→🎉é")].map((x) => d.write(B.from([x]))), d.write(B.from([0xe2])), d.end());
  return out;
}
