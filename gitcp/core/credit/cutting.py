"""Cut a journal back at a commit.  Open edits stay, and the edits of the last commits, which may
be amended or undone."""

from __future__ import annotations

from gitcp.core.credit import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import JournalLine

COMMITS = 3  # the last commits whose edits stay
CONTENTS = 300  # remembered contents of removed edits
LARGEST = 64 << 10  # bytes: a larger journal is cut


def cut_back(lines: list[JournalLine], expanded: list[JournalLine]) -> list[JournalLine]:
    """Return the lines that stay, in their order.

    expanded: the lines with a line for each edit of a `trees` line.  A `trees` line stays while
    one of its edits is open.
    """
    commits = [n for n, line in enumerate(lines) if "commit" in line]
    recent = commits[-COMMITS - 1] if len(commits) > COMMITS else -1
    held = max((n for n, line in enumerate(lines) if "held" in line), default=-1)
    last = {
        max((n for n, line in enumerate(lines) if key in line), default=-1)
        for key in ("look", "held")
    }
    open_edits = entries.list_open_edits(expanded)
    unsettled = {_get_key(line) for line in open_edits}
    times = {line["at"] for line in open_edits}
    at_work = {entries.get_author(line)[0] for line in open_edits}
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
    left_ids = {id(line) for line in left}
    contents = _build_had_line([line for line in lines if id(line) not in left_ids])
    old = sum(id(line) in left_ids for line in lines[: recent + 1])
    return [*contents, *left[:old], *_build_cut_line(lines, recent + 1), *left[old:]]


def find_since_cut(lines: list[JournalLine]) -> tuple[list[JournalLine], set[str]]:
    """(the lines after the last cut, which are complete; the ids of turns and tool uses that have
    edits both before and after it)."""
    number = max((n for n, line in enumerate(lines) if "cut" in line), default=-1)
    if number < 0 and any("had" in line for line in lines):
        return [], set()  # cut by a version that wrote no `cut` line
    return lines[number + 1 :], set(lines[number]["cut"] if number >= 0 else ())


def _build_cut_line(lines: list[JournalLine], number: int) -> list[JournalLine]:
    """The line that marks a cut before line number; [] if no edit is before it."""
    if not any("who" in line or "cut" in line for line in lines[:number]):
        return []
    before = {i for line in lines[:number] for i in [*_list_ids(line), *line.get("cut", ())]}
    after = {i for line in lines[number:] for i in _list_ids(line)}
    return [{"cut": sorted(before & after)}]


def _list_ids(line: JournalLine) -> set[str]:
    """The ids of the turn and the tool use of an edit."""
    session, *ids = entries.get_cause(line)
    return set(ids if session else ()) - {""}


def _build_had_line(removed: list[JournalLine]) -> list[JournalLine]:
    """The line that remembers the newest contents of the paths in removed lines."""
    contents: dict[tuple[str, str], None] = {}
    for line in removed:
        pairs = [(path, oid) for path, oids in line.get("had", {}).items() for oid in oids]
        if "path" in line:
            versions = (entries.parse_entry(line["before"]), entries.parse_entry(line["after"]))
            pairs = [(line["path"], version[1]) for version in versions if version]
        for pair in pairs:
            contents.pop(pair, None)
            contents[pair] = None
    by_path: dict[str, list[str]] = {}
    for path, oid in list(contents)[-CONTENTS:]:
        by_path.setdefault(path, []).append(oid)
    return [{"had": by_path}] if by_path else []


def _get_key(line: JournalLine) -> tuple[str, int, str]:
    return line["path"], int(line["at"]), str(line.get("after"))
