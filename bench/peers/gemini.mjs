// Runs a hook with the real HookRunner of gemini-cli-core. Usage: gemini.mjs HOOK FOLDER PACKAGE.
// Reads how often from stdin, one number a line, and answers each with a line.
import { createInterface } from "node:readline";

const [hook, folder, core] = process.argv.slice(2);
const { HookRunner } = await import(`${core}/dist/src/hooks/hookRunner.js`);
const runner = new HookRunner({
  isTrustedFolder: () => true,
  sanitizationConfig: {
    allowedEnvironmentVariables: [],
    blockedEnvironmentVariables: [],
    enableEnvironmentVariableRedaction: false,
  },
  storage: { getPlansDir: () => folder },
});
const config = { type: "command", command: hook, source: "user" };
const input = {
  session_id: "bench", cwd: folder, hook_event_name: "BeforeTool", timestamp: "2026-01-01T00:00:00Z",
  transcript_path: "", tool_name: "write_file", tool_input: { file_path: "src/lib.rs", content: "x".repeat(800) },
};

for await (const line of createInterface({ input: process.stdin })) {
  for (let left = Number(line); left > 0; left--) {
    const result = await runner.executeHook(config, "BeforeTool", input);
    if (result.exitCode !== 2) throw new Error(`the hook ended with ${JSON.stringify(result)}`);
  }
  console.log("done");
}
