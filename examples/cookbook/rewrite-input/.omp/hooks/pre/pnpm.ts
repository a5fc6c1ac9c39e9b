import type { HookAPI } from "@oh-my-pi/pi-coding-agent/hooks";

/** This project uses pnpm. */
export default function (pi: HookAPI): void {
  pi.on("tool_call", async (event) => {
    if (event.toolName !== "bash") return;
    const command = String(event.input.command ?? "");
    const other = command.replace(/^npm (install|run|test)\b/, "pnpm $1");
    if (other !== command) return { input: { ...event.input, command: other } };
  });
}
