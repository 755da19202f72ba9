export const description = "Tells gitcp what the agent does"

export default function (amp) {
  const root = amp.system?.workspaceRoot // the process itself is where the plugin lies
  const cwd = (root && amp.helpers.filePathFromURI(root)) || process.cwd()
  const tell = (hook, event, more) => send(hook, cwd, { session_id: event.thread.id, cwd, ...more })
  const call = (event) => {
    const changed = amp.helpers.filesModifiedByToolCall(event) ?? []
    const shell = amp.helpers.shellCommandFromToolCall(event)
    return {
      tool_name: event.tool,
      tool_use_id: event.toolUseID,
      tool_input: shell ? { ...event.input, command: shell.command } : event.input,
      kind: shell ? "shell" : changed.length ? "write" : undefined,
      input_paths: changed.map((uri) => amp.helpers.filePathFromURI(uri)),
    }
  }
  amp.on("session.start", async (event) => void (await tell("SessionStart", event)))
  amp.on("agent.start", async (event) => {
    await tell("UserPromptSubmit", event, { prompt: event.message, turn_id: `${event.id}` })
  })
  amp.on("tool.call", async (event) => {
    const message = await tell("PreToolUse", event, call(event))
    return message === undefined ? { action: "allow" } : { action: "reject-and-continue", message }
  })
  amp.on("tool.result", async (event) => {
    const stdout = typeof event.output === "string" ? event.output : undefined
    const tool_response = { stdout, error: event.status !== "done" }
    await tell("PostToolUse", event, { ...call(event), tool_response })
  })
  amp.on("agent.end", async (event) => void (await tell("Stop", event)))
}
