"""Converts a history of Aider to lines of a transcript in gitcp's format.

It is Markdown: `#### ` begins the lines of a prompt, `> ` those of the client; all others are
the model's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Line = dict[str, object]

_COUNT = re.compile(r"([\d.]+)([kM]?) (sent|received|cache write|cache hit)")
_UNITS = {"": 1, "k": 1000, "M": 1000000}
_KEYS = {
    "sent": "input_tokens",
    "received": "output_tokens",
    "cache write": "cache_creation_tokens",
    "cache hit": "cache_read_tokens",
}
_MODEL = "Main model: "
_EDIT = "Applied edit to "


class Converted(NamedTuple):
    """The transcript's lines for a part of a history, and the model at its end."""

    lines: list[Line]
    model: str


def read_lines(text: str, start: int = 0, model: str = "") -> Converted:
    """Convert the text of a part of a history.  start: its offset in the history.  model: the model
    before it."""
    lines: list[Line] = []
    texts: list[str] = []
    # in_commit: after the first line of a commit's message
    kind = ""
    in_commit = False
    for line in [*text.splitlines(), "# "]:  # a line of the client ends the last text
        line_kind = "answer"
        if line.startswith("#### "):
            line_kind = "prompt"
        if line.startswith(("> ", "# ")):
            line_kind = ""  # the client's
        if line_kind != kind:
            joined = "\n".join(texts).strip()
            if joined:
                lines += [{"kind": kind, "text": joined}]
            kind = line_kind
            texts = []
        in_commit = line.startswith("> Commit ") or (in_commit and line_kind == "answer")
        if line.startswith("> "):
            if line[2:].startswith(_MODEL):
                model = line[2:].removeprefix(_MODEL).split()[0]
            lines += _read_client_line(line[2:].strip(), start + len(lines), model)
        elif line_kind and not in_commit:
            texts.append(line.removeprefix("#### ").rstrip())
    return Converted(lines, model)


def _read_client_line(text: str, number: int, model: str) -> Iterator[Line]:
    """The transcript's lines for a line that the client wrote: an answer's tokens, or an edit."""
    if text.startswith("Tokens: "):
        counts = {
            _KEYS[what]: int(float(figure) * _UNITS[unit])
            for figure, unit, what in _COUNT.findall(text)
        }
        yield {"kind": "usage", "id": f"u{number}", "model": model, **counts}
    elif text.startswith(_EDIT):
        call = {"id": f"e{number}", "name": "edit", "kind": "write"}
        yield {"kind": "call", "tool": {**call, "input_paths": [text.removeprefix(_EDIT)]}}
        yield {"kind": "result", "id": f"e{number}", "failed": False}
