// fetch and its classes. The host makes the request, if the user allows modules to open
// connections. A response arrives complete.
const { Buffer, inner } = need("buffer");
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
class Headers {
  #all = [];
  constructor(init) {
    const pairs = init instanceof Headers ? init.#all : init?.[Symbol.iterator] ? init : Object.entries(init ?? {});
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name, value) {
    if (!token.test(`${name}`)) throw new TypeError(`Invalid header name: ${name}`);
    if (/[\0\r\n]/.test(`${value}`)) throw new TypeError(`Invalid value of the header ${name}`);
    this.#all.push([`${name}`.toLowerCase(), `${value}`.trim()]);
  }
  delete(name) {
    this.#all = this.#all.filter(([known]) => known !== `${name}`.toLowerCase());
  }
  set(name, value) {
    this.delete(name);
    this.append(name, value);
  }
  has(name) {
    return this.#all.some(([known]) => known === `${name}`.toLowerCase());
  }
  get(name) {
    const values = this.#all.filter(([known]) => known === `${name}`.toLowerCase()).map(([, value]) => value);
    return values.length ? values.join(", ") : null;
  }
  getSetCookie() {
    return this.#all.filter(([known]) => known === "set-cookie").map(([, value]) => value);
  }
  *entries() {
    for (const name of [...new Set(this.#all.map(([known]) => known))].sort()) yield [name, this.get(name)];
  }
  *keys() {
    for (const [name] of this.entries()) yield name;
  }
  *values() {
    for (const [, value] of this.entries()) yield value;
  }
  forEach(run, self) {
    for (const [name, value] of this.entries()) run.call(self, value, name, this);
  }
  [Symbol.iterator]() {
    return this.entries();
  }
}

// The bytes of a body and its content type.
const sent = (body) => {
  if (body === undefined || body === null) return {};
  if (typeof body === "string") return { bytes: Buffer.from(body), type: "text/plain;charset=UTF-8" };
  if (body instanceof URLSearchParams) return { bytes: Buffer.from(`${body}`), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return { bytes: Buffer.from(inner.bytesOf(body)) };
  throw new TypeError("a body is a string, bytes, or URLSearchParams here");
};
class Body {
  #bytes;
  bodyUsed = false;
  body = null;
  constructor(init, headers) {
    const { bytes, type } = sent(init);
    this.#bytes = bytes;
    this.headers = new Headers(headers);
    if (type && !this.headers.has("content-type")) this.headers.set("content-type", type);
  }
  #take() {
    if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read");
    this.bodyUsed = this.#bytes !== undefined;
    return this.#bytes ?? Buffer.alloc(0);
  }
  async text() {
    return new TextDecoder().decode(this.#take());
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async bytes() {
    return new Uint8Array(this.#take());
  }
  async arrayBuffer() {
    return (await this.bytes()).buffer;
  }
  copied() {
    if (this.bodyUsed) throw new TypeError("Body has already been read");
    return this.#bytes;
  }
}
class Request extends Body {
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    super(init.body ?? from?.copied(), init.headers ?? from?.headers);
    this.url = from?.url ?? new URL(`${input}`).href;
    this.method = `${init.method ?? from?.method ?? "GET"}`;
    if (/^(?:get|head|post|put|delete|options)$/i.test(this.method)) this.method = this.method.toUpperCase();
    this.signal = init.signal ?? from?.signal;
    this.redirect = init.redirect ?? from?.redirect ?? "follow";
    if (this.copied() && /^(?:GET|HEAD)$/.test(this.method)) throw new TypeError("Request with GET/HEAD method cannot have body.");
  }
  clone() {
    return new Request(this);
  }
}
class Response extends Body {
  constructor(body, init = {}) {
    super(body, init.headers);
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? "";
    this.url = init.url ?? "";
    this.type = "default";
    this.redirected = false;
  }
  get ok() {
    return this.status >= 200 && this.status < 300;
  }
  clone() {
    return new Response(this.copied(), this);
  }
  static json(value, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(JSON.stringify(value), { ...init, headers });
  }
}

const failed = (why, fields) => Object.assign(new TypeError(`fetch failed: ${why}`), fields);
const exchange = (request) =>
  new Promise((resolve, reject) => {
    const { url, method, signal } = request;
    if (signal?.aborted) return reject(signal.reason);
    const bytes = request.copied();
    const ask = { url, method, headers: [...request.headers], body: bytes && inner.pack(bytes) };
    const run = __open("fetch", ask, ({ ok, err }) => {
      signal?.removeEventListener?.("abort", stop);
      if (err) reject(failed(err.message, { code: err.code }));
      else resolve(ok);
    });
    const stop = () => {
      run.close();
      reject(signal.reason);
    };
    signal?.addEventListener?.("abort", stop);
  });
const fetch = async (input, init) => {
  const request = new Request(input, init);
  const { status, words, headers, body } = await exchange(request);
  if (status > 300 && status < 400 && status !== 304 && request.redirect !== "manual") {
    throw failed(`HTTP ${status}: redirects are not followed; with redirect: "manual" the answer is given`);
  }
  return new Response(inner.unpack(body), { status, statusText: words, headers, url: request.url });
};
module.exports = { fetch, Headers, Request, Response };
