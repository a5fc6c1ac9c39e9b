import { createHash } from "node:crypto";
export function probe() {
  const out = [];
  const hash = (value) => createHash("sha256").update(value).digest("hex");
  const text = "h\u00e9llo \u2192 \u{1f389} w\u00f6rld ".repeat(40000);
  const bytes = Buffer.from(text);
  for (const e of ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le"]) {
    const told = bytes.toString(e);
    const back = Buffer.from(told, e);
    out.push([e, told.length, hash(told), back.length, hash(back), Buffer.byteLength(told, e), hash(Buffer.from(text, e))]);
  }
  const junk = Buffer.concat([Buffer.from([0xff, 0xe2, 0x82]), bytes, Buffer.from([0xf0, 0x9f])]);
  out.push(hash(junk.toString()), hash(new TextDecoder().decode(junk)), hash(new TextEncoder().encode(text + "\ud800")), new TextDecoder().decode(bytes) === text);
  out.push(new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])), new TextDecoder().decode(new Uint16Array([0x6161])), new TextDecoder().decode(new Uint8Array([0x61]).buffer));
  const err = (f) => { try { f(); return "none"; } catch (e) { return [e.name, e.code]; } };
  out.push(err(() => new TextDecoder("utf-8", { fatal: true }).decode(junk)), err(() => atob("a")), err(() => atob("a*bc")), err(() => btoa("\u2192")), atob(" aG\nk "), atob(""), hash(atob(btoa(bytes.toString("latin1")))) === hash(bytes.toString("latin1")));
  const lone = "x\ud800\udc00\udfffy";
  for (const e of ["utf8", "latin1", "ascii", "base64", "hex"]) out.push(Buffer.from(lone, e).toString("hex"));
  out.push(Buffer.from("\u0161\u{1f389}a", "latin1").toString("hex"), Buffer.from("a-_/+=b", "base64").toString("hex"), Buffer.from("61zz62", "hex").toString("hex"));
  out.push(Buffer.from(new Uint16Array([1, 258])).toString("hex"), Buffer.from({ length: 2, 0: 7, 1: 8 }).toString("hex"), Buffer.from(["1", 2]).toString("hex"));
  const other = Buffer.from(bytes);
  other[other.length - 1] ^= 1;
  out.push(bytes.equals(Buffer.from(bytes)), bytes.equals(other), Buffer.compare(bytes, other), Buffer.compare(bytes.subarray(0, 70000), bytes), Buffer.compare(other, bytes), other.buffer !== bytes.buffer);
  const filled = Buffer.alloc(100003, "abc");
  out.push(hash(filled), filled.fill("xy", 10, 13).subarray(8, 16).toString(), filled.fill("long", 0, 2).subarray(0, 4).toString(), hash(Buffer.alloc(70000).fill(bytes.subarray(0, 999), 7)), Buffer.alloc(3, "").toString("hex"));
  out.push(bytes.indexOf("w\u00f6rld", 100000), bytes.lastIndexOf("\u{1f389}"), bytes.includes("nowhere"), bytes.write("\u2192".repeat(3), bytes.length - 4), bytes.subarray(-6).toString("hex"));
  return out;
}
