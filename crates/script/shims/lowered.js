// Runtime helpers of lowered syntax (`using`, decorators).
const disposer = (value, async) => {
  if (value === null || value === undefined) return undefined;
  const method = (async && value[Symbol.asyncDispose ?? "asyncDispose"]) || value[Symbol.dispose ?? "dispose"];
  if (typeof method !== "function") throw new TypeError("Property [Symbol.dispose] is not a function.");
  return () => method.call(value);
};
const usingCtx = () => {
  const stack = [];
  const none = {};
  const push = (async) => (value) => {
    stack.push({ run: disposer(value, async), async });
    return value;
  };
  return {
    e: none,
    u: push(false),
    a: push(true),
    d() {
      let error = this.e;
      const failed = (err) => {
        error = error === none ? err : Object.assign(new Error("An error was suppressed during disposal"), { error: err, suppressed: error });
      };
      const next = () => {
        for (let item = stack.pop(); item; item = stack.pop()) {
          try {
            const result = item.run?.();
            if (item.async) return Promise.resolve(result).then(next, (err) => (failed(err), next()));
          } catch (err) {
            failed(err);
          }
        }
        if (error !== none) throw error;
      };
      return next();
    },
  };
};
const decorate = (decorators, target, key, desc) => {
  let made = first(key, desc, target);
  for (const decorator of [...decorators].reverse()) {
    made = (key === undefined ? decorator(made) : decorator(target, key, made ?? undefined)) || made;
  }
  if (key !== undefined && made) Object.defineProperty(target, key, made);
  return made;
};
const first = (key, desc, target) => {
  if (key === undefined) return target;
  return desc === null ? Object.getOwnPropertyDescriptor(target, key) : desc;
};
const decorateParam = (index, decorator) => (target, key) => decorator(target, key, index);
module.exports = { babelHelpers: { usingCtx, decorate, decorateParam, decorateMetadata: () => () => {} } };
