import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { once } from "node:events";
import crypto, { createHash, createHmac } from "node:crypto";
export async function probe() {
  const out = [];
  const bad = (run) => { try { return run(); } catch (e) { return [e.name, e.code, e.message]; } };
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "digests-"));
  const file = path.join(root, "a"); fs.writeFileSync(file, "héllo wörld".repeat(9000));
  const read = (...args) => fs.createReadStream(file, ...args);
  const h = read({ highWaterMark: 1000 }).pipe(createHash("md5")); await once(h, "finish"); out.push(h.read().toString("hex"), h.read());
  const m = read().pipe(createHmac("sha256", "key")).setEncoding("hex"); await once(m, "finish"); out.push(m.read());
  const s = createHash("sha1"); out.push(s.write("a"), s.write("é", "latin1"), s.write(Buffer.from("b")), s.end("c") === s, s.writableEnded); out.push(await new Promise((r) => s.on("readable", () => { const d = s.read(); if (d) r(d.toString("hex")); })));
  const at = createHash("sha1"); at.write("abc"); at.end(); out.push(at.read().toString("base64")); out.push(at.digest("hex"), bad(() => at.digest()), bad(() => at.copy()));
  const d = createHash("md5").setEncoding("base64"); const seen = []; for (const name of ["data", "end", "finish", "close"]) d.on(name, (x) => seen.push([name, x ?? null])); d.end("x", () => seen.push("cb")); await once(d, "close"); out.push(seen.length, seen.find(([n]) => n === "data"), seen.some((x) => x === "cb"), d.destroyed, d.readableEnded, d.writableFinished);
  let all = ""; for await (const chunk of read().pipe(createHash("sha512")).setEncoding("hex")) all += chunk; out.push(all);
  const w = fs.createWriteStream(path.join(root, "sum")); read().pipe(createHash("md5")).pipe(w); await once(w, "close"); out.push(fs.readFileSync(path.join(root, "sum")).toString("hex"));
  out.push((await read().pipe(createHash("md5")).toArray()).map((b) => b.length));
  const u = createHash("md5"); u.update("a"); u.write("b"); u.end(); await once(u, "finish"); out.push(u.read().toString("hex"), createHash("md5").update("ab").digest("hex"));
  const e = createHash("md5"); e.end(); e.on("error", (err) => seen.push(err.code)); e.write("late"); await once(e, "error").catch((err) => out.push(err.code)); out.push(seen.at(-1));
  const f = createHash("md5"); f.digest(); out.push(bad(() => f.update("x")), bad(() => f.digest("hex")), bad(() => f.copy()));
  const p = createHash("md5").update("a"); const q = p.copy(); q.update("b"); out.push(p.digest("hex"), q.digest("hex"), p instanceof crypto.Hash, createHmac("md5", "k") instanceof crypto.Hmac, createHmac("md5", "k") instanceof crypto.Hash, typeof createHmac("md5", "k").copy);
  const z = createHmac("md5", "k").update("a"); out.push(z.digest("hex"), z.digest("hex"), bad(() => z.update("b")), createHmac("md5", Buffer.from("k")).update("a").digest().length);
  out.push(bad(() => createHash("md5").update(5)), bad(() => createHash("none")).at(-1));
  fs.rmSync(root, { recursive: true });
  return out;
}
