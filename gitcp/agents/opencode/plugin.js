export const Gitcp = async ({ directory }) => {
  const parents = {}
  const seen = new Set()
  const tell = async (hook, input, output) => {
    const id = input.sessionID
    if (!parents[id]) seen.add(id)
    const given = { hook, input, output, parent: parents[id], directory }
    const refused = await send(hook, directory, given)
    if (refused !== undefined) throw new Error(refused)
  }
  const told = (hook) => (input, output) => tell(hook, input, output)
  return {
    event: async ({ event }) => {
      const { sessionID, info } = event.properties ?? {}
      if (event.type === "session.created" && info?.parentID) parents[info.id] = info.parentID
      if (event.type === "session.created") await tell(event.type, { sessionID: info.id })
      if (event.type === "session.idle") await tell(event.type, { sessionID })
    },
    "chat.message": told("chat.message"),
    "tool.execute.before": told("tool.execute.before"),
    "tool.execute.after": told("tool.execute.after"),
    "shell.env": async (input, output) => {
      const { sessionID } = input
      if (sessionID) output.env[variable] = parents[sessionID] ?? sessionID
    },
    dispose: async () => {
      for (const sessionID of seen) await tell("dispose", { sessionID })
    },
  }
}
