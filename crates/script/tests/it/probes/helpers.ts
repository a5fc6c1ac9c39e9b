import { getAgentDir, truncateHead, truncateTail, formatSize, parseFrontmatter, DEFAULT_MAX_LINES, DEFAULT_MAX_BYTES } from "@oh-my-pi/pi-coding-agent";
import { withFileMutationQueue } from "@mariozechner/pi-coding-agent";
export default (pi: any) => {
  pi.on("tool_call", async () => {
    delete process.env.PI_CODING_AGENT_DIR;
    const places = [getAgentDir()];
    process.env.PI_CODING_AGENT_DIR = "/else/./over/../where/";
    places.push(getAgentDir());
    delete process.env.PI_CODING_AGENT_DIR;
    const turns: any[] = [];
    const slow = (name: string, ms: number) => async () => { turns.push(name); await new Promise((r) => setTimeout(r, ms)); turns.push(`${name} over`); return 2; };
    const first = withFileMutationQueue("/x/a", slow("one", 20));
    const second = withFileMutationQueue("/x/./a", slow("two", 1));
    await withFileMutationQueue("/x/b", async () => turns.push("other"));
    await first;
    const said = await second;
    turns.push(said, await withFileMutationQueue("/x/a", () => { throw new Error("no"); }).catch((e: any) => e.message));
    const text = "---\r\nname: x\r\nallowed-tools: [a, \"b c\", 3] # why\r\ndeep:\n  some-key: ~\n  list:\n    - y: 2\n      z: 'it''s'\n    - true\ntext: |\n  one\n   two\n\nd: 'a: b # no'\n---\n\n body ";
    let bad;
    try { parseFrontmatter("---\nk: [a\n---\nb"); } catch (e: any) { bad = e.name; }
    const told = (t: any) => [t.content, t.truncatedBy, t.outputLines, t.outputBytes, t.totalLines, t.totalBytes];
    const partial = truncateTail("x\nhé", { maxBytes: 2 });
    const exceeds = truncateHead("héllo\nx", { maxBytes: 3 });
    return {
      places, turns, bad, limits: [DEFAULT_MAX_LINES, DEFAULT_MAX_BYTES], sizes: [0, 1023, 1536, 1048576, 5e9].map((n) => formatSize(n)),
      front: parseFrontmatter(text), none: parseFrontmatter("plain"),
      cuts: [truncateHead("a\nbb\nccc"), truncateHead("a\nbb\nccc", { maxLines: 2 }), truncateTail("a\nbb\nccc", { maxBytes: 6 })].map(told),
      partial: [partial.content, partial.lastLinePartial, partial.outputLines], exceeds: [exceeds.content, exceeds.firstLineExceedsLimit],
    };
  });
};
