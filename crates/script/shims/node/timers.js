// Timers, as functions of a module.
const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;
module.exports = {
  setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate,
  get promises() {
    return need("timers/promises");
  },
};
