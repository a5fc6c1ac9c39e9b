import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { EventEmitter, once } from "node:events";
import { spawn } from "node:child_process";
export async function probe() {
  const out = [];
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "streams-"));
  const file = path.join(root, "a"); fs.writeFileSync(file, "héllo wörld");
  // Whoever hears that there is something to read finds it, whenever the program ends.
  const all = (stream, ...size) => new Promise((done) => { let s = ""; stream.on("readable", () => { let x; while ((x = stream.read(...size)) !== null) s += x; }); stream.on("end", () => done(s)); });
  const run = async (n) => { const p = spawn("printf", [`t${n}`]); const closed = once(p, "close"); return [(await all(p.stdout)) === `t${n}`, (await closed)[0] === 0]; };
  // A few at once: on a busy machine many at once may lose output by another way than the one looked at here.
  const runs = []; while (runs.length < 60) runs.push(...(await Promise.all([0, 1, 2, 3].map((n) => run(runs.length + n)))));
  out.push([runs.filter(([said]) => said).length, runs.filter(([, fine]) => fine).length]);
  const late = spawn("printf", ["late"]); late.stdout.on("readable", () => {}); await once(late, "exit"); await new Promise((r) => setTimeout(r, 30)); out.push(late.stdout.readableFlowing, `${late.stdout.read()}`);
  const read = (...args) => fs.createReadStream(file, ...args);
  out.push(await all(read()), await all(read({ highWaterMark: 3, encoding: "utf8" })), await all(read({ encoding: "utf8" }), 4));
  out.push((await read({ highWaterMark: 5 }).toArray()).map((b) => b.toString("hex")), await read({ highWaterMark: 2, encoding: "utf8" }).toArray());
  const both = read(); both.on("data", () => {}); out.push(both.readableFlowing); both.on("readable", () => {}); out.push(both.readableFlowing); both.removeAllListeners("data"); both.destroy();
  // What is written waits; who writes is told.
  const w = fs.createWriteStream(path.join(root, "w"), { highWaterMark: 4 }); const heard = [];
  w.on("drain", () => heard.push("drain")); out.push(w.writableHighWaterMark, w.write("1"), w.writableLength, w.write("23456", () => heard.push("written")), w.writableNeedDrain);
  await once(w, "drain"); out.push(w.writableNeedDrain, w.writableLength, w.write("7")); w.end("8"); await once(w, "close"); out.push(heard, fs.readFileSync(path.join(root, "w"), "utf8"));
  // Pipes.
  const from = read({ highWaterMark: 2 }); const to = fs.createWriteStream(path.join(root, "p"), { highWaterMark: 1 }); const events = [];
  to.on("pipe", (s) => events.push(["pipe", s === from])).on("unpipe", (s) => events.push(["unpipe", s === from])); out.push(from.pipe(to) === to); await once(to, "finish"); out.push(events[0], fs.readFileSync(path.join(root, "p"), "utf8"));
  class Slow extends EventEmitter { got = []; write(chunk) { this.got.push(`${chunk}`); setTimeout(() => this.emit("drain"), 1); return false; } end() { this.emit("ended"); } }
  const slow = new Slow(); read({ highWaterMark: 4, encoding: "latin1" }).pipe(slow); await once(slow, "ended"); out.push(slow.got);
  const open = new Slow(); const r = read({ highWaterMark: 4 }); r.pipe(open, { end: false }); open.on("ended", () => out.push("never")); await once(r, "end"); out.push(open.got.length);
  const cut = new Slow(); const c = read({ highWaterMark: 4 }); c.pipe(cut); await once(cut, "drain"); c.unpipe(cut); out.push(c.readableFlowing, cut.listenerCount("drain"), c.listenerCount("data")); c.destroy();
  const cat = spawn("cat"); let echo = ""; cat.stdout.setEncoding("utf8").on("data", (d) => (echo += d)); read({ highWaterMark: 2 }).pipe(cat.stdin); await once(cat, "close"); out.push(echo);
  const broken = fs.createWriteStream(path.join(root, "none", "x")); const said = once(broken, "error").catch((e) => [e]); const whole = read(); whole.pipe(broken); await once(whole, "open"); out.push((await said)[0].code);
  fs.rmSync(root, { recursive: true });
  return out;
}
