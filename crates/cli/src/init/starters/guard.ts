import type { HookAPI } from "@oh-my-pi/pi-coding-agent/hooks";

export default function guard(pi: HookAPI): void {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    const command = String(event.input.command ?? "");
    if (!/\bgit\s+push\b.*--force/.test(command)) return;
    if (!ctx.hasUI) return { block: true, reason: "a forced push needs your approval" };
    const ok = await ctx.ui.confirm("Forced push", `Allow: ${command}`);
    if (!ok) return { block: true, reason: "the user refused" };
  });
}
