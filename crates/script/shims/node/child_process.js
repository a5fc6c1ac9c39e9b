// Programs. Every one runs in a group of its own, which ends at its timeout and with the engine.
const { needText, coded } = need("errors");
const { inner } = need("buffer");
const { spawn, prepared, fileOf } = need("child_spawn");
const CAP = 1 << 20;
const shelled = (command, options) => (needText("command", command), [command, [], { ...options, shell: options?.shell || true }]);
const split = (args, options) => (Array.isArray(args) ? [args, options ?? {}] : [[], args ?? options ?? {}]);

// ── at once ──
const fdOf = (stdio, at) => (Array.isArray(stdio) ? stdio[at] : stdio) ?? "pipe";
const passOn = (kind, level, packed) => {
  if (!packed) return;
  if (["inherit", 1, 2].includes(kind?.fd ?? kind)) globalThis.process[level].write(inner.decoded(packed, "utf8"));
};
const spawnSync = (file, given, more) => {
  needText("file", file);
  const [args, options] = split(given, more);
  const ask = prepared(file, args, options);
  const { input, encoding, stdio } = options;
  if (input !== undefined && input !== null) ask.input = typeof input === "string" ? inner.encoded(input, "utf8") : inner.pack(inner.bytesOf(input));
  if (ask.input !== undefined) ask.stdio[0] = "pipe";
  else if (fileOf(fdOf(stdio, 0)) === undefined) ask.stdio[0] = "ignore";
  ask.maxBuffer = Number.isFinite(options.maxBuffer ?? CAP) ? options.maxBuffer ?? CAP : undefined;
  let made;
  try {
    made = __op("run", ask);
  } catch (err) {
    if (!err.syscall) throw err;
    err.spawnargs = ask.shown;
    return { error: err, status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
  }
  const text = (at, name) => {
    const kind = fdOf(stdio, at);
    passOn(kind, name, made[name]);
    return kind === "pipe" || kind === "overlapped" ? inner.decoded(made[name], encoding) : null;
  };
  const [stdout, stderr] = [text(1, "stdout"), text(2, "stderr")];
  const result = { pid: made.pid, output: [null, stdout, stderr], stdout, stderr, status: made.signal ? null : made.status, signal: made.signal };
  if (!made.error) return result;
  const errno = { ETIMEDOUT: -110, ENOBUFS: -105 }[made.error];
  const syscall = `spawnSync ${ask.file}`;
  const error = coded(Error, made.error, `${syscall} ${made.error}`, { errno, syscall, path: ask.file, spawnargs: ask.shown });
  return { error, ...result };
};
const orThrow = (result, words) => {
  if (!result.error && result.status === 0) return result.stdout;
  const err = result.error ?? new Error(`Command failed: ${words}${result.stderr?.length ? `\n${result.stderr.toString()}` : ""}`);
  const { error, ...rest } = result;
  throw Object.assign(err, rest);
};
// Without a `stdio` option, stderr of a program goes to the host's error log.
const checked = (file, args, options, words) => {
  const result = spawnSync(file, args, options);
  if (options.stdio === undefined && result.stderr?.length) globalThis.process.stderr.write(result.stderr.toString());
  return orThrow(result, words);
};
const execFileSync = (file, given, more) => {
  const [args, options] = split(given, more);
  return checked(file, args, options, [file, ...args].join(" "));
};
const execSync = (command, options) => checked(...shelled(command, options), command);

// ── beside the module ──
const collected = (stream, child, name, options, state) => {
  const most = options.maxBuffer ?? CAP;
  const parts = [];
  let size = 0;
  stream?.on("data", (chunk) => {
    const room = most - size;
    size += chunk.length;
    if (chunk.length <= room) return void parts.push(chunk);
    if (room > 0) parts.push(chunk.subarray(0, room));
    if (state.error) return;
    state.error = coded(RangeError, "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", `${name} maxBuffer length exceeded`);
    child.kill(options.killSignal ?? "SIGTERM");
  });
  const encoding = options.encoding === undefined ? "utf8" : options.encoding;
  return () => {
    const whole = need("buffer").Buffer.concat(parts);
    return encoding && encoding !== "buffer" && need("buffer").Buffer.isEncoding(encoding) ? whole.toString(encoding) : whole;
  };
};
const followed = (file, args, options, words, done) => {
  const child = spawn(file, args, { ...options, stdio: "pipe" });
  const state = { error: null };
  const out = collected(child.stdout, child, "stdout", options, state);
  const err = collected(child.stderr, child, "stderr", options, state);
  let over = false;
  const end = (failure) => {
    if (over) return;
    over = true;
    const [stdout, stderr] = [out(), err()];
    if (failure) failure.cmd = words;
    done?.(failure, stdout, stderr);
  };
  child.once("error", (error) => end(error));
  child.once("close", (code, signal) => {
    if (state.error) return end(state.error);
    if (code === 0 && signal === null) return end(null);
    const failure = new Error(`Command failed: ${words}\n${err()}`);
    end(Object.assign(failure, { code, killed: child.killed || child.late === true, signal }));
  });
  return child;
};
const withPromise = (run) => {
  const promised = (...args) => {
    let child;
    const promise = new Promise((resolve, reject) => {
      child = run(...args, (err, stdout, stderr) => (err ? reject(Object.assign(err, { stdout, stderr })) : resolve({ stdout, stderr })));
    });
    return Object.assign(promise, { child });
  };
  return Object.defineProperty(run, Symbol.for("nodejs.util.promisify.custom"), { value: promised });
};
const exec = withPromise((command, options, done) => {
  if (typeof options === "function") [options, done] = [undefined, options];
  const [file, args, all] = shelled(command, options);
  return followed(file, args, all, command, done);
});
const execFile = withPromise((file, ...rest) => {
  const done = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
  needText("file", file);
  const [args, options] = split(rest[0], rest[1]);
  return followed(file, args, options, [file, ...args].join(" "), done);
});
const fork = () => {
  throw coded(Error, "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", "child_process.fork() needs a full host: import what it runs instead");
};
module.exports = { spawnSync, execSync, execFileSync, spawn, exec, execFile, fork, ChildProcess: need("child_spawn").ChildProcess };
