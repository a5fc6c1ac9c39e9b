export function probe() {
  const out = [];
  for (const n of [12345, 0, -0, 1, 999, 1000, -1234567.891, 1.0005, 0.0005, 0.00049, -0.0001, 1e-7, 0.5, 1234.5678, 999.9996, 9.9995, 2 ** 53, 2 ** 100, 1e21, 1.5e300, 123456789012345680000, NaN, Infinity, -Infinity]) out.push(n.toLocaleString());
  for (const n of [0n, 12n, -1234n, 12345678901234567890n]) out.push(n.toLocaleString());
  for (const at of [1e12, 0, -1e14, -62198755200000, 8.64e15, NaN, 1.7e12, 1700000000000 + 43200000]) { const d = new Date(at); out.push([d.toLocaleString(), d.toLocaleDateString(), d.toLocaleTimeString()]); }
  out.push([1234.5, null, undefined, "x", 10000n].toLocaleString(), new Float64Array([1e6, 2.25]).toLocaleString());
  const sorted = (list) => list.sort((a, b) => a.localeCompare(b));
  out.push(sorted(["src", "README.md", "Cargo.toml", "a.ts", "_x", ".git", "b", "B", "A", "a", "aB", "Ab", "ab", "10", "9", "a-b", "a_b", "a b", "", "[x]", "~", "@scope/x"]));
  const ascii = Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n)); out.push(sorted(ascii).join(""));
  out.push(sorted(["zebra", "Äpfel", "äpfel", "apfel", "Apfel", "apfelz", "émile", "emile", "Emile", "emilf", "résumé", "resume", "resumé", "straße", "strasse", "strassen", "øre", "ore", "orf", "日本", "あ", "alpha", "β", "б", "łódź", "lodz", "lody", "naïve", "naive", "naivf"]));
  const signs = []; for (const a of ["a", "B", "é", "\t", "-", "1", "a\u0001"]) for (const b of ["a", "b", "e", "é", "e\u0301", "É", " ", "_", "2", "aa", "A"]) signs.push(a.localeCompare(b)); out.push(signs);
  out.push("undefined".localeCompare(), "null".localeCompare(null), [..."ñnoÑN"].sort((a, b) => a.localeCompare(b)).join(""));
  out.push(Number.prototype.toLocaleString.name, "x".localeCompare.name, Object.keys(Number.prototype), (() => { try { Number.prototype.toLocaleString.call("x"); } catch (e) { return e.name; } })());
  return out;
}
