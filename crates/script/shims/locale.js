// Numbers, dates and collation in English (en-US). Code that names a locale or an option needs a
// full host; here these arguments are ignored.
const grouped = (digits) => digits.replace(/\B(?=(?:\d{3})+$)/g, ",");
const number = (value) => {
  if (Number.isNaN(value)) return "NaN";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (!Number.isFinite(value)) return `${sign}∞`;
  // The shortest digits that mean the number are rounded, not its exact value: 1.0005 is 1.001.
  const [digits, exponent] = Math.abs(value).toExponential().replace(".", "").split("e");
  const kept = Number(exponent) + 4;
  const up = kept >= 0 && digits[kept] >= "5" ? 1n : 0n;
  const thousandths = `${BigInt(digits.slice(0, Math.max(kept, 0)).padEnd(kept, "0")) + up}`.padStart(4, "0");
  const fraction = thousandths.slice(-3).replace(/0+$/, "");
  return `${sign}${grouped(thousandths.slice(0, -3))}${fraction && "."}${fraction}`;
};
const bigint = (value) => (value < 0n ? `-${grouped(`${-value}`)}` : grouped(`${value}`));

const two = (part) => `${part}`.padStart(2, "0");
// There is no year 0: the one before 1 is 1 as well.
const day = (date) => `${date.getMonth() + 1}/${date.getDate()}/${date.getFullYear() > 0 ? date.getFullYear() : 1 - date.getFullYear()}`;
const time = (date) => `${date.getHours() % 12 || 12}:${two(date.getMinutes())}:${two(date.getSeconds())} ${date.getHours() < 12 ? "AM" : "PM"}`;
const valid = (show) => (date) => (Number.isNaN(Date.prototype.getTime.call(date)) ? "Invalid Date" : show(date));

// The order of the root collation: blanks, marks, digits, letters.
const MARKS = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
const DIGITS = 0x200000;
const LETTERS = 0x400000;
const latin = { ß: "ss", æ: "ae", œ: "oe", þ: "th", ø: "o", đ: "d", ð: "d", ł: "l", ı: "i" };
const rank = (letter) => {
  const at = MARKS.indexOf(letter);
  if (at >= 0) return at + 1;
  const code = letter.codePointAt(0);
  if (/\p{L}/u.test(letter)) return LETTERS + code;
  return /\d/.test(letter) ? DIGITS + code : MARKS.length + 1 + code;
};
const plain = Array.from({ length: 128 }, (_, code) => rank(String.fromCharCode(code).toLowerCase()));
const hidden = /[\0-\x08\x0e-\x1f\x7f]/g;
// Compares letters first, then accents, then case.
const levels = (text) => {
  const [ranks, accents, cases] = [[], [], []];
  for (const one of text.normalize("NFD").replace(hidden, "")) {
    if (/\p{M}/u.test(one)) {
      accents[Math.max(ranks.length - 1, 0)] = `${accents[ranks.length - 1] ?? ""}${one}`;
      continue;
    }
    const lower = one.toLowerCase();
    for (const letter of latin[lower] ?? lower) {
      ranks.push(rank(letter));
      accents[ranks.length - 1] = latin[lower] ? lower : "";
      cases.push(one === lower ? 0 : 1);
    }
  }
  return [ranks, accents, cases];
};
const ordered = (one, two) => {
  const most = Math.min(one.length, two.length);
  for (let at = 0; at < most; at++) if (one[at] !== two[at]) return one[at] < two[at] ? -1 : 1;
  return Math.sign(one.length - two.length);
};
const visible = /^[ -~]*$/;
const compare = (one, two) => {
  if (one === two) return 0;
  if (!visible.test(one) || !visible.test(two)) {
    const [mine, yours] = [levels(one), levels(two)];
    return ordered(mine[0], yours[0]) || ordered(mine[1], yours[1]) || ordered(mine[2], yours[2]);
  }
  const most = Math.min(one.length, two.length);
  for (let at = 0; at < most; at++) {
    const apart = plain[one.charCodeAt(at)] - plain[two.charCodeAt(at)];
    if (apart) return Math.sign(apart);
  }
  // The same letters: those in lower case, whose codes are higher, come first.
  return Math.sign(one.length - two.length) || (one > two ? -1 : 1);
};
module.exports = {
  Number: { toLocaleString: (own) => number(Number.prototype.valueOf.call(own)) },
  BigInt: { toLocaleString: (own) => bigint(BigInt.prototype.valueOf.call(own)) },
  Date: {
    toLocaleString: valid((date) => `${day(date)}, ${time(date)}`),
    toLocaleDateString: valid(day),
    toLocaleTimeString: valid(time),
  },
  String: {
    localeCompare(own, that) {
      if (own === null || own === undefined) throw new TypeError("String.prototype.localeCompare called on null or undefined");
      return compare(`${own}`, `${that}`);
    },
  },
};
