const quiet = ["read", "grep", "find", "ls"] // write nothing

export default function (pi) {
  const tell = (hook, ctx, more) =>
    send(hook, ctx.cwd, {
      session_id: ctx.sessionManager.getSessionId(),
      transcript_path: ctx.sessionManager.getSessionFile(),
      cwd: ctx.cwd,
      model: ctx.model?.id,
      ...more,
    })
  const call = (event) => ({
    tool_name: event.toolName,
    tool_use_id: event.toolCallId,
    tool_input: event.input,
  })
  pi.on("session_start", async (event, ctx) => {
    process.env[variable] = ctx.sessionManager.getSessionId() // of its shells, too
    await tell("SessionStart", ctx, { source: event.reason })
  })
  pi.on("input", async (event, ctx) => {
    const refused = await tell("UserPromptSubmit", ctx, { prompt: event.text })
    if (refused === undefined) return
    if (ctx.hasUI) ctx.ui.notify(refused, "error")
    else console.error(refused)
    return { action: "handled" }
  })
  pi.on("tool_call", async (event, ctx) => {
    if (quiet.includes(event.toolName)) return
    const reason = await tell("PreToolUse", ctx, call(event))
    if (reason !== undefined) return { block: true, reason }
  })
  pi.on("tool_result", async (event, ctx) => {
    if (quiet.includes(event.toolName)) return
    const stdout = event.content.map((part) => part.text ?? "").join("\n")
    const tool_response = { stdout, error: event.isError }
    const text = await tell("PostToolUse", ctx, { ...call(event), tool_response })
    if (text !== undefined) return { content: [...event.content, { type: "text", text }] }
  })
  pi.on("session_compact", async (event, ctx) => void (await tell("PreCompact", ctx)))
  pi.on("agent_end", async (event, ctx) => void (await tell("Stop", ctx)))
  pi.on("session_shutdown", async (event, ctx) => void (await tell("SessionEnd", ctx)))
}
