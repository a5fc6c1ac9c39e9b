import url from "node:url";
export function probe() {
  const out = [];
  const bad = (run) => { try { return run(); } catch (e) { return [e.name, e.code, e.message]; } };
  const texts = [
    "http://h:80/p?q=1#f", "http://user:pa%20ss@Host.COM:8080/a b?x=y z#t \"q", "git@github.com:a/b.git", "ssh://git@github.com:22/a/b.git", "https://github.com/a/b.git",
    "mailto:a@b.c", "localhost:3000/x", "//host/path?x", "/a/b?c=d", "/a?b#c", "a/b/c", "", " http://x ", "http://x", "http://x?y", "http://x#y", "HTTP://X/Y", "file:///a/b", "file:a", "javascript:alert(1)", "data:text/plain,hi",
    "http://a@b@c/", "http://[::1]:3000/x", "http://x.y:/p", "http:\\\\x\\y?z\\w", "http://ex*mple.com/p", "http://e[x/", "?a=b", "#h", "x:y", "C:\\a\\b", "http://münchen.de/ü", "http://a.b/c;d", "http://a.b/{x}|y^`", "ftp://u@h/p", "ws://h:1", "unix:/tmp/x.sock", "http:/a/b", "http:a", "//u@h/p", "node:fs", "http://h/%zz?%zz",
    "http://h/p?a=1&a=2&b=%20x+y&c", "http://h?", "http://h/#", "a?b=c#d?e",
  ];
  for (const text of texts) out.push(bad(() => ({ ...url.parse(text) })));
  for (const text of texts) out.push(bad(() => ({ ...url.parse(text, true) })));
  out.push({ ...url.parse("//host/path", false, true) }, { ...url.parse("/p", true) }, bad(() => url.parse(5)), bad(() => url.parse(undefined)), bad(() => url.parse("http://%/x", true).host));
  out.push(url.parse("http://h:80/p").format(), url.parse("http://a/b/c").resolve("../d"), url.resolve("/one/two/three", "four"), url.resolve("http://example.com/", "/one"), url.resolve("http://example.com/one", "/two"), url.format("http://a.b"));
  return out;
}
