import fs from "node:fs";
import fsp from "node:fs/promises";
import os from "node:os";
import path from "node:path";
export async function probe() {
  const out = [];
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "aborted-")); const file = path.join(root, "a"); fs.writeFileSync(file, "a");
  const signal = AbortSignal.abort("why"); const told = (e) => [e.name, e.code, e.message, e.cause];
  out.push(await fsp.readFile(file, { signal }).catch(told), await fsp.readFile(file, { encoding: "utf8", signal }).catch(told), await fsp.readFile(path.join(root, "none"), { signal }).catch(told));
  out.push(await fsp.writeFile(file, "b", { signal }).catch(told), await fsp.writeFile(path.join(root, "new"), "b", { signal }).catch(told), await fsp.writeFile(file, (function* () { out.push("never"); yield "x"; })(), { signal }).catch(told), await fsp.appendFile(file, "c", { signal }).catch(told), fs.readdirSync(root), fs.readFileSync(file, "utf8"));
  out.push(await new Promise((r) => fs.readFile(file, { signal }, (e) => r(told(e)))), await new Promise((r) => fs.writeFile(file, "d", { signal }, (e) => r(told(e)))));
  const handle = await fsp.open(file, "r+"); out.push(await handle.readFile({ signal }).catch(told), await handle.writeFile("x", { signal }).catch(told)); await handle.close();
  out.push(await fsp.readFile(file, { encoding: "utf8", signal: new AbortController().signal }));
  fs.rmSync(root, { recursive: true });
  return out;
}
