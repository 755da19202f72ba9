"""Aider, which has no hooks: `gitcp run aider` records it, from its history of that run
(doc/clients.md "Aider")."""

from __future__ import annotations

import os

from gitcp.agents.aider import history
from gitcp.agents.other import Other
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.text.record_types import Event

_HISTORY = ".aider.chat.history.md"


class Aider(Other):
    NAME = "aider"
    AGENT_TYPE = "Aider"
    PROGRAM = "aider"
    ASKED_BY = ("--message", "--msg", "-m")
    FORM = "run"

    def export(self, record: Event, folder: str) -> None:
        """Append the history of a turn so far to the session's transcript in gitcp's format, and
        set that as transcript_path.  A line `begin` ends each part: it has the offset in the
        history at which the next part begins, and the model there."""

        path = os.path.join(folder, record["session_id"] + ".jsonl")
        text = _read_history(record["cwd"])
        part = history.Converted([], "")
        begins = _list_begins(path)
        if record["event"] != "turn-start" and begins:
            last = begins[-1]
            part = history.read_lines(text[last["size"] :], last["size"], last["model"])
        _append(path, [*part.lines, {"kind": "begin", "size": len(text), "model": part.model}])
        record["transcript_path"] = path


def _list_begins(path: str) -> list[dict[str, Any]]:
    """The lines `begin` of a session's transcript; none if it is not there, or was not kept."""
    try:
        with open(path, encoding="utf-8") as f:
            return [line for line in map(json.loads, f) if line["kind"] == "begin"]
    except FileNotFoundError:
        return []


def _read_history(cwd: str) -> str:
    """The history of the worktree around a directory; '' for none."""
    own_path = os.environ.get("AIDER_CHAT_HISTORY_FILE")
    folders = [cwd]
    while folders[-1] != os.path.dirname(folders[-1]):
        folders.append(os.path.dirname(folders[-1]))
    for path in [own_path] if own_path else [os.path.join(folder, _HISTORY) for folder in folders]:
        try:
            with open(os.path.join(cwd, path), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            continue
    return ""


def _append(path: str, lines: list[dict[str, object]]) -> None:
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    text = "".join(json.dumps({"type": "transcript", **line}) + "\n" for line in lines)
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w") as f:
        f.write(text)


CLIENT = Aider()
