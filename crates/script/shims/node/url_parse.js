// Node's legacy `url.parse`: a text that is not a URL is a path, and parts stay as written where
// possible.
const { coded, needText } = need("errors");
const HOSTLESS = ["javascript:"];
const SLASHED = ["http:", "https:", "ftp:", "gopher:", "file:", "ws:", "wss:"];
const invalid = (input) => coded(TypeError, "ERR_INVALID_URL", "Invalid URL", { input });
const escaped = (text) => text.replace(/[\t\n\r "'<>\\^`{|}]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
const decoded = (text) => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
};
const fields = (text) => {
  const made = Object.create(null);
  for (const part of text.split("&").filter(Boolean)) {
    const [name, ...rest] = part.split("=");
    const [key, value] = [decoded(name), decoded(rest.join("="))];
    made[key] = key in made ? [made[key], value].flat() : value;
  }
  return made;
};
class Url {
  protocol = null;
  slashes = null;
  auth = null;
  host = null;
  port = null;
  hostname = null;
  hash = null;
  search = null;
  query = null;
  pathname = null;
  path = null;
  href = null;
  format() {
    return need("url").format(this);
  }
  resolve(to) {
    return need("url").resolve(this.format(), to);
  }
}
const setQuery = (url, parsed) => {
  if (url.search !== null) url.query = parsed ? fields(url.search.slice(1)) : url.search.slice(1);
  else if (parsed) url.query = Object.create(null);
};
// Parses user, host and port at the start of a text, and returns the rest.
const setHost = (url, text, input) => {
  const [rest] = /^[^#/?]*/.exec(text);
  const at = rest.lastIndexOf("@");
  if (at >= 0) url.auth = decodeURIComponent(rest.slice(0, at));
  const [given] = /^[^\t\n\r "%';<>\\^`{|}]*/.exec(rest.slice(at + 1));
  let left = text.slice(at + 1 + given.length);
  const [, name, port] = /^(.*?)(?::(\d*))?$/.exec(given);
  if (port) url.port = port;
  const bracketed = name.startsWith("[") && name.endsWith("]");
  const [kept] = bracketed ? [name] : /^[^:]*/.exec(name);
  if (kept.length < name.length) left = `/${name.slice(kept.length)}${left}`;
  url.hostname = hostOf(kept.length > 255 ? "" : kept.toLowerCase(), bracketed, input);
  url.host = `${url.hostname}${url.port ? `:${url.port}` : ""}`;
  if (!bracketed) return left;
  url.hostname = url.hostname.slice(1, -1);
  return left.startsWith("/") ? left : `/${left}`;
};
const hostOf = (name, bracketed, input) => {
  if ((bracketed ? /[\0\t\n\r #%/<>?@\\^|]/ : /[\0\t\n\r #%/:<>?@[\\\]^|]/).test(name)) throw invalid(input);
  if (!/[^\x00-\x7f]/.test(name)) return name;
  try {
    return __op("url.parse", { input: `http://${name}` }).hostname;
  } catch {
    throw invalid(input);
  }
};
const parse = (input, parsed = false, slashesDenoteHost = false) => {
  if (input instanceof Url) return input;
  needText("url", input);
  const url = new Url();
  let rest = input.trim().replace(/^[^?#]*/, (head) => head.replaceAll("\\", "/"));
  const simple = !slashesDenoteHost && !/[#@]/.test(rest) && /^(\/\/?(?!\/)[^?\s]*)(\?\S*)?$/.exec(rest);
  if (simple) {
    Object.assign(url, { path: rest, href: rest, pathname: simple[1], search: simple[2] ?? null });
    setQuery(url, parsed);
    return url;
  }
  const scheme = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
  const protocol = scheme?.toLowerCase();
  if (scheme) url.protocol = protocol;
  rest = rest.slice(scheme?.length ?? 0);
  const hostless = HOSTLESS.includes(protocol);
  const mayHost = slashesDenoteHost || scheme || /^\/\/[^@/]+@[^@/]+/.test(rest);
  if (mayHost && rest.startsWith("//") && !hostless) [rest, url.slashes] = [rest.slice(2), true];
  if (!hostless && (url.slashes || (scheme && !SLASHED.includes(protocol)))) rest = setHost(url, rest, input);
  if (!hostless) rest = escaped(rest);
  const [, path, search, hash] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(rest);
  Object.assign(url, { hash: hash ?? null, search: search ?? null, pathname: path || null });
  setQuery(url, parsed);
  if (SLASHED.includes(protocol) && url.hostname && !url.pathname) url.pathname = "/";
  if (url.pathname || url.search) url.path = `${url.pathname ?? ""}${url.search ?? ""}`;
  url.href = url.format();
  return url;
};
module.exports = { parse, Url };
