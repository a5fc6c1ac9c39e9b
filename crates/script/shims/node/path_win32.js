// Paths with backslashes: what a module needs to take a path of another machine apart.
const { needText } = need("errors");
const posix = need("path");
const split = (path) => {
  needText("path", path);
  const device = /^(?:[a-zA-Z]:|[\\/]{2}[^\\/]+[\\/]+[^\\/]+)/.exec(path)?.[0] ?? "";
  return [device.replaceAll("/", "\\"), path.slice(device.length).replaceAll("\\", "/")];
};
const back = (text) => text.replaceAll("/", "\\");
const isAbsolute = (path) => {
  const [device, rest] = split(path);
  return rest.startsWith("/") || device.startsWith("\\\\");
};
const normalize = (path) => {
  const [device, rest] = split(path);
  if (rest === "") return device ? `${device}${device.startsWith("\\\\") ? "\\" : "."}` : ".";
  return device + back(posix.normalize(rest));
};
const join = (...parts) => {
  const given = parts.filter((part) => (needText("path", part), part !== ""));
  return given.length ? normalize(given.join("\\")) : ".";
};
const dirname = (path) => {
  const [device, rest] = split(path);
  if (rest === "" || /^\/+$/.test(rest)) return device + back(rest) || ".";
  const folder = posix.dirname(rest);
  return device + (folder === "." && device ? "" : back(folder));
};
const basename = (path, suffix) => posix.basename(split(path)[1], suffix);
const extname = (path) => posix.extname(split(path)[1]);
const parse = (path) => {
  const [device, rest] = split(path);
  const { root, dir, base, ext, name } = posix.parse(rest);
  return { root: device + back(root), dir: device + back(dir), base, ext, name };
};
const format = (parts) => {
  const dir = parts.dir || parts.root;
  const base = parts.base || `${parts.name ?? ""}${parts.ext ?? ""}`;
  if (!dir) return base;
  return dir === parts.root ? `${dir}${base}` : `${dir}\\${base}`;
};
const resolve = (...parts) => {
  let whole = "";
  for (let at = parts.length - 1; at >= 0 && !isAbsolute(whole); at--) {
    needText(`paths[${at}]`, parts[at]);
    if (parts[at] !== "") whole = whole === "" ? parts[at] : `${parts[at]}\\${whole}`;
  }
  const made = normalize(isAbsolute(whole) ? whole : `${back(__op("cwd"))}\\${whole}`);
  return made.length > 3 && made.endsWith("\\") ? made.slice(0, -1) : made;
};
const relative = (from, to) => {
  const [a, b] = [resolve(from), resolve(to)].map((path) => path.split("\\").filter(Boolean));
  let same = 0;
  while (same < a.length && same < b.length && a[same].toLowerCase() === b[same].toLowerCase()) same++;
  if (same === 0) return resolve(to);
  return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("\\");
};
module.exports = { resolve, normalize, isAbsolute, join, relative, dirname, basename, extname, format, parse, toNamespacedPath: (path) => path, sep: "\\", delimiter: ";", posix };
module.exports.win32 = module.exports;
