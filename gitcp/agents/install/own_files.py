"""Files that are ours from the first line to the last: a plugin of opencode, hook scripts of Cline.

Where an installation's interpreter or entry is gone, or cannot run, they look for `gitcp-hook`
on PATH, and without that do nothing.
"""

from __future__ import annotations

import json
import os

from gitcp.core.setup.hook_scripts import CANNOT
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client

MARKER = "gitcp: written by 'gitcp enable', taken out by 'gitcp disable --uninstall'"

# A hook of opencode, or of its like, is told to gitcp-hook, which may refuse it with status 2.
_PLUGIN = """\
// %(marker)s
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"

const own = %(own)s
const onPath = ["gitcp-hook"]
const first = own.length && [own[0], own[3]].every((file) => existsSync(file)) ? own : onPath

// why and with which status it ended: 127 for what cannot be run
const run = (argv, cwd, given) =>
  new Promise((resolve) => {
    const child = spawn(argv[0], argv.slice(1), { cwd, stdio: ["pipe", "ignore", "pipe"] })
    let why = ""
    child.stderr.on("data", (text) => (why += text))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve({ status: 127, why }))
    child.on("close", (status) => resolve({ status, why }))
    child.stdin.end(given)
  })

export const Gitcp = async ({ directory }) => {
  const parents = {}
  const seen = new Set()
  const tell = async (hook, input, output) => {
    const id = input.sessionID
    if (!parents[id]) seen.add(id)
    const given = JSON.stringify({ hook, input, output, parent: parents[id], directory })
    const event = [%(agent)s, hook]
    let ended = await run([...first, ...event], directory, given)
    if (first === own && %(cannot)s.includes(ended.status))
      ended = await run([...onPath, ...event], directory, given)
    if (ended.status === 2) throw new Error(ended.why.trim())
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
      if (sessionID) output.env.%(variable)s = parents[sessionID] ?? sessionID
    },
    dispose: async () => {
      for (const sessionID of seen) await tell("dispose", { sessionID })
    },
  }
}
"""
_SCRIPT = """\
#!/bin/sh
# %(marker)s
%(own)scommand -v gitcp-hook >/dev/null 2>&1 || exit 0
exec gitcp-hook %(agent)s %(event)s
"""
_OWN = """\
py=%s entry=%s
if [ -x "$py" ] && [ -f "$entry" ]; then
	"$py" -I -S "$entry" %s %s
	ended=$?
	case $ended in %s) ;; *) exit $ended ;; esac
fi
"""


def files(adapter: Client, path: str, baked: tuple[str, str] | None) -> dict[str, bytes]:
    """path -> text of each file that makes a client run our hooks.

    path: what the adapter's settings_paths gives.  baked: interpreter and entry, absolute; None
    for files that other people get too.
    """
    if adapter.FORM == "plugin":
        own = [baked[0], "-I", "-S", baked[1]] if baked else []
        values = {
            "marker": MARKER,
            "own": json.dumps(own),
            "cannot": json.dumps(CANNOT),
            "agent": json.dumps(adapter.NAME),
            "variable": adapter.SESSION_ENV[0],
        }
        return {path: (_PLUGIN % values).encode()}
    return {os.path.join(path, name): _script(adapter, name, baked) for name, *_ in adapter.HOOKS}


def _script(adapter: Client, event: str, baked: tuple[str, str] | None) -> bytes:
    cannot = " | ".join(map(str, CANNOT))
    own = _OWN % (*map(stdlib.shlex.quote, baked), adapter.NAME, event, cannot) if baked else ""
    values = {"marker": MARKER, "own": own, "agent": adapter.NAME, "event": event}
    return (_SCRIPT % values).encode("utf-8", "surrogateescape")


def calls_ours(data: bytes) -> bool:
    """Whether a file is one of these, or calls gitcp."""
    return is_ours(data) or b"gitcp-hook" in data


def is_ours(data: bytes) -> bool:
    """Whether a file is one of these."""
    return MARKER.encode() in b"".join(data.splitlines(keepends=True)[:2])
