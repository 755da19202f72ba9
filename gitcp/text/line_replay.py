"""Whose the lines of a text are: as evidence, in the counts of a commit, and after each of the
edits of a path.
"""

from __future__ import annotations

from gitcp.text.ids import PERSON, UNKNOWN, is_binary
from gitcp.text.pairing import count_same_ends, find_changed_lines, list_keys, pair_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
    from typing import Any, Protocol, TypedDict

    from gitcp.text.carry.moves import Place, Source
    from gitcp.text.record_types import Writer

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

    class Elsewhere(Protocol):
        """Other contents that lines may come from."""

        def list_sources(self, keys: Sequence[bytes]) -> Sequence[Source]:
            """The contents that have some of the lines with these keys."""

        def find_author(self, place: Place) -> Writer:
            """Who wrote a line; place: in list_sources()."""

    Entry = Mapping[str, Any]
    Regains = Callable[[bytes], bool]


def split_lines(data: bytes | None) -> list[bytes]:
    """Return the lines of a text without their newlines; the last line may lack its newline."""
    if data:
        return data.removesuffix(b"\n").split(b"\n")
    return []


def group_runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return (first, last) of each run of consecutive numbers, in order."""
    spans: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return spans


# Lines as evidence of who wrote a text.  Their number and order do not count: a moved line is not
# an added one, and a staged half of a file is a part of it in any order.  A line is its bytes
# without the line ending ("\n" or "\r\n").
SIGNIFICANT = 10  # trimmed bytes of a significant line
_SIGNS = bytes(byte for byte in range(0x80) if not chr(byte).isalnum())


def find_added_lines(a: bytes | None, b: bytes | None) -> set[bytes]:
    """Return the non-blank lines of b that a does not have; None: there is no file."""
    return {line for line in _collect_lines(b or b"") - _collect_lines(a or b"") if line.strip()}


def _collect_lines(data: bytes) -> set[bytes]:
    return {*data.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")}


def is_meaningful(line: bytes) -> bool:
    """Tell whether a line has a letter or a digit."""
    return bool(line.translate(None, _SIGNS))


def is_significant(line: bytes) -> bool:
    """Tell whether a line is significant (doc/credit.md "Linking by evidence")."""
    line = line.strip()
    return len(line) >= SIGNIFICANT and is_meaningful(line)


def select_significant(lines: Iterable[bytes]) -> set[bytes]:
    """Return the significant lines, trimmed."""
    return {line.strip() for line in lines if is_significant(line)}


# Count the lines of a commit by their authors (doc/credit.md "Counting a commit").
#
# Each line that the commit adds or removes against its first parent has one author: a session, the
# person or unknown.
#
#     lines_added, lines_removed   {agent, others, person, unknown}: each line once
#     agent_lines      lines that the session added
#     agent_removed    lines that it removed and did not replace
#     human_added      lines that the person added, without human_modified
#     human_modified   lines with which the person replaced a line
#     human_removed    other lines that the person removed, of the parent or written by this session
#                      since; a line still in the worktree does not count
#     total_committed  lines that the commit changes; a replaced line counts once
#     agent_percentage the session's part of total_committed; 0 if that is 0
_KEYS = "ranges", "others"


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
    gone = [parent_numbers[i] for i in removed]
    standing = set(new_numbers)
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
    added = _make_counts()
    removed = _make_counts()
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
    added_here = _make_counts()
    removed_here = _make_counts()
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
        if isinstance(stored, list):
            known = [e for e in stored if isinstance(e, dict)]
        else:
            known = []
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
            import bisect

            bisect.insort(taken, (part[0], part[1]))
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
    if isinstance(stored, list):
        for run in stored:
            if isinstance(run, list) and len(run) > 2 and type(run[0]) is type(run[1]) is int:
                yield run


def _list_free_parts(run: Sequence[Any], taken: Sequence[tuple[int, int]]) -> Iterator[list[Any]]:
    """Yield the parts of a range that do not overlap the sorted ranges in taken."""
    first, last, *whose = run
    import bisect

    for start, end in taken[bisect.bisect_left(taken, first, key=lambda lines: lines[1]) :]:
        if start > last:
            break
        if first < start:
            yield [first, start - 1, *whose]
        first = end + 1
    if first <= last:
        yield [first, last, *whose]


# Replay the edits of a path: who wrote each line, and who removed each line that is gone.
#
# A line keeps its author while a step carries it on (gitcp.text.carry): as it was, in another form
# or at another place.  A content that the path had before gets its authors back.  A line that no
# step explains gets the caller's default.


class Version:
    """A content: its blob ('' for no file) and its lines, as split_text_lines() gives them."""

    __slots__ = ("lines", "oid")

    def __init__(self, oid: str, lines: Sequence[bytes]) -> None:
        self.oid = oid
        self.lines = lines


LEAST_MOVED = 20  # bytes: less is not carried on from another content
LEAST_COPIED = 3  # lines: fewer are not carried on by a copy
LARGEST = 2 << 20  # bytes: a larger content is not split into lines


def accepts_any_line(line: bytes) -> bool:
    """True: a line of any content regains its author."""
    return True


def has_no_lines(data: bytes) -> bool:
    """Whether a content is binary or too large to be split into lines."""
    return len(data) > LARGEST or is_binary(data)


def split_text_lines(oid: str, data: bytes | None) -> list[bytes]:
    """The lines of a content; if it has_no_lines(), one line that is NUL and its oid."""
    if not data:
        return []
    if has_no_lines(data):
        return [b"\0" + oid.encode()]
    return split_lines(data)


class _Numbered:
    """The numbers of a content's lines, and its lines without white space."""

    __slots__ = ("keys", "numbers")

    def __init__(self, numbers: list[int], keys: list[bytes]) -> None:
        self.numbers = numbers
        self.keys = keys


class _Step:
    """The lines of a content whose numbers are looked for.

    keys: the lines without white space.  changed: the indices of the lines that do not stay at
    their ends; who gave the path these.  origins: index -> index of the equal line of the content
    before.  numbers: index -> number, as far as they are known.  used: numbers that lines have.
    """

    __slots__ = ("changed", "keys", "lines", "numbers", "origins", "used", "who")

    def __init__(
        self, lines: Sequence[bytes], keys: list[bytes], changed: range, who: Writer
    ) -> None:
        self.lines = lines
        self.keys = keys
        self.changed = changed
        self.who = who
        self.origins: dict[int, int] = {}
        self.numbers: dict[int, int] = {}
        self.used: set[int] = set()

    def list_left(self) -> list[int]:
        """The lines without a number."""
        return [line for line in self.changed if line not in self.numbers]


class Replay:
    """The lines of a path after each of its steps.

    A line keeps its number through all of them while it changes in white space at most.  One that
    carries on another one in a new form, or copies it, has a number of its own, whose root is the
    number of the first: it has written what both say.
    """

    def __init__(
        self, first: Version, before: Callable[[], Mapping[int, Writer]] | None = None
    ) -> None:
        """before: the authors of lines of the first content, by index; called when one is asked."""
        self.authors: dict[int, Writer] = {}
        self.takers: dict[int, Writer] = {}  # who removed each line that is gone
        self._took: dict[int, Writer] = {}  # who last removed a line, which may be back
        self._changers: dict[int, Writer] = {}  # who moved, indented or reformatted a line
        self._roots: dict[int, int] = {}  # of lines that carry on others
        self._joined: set[int] = set()  # lines that the last step made parts of others
        self._before = before
        self.count = len(first.lines)  # of the lines that the path ever had
        self._stored: set[int] = set()  # lines that a commit or a stash has
        self.lines: Sequence[bytes] = first.lines
        self._keys = list_keys(first.lines)
        self.numbers = list(range(self.count))
        self._seen: dict[str, list[int]] = {first.oid: self.numbers}
        self._texts: dict[bytes, int] = dict(zip(self._keys, self.numbers, strict=True))
        self.first = first
        self.cause: Writer = UNKNOWN  # the call that makes the next step, whoever wrote its lines
        self.at = 0  # when the next step is made, in ns; 0 if unknown

    def copy(self) -> Replay:
        """A copy that takes steps of its own."""
        other = Replay.__new__(Replay)
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if isinstance(value, (dict, set)) else value)
        return other

    def knows(self, version: Version) -> bool:
        """Whether the path has had this content."""
        return version.oid in self._seen

    def add_step(
        self,
        version: Version,
        who: Writer,
        regains: Regains | None = None,
        authors: Mapping[int, Writer] | None = None,
        is_kept: bool = False,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Add a step: who gave the path this content.

        regains: as for _regain_numbers(), None for no line.  authors: of lines with another known
        author, by index.  is_kept: a commit or `git stash` has the old lines.  elsewhere: other
        contents that lines may come from.
        """
        start, end = ends = self._count_same_ends(version)
        old_end = len(self.lines) - end
        new_end = len(version.lines) - end
        old = dict(zip(self.numbers[start:old_end], self.lines[start:old_end], strict=True))
        self._joined.clear()
        returns = who == UNKNOWN and self.knows(version)  # the former removers count again
        if is_kept:
            self._stored.update(self.numbers)
        found = self._number_lines(version, ends, who, regains, authors or {}, elsewhere)
        self.numbers = found.numbers
        self._keys = found.keys
        self.lines = version.lines
        self._seen[version.oid] = self.numbers
        new = dict(zip(self.numbers[start:new_end], self.lines[start:new_end], strict=True))
        self._note_gone(old.keys() - new.keys(), who, returns)
        for number, line in new.items():
            self.takers.pop(number, None)
            if old.get(number, line) != line:
                self._changers[number] = who

    def _note_gone(self, gone: Set[int], who: Writer, returns: bool) -> None:
        """Note who took lines away, or gave them another form.  returns: whether the content was
        here before, so that its former takers are meant."""
        standing: set[int] = set()
        if gone and self._roots:
            standing.update(map(self.get_root, self.numbers))
        for number in gone:
            taker = self._took.get(number, who) if returns else who
            if number in self._joined or self.get_root(number) in standing:
                self._changers[number] = taker
            else:
                self.takers[number] = taker
                self._took[number] = taker

    def _count_same_ends(self, version: Version) -> tuple[int, int]:
        """How many lines at the start and the end keep their numbers; none if the path has had this
        content, which has numbers already."""
        same = (0, 0)
        if self.knows(version):
            return same
        return count_same_ends(self.lines, version.lines)

    def _number_lines(
        self,
        version: Version,
        ends: tuple[int, int],
        who: Writer,
        regains: Regains | None,
        authors: Mapping[int, Writer],
        elsewhere: Elsewhere | None = None,
    ) -> _Numbered:
        """Number the lines of a content.  ends: as _count_same_ends() has them.

        A line that is paired with an equal one of the present content has its number.  Another one
        carries on a line, regains a number, or gets a new one.
        """
        start, end = ends
        old_end = len(self.lines) - end
        new_end = len(version.lines) - end
        middle = list_keys(version.lines[start:new_end])
        keys = [*self._keys[:start], *middle, *self._keys[old_end:]]
        if self.knows(version):
            return _Numbered(self._seen[version.oid], keys)
        step = _Step(version.lines, keys, range(start, new_end), who)
        for old, new in pair_lines(self._keys[start:old_end], middle):
            step.origins[start + new] = start + old
            step.numbers[start + new] = self.numbers[start + old]
        if len(step.numbers) < len(middle):
            step.used = {*self.numbers[:start], *step.numbers.values(), *self.numbers[old_end:]}
            self._number_others(step, regains, authors, elsewhere)
        between = [step.numbers[line] for line in step.changed]
        numbers = [*self.numbers[:start], *between, *self.numbers[old_end:]]
        self._texts.update(zip(keys, numbers, strict=True))
        return _Numbered(numbers, keys)

    def _number_others(
        self,
        step: _Step,
        regains: Regains | None,
        authors: Mapping[int, Writer],
        elsewhere: Elsewhere | None,
    ) -> None:
        """Number the lines that are equal to none of the present content."""
        if regains:
            self._regain_numbers(step, regains)
        for line in step.list_left():
            if authors.get(line, UNKNOWN) != UNKNOWN:
                step.numbers[line] = self._add_line(authors[line])
        self._carry_numbers(step, elsewhere)
        for line in step.list_left():
            step.numbers[line] = self._add_line(authors.get(line, step.who))

    def _regain_numbers(self, step: _Step, regains: Regains) -> None:
        """Number those lines that the path has had.

        regains: whether a line may regain its number; accepts_any_line for a content from elsewhere
        in the repository.
        """
        others = self._find_other_forms(step)
        for line in step.list_left():
            number = self._texts.get(step.keys[line])
            if number is None or number in step.used or not regains(step.lines[line]):
                continue
            if number in others:
                continue
            step.used.add(number)
            if number not in self.takers:
                self._changers[number] = step.who  # it moved, or its form is the former one
            elif regains is not accepts_any_line and number not in self._stored:
                # Nothing has the line: a session wrote it anew, a person perhaps by an undo.
                number = self._add_line(UNKNOWN if step.who == PERSON else step.who)
            step.numbers[line] = number

    def _find_other_forms(self, step: _Step) -> set[int]:
        """The lines of former contents that stand in a step in another form."""
        if not self._roots:
            return set()
        standing = {self.get_root(number) for number in step.used}
        others = {number for number, root in self._roots.items() if root in standing}
        others.update(standing)
        return others.difference(self.numbers)

    def _carry_numbers(self, step: _Step, elsewhere: Elsewhere | None) -> None:
        """Number those lines that carry on lines of the present content, or of other ones."""
        left = step.list_left()
        could = len(self.lines) - len(step.lines) + len(step.changed)  # lines that do not stay
        is_likely = len(step.origins) < could or (len(left) >= LEAST_COPIED and self.lines)
        size = sum(len(step.keys[line]) for line in left)
        sources: Sequence[Source] = ()
        if elsewhere and size >= LEAST_MOVED:
            sources = elsewhere.list_sources([step.keys[line] for line in left])
        if not left or not (is_likely or sources):
            return

        from gitcp.text.carry import origins
        from gitcp.text.carry.text import Text

        before = Text(self.lines, self._keys)
        after = Text(step.lines, step.keys)
        carried = origins.carry_on(before, after, self._list_origins(step), sources)
        self._joined.update([self.numbers[old] for old in carried.joined])
        for line in left:
            origin = carried.origins[line]
            if origin >= 0:
                step.numbers[line] = self._choose_number(step, line, origin)
            elif elsewhere and line in carried.places:
                step.numbers[line] = self._add_line(elsewhere.find_author(carried.places[line]))

    def _list_origins(self, step: _Step) -> list[int]:
        """By line of a step, the equal one of the present content, or -1."""
        shift = len(self.lines) - len(step.lines)
        start = range(step.changed.start)
        end = range(step.changed.stop + shift, len(self.lines))
        return [*start, *[step.origins.get(line, -1) for line in step.changed], *end]

    def _choose_number(self, step: _Step, line: int, origin: int) -> int:
        """The number of a line that carries on another one: the same if it has only moved, a former
        one if it has this form again, else a new one."""
        number = self.numbers[origin]
        root = self.get_root(number)
        former = self._texts.get(step.keys[line], -1)
        if self._keys[origin] == step.keys[line] and number not in step.used:
            self._changers[number] = step.who
        elif former >= 0 and former not in step.used and self.get_root(former) == root:
            number = former
        else:
            number = self.count
            self._roots[number] = root
            self.count += 1
        step.used.add(number)
        return number

    def _add_line(self, who: Writer) -> int:
        self.authors[self.count] = who
        self.count += 1
        return self.count - 1

    def get_root(self, number: int) -> int:
        """The line that a line carries on in another form or as a copy; itself for most."""
        return self._roots.get(number, number)

    def claim_lines(self, before: Version, who: Writer, since: int) -> None:
        """Give who the lines that the last step added to the content `before`, if a step of no
        session has seemed to add them: since, the number of its first line."""
        had = {*self._seen[before.oid], *range(since)}
        for number in map(self.get_root, self.numbers):
            if number not in had and not self.authors.get(number, who)[0]:
                self.authors[number] = who

    def find_numbers(
        self, version: Version, default: Writer, elsewhere: Elsewhere | None = None
    ) -> list[int]:
        """The numbers of the lines of a content, which may be a part of the steps (staged by
        hunks); default: the author of lines that no step has.  elsewhere: as for add_step()."""
        if version.oid in self._seen:
            return self._seen[version.oid]
        ends = self._count_same_ends(version)
        return self._number_lines(version, ends, default, accepts_any_line, {}, elsewhere).numbers

    def get_author(self, number: int) -> Writer:
        """Who wrote a line; UNKNOWN for a line of the first content without a known author."""
        root = self.get_root(number)
        if self._before and root not in self.authors:
            self.authors = {**self._before(), **self.authors}
            self._before = None
        return self.authors.get(root, UNKNOWN)

    def get_taker(self, number: int, otherwise: Writer) -> Writer:
        """Who removed a line, or moved or indented it; `otherwise` if no step has."""
        return self.takers.get(number) or self._changers.get(number, otherwise)
