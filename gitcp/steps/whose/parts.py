"""Divide the uncommitted change of a file by its authors, and choose some of them
(doc/behaviour.md "Staging a part").

The change from the staged content to the worktree's is a list of operations, one for each line.
Each has one author, so adjacent lines are chosen apart.  Lines that belong together form a group:
a replaced line and the lines in its place, whoever wrote them.
"""

from __future__ import annotations

from gitcp.text.ids import PERSON, UNKNOWN, remove_space
from gitcp.text.line_replay import Replay
from gitcp.text.pairing import count_same_ends, pair_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitcp.text.line_replay import Elsewhere, Regains, Version
    from gitcp.text.pairing import Pairs
    from gitcp.text.record_types import Writer

    Chosen = Callable[[Writer], bool]
    Ends = tuple[int, int]

KEPT = "kept"
REMOVED = "removed"
ADDED = "added"
HAND = ""  # in the place of a session's id: no agent
# before the first line and after the last one
_HEAD = -1
_TAIL = -2


class Weave(Replay):
    """A replay that keeps all lines that a path ever had, in one order, and what each replaced.

    replaced: line -> the lines in whose place it was put.  inside: line -> the sessions (HAND: no
    agent) whose lines were on both sides of it when it was written.
    """

    def __init__(
        self, first: Version, before: Callable[[], Mapping[int, Writer]] | None = None
    ) -> None:
        super().__init__(first, before)
        self.replaced: dict[int, set[int]] = {}
        self.inside: dict[int, frozenset[str]] = {}
        self._texts_of = dict(zip(self.numbers, self._keys, strict=True))
        self._placers: dict[int, Writer] = {}  # who put a line where it is
        self._takers: dict[int, Writer] = {}  # the call that took a line away
        self._moved: set[int] = set()  # the lines that were put at another place
        self._first_of: dict[int, int] = {}  # the first line of a replacement -> of the replaced
        self._after: dict[int, int] = {}
        self._before_it: dict[int, int] = {}
        for one, next_one in zip([_HEAD, *self.numbers], [*self.numbers, _TAIL], strict=True):
            self._after[one], self._before_it[next_one] = next_one, one

    def add_step(
        self,
        version: Version,
        who: Writer,
        regains: Regains | None = None,
        authors: Mapping[int, Writer] | None = None,
        is_kept: bool = False,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Add a step, as Replay does.  What came from another path goes by who brought it."""
        old = self.numbers
        super().add_step(version, who, regains, authors, is_kept)
        actor = who if who != UNKNOWN else self._cause
        start, end = count_same_ends(old, self.numbers)
        new_end = len(self.numbers) - end
        self._texts_of.update(zip(self.numbers[start:new_end], self._keys[start:], strict=False))
        middle = old[start : len(old) - end], self.numbers[start:new_end]
        pairs = [(start + i, start + j) for i, j in _pair_numbers(*middle)]
        for (i, k), (j, n) in _list_gaps(pairs, start, len(old) - end, new_end):
            self._weave(old[i:k], j, n, actor)

    def _weave(self, removed: list[int], j: int, n: int, actor: Writer) -> None:
        """Take note of lines that a step removed, and of those from j to n in their place."""
        added = self.numbers[j:n]
        left = self.numbers[j - 1] if j else _HEAD
        if n < len(self.numbers):
            right = self.numbers[n]
        else:
            right = _TAIL
        for number in removed:
            self._takers[number] = actor
        if not added:
            return
        around = self._find_around(left, right, actor[0])
        is_even = len(removed) == len(added)
        if removed:
            self._first_of[added[0]] = removed[0]
        elif right in self._first_of and right not in self.replaced.get(left, ()):
            first = self._resolve_first(right)
            if first not in added:
                right = first
        for k, number in enumerate(added):
            self._unlink(number)
            if is_even and removed[k] != number:
                beside = removed[k]
            else:
                beside = _HEAD
            if beside in self._after and is_even:
                place = beside
            else:
                place = self._before_it[right]
            self._link(place, number)
            self._placers[number] = actor
            replaced = {removed[k]} if is_even else set(removed)
            self.replaced.setdefault(number, set()).update(replaced - {number})
            self.inside[number] = around

    def _resolve_first(self, number: int) -> int:
        """The line before which one is put that is written before the replacement number."""
        seen = set()
        while number in self._first_of and number not in seen:
            seen.add(number)
            number = self._first_of[number]
        return number

    def _find_around(self, left: int, right: int, own: str) -> frozenset[str]:
        """The sessions inside whose lines a line of session own is written between two others."""
        sessions = [self.find_session(number) for number in (left, right)]
        if None in sessions:
            return frozenset()
        within = [self.inside.get(number, frozenset()) for number in (left, right)]
        if sessions[0] == sessions[1]:
            return frozenset({sessions[0] or HAND}) | within[0]
        # At the edge of lines of its own session, it is inside what they are inside.
        if own in sessions:
            return within[sessions.index(own)]
        return frozenset()

    def find_session(self, number: int) -> str | None:
        """The session that wrote a line, HAND for no agent; None for one of the first content."""
        if self.get_root(number) not in self.authors:
            return None
        return self.find_writer(number, PERSON)[0]

    def find_writer(self, number: int, otherwise: Writer) -> Writer:
        """Who wrote a line, or put it there if that is not known."""
        who = self.authors.get(self.get_root(number), UNKNOWN)
        if who != UNKNOWN:
            return who
        return self._placers.get(number, otherwise)

    def find_mover(self, number: int, otherwise: Writer) -> Writer:
        """Who removed, moved or indented a line."""
        who = self.get_taker(number, UNKNOWN)
        ways = (self._takers, self._placers) if number in self.takers else (self._placers,)
        known = (way[number] for way in ways if number in way)
        return who if who != UNKNOWN else next(known, otherwise)

    def has_moved(self, number: int) -> bool:
        """Whether a line was moved, or removed and put back."""
        return number in self._moved or number in self._changers

    def list_all(self) -> list[int]:
        """All lines, in their order."""
        numbers = []
        number = self._after[_HEAD]
        while number != _TAIL:
            numbers.append(number)
            number = self._after[number]
        return numbers

    def number_staged(self, version: Version) -> list[int]:
        """The lines of a content that may have a part of the steps; those that the path never had
        get new numbers."""
        if self.knows(version):
            return self.find_numbers(version, PERSON)
        every = self.list_all()
        texts = [remove_space(line) for line in version.lines]
        likely = {*range(len(self.first.lines)), *self.numbers}
        ends = [number for number in every if number in likely]
        pairs = _keep_ascending(pair_lines(texts, [self._texts_of[n] for n in ends]))
        numbers = {i: ends[j] for i, j in pairs}
        unused: dict[bytes, list[int]] = {}
        used = set(numbers.values())
        for number in every:
            if number not in used:
                unused.setdefault(self._texts_of[number], []).append(number)
        for i, text in enumerate(texts):
            if i not in numbers:  # it has moved since
                if unused.get(text):
                    numbers[i] = unused[text].pop()
                else:
                    numbers[i] = len(every) + i
        return [numbers[i] for i in range(len(texts))]

    def _link(self, place: int, number: int) -> None:
        behind = self._after[place]
        self._after[place] = self._before_it[behind] = number
        self._before_it[number], self._after[number] = place, behind

    def _unlink(self, number: int) -> None:
        if number in self._after:
            self._moved.add(number)
            before = self._before_it.pop(number)
            behind = self._after.pop(number)
            self._after[before], self._before_it[behind] = behind, before


def _name_numbers(numbers: Iterable[int]) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def _pair_numbers(a: Sequence[int], b: Sequence[int]) -> Pairs:
    return _keep_ascending(pair_lines(_name_numbers(a), _name_numbers(b)))


def _keep_ascending(pairs: Iterable[tuple[int, int]]) -> Pairs:
    """The pairs in order, without those that cross an earlier one."""
    kept: Pairs = []
    for i, j in sorted(pairs):
        if not kept or j > kept[-1][1]:
            kept.append((i, j))
    return kept


def _list_gaps(pairs: Pairs, start: int, old_end: int, new_end: int) -> Iterator[tuple[Ends, Ends]]:
    """Yield the ranges of both sides between pairs, those that are not empty."""
    i = j = start
    for k, n in [*pairs, (old_end, new_end)]:
        if i < k or j < n:
            yield (i, k), (j, n)
        i = k + 1
        j = n + 1


class Operation:
    """What becomes of a line, or of all the lines at the start or the end that stay as they are.

    kind: KEPT, REMOVED or ADDED.  line: the text.  at: its 1-based number, in the worktree unless
    it is removed.  hunk: operations between the same two kept lines have the same.  group: those
    that belong together.  inside: the sessions inside whose lines it was written.
    """

    __slots__ = ("at", "group", "hunk", "inside", "kind", "line", "number", "who")

    def __init__(self, kind: str, line: bytes, at: int, number: int, who: Writer) -> None:
        self.kind = kind
        self.line = line
        self.at = at
        self.number = number
        self.who = who
        self.hunk = self.group = -1
        self.inside: frozenset[str] = frozenset()


def list_operations(
    weave: Weave, staged: Version, present: Version, creator: Writer
) -> list[Operation]:
    """The operations that make a staged content the present one, in the order of the lines.

    weave: of the edits up to the present content.  creator: who made a file that is not staged."""
    old = weave.number_staged(staged)
    new = weave.find_numbers(present, PERSON)
    top, end = _count_kept(old, new, staged.lines, present.lines)
    middle = old[top : len(old) - end], new[top : len(new) - end]
    lines = staged.lines[top : len(old) - end], present.lines[top : len(new) - end]
    ranks = {number: n for n, number in enumerate(weave.list_all())}
    both = {weave.get_root(number) for number in old}
    operations = _keep_lines(present.lines[:top], 1)
    start = (-1, -1)
    pairs = [*_align(weave, lines, *middle), (len(middle[0]), len(middle[1]))]
    for hunk, (i, j) in enumerate(pairs):
        removed = []
        for k in range(start[0] + 1, i):
            who = weave.find_mover(middle[0][k], PERSON)
            removed.append(Operation(REMOVED, lines[0][k], top + k + 1, middle[0][k], who))
        added = []
        for k in range(start[1] + 1, j):
            number = middle[1][k]
            is_moved = weave.get_root(number) in both  # or has another form
            if is_moved:
                find = weave.find_mover
            else:
                find = weave.find_writer
            who = find(number, creator)
            added.append(Operation(ADDED, lines[1][k], top + k + 1, number, who))
            added[-1].inside = weave.inside.get(number, frozenset())
        for operation in _merge(removed, added, ranks):
            operation.hunk = hunk
            operations.append(operation)
        if j < len(middle[1]):
            operations.append(Operation(KEPT, lines[1][j], top + j + 1, middle[1][j], UNKNOWN))
        start = i, j
    operations += _keep_lines(present.lines[len(new) - end :], len(new) - end + 1)
    _group(weave, operations, {*new[:top], *new[len(new) - end :]})
    return operations


def _count_kept(old: Sequence[int], new: Sequence[int], *lines: Sequence[bytes]) -> tuple[int, int]:
    """How many lines at the start and the end are the same ones with the same text."""
    ends = count_same_ends(old, new), count_same_ends(*lines)
    top, end = (min(counts) for counts in zip(*ends, strict=True))
    return top, min(end, min(len(old), len(new)) - top)


def _keep_lines(lines: Sequence[bytes], at: int) -> list[Operation]:
    """One operation for the lines at an end that stay as they are, if there are any."""
    if lines:
        return [Operation(KEPT, b"\n".join(lines), at, -1, UNKNOWN)]
    return []


def _align(
    weave: Weave, lines: tuple[Sequence[bytes], Sequence[bytes]], old: list[int], new: list[int]
) -> Pairs:
    """The pairs of lines that no operation changes: those that stayed where they were, then those
    between them that are the same, then those that are equal, whoever wrote them."""
    sides = [[n for n, x in enumerate(side) if not weave.has_moved(x)] for side in (old, new)]
    picked = [[side[n] for n in stay] for side, stay in zip((old, new), sides, strict=True)]
    stayed = [(sides[0][i], sides[1][j]) for i, j in _pair_numbers(*picked)]
    pairs = [(i, j) for i, j in stayed if lines[0][i] == lines[1][j]]
    for names in ((_name_numbers(old), _name_numbers(new)), lines):
        for (i, k), (j, n) in [*_list_gaps(pairs, 0, len(old), len(new))]:
            same = ((i + a, j + b) for a, b in pair_lines(names[0][i:k], names[1][j:n]))
            pairs += _keep_ascending((a, b) for a, b in same if lines[0][a] == lines[1][b])
        pairs.sort()
    return pairs


def _merge(
    removed: list[Operation], added: list[Operation], ranks: Mapping[int, int]
) -> Iterator[Operation]:
    """Yield the operations between two kept lines in the order of all lines."""
    i = 0
    rank = -1
    for operation in added:
        rank = ranks.get(operation.number, rank)
        while i < len(removed) and ranks.get(removed[i].number, rank) <= rank:
            yield removed[i]
            i += 1
        yield operation
    yield from removed[i:]


def _group(weave: Weave, operations: Sequence[Operation], kept: set[int]) -> None:
    """Give the operations that belong together the same group.  kept: the lines at the ends."""
    gone = {o.number: n for n, o in enumerate(operations) if o.kind == REMOVED}
    present = {o.number for o in operations if o.kind != REMOVED} | kept
    parents = list(range(len(operations)))

    def find_root(n: int) -> int:
        while parents[n] != n:
            parents[n] = parents[parents[n]]
            n = parents[n]
        return n

    for n, operation in enumerate(operations):
        if operation.kind != ADDED:
            continue
        open_lines = [*weave.replaced.get(operation.number, ())]
        seen = {operation.number}
        if operation.number in gone:
            parents[find_root(gone[operation.number])] = find_root(n)
        while open_lines:
            number = open_lines.pop()
            if number in gone:
                parents[find_root(gone[number])] = find_root(n)
            elif number not in seen and number not in present:
                open_lines += weave.replaced.get(number, ())
            seen.add(number)
    for n, operation in enumerate(operations):
        operation.group = find_root(n)


class ChosenOperations:
    """The operations to take, by index, and those that cannot be taken.

    overlaps: the operations of each group of which only a part is chosen.  needs: (operations,
    the sessions whose lines they need) of each run of lines that is left out."""

    def __init__(self) -> None:
        self.taken: set[int] = set()
        self.overlaps: list[list[Operation]] = []
        self.needs: list[tuple[list[Operation], list[str]]] = []


def choose_operations(
    operations: Sequence[Operation],
    is_chosen: Chosen,
    creator: Writer | None = None,
    with_overlaps: bool = False,
    with_needed: bool = False,
) -> ChosenOperations:
    """Choose the operations of some authors.

    creator: who made the file, if it is not staged: its other lines need it.  with_overlaps: take a
    group if a part of it is chosen.  with_needed: take what chosen lines need, too."""
    return _Choosing(operations, creator, with_overlaps, with_needed).choose(is_chosen)


class _Choosing:
    """Chooses operations: whole groups, and only lines that have what they need."""

    def __init__(
        self,
        operations: Sequence[Operation],
        creator: Writer | None,
        with_overlaps: bool,
        with_needed: bool,
    ) -> None:
        self._all = operations
        self._creator = creator
        self._with_overlaps = with_overlaps
        self._with_needed = with_needed
        self._groups: dict[int, list[int]] = {}
        for n, operation in enumerate(operations):
            if operation.kind != KEPT:
                self._groups.setdefault(operation.group, []).append(n)
        self._lines = [n for n, o in enumerate(operations) if o.kind != REMOVED]
        self._places = {n: place for place, n in enumerate(self._lines)}
        self._refused: dict[int, list[str]] = {}
        self._out: set[int] = set()  # the groups of which an operation is refused

    def choose(self, is_chosen: Chosen) -> ChosenOperations:
        choice = ChosenOperations()
        wanted = {
            n for group in self._groups.values() for n in group if is_chosen(self._all[n].who)
        }
        while True:
            choice.overlaps = []
            choice.taken = set()
            for group in self._groups.values():
                chosen = wanted.intersection(group)
                if chosen and (self._with_overlaps or len(chosen) == len(group)):
                    choice.taken.update(group)
                elif chosen:
                    choice.overlaps.append([self._all[n] for n in group])
            needy = {n: s for n in sorted(choice.taken) if (s := self._find_needs(n, choice.taken))}
            if not needy:
                break
            wanted = self._settle(needy, wanted, choice.taken)
        choice.needs = [*self._list_refused()]
        return choice

    def _find_needs(self, n: int, taken: set[int]) -> list[str]:
        """The sessions without whose lines an operation has no place."""
        operation = self._all[n]
        creator = self._creator
        if creator and creator != operation.who:
            lines = [k for k in self._lines if self._all[k].who == creator]
            if lines and taken.isdisjoint(lines):
                return [creator[0]]
        if operation.kind != ADDED or not operation.inside:
            return []
        sessions = {self._find_beside(n, step, taken) for step in (-1, 1)}
        if None in sessions:
            return []
        return sorted(str(session) for session in sessions - {operation.who[0]}) or [
            operation.who[0]
        ]

    def _find_beside(self, n: int, step: int, taken: set[int]) -> str | None:
        """The session of the nearest added line before (-1) or after (1) one that is not taken,
        of those inside whose lines it was written and of its own; None if a line that the file
        has comes first."""
        sessions = {*self._all[n].inside, self._all[n].who[0]}
        place = self._places[n] + step
        while 0 <= place < len(self._lines):
            beside = self._lines[place]
            if self._all[beside].kind == KEPT:
                return None
            if beside not in taken and self._all[beside].who[0] in sessions:
                return self._all[beside].who[0]
            place += step
        return None

    def _settle(self, needy: dict[int, list[str]], wanted: set[int], taken: set[int]) -> set[int]:
        """The operations that are wanted once the needs are met; a need that cannot be met takes
        its operation away."""
        more = set()
        if self._with_needed:
            for n, sessions in needy.items():
                hunk = self._all[n].hunk
                needed = {*sessions, self._all[n].who[0]}
                more |= {
                    k
                    for k, o in enumerate(self._all)
                    if o.kind != KEPT and o.hunk == hunk and o.who[0] in needed
                    if o.group not in self._out
                }
        if more - wanted:
            return wanted | more
        self._refused |= needy
        self._out |= {self._all[n].group for n in needy}
        return {n for n in wanted if self._all[n].group not in self._out}

    def _list_refused(self) -> Iterator[tuple[list[Operation], list[str]]]:
        """Yield each run of operations that are left out for the same need."""
        run: list[int] = []
        for n in sorted(self._refused):
            is_next = run and n == run[-1] + 1 and self._refused[n] == self._refused[run[-1]]
            if run and not is_next:
                yield [self._all[k] for k in run], self._refused[run[-1]]
                run = []
            run.append(n)
        if run:
            yield [self._all[k] for k in run], self._refused[run[-1]]


def build_content(
    operations: Sequence[Operation], taken: set[int], ends: tuple[bool, bool], takes_end: bool
) -> bytes:
    """The content with the taken operations alone.

    ends: whether the staged content and the worktree's end with a newline.  takes_end: whether the
    worktree's end is taken where both have the same last line."""
    last: dict[str, int] = {}
    lines = []
    for n, operation in enumerate(operations):
        if operation.kind == KEPT or (operation.kind == ADDED) == (n in taken):
            lines.append(operation.line)
            last["part"] = n
        for side, absent in (("staged", ADDED), ("present", REMOVED)):
            if operation.kind != absent:
                last[side] = n
    if not lines:
        return b""
    is_last = [last["part"] == last.get(side) for side in ("staged", "present")]
    has_end = ends[takes_end] if all(is_last) else True
    if any(is_last) and not all(is_last):
        has_end = ends[is_last.index(True)]
    return b"\n".join(lines) + b"\n" * has_end
