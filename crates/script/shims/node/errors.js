// Errors in the words and with the codes that Node gives them.
const told = (value) => {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value === "function") return `function ${value.name}`;
  if (typeof value === "object") return value.constructor?.name ? `an instance of ${value.constructor.name}` : "an object";
  const text = typeof value === "string" ? `'${value.length > 28 ? `${value.slice(0, 25)}...` : value}'` : String(value);
  return `type ${typeof value} (${text})`;
};
const coded = (Base, code, message, fields) => {
  const made = Object.assign(new Base(message), { code, ...fields });
  Object.defineProperty(made, "name", { value: made.name, writable: true, configurable: true, enumerable: false });
  return made;
};
const wrongType = (name, wanted, value) =>
  coded(TypeError, "ERR_INVALID_ARG_TYPE", `The "${name}" argument must be ${wanted}. Received ${told(value)}`);
const needText = (name, value) => {
  if (typeof value !== "string") throw wrongType(name, "of type string", value);
};
const needFunction = (name, value) => {
  if (typeof value !== "function") throw wrongType(name, "of type function", value);
};
const aborted = (signal) =>
  Object.assign(new Error("The operation was aborted", { cause: signal?.reason }), { name: "AbortError", code: "ABORT_ERR" });
// Throws if the signal has already aborted.
const unaborted = (options) => {
  if (options?.signal?.aborted) throw aborted(options.signal);
};
module.exports = { unaborted, coded, wrongType, needText, needFunction, aborted };
