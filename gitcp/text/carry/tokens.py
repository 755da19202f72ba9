"""Lines found by their tokens where a gap has edited lines beside reformatted ones.

A new line is carried on if all of its hard tokens (`text`) follow one another in the old lines,
alone or with the lines beside it that do so, if they have weight enough, and if no token was cut
off: what the old line has before and after them stands in the new lines before and after.  Where a
run of tokens stands more than once, its place is between those of the lines around it.
"""

from __future__ import annotations

from gitcp.text.carry.text import CALL, LEAST, NOTHING, SOFT, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EFFORT = 1 << 22  # bytes that are searched in a gap; then the rest is left to the writer
_MOST = 20  # lines that together have weight enough

_LINE = b"\x02"  # stands for the end of a line
_SIGNS = [bytes([byte]) for byte in b"!#$%&*+-./:<=>?@[]^|~"] + [CALL, _LINE]
_CONTROLS = bytes(byte for byte in range(0x21) if byte != 0x0A) + b"\x7f"
_PLAIN = bytes.maketrans(_CONTROLS + b"\n", b" " * len(_CONTROLS) + _LINE)
_NO_SOFT = bytes.maketrans(SOFT, b" " * len(SOFT))
_OLD_PREFIXES = b"u'", b'u"', b"U'", b'U"'  # of strings of Python


class Owners:
    """Old lines side by side, and which of them most of the words of a part come from.

    lines: what counts of each line, in the order of the parts that are asked for.
    """

    __slots__ = ("_ends", "_line", "_text")

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._text = b"".join(lines)
        self._ends: list[int] = []
        self._line = 0
        end = 0
        for line in lines:
            end += len(line)
            self._ends.append(end)

    def find_owner(self, start: int, end: int) -> int:
        """The line that has most of the words from start to end."""
        while self._ends[self._line] <= start:
            self._line += 1
        line = self._line
        if self._ends[line] >= end:
            return line
        owner = line
        most = 0
        while start < end:
            line_end = min(self._ends[line], end)
            weight = weigh(self._text[start:line_end])
            if weight > most:
                most = weight
                owner = line
            start = line_end
            line += 1
        return owner

    def get_start(self, position: int) -> int:
        """Where the line of a position begins."""
        line = self._find_line(position)
        return self._ends[line - 1] if line else 0

    def get_end(self, position: int) -> int:
        """Where the line of a position ends."""
        return self._ends[self._find_line(position)]

    def _find_line(self, position: int) -> int:
        line = self._line
        while self._ends[line] <= position:
            line += 1
        return line


def carry_tokens(old_lines: Sequence[bytes], new_lines: Sequence[bytes]) -> list[int]:
    """By new line, the old line that it carries on, or NOTHING."""
    old = list_tokens(old_lines)
    new = list_tokens(new_lines)
    known = set(b" ".join(old).split())
    search = _Search(old, new)
    for line in new:
        search.is_known.append(known.issuperset(line.split()))
    search.place_lines()
    if not search.places:
        return [NOTHING] * len(new)
    return search.find_owners()


def list_tokens(lines: Sequence[bytes]) -> list[bytes]:
    """The hard tokens of each line, with a space between two."""
    text = b"\n".join(lines).translate(_PLAIN)
    for prefix in _OLD_PREFIXES:
        if prefix in text:
            text = _drop_prefix(text, prefix)
    text = text.replace(b"( )", CALL).replace(b"()", CALL).translate(_NO_SOFT)
    for sign in _SIGNS:
        text = text.replace(sign, b" %s " % sign)
    tokens = [_lower_number(token) for token in text.split()]
    return [line.strip() for line in b" ".join(tokens).split(_LINE)]


def _lower_number(token: bytes) -> bytes:
    """A token, in small letters if it is a number: 0XFF is 0xff."""
    if token[0] in b"0123456789":
        return token.lower()
    return token


def _drop_prefix(text: bytes, prefix: bytes) -> bytes:
    """A text without a prefix of strings, where it is not the end of a word."""
    first, *others = text.split(prefix)
    joined = bytearray(first)
    for part in others:
        if weigh(joined[-1:]):
            joined += prefix[:1]
        joined += prefix[1:]
        joined += part
    return bytes(joined)


class _Search:
    """The search for the tokens of new lines in those of the old ones.

    text: the tokens of all old lines, each between two spaces.  is_known: of each new line, whether
    the old lines have all of its tokens.  places: by new line, where its tokens begin in the text.
    """

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes]) -> None:
        self._old = old
        self._new = new
        self._text = b" " + b" ".join(filter(None, old)) + b" "
        self._effort = EFFORT
        self.is_known: list[bool] = []
        self.places: dict[int, int] = {}

    # Place lines.

    def place_lines(self) -> None:
        """Find the places of as many new lines as possible, in the order of both sides."""
        once: list[tuple[int, int]] = []
        several: dict[int, bytes] = {}
        following = 0  # where the tokens after those of the last line begin, if it has a place
        for first, tokens in enumerate(self._new):
            if tokens and following and self._text.startswith(tokens + b" ", following):
                once.append((first, following))
                following += len(tokens) + 1
                continue
            if tokens:
                following = 0
            run = self._build_run(first)
            if not run:
                continue
            place = self._find(run, 0, len(self._text))
            if place < 0:
                continue
            again = self._find(run, place + 1, len(self._text))
            if self._effort < 0:
                break
            if again < 0:
                once.append((first, place + 1))
                following = place + 2 + len(tokens)
            else:
                several[first] = run
        self._keep_order(once)
        if several:
            self._place_between(several)
        if self.places:
            self._extend_forwards()
            self._extend_backwards()

    def _build_run(self, first: int) -> bytes:
        """The tokens of a new line, and of as many after it as have weight enough, between spaces;
        b'' if they are not there, or if the old lines cannot have them."""
        parts: list[bytes] = []
        weight = 0
        if not self._new[first]:
            return b""
        for line, is_known in zip(
            self._new[first : first + _MOST], self.is_known[first : first + _MOST], strict=True
        ):
            if not is_known:
                break
            if line:
                parts.append(line)
                weight += weigh(line)
                if weight >= LEAST:
                    return b" %s " % b" ".join(parts)
        return b""

    def _find(self, run: bytes, start: int, end: int) -> int:
        if self._effort < 0:
            return -1
        place = self._text.find(run, start, end)
        if place < 0:
            self._effort -= end - start
        else:
            self._effort -= place - start
        return place

    def _keep_order(self, once: list[tuple[int, int]]) -> None:
        """Place lines that have one possible place, without those that cross others."""
        end = 0
        for line, place in _select_ascending(once):
            if place > end:
                self.places[line] = place
                end = place + len(self._new[line])

    def _place_between(self, several: dict[int, bytes]) -> None:
        """Place lines that have several possible places between those that are placed already."""
        limits = self._list_limits()
        start = 0
        for line, tokens in enumerate(self._new):
            if line in several:
                place = self._find(several[line], start, limits[line])
                if place >= 0:
                    self.places[line] = place + 1
            if line in self.places:
                start = self.places[line] + len(tokens)

    def _list_limits(self) -> list[int]:
        """For each new line, where the first placed line after it begins."""
        limits = [0] * len(self._new)
        limit = len(self._text)
        for line in range(len(self._new) - 1, -1, -1):
            limits[line] = limit
            limit = self.places.get(line, limit)
        return limits

    def _extend_forwards(self) -> None:
        """Place lines whose tokens follow those of the line before them."""
        limits = self._list_limits()
        before = NOTHING
        for line, tokens in enumerate(self._new):
            if not tokens:
                continue
            if line not in self.places and before in self.places:
                start = self.places[before] + len(self._new[before]) + 1
                is_free = start + len(tokens) < limits[line]
                if is_free and self._text.startswith(tokens + b" ", start):
                    self.places[line] = start
            before = line

    def _extend_backwards(self) -> None:
        """Place lines whose tokens precede those of the line after them."""
        starts = self._list_starts()
        after = NOTHING
        for line in range(len(self._new) - 1, -1, -1):
            tokens = self._new[line]
            if not tokens:
                continue
            if line not in self.places and after in self.places:
                end = self.places[after] - 1
                start = end - len(tokens)
                is_free = start > starts[line]
                if is_free and self._text.endswith(b" " + tokens, 0, end):
                    self.places[line] = start
            after = line

    def _list_starts(self) -> list[int]:
        """For each new line, where the last placed line before it ends."""
        starts = []
        start = 0
        for line, tokens in enumerate(self._new):
            starts.append(start)
            if line in self.places:
                start = self.places[line] + len(tokens)
        return starts

    # Tell where the placed lines come from.

    def find_owners(self) -> list[int]:
        """By new line, the old line that it carries on, or NOTHING."""
        owners = Owners([line + b" " if line else b"" for line in self._old])
        found = [NOTHING] * len(self._new)
        lines = [line for line, tokens in enumerate(self._new) if tokens]
        before = NOTHING
        for line, after in zip(lines, [*lines[1:], NOTHING], strict=True):
            if line in self.places:
                place = self.places[line] - 1  # without the space at the start of the text
                end = place + len(self._new[line])
                owner = owners.find_owner(place, end)
                if self._is_before(before, owners, place, end):
                    found[before] = owner
                    found[line] = owner
                elif self._is_whole(owners, place, end, before, after):
                    found[line] = owner
            before = line
        self._add_soft_lines(found)
        return found

    def _is_before(self, before: int, owners: Owners, place: int, end: int) -> bool:
        """Whether the rest of an old line was put above it: a comment."""
        is_free = before != NOTHING and before not in self.places
        if not is_free or owners.get_start(place) != place:
            return False
        tail = self._text[end + 1 : owners.get_end(end - 1) + 1]
        return tail.strip() == self._new[before]

    def _is_whole(self, owners: Owners, place: int, end: int, before: int, after: int) -> bool:
        """Whether what stands before and after these tokens, on their old lines, still does."""
        head = self._text[owners.get_start(place) + 1 : place + 1].split()
        if head and not self._has_kept(head, before, place):
            return False
        tail = self._text[end + 1 : owners.get_end(end - 1) + 1].split()
        return not tail or self._has_kept_after(tail, after, end)

    def _has_kept(self, head: Sequence[bytes], before: int, place: int) -> bool:
        """Whether the new line before has the tokens of a head; some are enough if it was
        edited."""
        if before in self.places:
            return self.places[before] + len(self._new[before]) == place
        return self._is_left(head, range(before, max(before - _MOST, NOTHING), -1))

    def _has_kept_after(self, tail: Sequence[bytes], after: int, end: int) -> bool:
        """Whether the new line after has the tokens of a tail; some are enough if it was edited."""
        if after in self.places:
            return self.places[after] == end + 2
        if after == NOTHING:
            return False
        return self._is_left(tail, range(after, min(after + _MOST, len(self._new))))

    def _is_left(self, tokens: Sequence[bytes], lines: Sequence[int]) -> bool:
        """Whether one of the tokens stands in one of these new lines, up to the first that is
        placed."""
        for line in lines:
            if line in self.places:
                return False
            if not set(tokens).isdisjoint(self._new[line].split()):
                return True
        return False

    def _add_soft_lines(self, found: list[int]) -> None:
        """Let lines of soft signs go with the line before, if the tokens around them stand side by
        side on both sides."""
        before = NOTHING
        soft: list[int] = []
        for line, tokens in enumerate(self._new):
            if not tokens:
                soft.append(line)
                continue
            if soft and before >= 0 and found[before] >= 0 and line in self.places:
                end = self.places[before] + len(self._new[before])
                if self.places[line] == end + 1:
                    for soft_line in soft:
                        found[soft_line] = found[before]
            soft = []
            before = line
        if before in self.places and found[before] != NOTHING:
            end = self.places[before] + len(self._new[before])
            if end + 1 == len(self._text):
                for soft_line in soft:
                    found[soft_line] = found[before]


def _select_ascending(once: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of (line, place) pairs whose places ascend as their lines do."""
    places = [place for _, place in once]
    if places == sorted(set(places)):
        return once
    from bisect import bisect_left

    tops: list[int] = []  # the lowest last place of a run, by the run's length - 1
    ends: list[int] = []  # the number of its pair
    links: list[int] = []  # by pair, the one before it in its run
    for number, place in enumerate(places):
        length = bisect_left(tops, place)
        links.append(ends[length - 1] if length else NOTHING)
        tops[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    chosen = []
    number = ends[-1]
    while number >= 0:
        chosen.append(once[number])
        number = links[number]
    chosen.reverse()
    return chosen
