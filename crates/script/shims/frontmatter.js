// Parses the YAML between two lines of dashes at the start of a text. Supports common YAML only;
// anchors and tags are errors.
const blank = (line) => /^\s*(?:#.*)?$/.test(line);
const dashed = (text) => /^-(?:\s|$)/.test(text);
const KEY = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s"'[{&*!|>%@`#-].*?|-[^\s].*?))\s*:(?:\s+(.*))?$/;
const ESCAPES = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f", v: "\v", 0: "\0", a: "\x07", e: "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\" };
const unexpected = () => new Error("YAML Parse error: Unexpected token");
const unescaped = (text) =>
  text.replace(/\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|(.))/gi, (_, two, four, eight, one) => {
    const code = two ?? four ?? eight;
    if (code) return String.fromCodePoint(parseInt(code, 16));
    if (!(one in ESCAPES)) throw unexpected();
    return ESCAPES[one];
  });
const NAMED = { "": null, "~": null, null: null, true: true, false: false, ".inf": Infinity, "-.inf": -Infinity, ".nan": NaN };
const scalar = (text) => {
  if (/^(?:[&*!|>%@`"'[\]{},]|[-:?](?:\s|$))/.test(text)) throw unexpected();
  const known = text.toLowerCase();
  const spelt = [known, known.toUpperCase(), known.charAt(0).toUpperCase() + known.slice(1)];
  if (Object.hasOwn(NAMED, known) && spelt.includes(text)) return NAMED[known];
  if (/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:e[-+]?\d+)?$/i.test(text) || /^0(?:x[\da-f]+|o[0-7]+)$/i.test(text)) return Number(text);
  return text;
};
const uncommented = (text) => text.replace(/(?:^|\s+)#.*$/, "").trimEnd();

// Values in brackets and quotes, which may span lines. Undefined if the text ends too soon.
const flow = (text) => {
  let at = 0;
  const skip = () => (at += /^(?:\s|#.*(?:\n|$))*/.exec(text.slice(at))[0].length);
  const taken = (pattern) => {
    const found = pattern.exec(text.slice(at));
    at += found?.[0].length ?? 0;
    return found;
  };
  const quoted = () => {
    const found = taken(text[at] === '"' ? /^"((?:[^"\\]|\\[^])*)"/ : /^'((?:[^']|'')*)'/);
    if (!found) return undefined;
    const folded = found[1].replace(/\\?[ ]*\n\s*/g, (gap) => (gap[0] === "\\" ? "" : " "));
    return found[0][0] === '"' ? unescaped(folded) : folded.replaceAll("''", "'");
  };
  const many = (close, one) => {
    at++;
    for (;;) {
      skip();
      if (at >= text.length) return false;
      if (text[at] === close) return at++, true;
      if (one() === undefined) return false;
      skip();
      if (text[at] === ",") at++;
      else if (at < text.length && text[at] !== close) throw unexpected();
    }
  };
  const pair = (made) => {
    const name = /["']/.test(text[at]) ? quoted() : taken(/^[^,:{}[\]\n]*(?::(?!\s|,|\}|$)[^,:{}[\]\n]*)*/)[0].trim();
    skip();
    if (name === undefined) return undefined;
    if (text[at] !== ":") return (made[name] = null), made;
    at++;
    skip();
    const given = /[,}]/.test(text[at] ?? "") ? null : value();
    return given === undefined ? undefined : ((made[name] = given), made);
  };
  const value = () => {
    if (at >= text.length) return undefined;
    if (/["']/.test(text[at])) return quoted();
    const [list, map] = [[], {}];
    if (text[at] === "[") return many("]", () => (list.push(value()), list.at(-1))) ? list : undefined;
    if (text[at] === "{") return many("}", () => pair(map)) ? map : undefined;
    return scalar(taken(/^(?:[^,[\]{}\n#]|(?<!\s)#)*/)[0].trim());
  };
  const made = value();
  skip();
  if (made !== undefined && at < text.length) throw unexpected();
  return made;
};

class Reader {
  #lines;
  #at = 0;
  constructor(text) {
    this.#lines = text.replaceAll("\t", "  ").split("\n");
  }
  // The indentation of the next line with content; -1 after the last.
  get depth() {
    while (this.#at < this.#lines.length && blank(this.#lines[this.#at])) this.#at++;
    return this.#at < this.#lines.length ? this.#lines[this.#at].search(/\S/) : -1;
  }
  get #line() {
    return this.#lines[this.#at].trim();
  }
  node(least) {
    const { depth } = this;
    if (depth < least) return null;
    if (dashed(this.#line)) return this.#list(depth);
    return KEY.test(this.#line) ? this.#map(depth) : this.#value(this.#line, depth - 1);
  }
  #list(depth) {
    const made = [];
    while (this.depth === depth && dashed(this.#line)) {
      const rest = this.#line.slice(1).trimStart();
      // Keep the column of the text after the dash: it may be a map that continues below.
      this.#lines[this.#at] = this.#lines[this.#at].replace("-", " ");
      const inner = blank(rest) || dashed(rest) || KEY.test(rest);
      made.push(inner ? this.node(depth + 1) : this.#value(rest, depth));
    }
    return made;
  }
  #map(depth) {
    const made = {};
    while (this.depth === depth) {
      const found = KEY.exec(this.#line);
      if (!found) throw unexpected();
      const [, double, single, plain, rest = ""] = found;
      const name = double !== undefined ? unescaped(double) : (single?.replaceAll("''", "'") ?? plain);
      made[name] = this.#value(rest, depth);
    }
    if (this.depth > depth) throw unexpected();
    return made;
  }
  #value(rest, depth) {
    this.#at++;
    if (blank(rest)) return this.depth === depth && dashed(this.#line) ? this.#list(depth) : this.node(depth + 1);
    const kind = /^([|>])([-+]?)\d?([-+]?)\s*(?:#.*)?$/.exec(rest);
    if (kind) return this.#text(kind[1] === ">", kind[2] || kind[3], depth);
    if (/^["'[{]/.test(rest)) return this.#flow(rest, depth);
    const words = [uncommented(rest)];
    while (this.depth > depth) {
      if (KEY.test(this.#line) || words.at(-1) !== rest) throw unexpected();
      words.push(uncommented((rest = this.#line)));
      this.#at++;
    }
    return words.length > 1 ? words.join(" ") : scalar(words[0]);
  }
  #flow(rest, depth) {
    for (let text = rest; ; text += `\n${this.#line}`, this.#at++) {
      const made = flow(text);
      if (made !== undefined) return made;
      const closes = this.depth === depth && /^[\]}]/.test(this.#line);
      if (this.depth <= depth && !closes) throw unexpected();
    }
  }
  #text(folds, chomp, depth) {
    const taken = [];
    while (this.#at < this.#lines.length && (/^\s*$/.test(this.#lines[this.#at]) || this.#lines[this.#at].search(/\S/) > depth)) taken.push(this.#lines[this.#at++]);
    const edge = taken.find((line) => line.trim())?.search(/\S/) ?? 0;
    const whole = taken.map((line) => line.slice(edge)).join("\n");
    const body = whole.replace(/\s+$/, "");
    const text = folds ? body.replace(/(?<=^\S.*)\n(?=\S)/gm, " ").replace(/(?<=^\S.*)\n(\n+)(?=\S)/gm, "$1") : body;
    return chomp === "-" || !body ? text : chomp === "+" ? `${text}${whole.slice(body.length)}\n` : `${text}\n`;
  }
}
// `some-key` is read as `someKey`, however deep.
const named = (value) => {
  if (Array.isArray(value)) return value.map(named);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name.replace(/-([a-z])/g, (_, c) => c.toUpperCase()), named(one)]));
};
const read = (text) => {
  const reader = new Reader(text);
  const made = reader.node(0);
  if (reader.depth !== -1) throw unexpected();
  return made !== null && typeof made === "object" && !Array.isArray(made) ? named(made) : {};
};
const parseFrontmatter = (content) => {
  const text = `${content}`.replace(/\r\n?/g, "\n").replace(/<!--[^]*?-->/g, "");
  const end = text.startsWith("---") ? text.indexOf("\n---", 3) : -1;
  if (end < 0) return { frontmatter: {}, body: text };
  try {
    return { frontmatter: read(text.slice(4, end)), body: text.slice(end + 4).trim() };
  } catch (cause) {
    const shown = content.length > 64 ? `${content.slice(0, 63)}…` : content;
    throw Object.assign(new Error(`Failed to parse YAML frontmatter (Inline '${shown}'): ${cause.message}`, { cause }), { name: "FrontmatterError" });
  }
};
module.exports = { parseFrontmatter };
