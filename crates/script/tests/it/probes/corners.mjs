import util from "node:util";
import fs from "node:fs";
import fsp from "node:fs/promises";
import url from "node:url";
import path from "node:path";
import os from "node:os";
export async function probe() {
  const out = [];
  const bad = (run) => { try { return run(); } catch (e) { return [e.name, e.code, e.message]; } };
  out.push(await util.promisify(setTimeout)(1, "later"), await util.promisify(setImmediate)("soon"));
  const bytes = (...list) => new Uint8Array(list);
  const d = new TextDecoder(); out.push(d.decode(bytes(0xef, 0xbb, 0xbf, 0xf0, 0x9f), { stream: true }), d.decode(bytes(0x8e, 0x89, 0x41), { stream: true }), d.decode(), d.decode(bytes(0xf0, 0x9f)), d.encoding);
  out.push(new TextDecoder("latin1").decode(bytes(0x41, 0xe9, 0xff)), new TextDecoder("utf-16le").decode(bytes(0x41, 0, 0xe9, 0)), new TextDecoder("UTF-16").encoding, new TextDecoder(" Utf8 ").encoding, bad(() => new TextDecoder("no-such")).slice(0, 2));
  out.push(bad(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes(0xff))).slice(0, 2), new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes(0xef, 0xbb, 0xbf, 0x41)).length, new TextDecoder("utf-8", { fatal: true }).decode(bytes(0xc3, 0xa9)));
  const f = new TextDecoder("utf-8", { fatal: true }); out.push(f.decode(bytes(0x41, 0xc3), { stream: true }), f.decode(bytes(0xa9), { stream: true }), f.decode());
  const into = new Uint8Array(6); out.push(new TextEncoder().encodeInto("aé🎉b", into), [...into]);
  process.env.GAMBREL_A_NUMBER = 1; process.env.GAMBREL_NOTHING = undefined; out.push(process.env.GAMBREL_A_NUMBER, process.env.GAMBREL_NOTHING, "GAMBREL_A_NUMBER" in process.env); delete process.env.GAMBREL_A_NUMBER; out.push(process.env.GAMBREL_A_NUMBER ?? "gone");
  const c = new AbortController(); c.abort(); out.push(c.signal.reason.name, c.signal.reason.code, c.signal.reason instanceof DOMException, c.signal.reason instanceof Error, new DOMException("m", "TimeoutError").code, bad(() => structuredClone(() => {})).slice(0, 2));
  const seen = []; const t = setTimeout(() => seen.push("rang"), 1); out.push(t.refresh() === t, t.hasRef(), t.unref().hasRef()); t.ref(); await new Promise((r) => setTimeout(r, 40)); const gone = setTimeout(() => seen.push("never"), 1); clearTimeout(gone); gone.refresh(); await new Promise((r) => setTimeout(r, 40)); t.refresh(); await new Promise((r) => setTimeout(r, 40)); out.push(seen);
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "corners-")); fs.writeFileSync(path.join(root, "a"), ""); fs.mkdirSync(path.join(root, "b"));
  const dir = fs.opendirSync(root); const names = []; for (let e = dir.readSync(); e; e = dir.readSync()) names.push([e.name, e.isDirectory()]); dir.closeSync(); out.push(names.sort(), dir.path === root, bad(() => dir.readSync()));
  const more = []; for await (const e of await fsp.opendir(root)) more.push(e.name); out.push(more.sort(), bad(() => fs.opendirSync(root + "/none"))[1]); fs.rmSync(root, { recursive: true });
  for (const parts of [{ protocol: "https", host: "h:1", pathname: "p", search: "a=1", hash: "x" }, { protocol: "https:", hostname: "h", port: 80, pathname: "/p", query: { a: 1, b: [2, 3] } }, { host: "h", pathname: "/p" }, { pathname: "/only" }, { protocol: "mailto:", host: "x", pathname: "y" }, { protocol: "http", auth: "u:p", hostname: "::1" }, { slashes: true, protocol: "x", host: "h" }, { protocol: "file", pathname: "/f" }]) out.push(url.format(parts));
  out.push(url.format(new URL("http://a/b?c#d")));
  const w = path.win32; out.push(w.sep, w.delimiter, w.basename("C:\\a\\b.txt"), w.basename("C:\\a\\b.txt", ".txt"), w.dirname("C:\\a\\b"), w.dirname("C:\\a"), w.extname("a\\b.tar.gz"), w.join("a", "..", "b", "c/d"), w.normalize("C:/a/./b/../c"), w.isAbsolute("C:\\x"), w.isAbsolute("C:x"), w.isAbsolute("\\\\s\\h"), w.parse("C:\\a\\b.txt"), w.relative("C:\\a\\b", "C:\\a\\c\\d"), w.resolve("C:\\a", "..\\b"), w === w.win32, path.posix === path);
  return out;
}
