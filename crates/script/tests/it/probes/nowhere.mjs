import fs from "node:fs"; import * as fsp from "node:fs/promises";
export async function probe() {
  const out = [fs.existsSync(""), fs.statSync("", { throwIfNoEntry: false }) === undefined];
  const err = (f) => { try { return f(); } catch (e) { return [e.code, e.syscall, e.message]; } };
  const calls = ["statSync", "lstatSync", "readdirSync", "readFileSync", "openSync", "accessSync", "mkdirSync", "rmSync", "rmdirSync", "unlinkSync", "readlinkSync", "realpathSync"];
  for (const name of calls) out.push([name, err(() => fs[name](""))]);
  out.push(err(() => fs.readFileSync("", "utf8")), err(() => fs.writeFileSync("", "x")), err(() => fs.appendFileSync("", "x")), err(() => fs.mkdirSync("", { recursive: true })));
  out.push(err(() => fs.rmSync("", { recursive: true, force: true })), err(() => fs.renameSync("", "b")), err(() => fs.renameSync("probe.mjs", "")), err(() => fs.copyFileSync("", "b")), err(() => fs.copyFileSync("probe.mjs", "")), err(() => fs.chmodSync("", 0o700)), err(() => fs.truncateSync("", 0))[0], err(() => fs.symlinkSync("", "l")), err(() => fs.realpathSync.native("")));
  out.push(await fsp.stat("").catch((e) => e.code), await fsp.access("").catch((e) => e.code), fs.existsSync("."), fs.readdirSync(".").length > 0);
  return out;
}
