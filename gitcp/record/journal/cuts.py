"""What is cut from a journal.

At a commit open edits stay, and the edits of the last commits, which may be amended or undone; at
the end of a turn all lines that no other repeats.
"""

from __future__ import annotations

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import (
    CheckpointLine,
    Closing,
    Cut,
    Edit,
    Had,
    HeldLine,
    JournalLine,
    Large,
    LookLine,
    ManyEdits,
    Opening,
    Settlement,
    WrittenLine,
    list_keys,
)
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from gitcp.text.record_types import Version

COMMITS = 3  # the last commits whose edits stay
CONTENTS = 300  # remembered contents of removed edits
_STAYING = list_keys("staying")


def cut_back(
    lines: list[JournalLine], expanded: list[JournalLine], active: Container[str] = ()
) -> list[JournalLine]:
    """Return the lines that stay, in their order: those since the last commits, and older ones that
    are needed, after a line with the contents of the removed ones.

    expanded: the lines with a line for each edit of a `trees` line.  active: the sessions in
    mid-turn.
    """
    commits = [n for n, line in enumerate(lines) if _is_commit(line)]
    start = 0
    if len(commits) > COMMITS:
        start = commits[-COMMITS - 1] + 1
    old = lines[:start]
    recent = lines[start:]
    needed = _find_needed(lines, expanded, active)
    removed = [line for n, line in enumerate(old) if n not in needed]
    left = [line for n, line in enumerate(old) if n in needed]
    return [*_build_had_line(removed), *left, *_build_cut_line(old, recent), *recent]


def _is_commit(line: JournalLine) -> bool:
    return isinstance(line, Settlement) and line.commit != ""


def drop_repeated(lines: list[JournalLine]) -> list[JournalLine]:
    """Return the lines without those that others repeat, at any age.

    Of the looks at one base, with only edits on that base between them, the first and the last
    stay; of the `held` lines the newest; of the checkpoints on a stream those that have a file
    which no later one has, that take files from streams, or that no ref holds yet.
    """
    repeated = _find_repeated_looks(lines)
    held = credit.find_last(lines, HeldLine)
    later: set[tuple[str, str, str]] = set()
    for n in range(len(lines) - 1, -1, -1):
        line = lines[n]
        if isinstance(line, HeldLine) and n < held:
            repeated.add(n)
        elif isinstance(line, CheckpointLine):
            files = {(line.session, line.stream, path) for path in line.files}
            if files and files <= later and n < held and not line.out:
                repeated.add(n)
            later |= files
    return [line for n, line in enumerate(lines) if n not in repeated]


def _find_repeated_looks(lines: list[JournalLine]) -> set[int]:
    """The indexes of the looks between the first and the last of each run at one base."""
    repeated: set[int] = set()
    base = ""
    ends = list[int]()
    for n, line in enumerate(lines):
        if not isinstance(line, (LookLine, Edit, ManyEdits)):
            continue
        if line.base != base or not base:
            base = line.base
            ends = []
        if isinstance(line, LookLine):
            if len(ends) > 1:
                repeated.add(ends.pop())
            ends.append(n)
    return repeated


def _find_needed(
    lines: list[JournalLine], expanded: list[JournalLine], active: Container[str]
) -> set[int]:
    """The indexes of the lines that stay at any age.

    All stay until a ref holds them, and the newest look, and what _Needed says.
    """
    held = credit.find_last(lines, HeldLine)
    is_needed = _Needed(lines, expanded, active).has
    needed = {held, credit.find_last(lines, LookLine)}
    for n, line in enumerate(lines):
        if (n > held and not _STAYING.isdisjoint(line.keys)) or is_needed(line):
            needed.add(n)
    return needed


class _Needed:
    """What is needed of a journal.

    An edit is while it is open, a `trees` line while one of its edits is, a checkpoint while its
    session has an open edit, a large file while no commit has it; the calls that run are, and of
    an active session the last call of a file tool at each path: its transcript tells of that
    write, too.
    """

    def __init__(
        self, lines: list[JournalLine], expanded: list[JournalLine], active: Container[str]
    ) -> None:
        open_edits = credit.list_open_edits(expanded)
        self._edits = {_get_key(edit) for edit in open_edits}
        self._times = {edit.at for edit in open_edits}
        self._sessions = {edit.author[0] for edit in open_edits}
        self._large = credit.map_large(expanded)
        self._calls = _list_needed_calls(lines, active)

    def has(self, line: JournalLine) -> bool:
        """Whether a line is needed."""
        if isinstance(line, Edit):
            return _get_key(line) in self._edits
        if isinstance(line, ManyEdits):
            return line.at in self._times
        if isinstance(line, CheckpointLine):
            return line.session in self._sessions
        if isinstance(line, Large):
            return line.path in self._large
        if isinstance(line, (Opening, Closing)):
            return line.name in self._calls
        return False


def _list_needed_calls(lines: list[JournalLine], active: Container[str]) -> set[tuple[str, str]]:
    """(session, id) of the calls that run, and of the last of an active session at each path."""
    running = set()
    last: dict[tuple[str, str], tuple[str, str]] = {}  # by session and path
    for call in credit.list_calls(lines):
        if call.is_running:
            running.add(call.opening.name)
        if call.session in active:
            for path in call.opening.looked:
                last[(call.session, path)] = call.opening.name
    return running | {*last.values()}


@value_class
class SinceCut:
    """What a journal has since lines were cut from it.

    lines: those after the last cut, which are complete.  cut_ids: the ids of turns and tool uses
    that have edits both before and after it.
    """

    lines: list[JournalLine]
    cut_ids: set[str]


def find_since_cut(lines: list[JournalLine]) -> SinceCut:
    """What a journal has since its last cut."""
    number = credit.find_last(lines, Cut)
    if number < 0:
        if any(isinstance(line, Had) for line in lines):
            return SinceCut([], set())  # cut by a version that wrote no `cut` line
        return SinceCut(lines, set())
    cut = lines[number]
    cut_ids = {*cut.ids} if isinstance(cut, Cut) else set()
    return SinceCut(lines[number + 1 :], cut_ids)


def _build_cut_line(old: list[JournalLine], recent: list[JournalLine]) -> list[Cut]:
    """The line that marks a cut between old and recent lines; [] if no edit is before it."""
    before: set[str] = set()
    is_marked = False
    for line in old:
        before |= _list_ids(line)
        is_marked = is_marked or isinstance(line, (Cut, WrittenLine))
    after: set[str] = set()
    for line in recent:
        if not isinstance(line, Cut):
            after |= _list_ids(line)
    if not is_marked:
        return []
    return [Cut({"cut": sorted(before & after)})]


def _list_ids(line: JournalLine) -> set[str]:
    """The ids of the turn and the tool use of an edit, or those that a cut names."""
    if isinstance(line, Cut):
        return {*line.ids}
    if isinstance(line, WrittenLine) and line.cause[0]:
        return {*line.cause[1:]} - {""}
    return set()


def _build_had_line(removed: list[JournalLine]) -> list[Had]:
    """The line that remembers the newest contents of the paths in removed lines."""
    contents: dict[tuple[str, str], None] = {}  # (path, blob), the oldest first
    for line in removed:
        for pair in _list_contents(line):
            contents.pop(pair, None)
            contents[pair] = None
    by_path: dict[str, list[str]] = {}
    for path, oid in list(contents)[-CONTENTS:]:
        by_path.setdefault(path, []).append(oid)
    return [Had({"had": by_path})] if by_path else []


def _list_contents(line: JournalLine) -> list[tuple[str, str]]:
    """(path, blob) of the contents that a line names."""
    pairs = []
    if isinstance(line, Had):
        for path, oids in line.contents.items():
            pairs += [(path, oid) for oid in oids]
    elif isinstance(line, Edit):
        pairs = [(line.path, version[1]) for version in (line.before, line.after) if version]
    return pairs


def _get_key(edit: Edit) -> tuple[str, int, Version]:
    return edit.path, edit.at, edit.after


@value_class
class Unfounded:
    """The commits that lost edits of a session by a correction: commit -> the paths that have none
    any more.  wholly: those that have no other of its edits.  partly: the others."""

    wholly: dict[str, set[str]]
    partly: dict[str, set[str]]


def list_unfounded(
    lines: list[JournalLine], corrected: list[JournalLine], session_id: str
) -> Unfounded:
    """The commits that settled edits of a session by lines, and fewer by the corrected ones."""
    before = _list_settled(lines, session_id)
    after = _list_settled(corrected, session_id)
    wholly = {}
    partly = {}
    for commit, paths in before.items():
        remaining = after.get(commit, set())
        lost = paths - remaining
        if lost and remaining:
            partly[commit] = lost
        elif lost:
            wholly[commit] = lost
    return Unfounded(wholly, partly)


def _list_settled(lines: list[JournalLine], session_id: str) -> dict[str, set[str]]:
    """commit -> the paths of edits of a session that it settled."""
    settled: dict[str, set[str]] = {}
    for n, line in enumerate(lines):
        if not isinstance(line, Settlement) or not line.commit:
            continue
        left = _name_edits(credit.list_open_edits(lines[: n + 1]))
        paths = settled.setdefault(line.commit, set())
        for edit in credit.list_open_edits(lines[:n]):
            if edit.author[0] == session_id and (edit.path, edit.name) not in left:
                paths.add(edit.path)
    return settled


def _name_edits(edits: Sequence[Edit]) -> list[tuple[str, list[object]]]:
    return [(edit.path, edit.name) for edit in edits]
