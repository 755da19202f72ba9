"""The files that `enable` writes, as data, and gitcp's lines in an exclude file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NotRequired, TypedDict

    class Write(TypedDict):
        """One file to be written.

        kind: hook, line, settings, plugin, script, skill, adapter, config, entire or exclude, which
        decides how it is removed; stray: the file source is moved there, or without source the file
        is removed.  note: the line that the person reads.  aside: the suffix under which the
        present hook is kept, '' if it is not.  adopted: the file is gitcp's already, but its record
        is lost; the hook under aside exists.  lines: those added to the file.  agent: the client
        whose settings it has.  alone: the file is for this clone, since it has paths of this
        machine.  user: it is the person's, not the repository's.  worktree: the top of the worktree
        whose clients alone read it.
        """

        path: str
        kind: str
        data: bytes
        note: str
        aside: NotRequired[str]
        adopted: NotRequired[bool]
        source: NotRequired[str]
        lines: NotRequired[list[str]]
        agent: NotRequired[str]
        alone: NotRequired[bool]
        user: NotRequired[bool]
        worktree: NotRequired[str]


ENTIRE_SWITCH = "entire"  # the kind of the file that switches the original program off
COMMENT = "# gitcp: files of this clone alone"


def exclude_paths(text: str, paths: Iterable[str]) -> tuple[str, list[str]]:
    """An exclude file with paths (relative to the top, literal) added; the lines added."""
    lines = ["/" + _escape_pattern(path) for path in paths]
    if COMMENT not in text.splitlines():
        lines.insert(0, COMMENT)
    glue = "" if not text or text.endswith("\n") else "\n"
    return text + glue + "".join(f"{line}\n" for line in lines), lines


def remove_lines(text: str, lines: Iterable[str]) -> str:
    """The text without these lines."""
    gone = set(lines)
    return "".join(line for line in text.splitlines(True) if line.rstrip("\n") not in gone)


def _escape_pattern(path: str) -> str:
    escaped = "".join("\\" + c if c in "*?[\\" else c for c in path)
    return escaped[:-1] + "\\ " if escaped.endswith(" ") else escaped
