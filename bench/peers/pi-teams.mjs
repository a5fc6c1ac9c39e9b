// Starts a hook like pi-agent-teams does: node's spawn, context in the environment, no stdin, a
// timer, outputs as text. Usage: pi-teams.mjs HOOK FOLDER. Reads how often from stdin, one number a
// line, and answers each with a line.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [hook, folder] = process.argv.slice(2);
const context = JSON.stringify({ event: "task_completed", task: { id: "1", subject: "bench" } });

function runHook() {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PI_TEAMS_HOOK_CONTEXT_JSON: context };
    const child = spawn(hook, [], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGTERM"), 60_000);
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (bytes) => (stdout += bytes.toString()));
    child.stderr.on("data", (bytes) => (stderr += bytes.toString()));
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      code === 2 ? resolve(stdout + stderr) : reject(new Error(`the hook exited ${code}`));
    });
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  for (let left = Number(line); left > 0; left--) await runHook();
  console.log("done");
}
