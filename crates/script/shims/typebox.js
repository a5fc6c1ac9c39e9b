// A small schema builder with the shape of typebox: every call gives a plain JSON Schema object.
const Kind = Symbol.for("TypeBox.Kind");
const Optional = Symbol.for("TypeBox.Optional");
const tag = (kind, schema, options) => {
  const made = { ...schema, ...(options ?? {}) };
  Object.defineProperty(made, Kind, { value: kind, enumerable: false });
  return made;
};
const mark = (schema, optional) => {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema));
  Object.defineProperty(copy, Optional, { value: optional, enumerable: false, configurable: true });
  return copy;
};
const simple = (kind, type) => (options) => tag(kind, { type }, options);
const object = (properties, options) => {
  const required = Object.keys(properties).filter((key) => !properties[key]?.[Optional]);
  const schema = { type: "object", properties };
  if (required.length) schema.required = required;
  return tag("Object", schema, options);
};
const pick = (schema, keep) =>
  object(Object.fromEntries(Object.entries(schema.properties).filter(([key]) => keep(key))));
const names = (keys) => (Array.isArray(keys) ? keys : (keys?.anyOf ?? [keys]).map((k) => k?.const ?? k));
const map = (schema, optional) =>
  object(Object.fromEntries(Object.entries(schema.properties).map(([k, v]) => [k, mark(v, optional)])));

const Type = {
  String: simple("String", "string"),
  Number: simple("Number", "number"),
  Integer: simple("Integer", "integer"),
  Boolean: simple("Boolean", "boolean"),
  Null: simple("Null", "null"),
  Any: (options) => tag("Any", {}, options),
  Unknown: (options) => tag("Unknown", {}, options),
  Never: (options) => tag("Never", { not: {} }, options),
  Undefined: (options) => tag("Undefined", { type: "undefined" }, options),
  Void: (options) => tag("Void", { type: "void" }, options),
  Literal: (value, options) => tag("Literal", { const: value, type: typeof value }, options),
  Array: (items, options) => tag("Array", { type: "array", items }, options),
  Tuple: (items, options) =>
    tag("Tuple", { type: "array", items, additionalItems: false, minItems: items.length, maxItems: items.length }, options),
  Object: object,
  Union: (anyOf, options) => tag("Union", { anyOf }, options),
  Intersect: (allOf, options) => tag("Intersect", { type: "object", allOf }, options),
  Composite: (parts, options) => object(Object.assign({}, ...parts.map((p) => p.properties)), options),
  Record: (_key, value, options) => tag("Record", { type: "object", patternProperties: { "^(.*)$": value } }, options),
  Enum: (members, options) => {
    const values = Object.entries(members).filter(([key]) => Number.isNaN(Number(key))).map(([, value]) => value);
    return tag("Union", { anyOf: values.map((value) => ({ const: value, type: typeof value })) }, options);
  },
  Optional: (schema) => mark(schema, true),
  Required: (schema) => map(schema, false),
  Partial: (schema) => map(schema, true),
  Readonly: (schema) => schema,
  Pick: (schema, keys) => pick(schema, (key) => names(keys).includes(key)),
  Omit: (schema, keys) => pick(schema, (key) => !names(keys).includes(key)),
  KeyOf: (schema) => tag("Union", { anyOf: Object.keys(schema.properties).map((key) => ({ const: key, type: "string" })) }),
  Ref: (to, options) => tag("Ref", { $ref: typeof to === "string" ? to : to.$id }, options),
  Unsafe: (options) => tag("Unsafe", {}, options),
  Date: (options) => tag("Date", { type: "Date" }, options),
  RegExp: (pattern, options) => tag("String", { type: "string", pattern: pattern.source ?? pattern }, options),
  TemplateLiteral: (pattern, options) => tag("TemplateLiteral", { type: "string", pattern: String(pattern) }, options),
};
module.exports = { Type, Kind, Optional, default: Type };
