"""How much of a commit did whom write: the lines of its paths, summed
(doc/credit.md "Counting a commit").

Each line the commit adds or removes, against its own parent, has one author; so over all
sessions, the person and unknown the lines add up to the commit's, exactly:

    lines_added, lines_removed   {agent, others, person, unknown}: all lines, every one once
    agent_lines      lines this session wrote
    agent_removed    lines it removed, beyond those it put others in place of
    human_added      lines the person added ...
    human_modified   ... in place of a line that went, and not in the one before
    human_removed    other lines the person removed: of before, or written by this session and
                     never committed; one that is still in the worktree is not removed
    total_committed  lines the commit changes, a replaced line being one
    agent_percentage this session's of total_committed; 0 if there is nothing
"""

from __future__ import annotations

from bisect import bisect_left, insort

from gitcp.core.credit.entries import PERSON, UNKNOWN
from gitcp.core.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.lines.replay import Replay, Version
    from gitcp.core.record_types import Writer

    class PathCredit(TypedDict):
        """One path of a commit.  added: (line from 1, author) of each line it adds, in order;
        removed: who took each line it removes; lost: (who wrote it, who took it) of each line
        that came and went since the parent; whole: no lines, one author for all of it."""

        oid: str
        added: list[tuple[int, Writer]]
        removed: list[Writer]
        lost: list[tuple[Writer, Writer]]
        whole: bool

    Entry = Mapping[str, Any]

_KEYS = "ranges", "others"


def credit_path(lines: Replay, parents: Sequence[Version], committed: Version) -> PathCredit:
    """Credit one path of a commit; what no step explains is the person's.

    parents: the path's content in each parent, the first being what removals count against; a
    line that any of them has is nobody's.
    """
    present = set(lines.numbers)
    was = lines.find_numbers(parents[0], UNKNOWN) if parents else []
    now = lines.find_numbers(committed, PERSON)
    gone, come = line_diff.find_changed_lines(parents[0].lines if parents else (), committed.lines)
    for other in parents[1:]:
        new = set(line_diff.find_changed_lines(other.lines, committed.lines)[1])
        come = [j for j in come if j in new]
    kept, stay = {*now, *was, *present}, set(now)
    mine = ((number, taker) for number, taker in lines.takers.items() if number not in kept)
    return {
        "oid": committed.oid,
        "added": [(j + 1, lines.get_author(now[j])) for j in come],
        "removed": [lines.get_taker(was[i], UNKNOWN if was[i] in stay else PERSON) for i in gone],
        "lost": [(lines.get_author(number), taker) for number, taker in mine],
        "whole": any(line.startswith(b"\0") for line in committed.lines[:1])
        or any(line.startswith(b"\0") for parent in parents for line in parent.lines[:1]),
    }


def compute_attribution(session_id: str, paths: Iterable[PathCredit]) -> dict[str, Any]:
    """initial_attribution of a session; `calculated_at` is the caller's to add.

    Paths without lines (binary, too large) do not count.
    """
    added, removed = _make_counts(), _make_counts()
    net = {"agent_removed": 0, "modified": 0, "removed": 0, "total": 0}
    for path in paths:
        if not path["whole"]:
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
    here, gone = _make_counts(), _make_counts()
    beyond: dict[str, int] = {}
    for _, author in path["added"]:
        here[_get_column(author, session_id)] += 1
        beyond[_get_author_key(author)] = beyond.get(_get_author_key(author), 0) - 1
    for taker in path["removed"]:
        gone[_get_column(taker, session_id)] += 1
        beyond[_get_author_key(taker)] = beyond.get(_get_author_key(taker), 0) + 1
    lost = [who for who, taker in path["lost"] if who[0] == session_id and taker == PERSON]
    modified = min(here["person"], len(lost) + gone["person"])
    net["agent_removed"] += max(0, beyond.get(session_id, 0))
    net["modified"] += modified
    net["removed"] += len(lost) + gone["person"] - modified
    net["total"] += len(path["added"]) + sum(n for n in beyond.values() if n > 0)
    for key in added:
        added[key] += here[key]
        removed[key] += gone[key]


def _get_author_key(author: Writer) -> str:
    return author[0] or f"/{author[1]}"  # no session has a slash in its id


def _get_column(author: Writer, session_id: str) -> str:
    if author[0]:
        return "agent" if author[0] == session_id else "others"
    return author[1]


def list_ranges(session_id: str, path: PathCredit) -> list[list[Any]]:
    """[first, last, turn id | 'person' | 'unknown', tool use | null] of the lines a commit adds
    to a path, other sessions' left out; lines from 1."""
    own = ("", session_id)
    return _join_runs((line, [w[1], w[2] or None]) for line, w in path["added"] if w[0] in own)


def list_foreign_ranges(
    session_id: str, path: PathCredit, checkpoints: Mapping[Writer, str]
) -> list[list[Any]]:
    """[first, last, turn id, tool use | null, session id, checkpoint id] of the lines a commit
    adds to a path that other sessions wrote, as checkpoints of before tell; lines from 1."""
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
    """What lines.json says of a session: path -> [{oid, ranges, others where there are any}]."""
    lines = {}
    for path, credit in paths.items():
        own, more = (
            list_ranges(session_id, credit),
            list_foreign_ranges(session_id, credit, checkpoints),
        )
        if credit["oid"] and (own or more):
            entry = {"oid": credit["oid"], "ranges": own}
            lines[path] = [{**entry, "others": more} if more else entry]
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
    """A path's contents side by side; of one that is told again what both tell: another commit
    may have added fewer of its lines, or not know of whom they came."""
    lines = dict(old or {})
    for path, given in new.items():
        stored = lines.get(path)
        known = [e for e in stored if isinstance(e, dict)] if isinstance(stored, list) else []
        before = {entry.get("oid"): entry for entry in known}
        again = {entry["oid"] for entry in given}
        rest = [entry for entry in known if entry.get("oid") not in again]
        lines[path] = [
            *rest,
            *(_unite_entries(entry, before.get(entry["oid"], {})) for entry in given),
        ]
    return lines


def _unite_entries(entry: Entry, before: Entry) -> dict[str, Any]:
    """A line is a session's before it is the person's or unknown, then whose the newer says."""
    every = [
        (k, run)
        for tells in (entry, before)
        for k in _KEYS
        for run in _list_stored_runs(tells.get(k))
    ]
    runs: dict[str, list[Any]] = {key: [] for key in _KEYS}
    taken: list[tuple[int, int]] = []
    for key, run in sorted(every, key=_is_nobodys):
        for part in [*_list_free_parts(run, taken)]:
            runs[key].append(part)
            insort(taken, (part[0], part[1]))
    whole = {**before, **entry, **{key: sorted(runs[key], key=_get_first_line) for key in _KEYS}}
    return {key: value for key, value in whole.items() if key != "others" or value}


def _is_nobodys(item: tuple[str, Sequence[Any]]) -> bool:
    key, run = item
    return key == "ranges" and run[2] in (PERSON[1], UNKNOWN[1])


def _get_first_line(run: Sequence[Any]) -> int:
    return int(run[0])


def _list_stored_runs(stored: Any) -> Iterator[Sequence[Any]]:
    """What has the shape of a range."""
    for run in stored if isinstance(stored, list) else ():
        if isinstance(run, list) and len(run) > 2 and type(run[0]) is type(run[1]) is int:
            yield run


def _list_free_parts(run: Sequence[Any], taken: Sequence[tuple[int, int]]) -> Iterator[list[Any]]:
    """The parts of a range that none of these lines, in order, are in."""
    first, last, *whose = run
    for start, end in taken[bisect_left(taken, first, key=lambda lines: lines[1]) :]:
        if start > last:
            break
        if first < start:
            yield [first, start - 1, *whose]
        first = end + 1
    if first <= last:
        yield [first, last, *whose]
