export async function probe() {
  const u = new URL("https://me:p%40@Example.COM:8080/a/../b c?x=1&y=a%20b&x=2#h");
  const parts = (u) => ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"].map((k) => u[k]);
  const out = [parts(u)];
  u.searchParams.append("z", "é &"); out.push(u.href, u.search); u.searchParams.delete("x"); out.push(u.href);
  u.hash = ""; u.port = "443"; u.pathname = "/q r"; u.host = "other.example:99"; out.push(parts(u)); u.search = "?k=v"; out.push([...u.searchParams]);
  u.href = "http://a/b"; out.push(u.href, [...u.searchParams], JSON.stringify({ u }), `${u}`);
  const err = (f) => { try { f(); return "none"; } catch (e) { return [e.name, e.code, e.message, e.input]; } };
  out.push(err(() => new URL("nope")), err(() => new URL("/x", "bad")), new URL("../x", "http://h/a/b/c").href, URL.canParse("x:y"), URL.canParse("y"));
  const q = new URLSearchParams("?a=1&b=%zz&c=+d&e&=f&g=%E9"); out.push([...q], q.toString(), q.get("nope"), q.has("e"), q.getAll("a"), q.size);
  q.set("a", "9"); q.append("b", "x"); q.sort(); out.push(q.toString(), [...q.keys()], [...q.values()]);
  out.push(new URLSearchParams({ a: 1, b: "x y" }).toString(), new URLSearchParams([["p", "q"]]).toString(), parts(new URL("file:///a/b")), parts(new URL("data:text/plain,hi")), new URL("http://münchen.de/ä").href);
  return out;
}
