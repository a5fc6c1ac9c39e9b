// Files by descriptor and as wholes. The host's own streams are not a module's: input is empty,
// and what is written becomes a log.
const { Buffer, inner } = need("buffer");
const { coded, wrongType } = need("errors");
const CHUNK = 256 << 10;
const constants = {
  F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4,
  O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_TRUNC: 0o1000, O_APPEND: 0o2000,
  S_IFMT: 0o170000, S_IFREG: 0o100000, S_IFDIR: 0o40000, S_IFLNK: 0o120000,
  S_IRUSR: 0o400, S_IWUSR: 0o200, S_IXUSR: 0o100, S_IRWXU: 0o700,
};
const STREAMS = { "/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2 };
const pathOf = (path, name = "path") => {
  const text = path instanceof need("url").URL ? need("url").fileURLToPath(path) : path instanceof Uint8Array ? Buffer.from(path).toString() : path;
  if (typeof text !== "string") throw wrongType(name, "of type string or an instance of Buffer or URL", path);
  if (text.includes("\0")) throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received '${text.replaceAll("\0", "\\x00")}'`);
  return text;
};
const optionsOf = (options) => (typeof options === "string" ? { encoding: options } : options ?? {});
const modeOf = (mode, otherwise) => (typeof mode === "string" ? Number.parseInt(mode, 8) : mode ?? otherwise);
const WORDS = { r: {}, w: { create: true, truncate: true }, a: { create: true, append: true } };
const howOf = (flag) => {
  if (typeof flag === "number") {
    const access = flag & 3;
    const has = (bit) => (flag & bit) !== 0;
    return {
      read: access !== 1, write: access !== 0 && !has(constants.O_APPEND), append: access !== 0 && has(constants.O_APPEND),
      create: has(constants.O_CREAT), exclusive: has(constants.O_CREAT) && has(constants.O_EXCL), truncate: has(constants.O_TRUNC),
    };
  }
  const [, letter, rest] = /^([rwa])((?:[xs]?\+?)|(?:\+[xs]))$/.exec(flag) ?? [];
  if (!letter) throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'flags' is invalid. Received '${flag}'`);
  const both = rest.includes("+");
  return { ...WORDS[letter], read: letter === "r" || both, write: letter === "w" || (letter === "r" && both), exclusive: rest.includes("x") };
};
const openSync = (path, flags = "r", mode = 0o666) => {
  const text = pathOf(path);
  if (text in STREAMS) return STREAMS[text];
  return __op("fd.open", { path: text, how: howOf(flags ?? "r"), mode: modeOf(mode, 0o666) }) + 2;
};
const needNumber = (fd) => {
  if (typeof fd !== "number") throw wrongType("fd", "of type number", fd);
};
const act = (what, fd, args) => (needNumber(fd), __op("fd.act", { ...args, do: what, fd: fd - 2 }));
const closeSync = (fd) => {
  needNumber(fd);
  if (fd > 2) __op("fd.close", { fd: fd - 2 });
};
const readPacked = (fd, length, position) =>
  fd === 0 ? "" : act("read", fd, { length, position: typeof position === "bigint" ? Number(position) : position ?? undefined });
const readSync = (fd, buffer, offset, length, position) => {
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  const target = inner.bytesOf(buffer);
  const at = offset ?? 0;
  const packed = readPacked(fd, Math.min(length ?? target.length - at, target.length - at), position !== undefined && position >= 0 ? position : undefined);
  for (let i = 0; i < packed.length; i++) target[at + i] = packed.charCodeAt(i);
  return packed.length;
};
const writePacked = (fd, packed, position) => {
  if (fd === 1 || fd === 2) {
    globalThis.process[fd === 1 ? "stdout" : "stderr"].write(inner.decoded(packed, "utf8"));
    return packed.length;
  }
  let done = 0;
  while (done < packed.length) {
    const data = packed.slice(done, done + CHUNK);
    done += act("write", fd, { data, position: typeof position === "number" ? position + done : undefined });
  }
  return done;
};
const writeSync = (fd, data, offset, length, position) => {
  if (typeof data === "string") return writePacked(fd, inner.encoded(data, length), offset);
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  const bytes = inner.bytesOf(data);
  const at = offset ?? 0;
  return writePacked(fd, inner.pack(bytes.subarray(at, at + (length ?? bytes.length - at))), position);
};
const using = (path, flags, mode, run) => {
  if (typeof path === "number") return run(path);
  const fd = openSync(path, flags, mode);
  try {
    return run(fd);
  } finally {
    closeSync(fd);
  }
};
const isUtf8 = (encoding) => encoding && encoding !== "buffer" && inner.encodingOf(encoding) === "utf8";
const readFileSync = (path, options) => {
  const { encoding, flag = "r" } = optionsOf(options);
  if (encoding && encoding !== "buffer") inner.encodingOf(encoding);
  if (isUtf8(encoding) && flag === "r" && typeof path !== "number" && !(path in STREAMS)) return __op("fs.readText", { path: pathOf(path) });
  return using(path, flag, undefined, (fd) => {
    const parts = [];
    for (let part = readPacked(fd, CHUNK); part.length; part = readPacked(fd, CHUNK)) parts.push(inner.unpack(part));
    const whole = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    return encoding && encoding !== "buffer" ? whole.toString(encoding) : whole;
  });
};
const packedData = (data, encoding) => {
  if (typeof data === "string") return inner.encoded(data, encoding);
  if (!ArrayBuffer.isView(data)) throw wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
  return inner.pack(inner.bytesOf(data));
};
const writeFileSync = (path, data, options) => {
  const { encoding, flag = "w", mode } = optionsOf(options);
  if (typeof data === "string" && isUtf8(encoding ?? "utf8") && typeof path !== "number" && !(path in STREAMS)) {
    return void __op("fs.write", { path: pathOf(path), how: howOf(flag), mode: modeOf(mode, 0o666), data: data.toWellFormed(), utf8: true });
  }
  const packed = packedData(data, encoding);
  using(path, flag, mode, (fd) => void writePacked(fd, packed));
};
const appendFileSync = (path, data, options) => writeFileSync(path, data, { ...optionsOf(options), flag: optionsOf(options).flag ?? "a" });
module.exports = { constants, pathOf, optionsOf, modeOf, act, openSync, closeSync, readSync, writeSync, readFileSync, writeFileSync, appendFileSync };
