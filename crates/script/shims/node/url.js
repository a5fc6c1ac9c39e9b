// URL and URLSearchParams; addresses of files.
const { coded, wrongType } = need("errors");
const changed = Symbol("changed");
const escape = (text) =>
  encodeURIComponent(text.toWellFormed()).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const unescape = (text) => {
  const plain = text.replace(/\+/g, " ");
  try {
    return decodeURIComponent(plain);
  } catch {
    const packed = plain.replace(/[^\x00-\x7f]/g, (c) => encodeURIComponent(c.toWellFormed())).replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    return need("buffer").inner.decoded(packed, "utf8");
  }
};
class URLSearchParams {
  #pairs = [];
  [changed] = null;
  constructor(init = "") {
    if (init && typeof init === "object") {
      const pairs = init[Symbol.iterator] ? [...init] : Object.entries(init);
      this.#pairs = pairs.map(([name, value]) => [`${name}`, `${value}`]);
    } else this.#read(`${init}`);
  }
  #read(text) {
    const parts = text.replace(/^\?/, "").split("&").filter(Boolean);
    this.#pairs = parts.map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [unescape(part), ""] : [unescape(part.slice(0, at)), unescape(part.slice(at + 1))];
    });
  }
  #told() {
    this[changed]?.(this.toString());
  }
  static renew(params, text) {
    params.#read(text);
  }
  append(name, value) {
    this.#pairs.push([`${name}`, `${value}`]);
    this.#told();
  }
  delete(name, value) {
    this.#pairs = this.#pairs.filter(([n, v]) => n !== `${name}` || (value !== undefined && v !== `${value}`));
    this.#told();
  }
  get(name) {
    return this.#pairs.find(([n]) => n === `${name}`)?.[1] ?? null;
  }
  getAll(name) {
    return this.#pairs.filter(([n]) => n === `${name}`).map(([, v]) => v);
  }
  has(name, value) {
    return this.#pairs.some(([n, v]) => n === `${name}` && (value === undefined || v === `${value}`));
  }
  set(name, value) {
    const first = this.#pairs.findIndex(([n]) => n === `${name}`);
    if (first < 0) return this.append(name, value);
    this.#pairs[first][1] = `${value}`;
    this.#pairs = this.#pairs.filter(([n], at) => n !== `${name}` || at === first);
    this.#told();
  }
  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#told();
  }
  forEach(run, self) {
    for (const [name, value] of this.#pairs) run.call(self, value, name, this);
  }
  get size() {
    return this.#pairs.length;
  }
  *keys() {
    for (const [name] of this.#pairs) yield name;
  }
  *values() {
    for (const [, value] of this.#pairs) yield value;
  }
  *entries() {
    for (const [name, value] of this.#pairs) yield [name, value];
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    return this.#pairs.map(([name, value]) => `${escape(name)}=${escape(value)}`).join("&");
  }
}
const renew = URLSearchParams.renew;
delete URLSearchParams.renew;
const parse = (input, base) => {
  try {
    return __op("url.parse", { input: `${input}`.toWellFormed(), base: base === undefined ? undefined : `${base}`.toWellFormed() });
  } catch {
    throw coded(TypeError, "ERR_INVALID_URL", "Invalid URL", { input: `${input}`, ...(base === undefined ? {} : { base: `${base}` }) });
  }
};
class URL {
  #parts;
  #params;
  constructor(input, base) {
    this.#parts = parse(input, base);
  }
  static canParse(input, base) {
    return URL.parse(input, base) !== null;
  }
  static parse(input, base) {
    try {
      return new URL(input, base);
    } catch {
      return null;
    }
  }
  static part(url, name, value) {
    if (value === undefined) return url.#parts[name];
    url.#parts = __op("url.set", { href: url.#parts.href, part: name, value: `${value}`.toWellFormed() });
    if (url.#params && (name === "search" || name === "href")) renew(url.#params, url.#parts.search);
  }
  get searchParams() {
    if (!this.#params) {
      this.#params = new URLSearchParams(this.#parts.search);
      this.#params[changed] = (text) => {
        this.#parts = __op("url.set", { href: this.#parts.href, part: "search", value: text });
      };
    }
    return this.#params;
  }
  toString() {
    return this.#parts.href;
  }
  toJSON() {
    return this.#parts.href;
  }
}
const part = URL.part;
delete URL.part;
for (const name of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"]) {
  Object.defineProperty(URL.prototype, name, {
    enumerable: true, configurable: true,
    get() {
      return part(this, name);
    },
    set(value) {
      if (name === "origin") return;
      if (name === "href") parse(value);
      part(this, name, value);
    },
  });
}
const fileURLToPath = (given) => {
  if (typeof given !== "string" && !(given instanceof URL)) throw wrongType("path", "of type string or an instance of URL", given);
  const url = new URL(given);
  if (url.protocol !== "file:") throw coded(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
  if (url.hostname !== "") throw coded(TypeError, "ERR_INVALID_FILE_URL_HOST", `File URL host must be "localhost" or empty on ${globalThis.process.platform}`);
  if (/%2f/i.test(url.pathname)) throw coded(TypeError, "ERR_INVALID_FILE_URL_PATH", "File URL path must not include encoded / characters");
  return decodeURIComponent(url.pathname);
};
const marks = { "%": "%25", "\\": "%5C", "\n": "%0A", "\r": "%0D", "\t": "%09", "?": "%3F", "#": "%23" };
const pathToFileURL = (path) => {
  const whole = need("path").resolve(path);
  const kept = path.endsWith("/") && !whole.endsWith("/") ? `${whole}/` : whole;
  return new URL(`file://${kept.replace(/[%\\\n\r\t?#]/g, (c) => marks[c])}`);
};
// What Node puts together from the parts of an address.
const assembled = (parts) => {
  const protocol = parts.protocol ? `${parts.protocol}`.replace(/:?$/, ":") : "";
  const auth = parts.auth ? `${encodeURIComponent(parts.auth).replace(/%3A/i, ":")}@` : "";
  const named = parts.hostname ? `${`${parts.hostname}`.includes(":") ? `[${parts.hostname}]` : parts.hostname}${parts.port ? `:${parts.port}` : ""}` : "";
  const host = parts.host ? auth + parts.host : named ? auth + named : undefined;
  const query = parts.query && typeof parts.query === "object" ? `${new URLSearchParams(Object.entries(parts.query).flatMap(([name, value]) => [value].flat().map((one) => [name, one])))}` : "";
  let search = parts.search || (query ? `?${query}` : "");
  let [path, hash] = [`${parts.pathname ?? ""}`.replace(/[?#]/g, encodeURIComponent), parts.hash ?? ""];
  if (hash && hash[0] !== "#") hash = `#${hash}`;
  if (search && search[0] !== "?") search = `?${search}`;
  const slashed = parts.slashes || (host && /^(?:https?|ftp|gopher|file|wss?):$/.test(protocol));
  if (slashed && path && path[0] !== "/") path = `/${path}`;
  return protocol + (slashed || protocol === "file:" ? "//" : "") + (host ?? "") + path + search.replaceAll("#", "%23") + hash;
};
module.exports = {
  URL, URLSearchParams, fileURLToPath, pathToFileURL,
  format: (url) => (typeof url === "string" ? need("url_parse").parse(url).format() : url instanceof URL ? url.href : assembled(url)),
  parse: (...args) => need("url_parse").parse(...args),
  // A path is resolved against a path, whatever it belongs to.
  resolve: (from, to) => {
    const url = new URL(to, new URL(from, "resolve://"));
    return url.protocol === "resolve:" ? `${url.pathname}${url.search}${url.hash}` : url.href;
  },
  urlToHttpOptions: (url) => ({ protocol: url.protocol, hostname: url.hostname, port: url.port, path: `${url.pathname}${url.search}`, href: url.href }),
};
