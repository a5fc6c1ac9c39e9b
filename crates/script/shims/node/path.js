// Paths with slashes.
const { needText } = need("errors");
const normal = (path, rooted) => {
  const kept = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") kept.push(part);
    else if (kept.length && kept.at(-1) !== "..") kept.pop();
    else if (!rooted) kept.push("..");
  }
  return kept.join("/");
};
const isAbsolute = (path) => (needText("path", path), path.startsWith("/"));
const normalize = (path) => {
  needText("path", path);
  if (path === "") return ".";
  const rooted = path.startsWith("/");
  const made = normal(path, rooted);
  if (made === "") return rooted ? "/" : path.endsWith("/") ? "./" : ".";
  return `${rooted ? "/" : ""}${made}${path.endsWith("/") ? "/" : ""}`;
};
const join = (...parts) => {
  for (const part of parts) needText("path", part);
  const given = parts.filter((part) => part !== "");
  return given.length ? normalize(given.join("/")) : ".";
};
const resolve = (...parts) => {
  let whole = "";
  for (let at = parts.length - 1; at >= 0 && !whole.startsWith("/"); at--) {
    needText(`paths[${at}]`, parts[at]);
    if (parts[at] !== "") whole = whole === "" ? parts[at] : `${parts[at]}/${whole}`;
  }
  if (!whole.startsWith("/")) whole = `${__op("cwd")}/${whole}`;
  return `/${normal(whole, true)}`;
};
const relative = (from, to) => {
  needText("from", from);
  needText("to", to);
  const [a, b] = [resolve(from), resolve(to)].map((path) => path.split("/").filter(Boolean));
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
};
const bare = (path) => {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
};
const dirname = (path) => {
  needText("path", path);
  if (path === "") return ".";
  const short = bare(path);
  const at = short.lastIndexOf("/");
  if (at < 0) return ".";
  if (at === 0) return "/";
  // Two slashes at the front are kept, as Node keeps them.
  return at === 1 && short[0] === "/" ? "//" : short.slice(0, at);
};
const basename = (path, suffix) => {
  needText("path", path);
  if (suffix !== undefined) needText("suffix", suffix);
  if (suffix !== undefined && suffix === path) return "";
  const short = bare(path);
  const name = short === "/" ? "" : short.slice(short.lastIndexOf("/") + 1);
  return suffix && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
};
const extname = (path) => {
  const name = basename(path);
  const at = name.lastIndexOf(".");
  return at <= 0 || name === ".." ? "" : name.slice(at);
};
const parse = (path) => {
  needText("path", path);
  const root = path.startsWith("/") ? "/" : "";
  const [base, ext] = [basename(path), extname(path)];
  const dir = base === bare(path) ? "" : dirname(path);
  return { root, dir: base === "" ? root : dir === "." && !bare(path).includes("/") ? "" : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
};
const format = (parts) => {
  const dir = parts.dir || parts.root;
  const ext = parts.ext ? `${parts.ext[0] === "." ? "" : "."}${parts.ext}` : "";
  const base = parts.base || `${parts.name ?? ""}${ext}`;
  if (!dir) return base;
  return dir === parts.root ? `${dir}${base}` : `${dir}/${base}`;
};
const path = {
  resolve, normalize, isAbsolute, join, relative, dirname, basename, extname, format, parse,
  toNamespacedPath: (path) => path, sep: "/", delimiter: ":",
};
path.posix = path;
Object.defineProperty(path, "win32", { enumerable: true, get: () => need("path/win32") });
module.exports = path;
