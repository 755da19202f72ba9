"""The moments inside a turn, and the edits of a session, turn or tool use, by the journal.

Edits that were cut from the journal are read from the refs of their sessions."""

from __future__ import annotations

import time

from gitcp.core.back import point_list
from gitcp.core.credit import entries
from gitcp.errors import Error
from gitcp.store.git.tree import edit_tree
from gitcp.store.turn import session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gitcp.core.back.point_list import Point
    from gitcp.core.record_types import JournalLine, Version, Writer
    from gitcp.store.back.present import KeptEdits, Present


AFTER = ":after"
KINDS = ("prompt", "tool")  # of the points that are moments inside a turn


def find_edits(
    edits_kept: KeptEdits, session: str, turn: str, tool: str
) -> tuple[str, list[JournalLine]]:
    """(a description, the edits in their order) of a session, one of its turns or tool uses.

    session, turn, tool: the beginning of an id, '' for any.  Calls that may have overwritten
    content that nobody had seen are among the lines.  Raises Error when an id matches none or
    several.
    """
    lines = _list_standing(edits_kept.list_moments(everywhere=True)[0])
    words = []
    for number, (kind, name) in enumerate((("session", session), ("turn", turn), ("tool", tool))):
        if name:
            ids = {cause[number] for cause in map(_get_cause, lines) if cause[0]} - {""}
            chosen = _pick_id(kind, name, ids)
            lines = [line for line in lines if _get_cause(line)[number] == chosen]
            words.append(f"{kind} {chosen}")
    return ", ".join(words), [line for line in lines if _get_cause(line)[0]]


def _get_cause(line: JournalLine) -> Writer:
    """The call that caused an edit, or the call that a line opens."""
    if "open" in line:
        return str(line["session"]), str(line.get("turn", "")), str(line["open"])
    return entries.get_cause(line)


def _list_standing(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The edits that can be taken back.

    An edit that discarded content is left out if another session or the person has restored that
    content since."""
    standing: list[JournalLine] = []
    later: dict[str, list[JournalLine]] = {}  # path -> its later edits, the newest first
    for line in reversed(list(lines)):
        since = later.setdefault(line.get("path", ""), [])
        cause = entries.get_cause(line)
        discarded = cause[0] and cause != entries.get_author(line)
        if not (discarded and _is_restored(line, since)):
            standing.append(line)
        since.append(line)
    return standing[::-1]


def _is_restored(line: JournalLine, since: Iterable[JournalLine]) -> bool:
    """Whether another's edit restored what an edit discarded, and it was not discarded again."""
    before, after = entries.parse_entry(line["before"]), entries.parse_entry(line["after"])
    for later in since:
        result = entries.parse_entry(later["after"])
        if result == before and entries.get_cause(later)[0] != entries.get_cause(line)[0]:
            return True
        if result == after:
            return False
    return False


def _pick_id(kind: str, name: str, ids: Iterable[str]) -> str:
    try:
        return session_read.pick_id(name, ids)
    except Error as e:
        message = str(e).replace("no such session", f"the journal knows no {kind}")
        raise Error(message.replace("session id", f"{kind} id")) from None


def make_point(kind: str, point_id: str, seconds: int, message: str, **more: Any) -> Point:
    """A point at a time, in seconds since 1970; more: other keys of Point."""
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    head: Point = {**point_list.EMPTY, "id": point_id, "kind": kind, "message": message}
    return {**head, "time": seconds, "date": date, **more}  # type: ignore[typeddict-item]


def list_moments(
    edits: tuple[list[JournalLine], set[str]], prompts: Mapping[str, str]
) -> list[Point]:
    """A point before each tool use and each turn that begins in some edits, the newest first.

    edits: as KeptEdits.list_moments() returns them.  prompts: turn id -> prompt.  A call without
    edits is listed if it may have overwritten unseen content.
    """
    lines, seen = edits[0], set(edits[1])
    lacking = {line["open"]: line["unseen"] for line in lines if "unseen" in line}
    points: list[Point] = []
    for line in lines:
        session, turn, tool = _get_cause(line)
        for kind, name in (("prompt", turn if "path" in line else ""), ("tool", tool)):
            if session and name and name not in seen:
                seen.add(name)
                prompt, is_tool = prompts.get(turn, ""), kind == "tool"
                about = line.get("path", "a call") if is_tool else prompt
                point = make_point(
                    kind,
                    name,
                    int(line["at"]) // 10**9,
                    f"before {about}",
                    session_id=session,
                    session_prompt=prompt,
                    tool_use_id=name if is_tool else "",
                )
                points.append(
                    point_list.mark_lacking(point, lacking.get(tool, ()) if is_tool else ())
                )
    return points[::-1]


def read_tree(present: Present, name: str) -> tuple[str, str]:
    """(the tree of the worktree before a tool use or a turn; the first commit made since, '' for
    none).  name: its id; with AFTER appended, the moment after it."""
    moment_id, after = name.removesuffix(AFTER), name.endswith(AFTER)
    moment = present.kept_edits.find_since(moment_id, after)
    if moment is None:
        raise Error(f"the journal knows no turn or tool use '{moment_id}'")
    since, commit = moment
    versions: dict[str, Version] = {}
    for line in since:
        versions.setdefault(line["path"], entries.parse_entry(line["before"]))
    return edit_tree(present.objects, present.tree, versions), commit


def list_changes(edits_kept: KeptEdits, point: Point) -> dict[str, tuple[Version, Version]]:
    """path -> its entries before and after a tool use or a turn, for each that it changed."""
    number = 2 if point["kind"] == "tool" else 1
    name = point["id"].removesuffix(AFTER)
    changes: dict[str, tuple[Version, Version]] = {}
    for line in edits_kept.list_all():
        cause = entries.get_cause(line)
        if cause[0] and cause[number] == name:
            first = changes.get(line["path"], (entries.parse_entry(line["before"]), None))[0]
            changes[line["path"]] = (first, entries.parse_entry(line["after"]))
    return {path: pair for path, pair in sorted(changes.items()) if pair[0] != pair[1]}
