// AsyncLocalStorage for work that is done one after the other: a store is seen until the function,
// or the promise that it returned, has ended. Work that runs at the same time shares it.
class AsyncLocalStorage {
  #store;
  #on = true;
  run(store, run, ...args) {
    const [before, on] = [this.#store, this.#on];
    const back = () => ([this.#store, this.#on] = [before, on]);
    [this.#store, this.#on] = [store, true];
    let made;
    try {
      made = run(...args);
    } catch (err) {
      back();
      throw err;
    }
    if (typeof made?.then !== "function") return back(), made;
    return made.then((value) => (back(), value), (err) => {
      back();
      throw err;
    });
  }
  exit(run, ...args) {
    return this.run(undefined, run, ...args);
  }
  enterWith(store) {
    [this.#store, this.#on] = [store, true];
  }
  getStore() {
    return this.#on ? this.#store : undefined;
  }
  disable() {
    this.#on = false;
  }
  static bind(run) {
    return run;
  }
  static snapshot() {
    return (run, ...args) => run(...args);
  }
}
class AsyncResource {
  constructor(type) {
    this.type = type;
  }
  runInAsyncScope(run, self, ...args) {
    return run.apply(self, args);
  }
  bind(run) {
    return run;
  }
  emitDestroy() {
    return this;
  }
  asyncId() {
    return 1;
  }
  static bind(run) {
    return run;
  }
}
module.exports = { AsyncLocalStorage, AsyncResource, executionAsyncId: () => 1, triggerAsyncId: () => 0, createHook: () => ({ enable() {}, disable() {} }) };
