// `assert`.
const { inspect } = need("inspect");
const { same } = need("deep");
class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
    this.name = "AssertionError";
    this.code = "ERR_ASSERTION";
    this.generatedMessage = message === undefined;
    Object.assign(this, { actual, expected, operator });
  }
}
const claim = (holds, operator, actual, expected, message, words) => {
  if (holds) return;
  if (message instanceof Error) throw message;
  const made = new AssertionError({ message: message ?? words, actual, expected, operator });
  made.generatedMessage = message === undefined;
  throw made;
};
const pair = (operator, test, words) => (actual, expected, message) =>
  claim(test(actual, expected), operator, actual, expected, message, `${words}\n\n${inspect(actual)} !== ${inspect(expected)}\n`);
const assert = (value, message) => claim(value, "==", value, true, message, "The expression evaluated to a falsy value");
const fits = (err, wanted) => {
  if (wanted === undefined) return true;
  if (wanted instanceof RegExp) return wanted.test(String(err));
  if (typeof wanted === "function") return wanted.prototype !== undefined && err instanceof wanted ? true : Error.isPrototypeOf(wanted) ? false : wanted.call({}, err) === true;
  return Object.keys(wanted).every((key) => (wanted[key] instanceof RegExp && typeof err?.[key] === "string" ? wanted[key].test(err[key]) : same(err?.[key], wanted[key], true)));
};
const threw = (err, wanted, message, operator) => {
  if (typeof wanted === "string") [wanted, message] = [undefined, wanted];
  if (!fits(err, wanted)) {
    if (typeof wanted === "function" || wanted === undefined) throw err;
    claim(false, operator, err, wanted, message, `The error does not match: ${inspect(err)}`);
  }
};
const missing = (operator, wanted, message) =>
  claim(false, operator, undefined, wanted, typeof wanted === "string" ? wanted : message, `Missing expected ${operator === "throws" ? "exception" : "rejection"}.`);
Object.assign(assert, {
  AssertionError,
  ok: assert,
  fail: (message = "Failed") => claim(false, "fail", undefined, undefined, message),
  equal: pair("==", (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b)), "Expected values to be loosely equal:"),
  notEqual: pair("!=", (a, b) => a != b, "Expected values to be loosely unequal:"),
  strictEqual: pair("strictEqual", Object.is, "Expected values to be strictly equal:"),
  notStrictEqual: pair("notStrictEqual", (a, b) => !Object.is(a, b), "Expected \"actual\" to be strictly unequal to:"),
  deepEqual: pair("deepEqual", (a, b) => same(a, b, false), "Expected values to be loosely deep-equal:"),
  notDeepEqual: pair("notDeepEqual", (a, b) => !same(a, b, false), "Expected \"actual\" not to be loosely deep-equal to:"),
  deepStrictEqual: pair("deepStrictEqual", (a, b) => same(a, b, true), "Expected values to be strictly deep-equal:"),
  notDeepStrictEqual: pair("notDeepStrictEqual", (a, b) => !same(a, b, true), "Expected \"actual\" not to be strictly deep-equal to:"),
  match: pair("match", (text, pattern) => typeof text === "string" && pattern.test(text), "The input did not match the regular expression:"),
  doesNotMatch: pair("doesNotMatch", (text, pattern) => typeof text !== "string" || !pattern.test(text), "The input was expected to not match the regular expression:"),
  throws: (run, wanted, message) => {
    try {
      run();
    } catch (err) {
      return threw(err, wanted, message, "throws");
    }
    missing("throws", wanted, message);
  },
  doesNotThrow: (run) => void run(),
  rejects: async (run, wanted, message) => {
    try {
      await (typeof run === "function" ? run() : run);
    } catch (err) {
      return threw(err, wanted, message, "rejects");
    }
    missing("rejects", wanted, message);
  },
  doesNotReject: async (run) => void (await (typeof run === "function" ? run() : run)),
  ifError: (value) => {
    if (value !== null && value !== undefined) throw value instanceof Error ? value : new AssertionError({ message: `ifError got unwanted exception: ${inspect(value)}`, actual: value, operator: "ifError" });
  },
});
assert.strict = Object.assign((...args) => assert(...args), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
module.exports = assert;
