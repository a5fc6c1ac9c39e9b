// The helpers that modules take from Node.
const { inspect, format } = need("inspect");
const { needFunction } = need("errors");
const { TextEncoder, TextDecoder } = need("web");
const promised = Symbol.for("nodejs.util.promisify.custom");
const promisify = (run) => {
  needFunction("original", run);
  if (typeof run[promised] === "function") return run[promised];
  return Object.defineProperty(
    function (...args) {
      return new Promise((resolve, reject) => run.call(this, ...args, (err, value) => (err ? reject(err) : resolve(value))));
    },
    "name",
    { value: run.name },
  );
};
promisify.custom = promised;
const callbackify = (run) => (...args) => {
  const done = args.pop();
  run(...args).then((value) => queueMicrotask(() => done(null, value)), (err) => queueMicrotask(() => done(err ?? new Error("Promise was rejected with a falsy value"))));
};
// Sequences that colour, move and name in a terminal.
const ansi = /[\u001b\u009b][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\u005c|\u009c))|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-ntqry=><~]))/g;
const tagged = (tag) => (value) => Object.prototype.toString.call(value) === `[object ${tag}]`;
const types = {
  isDate: (value) => value instanceof Date,
  isRegExp: (value) => value instanceof RegExp,
  isMap: (value) => value instanceof Map,
  isSet: (value) => value instanceof Set,
  isWeakMap: (value) => value instanceof WeakMap,
  isWeakSet: (value) => value instanceof WeakSet,
  isPromise: (value) => value instanceof Promise,
  isNativeError: (value) => value instanceof Error,
  isProxy: () => false,
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isUint8Array: (value) => value instanceof Uint8Array,
  isArrayBuffer: (value) => value instanceof ArrayBuffer,
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer,
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isDataView: (value) => value instanceof DataView,
  isAsyncFunction: tagged("AsyncFunction"),
  isGeneratorFunction: tagged("GeneratorFunction"),
  isGeneratorObject: tagged("Generator"),
  isSymbolObject: (value) => typeof value === "object" && tagged("Symbol")(value),
  isBoxedPrimitive: (value) => value instanceof String || value instanceof Number || value instanceof Boolean,
};
const colours = { bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39] };
const quiet = Object.assign(() => {}, { enabled: false });
const is = (type) => (value) => typeof value === type;
module.exports = {
  inspect, format, promisify, callbackify, types, TextEncoder, TextDecoder,
  formatWithOptions: (_, ...args) => format(...args),
  stripVTControlCharacters: (text) => String(text).replace(ansi, ""),
  styleText: (style, text) => [style].flat().reduceRight((sum, one) => `\u001b[${colours[one]?.[0] ?? 0}m${sum}\u001b[${colours[one]?.[1] ?? 0}m`, text),
  inherits: (type, parent) => {
    Object.defineProperty(type, "super_", { value: parent, writable: true, configurable: true });
    Object.setPrototypeOf(type.prototype, parent.prototype);
  },
  deprecate: (run) => run,
  parseArgs: (config) => need("parse_args").parseArgs(config),
  debuglog: () => quiet,
  debug: () => quiet,
  isDeepStrictEqual: (one, two) => need("deep").same(one, two, true),
  toUSVString: (text) => String(text).toWellFormed(),
  isArray: Array.isArray, isString: is("string"), isNumber: is("number"), isBoolean: is("boolean"), isFunction: is("function"),
  isUndefined: is("undefined"), isNull: (value) => value === null, isNullOrUndefined: (value) => value == null,
  isObject: (value) => typeof value === "object" && value !== null, isRegExp: types.isRegExp, isDate: types.isDate, isError: types.isNativeError,
  getSystemErrorName: (number) => Object.entries(need("os").constants.errno).find(([, n]) => n === -number)?.[0],
};
