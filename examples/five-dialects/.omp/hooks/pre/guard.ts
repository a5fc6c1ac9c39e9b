// oh-my-pi: a module, run by the embedded engine.
import type { HookAPI } from "@oh-my-pi/pi-coding-agent/hooks";

export default function (pi: HookAPI): void {
  pi.on("tool_call", async (event) => {
    if (event.toolName === "bash" && /\bcurl\b.*\|\s*sh/.test(String(event.input.command))) {
      return { block: true, reason: "do not pipe the network into a shell" };
    }
  });
}
