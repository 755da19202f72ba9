"""What a journal keeps when it is cut back at a commit: what is unsettled, and the last commits'
edits, for one that is amended or undone."""

from __future__ import annotations

from gitcp.core.credit import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import JournalLine

COMMITS = 3  # of which the edits stay
CONTENTS = 300  # of which it is known that they were there
LARGEST = 64 << 10  # bytes from which on a journal is cut


def cut_back(lines: list[JournalLine], expanded: list[JournalLine]) -> list[JournalLine]:
    """The lines that stay, in their order.

    expanded: the same with the edits of `trees` lines one by one; such a line stays while one
    of its paths is unsettled.
    """
    commits = [n for n, line in enumerate(lines) if "commit" in line]
    recent = commits[-COMMITS - 1] if len(commits) > COMMITS else -1
    held = max((n for n, line in enumerate(lines) if "held" in line), default=-1)
    last = {
        max((n for n, line in enumerate(lines) if key in line), default=-1)
        for key in ("look", "held")
    }
    unsettled = {_get_key(line) for line in entries.list_open_edits(expanded)}
    times = {line["at"] for line in entries.list_open_edits(expanded)}
    at_work = {entries.get_author(line)[0] for line in entries.list_open_edits(expanded)}
    running = {
        (call["session"], call["open"]) for call in entries.list_calls(lines) if call["end"] is None
    }
    left = [
        line
        for n, line in enumerate(lines)
        if n > recent
        or n in last
        or ("path" in line and (n > held or _get_key(line) in unsettled))
        or ("stream" in line and (n > held or line["session"] in at_work))
        or ("trees" in line and (n > held or line["at"] in times))
        or (line.get("session"), line.get("open", line.get("close"))) in running
    ]
    here = {id(line) for line in left}
    contents = _build_had_line([line for line in lines if id(line) not in here])
    old = sum(id(line) in here for line in lines[: recent + 1])
    return [*contents, *left[:old], *_build_cut_line(lines, recent + 1), *left[old:]]


def find_since_cut(lines: list[JournalLine]) -> tuple[list[JournalLine], set[str]]:
    """(the lines before which alone some were cut, the turns and tool uses that have edits on
    both sides of that)."""
    at = max((n for n, line in enumerate(lines) if "cut" in line), default=-1)
    if at < 0 and any("had" in line for line in lines):
        return [], set()  # it was cut before that was marked
    return lines[at + 1 :], set(lines[at]["cut"] if at >= 0 else ())


def _build_cut_line(lines: list[JournalLine], at: int) -> list[JournalLine]:
    """The line that tells since when a journal is whole of which edits before line at are cut."""
    if not any("who" in line or "cut" in line for line in lines[:at]):
        return []
    before = {name for line in lines[:at] for name in [*_list_ids(line), *line.get("cut", ())]}
    after = {name for line in lines[at:] for name in _list_ids(line)}
    return [{"cut": sorted(before & after)}]


def _list_ids(line: JournalLine) -> set[str]:
    """The turn and the tool use of an edit."""
    session, *ids = entries.get_cause(line)
    return set(ids if session else ()) - {""}


def _build_had_line(cut: list[JournalLine]) -> list[JournalLine]:
    """The line that still tells which contents the paths of what is cut have had, the newest."""
    had: dict[tuple[str, str], None] = {}
    for line in cut:
        oids = [(path, oid) for path, names in line.get("had", {}).items() for oid in names]
        if "path" in line:
            both = (entries.parse_entry(line["before"]), entries.parse_entry(line["after"]))
            oids = [(line["path"], one[1]) for one in both if one]
        for key in oids:
            had.pop(key, None)
            had[key] = None
    by_path: dict[str, list[str]] = {}
    for path, oid in list(had)[-CONTENTS:]:
        by_path.setdefault(path, []).append(oid)
    return [{"had": by_path}] if by_path else []


def _get_key(line: JournalLine) -> tuple[str, int, str]:
    return line["path"], int(line["at"]), str(line.get("after"))
