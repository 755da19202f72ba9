"""What is cut from a journal.

At a commit open edits stay, and the edits of the last commits, which may be amended or undone; at
the end of a turn all lines that no other repeats.
"""

from __future__ import annotations

from gitcp.record.journal import credit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from gitcp.text.record_types import JournalLine

COMMITS = 3  # the last commits whose edits stay
CONTENTS = 300  # remembered contents of removed edits
_STAYING = credit.list_keys("staying")


def cut_back(
    lines: list[JournalLine], expanded: list[JournalLine], active: Container[str] = ()
) -> list[JournalLine]:
    """Return the lines that stay, in their order: those since the last commits, and older ones that
    are needed, after a line with the contents of the removed ones.

    expanded: the lines with a line for each edit of a `trees` line.  active: the sessions in
    mid-turn.
    """
    commits = [n for n, line in enumerate(lines) if "commit" in line]
    start = 0
    if len(commits) > COMMITS:
        start = commits[-COMMITS - 1] + 1
    old = lines[:start]
    recent = lines[start:]
    needed = _find_needed(lines, expanded, active)
    removed = [line for n, line in enumerate(old) if n not in needed]
    left = [line for n, line in enumerate(old) if n in needed]
    return [*_build_had_line(removed), *left, *_build_cut_line(old, recent), *recent]


def drop_repeated(lines: list[JournalLine]) -> list[JournalLine]:
    """Return the lines without those that others repeat, at any age.

    Of the looks at one base, with only edits on that base between them, the first and the last
    stay; of the `held` lines the newest; of the checkpoints on a stream those that have a file
    which no later one has, that take files from streams, or that no ref holds yet.
    """
    repeated = _find_repeated_looks(lines)
    held = max((n for n, line in enumerate(lines) if "held" in line), default=-1)
    later: set[tuple[str, str, str]] = set()
    for n in range(len(lines) - 1, -1, -1):
        line = lines[n]
        if "held" in line and n < held:
            repeated.add(n)
        elif "stream" in line:
            files = {(line["session"], line["stream"], path) for path in line["files"]}
            if files and files <= later and n < held and "out" not in line:
                repeated.add(n)
            later |= files
    return [line for n, line in enumerate(lines) if n not in repeated]


def _find_repeated_looks(lines: list[JournalLine]) -> set[int]:
    """The indexes of the looks between the first and the last of each run at one base."""
    repeated: set[int] = set()
    base = None
    ends = list[int]()
    for n, line in enumerate(lines):
        if "look" not in line and "path" not in line and "trees" not in line:
            continue
        if base is None or line.get("base") != base:
            base = line.get("base")
            ends = []
        if "look" in line:
            if len(ends) > 1:
                repeated.add(ends.pop())
            ends.append(n)
    return repeated


def _find_needed(
    lines: list[JournalLine], expanded: list[JournalLine], active: Container[str]
) -> set[int]:
    """The indexes of the lines that stay at any age.

    An edit stays while it is open, a `trees` line while one of its edits is, a checkpoint while its
    session has an open edit, a large file while no commit has it; all stay until a ref holds them.
    The calls that run stay, and the newest look.  Of an active session the last call of a file tool
    at each path stays: its transcript tells of that write, too.
    """

    newest = {
        key: max((n for n, line in enumerate(lines) if key in line), default=-1)
        for key in ("look", "held")
    }
    open_edits = credit.list_open_edits(expanded)
    edits = {_get_key(edit) for edit in open_edits}
    times = {edit["at"] for edit in open_edits}
    sessions = {credit.get_author(edit)[0] for edit in open_edits}
    large = credit.map_large(expanded)
    calls = _list_needed_calls(lines, active)

    def is_needed(line: JournalLine) -> bool:
        return (
            ("path" in line and _get_key(line) in edits)
            or ("trees" in line and line["at"] in times)
            or ("stream" in line and line["session"] in sessions)
            or line.get("large") in large
            or (line.get("session"), line.get("open", line.get("close"))) in calls
        )

    return {
        n
        for n, line in enumerate(lines)
        if n in newest.values()
        or is_needed(line)
        or (n > newest["held"] and not _STAYING.isdisjoint(line))
    }


def _list_needed_calls(lines: list[JournalLine], active: Container[str]) -> set[tuple[str, str]]:
    """(session, id) of the calls that run, and of the last of an active session at each path."""
    calls = credit.list_calls(lines)
    running = {(call["session"], call["open"]) for call in calls if call["end"] is None}
    own = [call for call in calls if call["session"] in active]
    heard = {}
    for c in own:
        for path in c.get("looked", ()):
            heard[(c["session"], path)] = c["open"]
    return running | {(session_id, call_id) for (session_id, _), call_id in heard.items()}


def find_since_cut(lines: list[JournalLine]) -> tuple[list[JournalLine], set[str]]:
    """(the lines after the last cut, which are complete; the ids of turns and tool uses that have
    edits both before and after it)."""
    number = max((n for n, line in enumerate(lines) if "cut" in line), default=-1)
    if number < 0 and any("had" in line for line in lines):
        return [], set()  # cut by a version that wrote no `cut` line
    return lines[number + 1 :], set(lines[number]["cut"] if number >= 0 else ())


def _build_cut_line(old: list[JournalLine], recent: list[JournalLine]) -> list[JournalLine]:
    """The line that marks a cut between old and recent lines; [] if no edit is before it."""
    if not any("who" in line or "cut" in line for line in old):
        return []
    before = {i for line in old for i in [*_list_ids(line), *line.get("cut", ())]}
    after = {i for line in recent for i in _list_ids(line)}
    return [{"cut": sorted(before & after)}]


def _list_ids(line: JournalLine) -> set[str]:
    """The ids of the turn and the tool use of an edit."""
    session, *ids = credit.get_cause(line)
    return set(ids if session else ()) - {""}


def _build_had_line(removed: list[JournalLine]) -> list[JournalLine]:
    """The line that remembers the newest contents of the paths in removed lines."""
    contents: dict[tuple[str, str], None] = {}
    for line in removed:
        pairs = [(path, oid) for path, oids in line.get("had", {}).items() for oid in oids]
        if "path" in line:
            versions = (credit.parse_entry(line["before"]), credit.parse_entry(line["after"]))
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


def list_unfounded(
    lines: list[JournalLine], corrected: list[JournalLine], session_id: str
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """(commit -> its paths with edits of a session, of the commits that settled edits of it by
    lines, and by the same lines corrected none; likewise the paths alone that have none then, of
    the commits that settled others)."""
    had, has = (_list_settled(each, session_id) for each in (lines, corrected))
    lost = {commit: paths - has.get(commit, set()) for commit, paths in had.items()}
    return (
        {commit: paths for commit, paths in lost.items() if paths and not has.get(commit)},
        {commit: paths for commit, paths in lost.items() if paths and has.get(commit)},
    )


def _list_settled(lines: list[JournalLine], session_id: str) -> dict[str, set[str]]:
    """commit -> the paths of edits of a session that it settled."""

    settled: dict[str, set[str]] = {}
    for n, line in enumerate(lines):
        if "commit" in line:
            before, after = (credit.list_open_edits(lines[:end]) for end in (n, n + 1))
            left = [(edit["path"], credit.get_edit_name(edit)) for edit in after]
            paths = settled.setdefault(line["commit"], set())
            for edit in before:
                name = edit["path"], credit.get_edit_name(edit)
                if credit.get_author(edit)[0] == session_id and name not in left:
                    paths.add(edit["path"])
    return settled
