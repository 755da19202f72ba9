"""The files that gitcp writes as a whole: plugins, hook scripts, files of hooks.

If an installation's interpreter or entry point is gone or cannot run, they use `gitcp-hook` on
PATH, and without that do nothing.
"""

from __future__ import annotations

import json
import os
import shlex

from gitcp import agents
from gitcp.setup.clients import settings
from gitcp.setup.hook_texts import CANNOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client

FORMS = ("plugin", "scripts", "files")  # of clients whose hooks are such files
MARKER = "gitcp: written by 'gitcp enable', taken out by 'gitcp disable --uninstall'"
# This comes before each client's own part: it calls gitcp-hook.
_HEAD = """\
// %(marker)s
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"

const own = %(own)s
const onPath = ["gitcp-hook"]
const first = own.length && [own[0], own[3]].every((file) => existsSync(file)) ? own : onPath
const variable = %(variable)s

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

// undefined, or why it is refused
const send = async (hook, cwd, payload) => {
  const event = [%(agent)s, hook]
  const given = JSON.stringify(payload)
  let ended = await run([...first, ...event], cwd, given)
  if (first === own && %(cannot)s.includes(ended.status))
    ended = await run([...onPath, ...event], cwd, given)
  return ended.status === 2 ? ended.why.trim() : undefined
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


def build_files(adapter: Client, path: str, baked: tuple[str, str] | None) -> dict[str, bytes]:
    """path -> text of each file that makes a client run our hooks.

    path: of Client.list_settings_paths().  baked: the absolute paths of interpreter and entry
    point; None for files that other people get, too.
    """
    if adapter.FORM == "files":
        return _build_json_files(adapter, path, baked)
    if adapter.FORM == "plugin":
        own = [baked[0], "-I", "-S", baked[1]] if baked else []
        values = {
            "marker": MARKER,
            "own": json.dumps(own),
            "cannot": json.dumps(CANNOT),
            "agent": json.dumps(adapter.NAME),
            "variable": json.dumps(adapter.SESSION_ENV[0]),
        }
        with open(os.path.join(os.path.dirname(agents.__file__), adapter.PLUGIN), "rb") as f:
            return {path: (_HEAD % values).encode() + f.read()}
    names = [name for name, *_ in adapter.list_hooks()]
    return {os.path.join(path, name): _build_script(adapter, name, baked) for name in names}


def _build_json_files(
    adapter: Client, path: str, baked: tuple[str, str] | None
) -> dict[str, bytes]:
    """The files of Client.build_files() as JSON, each on one line."""
    command = settings.make_shared_command(adapter.NAME)
    if baked:
        if adapter.EXPANDS:
            make = settings.make_plain_command
        else:
            make = settings.make_own_command
        command = make(*baked, adapter.NAME)
    texts = adapter.build_files(path, lambda event: f"{command(event)} # {MARKER}")
    return {file: json.dumps(content).encode() + b"\n" for file, content in texts.items()}


def _build_script(adapter: Client, event: str, baked: tuple[str, str] | None) -> bytes:
    cannot = " | ".join(map(str, CANNOT))
    own = ""
    if baked:
        own = _OWN % (*map(shlex.quote, baked), adapter.NAME, event, cannot)
    values = {"marker": MARKER, "own": own, "agent": adapter.NAME, "event": event}
    return (_SCRIPT % values).encode("utf-8", "surrogateescape")


def spell_remedy(adapter: Client, path: str) -> str:
    """The advice for a foreign file in the place of one of these."""
    if adapter.FORM == "scripts":
        return f"make it call 'gitcp-hook {adapter.NAME} {os.path.basename(path)}'"
    return f"move it, then 'gitcp enable --agent {adapter.NAME}'"


def has_our_call(data: bytes) -> bool:
    """Whether a file is one of these, or calls gitcp."""
    return is_ours(data) or b"gitcp-hook" in data


def is_ours(data: bytes) -> bool:
    """Whether a file is one of these."""
    return MARKER.encode() in b"".join(data.splitlines(keepends=True)[:2])
