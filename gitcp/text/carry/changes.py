"""Two changes of a text side by side: that of some work, and that of a commit.

A line that the commit adds and that carries on a line of the work (`origins`), in another form or
at another place, counts as that line.  Blank lines do not count.
"""

from __future__ import annotations

from gitcp.text.carry import moves, origins
from gitcp.text.carry.moves import Source
from gitcp.text.carry.text import NOTHING, Text, has_words_of, weigh
from gitcp.text.ids import remove_space
from gitcp.text.line_evidence import (
    LARGEST,
    find_added_lines,
    is_meaningful,
    select_significant,
    split_lines,
)
from gitcp.text.pairing import count_same_ends, find_changed_lines, list_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from gitcp.text.carry.origins import Carried

    Texts = tuple[bytes, bytes]  # before and after


def find_lines(old: bytes, new: bytes) -> tuple[set[bytes], set[bytes]]:
    """(the lines that a change adds, those that it removes)."""
    return find_added_lines(old, new), find_added_lines(new, old)


class Lines:
    """The lines that some work adds and removes, and those that a change does, without white space.

    If the change changes nothing but white space, this counts, and nothing is carried on.  own: the
    lines that the work added, None if it is all of them.  ignores_space: white space never counts.
    """

    def __init__(
        self,
        work: Texts,
        change: Texts,
        own: frozenset[bytes] | None = None,
        ignores_space: bool = False,
    ) -> None:
        self._long = select_significant(set().union(*find_lines(*work), *find_lines(*change)))
        self.work = work
        self.change = change
        self._own = own
        is_bare = ignores_space or remove_space(change[0]) != remove_space(change[1])
        if is_bare:
            self.work = (remove_space(work[0]), remove_space(work[1]))
            self.change = (remove_space(change[0]), remove_space(change[1]))
            if own is None:
                self._own = None
            else:
                self._own = frozenset(map(remove_space, own))
            self._long = set(map(remove_space, self._long))
        self.work_added, self.work_removed = find_lines(*self.work)
        self.added, self.removed = find_lines(*self.change)
        if self._own is not None:
            self.work_added &= self._own
        if is_bare:
            self._count_carried(work[1], change)
        self.are_same = not (self.work_added or self.work_removed or self.added or self.removed)
        before = find_added_lines(None, self.change[0])
        self.awaited = self.work_added - before
        self.awaited_removed = self.work_removed & before

    def _count_carried(self, written: bytes, change: Texts) -> None:
        """Have the lines of the change that carry on lines of the work count as these."""
        missing = self.work_added - self.added
        others = self.added - self.work_added
        if not missing or not others or max(len(written), *map(len, change)) > LARGEST:
            return
        old = Text(split_lines(written))
        new = Text(split_lines(change[1]))
        if not has_words_of(old.select_lines(missing), new.select_lines(others)):
            return
        carried = origins.carry(old, new)
        found: dict[int, int] = {}  # line of the commit -> line of the work
        for line, origin in enumerate(carried.origins):
            if origin != NOTHING and new.keys[line] in others and old.keys[origin] in missing:
                found[line] = origin
        if found:
            self._add_carried(old, new, carried, found, split_lines(change[0]))

    def _add_carried(
        self, old: Text, new: Text, carried: Carried, found: Mapping[int, int], parent: list[bytes]
    ) -> None:
        """Add what was found, if the parent did not have it in a form of its own already."""
        if parent:
            of_parent = origins.carry(Text(parent), new).origins
        else:
            of_parent = []
        taken: set[int] = set()
        for line, origin in found.items():
            if of_parent and of_parent[line] != NOTHING:
                continue
            self.added.discard(new.keys[line])
            self.added.add(old.keys[origin])
            taken.add(origin)
        for line in carried.joined:
            if old.keys[line] in self.work_added and _is_beside(line, taken, carried):
                self.added.add(old.keys[line])

    def is_long(self, line: bytes) -> bool:
        """Whether a line is significant, with its white space."""
        return line.strip() in self._long

    def find_place(self) -> bytes:
        """Where both put the same lines that the text had before; b"" if they do not."""
        place = _find_place(*self.change, self._own)
        if place == _find_place(*self.work, self._own):
            return place
        return b""


class Written:
    """Lines that some work wrote into a file, and that a commit may have in another one.

    path: of the file in the commit.  lines: those that count, without white space.  gone: the
    indices of the lines of the text that the file has lost; what a commit has of the others was
    copied."""

    __slots__ = ("gone", "lines", "path", "text")

    def __init__(self, path: str, text: bytes, lines: set[bytes]) -> None:
        self.path = path
        self.text = Text(split_lines(text))
        self.lines = lines
        self.gone: set[int] = set()

    def lose_to(self, now: bytes | None) -> None:
        """Note what the file has now; None for another kind of file."""
        removed, _ = find_changed_lines(self.text.keys, list_keys(split_lines(now)))
        self.gone.update(removed)


def find_brought(works: Sequence[Written], change: Texts) -> dict[int, list[int]]:
    """number of a work -> the indices of those of its lines that a change of another text moves or
    copies into that."""
    before = Text(split_lines(change[0]))
    after = Text(split_lines(change[1]))
    added = after.select_lines(set(after.keys).difference(before.keys))
    if sum(map(weigh, added)) < moves.MOVED:
        return {}
    written: list[bytes] = []
    for work in works:
        written += work.text.select_lines(work.lines)
    if not has_words_of(written, added):
        return {}
    sources = [Source(work.text, work.gone) for work in works]
    found: dict[int, list[int]] = {}
    for place in origins.carry(before, after, sources).places.values():
        work = works[place.source]
        if work.text.keys[place.line] in work.lines:
            found.setdefault(place.source, []).append(place.line)
    return found


def _is_beside(joined: int, taken: Container[int], carried: Carried) -> bool:
    """Whether a line of the work that is a part of another one now stands beside one that was
    taken, other such parts between them aside."""
    for step in (-1, 1):
        line = joined + step
        while line in carried.joined:
            line += step
        if line in taken:
            return True
    return False


def _find_place(a: bytes, b: bytes, own: Container[bytes] | None = None) -> bytes:
    """What a change from a to b removes and adds, with the line before and the line after
    that are not blank; b"" if no added line is meaningful, or own lacks one of them.

    own: the lines that may be added, None for any.
    """
    old = a.split(b"\n")
    new = b.split(b"\n")
    start, end = count_same_ends(old, new)
    added = [line for line in new[start : len(new) - end] if line.strip()]
    if not any(map(is_meaningful, added)):
        return b""
    if own is not None and not all(line in own for line in added):
        return b""
    before = [line for line in new[:start] if line.strip()][-1:]
    after = [line for line in new[len(new) - end :] if line.strip()][:1]
    removed = old[start : len(old) - end]
    return b"\n".join([*before, b"\0", *removed, b"\0", *added, b"\0", *after])
