"""Whose the lines of a commit are: each path's credit, its sums (doc/credit.md "Counting a
commit"), and the ranges of lines.json.

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

from gitcp.text.ids import PERSON, UNKNOWN
from gitcp.text.pairing import find_changed_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.text.line_replay import Elsewhere, Replay, Version
    from gitcp.text.record_types import Writer

    Entry = Mapping[str, Any]
    # In lines.json: [first, last, turn id | 'person' | 'unknown', tool use | null], and for a line
    # of another session its id and the checkpoint; from line 1 on.
    Run = list[Any]

    class Attribution(TypedDict):
        """The initial_attribution of a session, without `calculated_at`; the first lines of this
        file tell what is counted."""

        agent_lines: int
        agent_removed: int
        human_added: int
        human_modified: int
        human_removed: int
        total_committed: int
        agent_percentage: float
        lines_added: dict[str, int]
        lines_removed: dict[str, int]


_KEYS = "ranges", "others"


class PathCredit:
    """A path of a commit.

    oid: its blob, '' for none.  added: (line, author) of each added line, in order, from line 1 on.
    removed: who removed each removed line.  lost: (author, who removed it) of each line written and
    removed since the parent.  moved: the added lines that the file had at another path.
    is_counted: False if the content has no lines, or was moved to another path.
    """

    __slots__ = ("added", "is_counted", "lost", "moved", "oid", "removed")

    def __init__(
        self,
        oid: str,
        added: list[tuple[int, Writer]],
        removed: Sequence[Writer] = (),
        lost: Sequence[tuple[Writer, Writer]] = (),
    ) -> None:
        self.oid = oid
        self.added = added
        self.removed = removed
        self.lost = lost
        self.moved: set[int] = set()
        self.is_counted = True

    def leave_out(self) -> None:
        """Have its lines count nowhere."""
        self.is_counted = False

    def correct(self, authors: Mapping[int, Writer]) -> None:
        """Give these of the added lines other authors."""
        self.added = [(line, authors.get(line, who)) for line, who in self.added]

    def list_persons_lines(self) -> list[int]:
        """The added lines that are the person's."""
        return [line for line, who in self.added if who == PERSON]

    def list_turns(self, session_id: str) -> list[str]:
        """The turns of a session that wrote added lines, each once."""
        return list(dict.fromkeys(who[1] for _, who in self.added if who[0] == session_id))

    def list_sessions(self) -> set[str]:
        """The sessions that wrote or removed lines."""
        authors = [who for _, who in self.added]
        return {who[0] for who in [*authors, *self.removed] if who[0]}

    def list_ranges(self, session_id: str) -> list[Run]:
        """The runs of the added lines without those of other sessions."""
        runs: list[Run] = []
        for line, (session, turn_id, tool_id) in self.added:
            if session in ("", session_id):
                _add_line(runs, line, [turn_id, tool_id or None])
        return runs

    def list_foreign_ranges(self, session_id: str, checkpoints: Mapping[Writer, str]) -> list[Run]:
        """The runs of the added lines of other sessions; checkpoints: where each writer is
        recorded."""
        runs: list[Run] = []
        for line, who in self.added:
            session, turn_id, tool_id = who
            if session not in ("", session_id) and who in checkpoints:
                _add_line(runs, line, [turn_id, tool_id or None, session, checkpoints[who]])
        return runs


def _add_line(runs: list[Run], line: int, whose: list[Any]) -> None:
    """Add a line to the last run if it goes on with it, else as a run of its own."""
    if runs and runs[-1][1] == line - 1 and runs[-1][2:] == whose:
        runs[-1][1] = line
    else:
        runs.append([line, line, *whose])


def credit_path(
    lines: Replay,
    parents: Sequence[Version],
    committed: Version,
    origin: Version | None = None,
    elsewhere: Elsewhere | None = None,
) -> PathCredit:
    """Credit a path of a commit; a line that no step explains is the person's.

    parents: the path's content in each parent.  A line that a parent has is not added; removed
    lines are those of the first.  origin: the content at the path that the file was moved from,
    in the place of the first parent's.  elsewhere: where lines that no step explains may come
    from.
    """
    present = set(lines.numbers)
    old = origin or parents[0]
    parent_numbers = lines.find_numbers(old, UNKNOWN)
    new_numbers = lines.find_numbers(committed, PERSON, elsewhere)
    removed, changed = find_changed_lines(old.lines, committed.lines)
    if origin:
        added = list(range(len(committed.lines)))
    else:
        added = changed
    for later_parent in parents[1:]:
        new = set(find_changed_lines(later_parent.lines, committed.lines)[1])
        added = [j for j in added if j in new]
    known = {*new_numbers, *parent_numbers, *present}
    credit = PathCredit(
        committed.oid,
        [(j + 1, lines.get_author(new_numbers[j])) for j in added],
        _list_removers(lines, [parent_numbers[i] for i in removed], set(new_numbers)),
        [(lines.get_author(n), taker) for n, taker in lines.takers.items() if n not in known],
    )
    credit.moved.update(j + 1 for j in set(added).difference(changed))
    if any(map(_has_no_lines, (*parents, committed))):
        credit.leave_out()
    return credit


def _list_removers(lines: Replay, gone: Iterable[int], standing: set[int]) -> list[Writer]:
    """Who removed each of these lines of a parent; standing: the lines of the commit."""
    removers = []
    for number in gone:
        if number in standing:
            removers.append(lines.get_taker(number, UNKNOWN))
        else:
            removers.append(lines.get_taker(number, PERSON))
    return removers


def _has_no_lines(version: Version) -> bool:
    """Whether a content stands for what is not split into lines."""
    return bool(version.lines) and version.lines[0].startswith(b"\0")


class _Sums:
    """The sums of a commit for one of its sessions."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._added = _make_counts()
        self._removed = _make_counts()
        self._agent_removed = 0
        self._human_modified = 0
        self._human_removed = 0
        self._total = 0

    def add_path(self, path: PathCredit) -> None:
        """Count the lines of a path."""
        added = _make_counts()
        removed = _make_counts()
        net_removed: dict[str, int] = {}  # author -> the lines that he removed less those he added
        count = 0
        for line, author in path.added:
            if line not in path.moved:
                count += 1
                added[self._get_column(author)] += 1
                key = _get_author_key(author)
                net_removed[key] = net_removed.get(key, 0) - 1
        for taker in path.removed:
            removed[self._get_column(taker)] += 1
            key = _get_author_key(taker)
            net_removed[key] = net_removed.get(key, 0) + 1
        taken = removed["person"]
        for author, taker in path.lost:
            if author[0] == self._session_id and taker == PERSON:
                taken += 1
        modified = min(added["person"], taken)
        self._agent_removed += max(0, net_removed.get(self._session_id, 0))
        self._human_modified += modified
        self._human_removed += taken - modified
        self._total += count + sum(n for n in net_removed.values() if n > 0)
        for who in added:
            self._added[who] += added[who]
            self._removed[who] += removed[who]

    def _get_column(self, author: Writer) -> str:
        if not author[0]:
            return author[1]
        if author[0] == self._session_id:
            return "agent"
        return "others"

    def build(self) -> Attribution:
        """What was counted."""
        share = self._added["agent"] + self._agent_removed
        percentage = 0.0
        if self._total:
            percentage = 100.0 * share / self._total
        return {
            "agent_lines": self._added["agent"],
            "agent_removed": self._agent_removed,
            "human_added": self._added["person"] - self._human_modified,
            "human_modified": self._human_modified,
            "human_removed": self._human_removed,
            "total_committed": self._total,
            "agent_percentage": percentage,
            "lines_added": self._added,
            "lines_removed": self._removed,
        }


def compute_attribution(session_id: str, paths: Iterable[PathCredit]) -> Attribution:
    """The initial_attribution of a session, without `calculated_at`."""
    sums = _Sums(session_id)
    for path in paths:
        if path.is_counted:
            sums.add_path(path)
    return sums.build()


def _make_counts() -> dict[str, int]:
    return {"agent": 0, "others": 0, "person": 0, "unknown": 0}


def _get_author_key(author: Writer) -> str:
    return author[0] or f"/{author[1]}"  # no session has a slash in its id


def build_entries(
    session_id: str, paths: Mapping[str, PathCredit], checkpoints: Mapping[Writer, str]
) -> dict[str, list[dict[str, Any]]]:
    """The lines.json of a session: path -> [{oid, ranges, others unless empty}]."""
    lines: dict[str, list[Any]] = {}
    for path, credit in paths.items():
        own = credit.list_ranges(session_id)
        foreign = credit.list_foreign_ranges(session_id, checkpoints)
        if credit.oid and (own or foreign):
            lines[path] = [{"oid": credit.oid, "ranges": own}]
            if foreign:
                lines[path][0]["others"] = foreign
    return lines


def join_entries(
    old: Mapping[str, Any] | None, new: Mapping[str, Sequence[Entry]]
) -> dict[str, Any]:
    """Two lines.json joined by path and content.  A content in both gets the ranges of both:
    another commit may add fewer of its lines, or not know their authors."""
    lines = dict(old or {})
    for path, entries in new.items():
        stored = lines.get(path)
        known = []
        if isinstance(stored, list):
            known = [entry for entry in stored if isinstance(entry, dict)]
        before = {entry.get("oid"): entry for entry in known}
        oids = {entry["oid"] for entry in entries}
        lines[path] = [entry for entry in known if entry.get("oid") not in oids]
        lines[path] += [_unite_entries(entry, before.get(entry["oid"], {})) for entry in entries]
    return lines


def _unite_entries(entry: Entry, before: Entry) -> dict[str, Any]:
    """An entry with the ranges of both; for a line in both a session comes before the person and
    unknown, then the newer entry before the older."""
    from bisect import insort

    stored: list[tuple[str, Run]] = []
    for source in (entry, before):
        for key in _KEYS:
            stored += [(key, run) for run in _list_stored_runs(source.get(key))]
    stored.sort(key=_is_nobodys)
    runs: dict[str, list[Run]] = {key: [] for key in _KEYS}
    taken: list[tuple[int, int]] = []
    for key, run in stored:
        for part in _list_free_parts(run, taken):
            runs[key].append(part)
            insort(taken, (part[0], part[1]))
    united = {**before, **entry}
    for key in _KEYS:
        united[key] = sorted(runs[key], key=lambda run: run[0])
    if not united["others"]:
        del united["others"]
    return united


def _is_nobodys(item: tuple[str, Run]) -> bool:
    key, run = item
    return key == "ranges" and run[2] in (PERSON[1], UNKNOWN[1])


def _list_stored_runs(stored: Any) -> Iterator[Run]:
    """Yield the ranges in a stored value, which may have any shape."""
    if isinstance(stored, list):
        for run in stored:
            if isinstance(run, list) and len(run) > 2 and type(run[0]) is type(run[1]) is int:
                yield run


def _list_free_parts(run: Run, taken: Sequence[tuple[int, int]]) -> list[Run]:
    """The parts of a range that do not overlap the sorted ranges in taken."""
    from bisect import bisect_left

    first, last, *whose = run
    parts = []
    for start, end in taken[bisect_left(taken, first, key=lambda lines: lines[1]) :]:
        if start > last:
            break
        if first < start:
            parts.append([first, start - 1, *whose])
        first = end + 1
    if first <= last:
        parts.append([first, last, *whose])
    return parts
