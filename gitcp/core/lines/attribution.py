"""Count the lines of a commit by their authors (doc/credit.md "Counting a commit").

Each line that the commit adds or removes against its first parent has one author: a session, the
person or unknown.

    lines_added, lines_removed   {agent, others, person, unknown}: each line once
    agent_lines      lines that the session added
    agent_removed    lines that it removed and did not replace
    human_added      lines that the person added, without human_modified
    human_modified   lines with which the person replaced a line
    human_removed    other lines that the person removed, of the parent or written by this session
                     since; a line still in the worktree does not count
    total_committed  lines that the commit changes; a replaced line counts once
    agent_percentage the session's part of total_committed; 0 if that is 0
"""

from __future__ import annotations

from gitcp.core.credit.entries import PERSON, UNKNOWN
from gitcp.core.lines import line_diff
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.lines.replay import Replay, Version
    from gitcp.core.record_types import Writer

    class PathCredit(TypedDict):
        """A path of a commit.  added: (1-based line, author) of each added line, in order.
        removed: who removed each removed line.  lost: (author, who removed it) of each line
        written and removed since the parent.  moved: numbers of added lines that the file had at
        another path.  uncounted: the content has no lines, or was moved to another path."""

        oid: str
        added: list[tuple[int, Writer]]
        removed: list[Writer]
        lost: list[tuple[Writer, Writer]]
        moved: set[int]
        uncounted: bool

    Entry = Mapping[str, Any]

_KEYS = "ranges", "others"


def credit_path(
    lines: Replay, parents: Sequence[Version], committed: Version, origin: Version | None = None
) -> PathCredit:
    """Credit a path of a commit; a line that no step explains is the person's.

    parents: the path's content in each parent.  A line that a parent has is not added; removed
    lines are those of the first.  origin: the content at the path that the file was moved from,
    in the place of the first parent's.
    """
    present = set(lines.numbers)
    old = origin or parents[0]
    parent_numbers = lines.find_numbers(old, UNKNOWN)
    new_numbers = lines.find_numbers(committed, PERSON)
    removed, changed = line_diff.find_changed_lines(old.lines, committed.lines)
    added = list(range(len(committed.lines))) if origin else changed
    for later_parent in parents[1:]:
        new = set(line_diff.find_changed_lines(later_parent.lines, committed.lines)[1])
        added = [j for j in added if j in new]
    gone, standing = [parent_numbers[i] for i in removed], set(new_numbers)
    known = {*new_numbers, *parent_numbers, *present}
    lost = ((number, taker) for number, taker in lines.takers.items() if number not in known)
    return {
        "oid": committed.oid,
        "added": [(j + 1, lines.get_author(new_numbers[j])) for j in added],
        "removed": [lines.get_taker(n, UNKNOWN if n in standing else PERSON) for n in gone],
        "lost": [(lines.get_author(number), taker) for number, taker in lost],
        "moved": {j + 1 for j in set(added).difference(changed)},
        "uncounted": any(
            line.startswith(b"\0") for side in (*parents, committed) for line in side.lines[:1]
        ),
    }


def compute_attribution(session_id: str, paths: Iterable[PathCredit]) -> dict[str, Any]:
    """The initial_attribution of a session, without `calculated_at`."""
    added, removed = _make_counts(), _make_counts()
    net = {"agent_removed": 0, "modified": 0, "removed": 0, "total": 0}
    for path in paths:
        if not path["uncounted"]:
            _count_path(session_id, path, added, removed, net)
    share = added["agent"] + net["agent_removed"]
    return {
        "agent_lines": added["agent"],
        "agent_removed": net["agent_removed"],
        "human_added": added["person"] - net["modified"],
        "human_modified": net["modified"],
        "human_removed": net["removed"],
        "total_committed": net["total"],
        "agent_percentage": 100.0 * share / net["total"] if net["total"] else 0.0,
        "lines_added": added,
        "lines_removed": removed,
    }


def _make_counts() -> dict[str, int]:
    return {"agent": 0, "others": 0, "person": 0, "unknown": 0}


def _count_path(
    session_id: str,
    path: PathCredit,
    added: dict[str, int],
    removed: dict[str, int],
    net: dict[str, int],
) -> None:
    added_here, removed_here = _make_counts(), _make_counts()
    surplus: dict[str, int] = {}
    added_authors = [author for line, author in path["added"] if line not in path["moved"]]
    for author in added_authors:
        added_here[_get_column(author, session_id)] += 1
        surplus[_get_author_key(author)] = surplus.get(_get_author_key(author), 0) - 1
    for taker in path["removed"]:
        removed_here[_get_column(taker, session_id)] += 1
        surplus[_get_author_key(taker)] = surplus.get(_get_author_key(taker), 0) + 1
    lost = [who for who, taker in path["lost"] if who[0] == session_id and taker == PERSON]
    modified = min(added_here["person"], len(lost) + removed_here["person"])
    net["agent_removed"] += max(0, surplus.get(session_id, 0))
    net["modified"] += modified
    net["removed"] += len(lost) + removed_here["person"] - modified
    net["total"] += len(added_authors) + sum(n for n in surplus.values() if n > 0)
    for key in added:
        added[key] += added_here[key]
        removed[key] += removed_here[key]


def _get_author_key(author: Writer) -> str:
    return author[0] or f"/{author[1]}"  # no session has a slash in its id


def _get_column(author: Writer, session_id: str) -> str:
    if author[0]:
        return "agent" if author[0] == session_id else "others"
    return author[1]


def list_ranges(session_id: str, path: PathCredit) -> list[list[Any]]:
    """[first, last, turn id | 'person' | 'unknown', tool use | null] of the 1-based lines that a
    commit adds to a path, without those of other sessions."""
    own = ("", session_id)
    return _join_runs(
        (line, [who[1], who[2] or None]) for line, who in path["added"] if who[0] in own
    )


def list_foreign_ranges(
    session_id: str, path: PathCredit, checkpoints: Mapping[Writer, str]
) -> list[list[Any]]:
    """[first, last, turn id, tool use | null, session id, checkpoint id] of the 1-based lines of
    other sessions that a commit adds to a path; checkpoints: where each writer is recorded."""
    return _join_runs(
        (line, [who[1], who[2] or None, who[0], checkpoints[who]])
        for line, who in path["added"]
        if who[0] not in ("", session_id) and who in checkpoints
    )


def _join_runs(lines: Iterable[tuple[int, list[Any]]]) -> list[list[Any]]:
    runs: list[list[Any]] = []
    for line, whose in lines:
        if runs and runs[-1][1] == line - 1 and runs[-1][2:] == whose:
            runs[-1][1] = line
        else:
            runs.append([line, line, *whose])
    return runs


def build_entries(
    session_id: str, paths: Mapping[str, PathCredit], checkpoints: Mapping[Writer, str]
) -> dict[str, list[dict[str, Any]]]:
    """The lines.json of a session: path -> [{oid, ranges, others unless empty}]."""
    lines = {}
    for path, credit in paths.items():
        own = list_ranges(session_id, credit)
        foreign = list_foreign_ranges(session_id, credit, checkpoints)
        if credit["oid"] and (own or foreign):
            entry = {"oid": credit["oid"], "ranges": own}
            lines[path] = [{**entry, "others": foreign} if foreign else entry]
    return lines


def list_turns(session_id: str, path: PathCredit) -> list[str]:
    """The turns of a session that wrote lines of a path, each once."""
    return list(dict.fromkeys(who[1] for _, who in path["added"] if who[0] == session_id))


def list_sessions(path: PathCredit) -> set[str]:
    """The sessions that wrote or removed lines of a path in a commit."""
    authors = [*(who for _, who in path["added"]), *path["removed"]]
    return {who[0] for who in authors if who[0]}


def join_entries(
    old: Mapping[str, Any] | None, new: Mapping[str, Sequence[Entry]]
) -> dict[str, Any]:
    """Two lines.json joined by path and content.  A content in both gets the ranges of both:
    another commit may add fewer of its lines, or not know their authors."""
    lines = dict(old or {})
    for path, entries in new.items():
        stored = lines.get(path)
        known = [e for e in stored if isinstance(e, dict)] if isinstance(stored, list) else []
        before = {entry.get("oid"): entry for entry in known}
        oids = {entry["oid"] for entry in entries}
        lines[path] = [entry for entry in known if entry.get("oid") not in oids]
        lines[path] += [_unite_entries(entry, before.get(entry["oid"], {})) for entry in entries]
    return lines


def _unite_entries(entry: Entry, before: Entry) -> dict[str, Any]:
    """An entry with the ranges of both; for a line in both a session comes before the person and
    unknown, then the newer entry before the older."""
    stored_runs = [
        (k, run)
        for source in (entry, before)
        for k in _KEYS
        for run in _list_stored_runs(source.get(k))
    ]
    runs: dict[str, list[Any]] = {key: [] for key in _KEYS}
    taken: list[tuple[int, int]] = []
    for key, run in sorted(stored_runs, key=_is_nobodys):
        for part in [*_list_free_parts(run, taken)]:
            runs[key].append(part)
            stdlib.bisect.insort(taken, (part[0], part[1]))
    united = {
        **before,
        **entry,
        **{key: sorted(runs[key], key=lambda run: run[0]) for key in _KEYS},
    }
    return {key: value for key, value in united.items() if key != "others" or value}


def _is_nobodys(item: tuple[str, Sequence[Any]]) -> bool:
    key, run = item
    return key == "ranges" and run[2] in (PERSON[1], UNKNOWN[1])


def _list_stored_runs(stored: Any) -> Iterator[Sequence[Any]]:
    """Yield the ranges in a stored value, which may have any shape."""
    for run in stored if isinstance(stored, list) else ():
        if isinstance(run, list) and len(run) > 2 and type(run[0]) is type(run[1]) is int:
            yield run


def _list_free_parts(run: Sequence[Any], taken: Sequence[tuple[int, int]]) -> Iterator[list[Any]]:
    """Yield the parts of a range that do not overlap the sorted ranges in taken."""
    first, last, *whose = run
    for start, end in taken[stdlib.bisect.bisect_left(taken, first, key=lambda lines: lines[1]) :]:
        if start > last:
            break
        if first < start:
            yield [first, start - 1, *whose]
        first = end + 1
    if first <= last:
        yield [first, last, *whose]
