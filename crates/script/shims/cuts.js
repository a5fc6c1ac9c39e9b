// Cuts long texts to whole lines, by a number of lines and of bytes.
const DEFAULT_MAX_LINES = 3000;
const DEFAULT_MAX_BYTES = 50 * 1024;
const bytesOf = (text) => Buffer.byteLength(text, "utf8");
const measured = (content, { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = {}) => {
  const lines = content.split("\n");
  const totalBytes = bytesOf(content);
  const shape = {
    content, truncated: false, truncatedBy: null, totalLines: lines.length, totalBytes,
    outputLines: lines.length, outputBytes: totalBytes, lastLinePartial: false, firstLineExceedsLimit: false, maxLines, maxBytes,
  };
  return { lines, maxLines, maxBytes, shape, fits: lines.length <= maxLines && totalBytes <= maxBytes };
};
// The lines that fit, in order, and the first that does not.
const taken = (lines, maxLines, maxBytes) => {
  const kept = [];
  let bytes = 0;
  for (const line of lines) {
    if (kept.length >= maxLines) break;
    const room = maxBytes - bytes - (kept.length ? 1 : 0);
    // Bytes are never fewer than characters: a long line need not be counted.
    if (line.length > room || bytesOf(line) > room) return { kept, bytes, room, over: line };
    bytes = maxBytes - room + bytesOf(line);
    kept.push(line);
  }
  return { kept, bytes };
};
const truncateHead = (content, options) => {
  const { lines, maxLines, maxBytes, shape, fits } = measured(content, options);
  if (fits) return shape;
  const { kept, bytes, over } = taken(lines, maxLines, maxBytes);
  return {
    ...shape, content: kept.join("\n"), truncated: true, truncatedBy: over === undefined ? "lines" : "bytes",
    outputLines: kept.length, outputBytes: bytes, firstLineExceedsLimit: over !== undefined && kept.length === 0,
  };
};
// The end of a line that does not fit. Characters are not split.
const ending = (line, room) => {
  const bytes = Buffer.from(line.slice(Math.max(line.length - room, 0)), "utf8");
  let at = Math.max(bytes.length - room, 0);
  while (at < bytes.length && (bytes[at] & 0xc0) === 0x80) at++;
  return bytes.subarray(at).toString("utf8");
};
const truncateTail = (content, options) => {
  const { lines, maxLines, maxBytes, shape, fits } = measured(content, options);
  if (fits) return shape;
  const { kept, bytes, room, over } = taken(lines.reverse(), maxLines, maxBytes);
  const long = over !== undefined && room >= 0 && bytesOf(over) > maxBytes;
  const part = long ? ending(over, room) : "";
  const whole = [...(part ? [part] : []), ...kept.toReversed()];
  return {
    ...shape, content: whole.join("\n"), truncated: true, truncatedBy: over === undefined ? "lines" : "bytes",
    outputLines: whole.length, outputBytes: part ? bytesOf(whole.join("\n")) : bytes,
    ...(part || (long && !kept.length) ? { partialByteWindows: part !== "" } : {}), lastLinePartial: part !== "" && kept.length === 0,
  };
};
module.exports = { truncateHead, truncateTail, DEFAULT_MAX_LINES, DEFAULT_MAX_BYTES };
