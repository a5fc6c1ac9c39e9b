import path, { join, posix } from "node:path";
import * as url from "node:url";
export async function probe() {
  const p = ["", ".", "/", "//", "///a//b", "a", "a/", "/a", "/a/b.c", "/a/b.c/", "a/.b", ".b", "..", "a..", "a.b.c", "./a/../b/./c", "../..//x", "/../a", "a/../..", "foo.", "/a/b/../../.."];
  const got = p.map((x) => [x, path.normalize(x), path.dirname(x), path.basename(x), path.extname(x), path.isAbsolute(x), path.parse(x), path.join("q", x), path.resolve("/z", x), path.relative("/z/y", path.resolve("/z", x)), path.format(path.parse(x))]);
  const err = (f) => { try { f(); return "none"; } catch (e) { return [e.name, e.code, e.message]; } };
  return { got, same: posix === path, sep: path.sep, d: path.delimiter, j: join(), jj: join("a", "", "b"), b: [path.basename("a.html", ".html"), path.basename(".html", ".html"), path.basename("a/b.x/", ".x")],
    rel: [path.relative("/a/b", "/a/b"), path.relative("/a/b/c", "/a/d"), path.relative("/", "/x")], f: [path.format({ name: "a", ext: "b" }), path.format({ root: "/", base: "x" }), path.format({ dir: "/d", base: "x" })],
    e: [err(() => path.join(1)), err(() => path.resolve(undefined)), err(() => path.dirname(null))],
    u: [url.fileURLToPath("file:///a%20b/c"), url.pathToFileURL("/a b/#c?d%").href, url.pathToFileURL("/x/").href], ue: [err(() => url.fileURLToPath("http://x/")), err(() => url.fileURLToPath("file://h/x")), err(() => url.fileURLToPath(1))] };
}
