// Whether two values are the same all the way down.
const keysOf = (value) => [...Object.keys(value), ...Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key))];
const entries = (one, two, strict, seen) => {
  if (one instanceof Map) {
    for (const [key, value] of one) {
      const twin = two.has(key) ? key : [...two.keys()].find((other) => same(key, other, strict, seen));
      if (!two.has(twin) || !same(value, two.get(twin), strict, seen)) return false;
    }
  } else if (one instanceof Set) {
    for (const value of one) if (!two.has(value) && ![...two].some((other) => same(value, other, strict, seen))) return false;
  }
  return true;
};
const same = (one, two, strict, seen) => {
  if (Object.is(one, two) || (!strict && one == two)) return true;
  if (typeof one !== "object" || typeof two !== "object" || one === null || two === null) return !strict && Number.isNaN(one) && Number.isNaN(two);
  if (strict && Object.getPrototypeOf(one) !== Object.getPrototypeOf(two)) return false;
  if (Object.prototype.toString.call(one) !== Object.prototype.toString.call(two) || Array.isArray(one) !== Array.isArray(two)) return false;
  if (one instanceof Date && one.getTime() !== two.getTime()) return false;
  if (one instanceof RegExp && String(one) !== String(two)) return false;
  if (one instanceof Error && (one.message !== two.message || one.name !== two.name)) return false;
  if ((one instanceof String || one instanceof Number || one instanceof Boolean) && !Object.is(one.valueOf(), two.valueOf())) return false;
  if ((one instanceof Map || one instanceof Set) && one.size !== two.size) return false;
  if (seen.some(([a, b]) => a === one && b === two)) return true;
  const now = [...seen, [one, two]];
  const [own, other] = [keysOf(one), keysOf(two)];
  if (own.length !== other.length || one.length !== two.length) return false;
  return own.every((key) => Object.hasOwn(two, key) && same(one[key], two[key], strict, now)) && entries(one, two, strict, now);
};
module.exports = { same: (one, two, strict) => same(one, two, strict, []) };
