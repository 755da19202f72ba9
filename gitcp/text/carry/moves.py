"""Lines that were moved or copied, within a file or from another one.

A block is consecutive new lines that are consecutive in a source too, whatever soft signs
(`text`) they have; lines without hard tokens between them do not part it.  It begins with a
telling line that the sources have once: once among the lines that the same event took out of them
and put in once, or once at all.  What stands in several places, as a licence does, comes from none.

A block most of which its source lost was moved; one that is still there was copied, and has to say
more: few lines are often written twice.
"""

from __future__ import annotations

from gitcp.text.carry.text import is_telling, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from gitcp.text.carry.text import Text

MOVED = 20  # the least weight of a block that its source lost
COPIED = 40  # the least weight of a block that is still there
COPIED_LINES = 3  # its telling lines at least


class Source:
    """A content that lines may come from.  gone: the indices of its lines that the same event took
    out of it."""

    __slots__ = ("gone", "text")

    def __init__(self, text: Text, gone: Container[int] = ()) -> None:
        self.text = text
        self.gone = gone


class Place:
    """A line of a source: the number of the source, the index of the line, and whether the source
    lost the block that it stands in."""

    __slots__ = ("is_gone", "line", "source")

    def __init__(self, source: int, line: int, is_gone: bool) -> None:
        self.source = source
        self.line = line
        self.is_gone = is_gone


class _Block:
    """lines: index in new -> index in the source."""

    __slots__ = ("is_gone", "lines", "source")

    def __init__(self, source: int, lines: dict[int, int], is_gone: bool) -> None:
        self.source = source
        self.lines = lines
        self.is_gone = is_gone


def find_moved(new: Text, added: Sequence[int], sources: Sequence[Source]) -> dict[int, Place]:
    """index in new -> where the line comes from, for those of the added lines that come from a
    source."""
    keys = {line: new.hard_keys[line] for line in added}
    anchors = _find_anchors(keys, sources)
    found: dict[int, Place] = {}
    for line in sorted(anchors):
        if line in found:
            continue
        block = _build_block(keys, found, line, anchors[line], sources)
        if _is_enough(block, keys, anchors):
            _add_block(block, keys, found)
    return found


def _find_anchors(keys: Mapping[int, bytes], sources: Sequence[Source]) -> dict[int, Place]:
    """The lines whose place is known without their neighbours."""
    counts: dict[bytes, int] = {}
    for key in keys.values():
        counts[key] = counts.get(key, 0) + 1
    places = {}
    for key, count in counts.items():
        if is_telling(key):
            place = _find_place(key, count, sources)
            if place is not None:
                places[key] = place
    return {line: places[key] for line, key in keys.items() if key in places}


def _find_place(key: bytes, count: int, sources: Sequence[Source]) -> Place | None:
    """Where the only line with a key stands in the sources; count: of new lines that have it."""
    standing: list[Place] = []
    gone: list[Place] = []
    for number, source in enumerate(sources):
        for line in source.text.places.get(key, ()):
            if line in source.gone:
                gone.append(Place(number, line, True))
            elif len(standing) < 2:
                standing.append(Place(number, line, False))
    if len(gone) == 1 and count == 1:
        return gone[0]
    if len(standing) == 1 and not gone:
        return standing[0]
    return None


def _build_block(
    keys: Mapping[int, bytes],
    found: Container[int],
    anchor: int,
    place: Place,
    sources: Sequence[Source],
) -> _Block:
    """The block of an anchor: the lines before and after it, as far as both sides are equal."""
    source = sources[place.source]
    lines = {anchor: place.line}
    for step in (1, -1):
        new = anchor
        old = place.line
        while True:
            new = _skip_soft(keys, new + step, step)
            old = _skip_soft_lines(source.text.hard_keys, old + step, step)
            if new not in keys or new in found or not 0 <= old < len(source.text.hard_keys):
                break
            if keys[new] != source.text.hard_keys[old]:
                break
            lines[new] = old
    gone = [old for old in lines.values() if old in source.gone]
    return _Block(place.source, lines, 2 * len(gone) > len(lines))


def _skip_soft(keys: Mapping[int, bytes], line: int, step: int) -> int:
    """The next line with a hard token, or the first that is none of the added ones."""
    while keys.get(line) == b"":
        line += step
    return line


def _skip_soft_lines(keys: Sequence[bytes], line: int, step: int) -> int:
    """The same for a source, whose lines have no holes."""
    while 0 <= line < len(keys) and not keys[line]:
        line += step
    return line


def _is_enough(block: _Block, keys: Mapping[int, bytes], anchors: Mapping[int, Place]) -> bool:
    """Whether a block says enough to be no accident."""
    weight = sum(weigh(keys[line]) for line in block.lines)
    if block.is_gone:
        return weight >= MOVED
    told = 0
    for line, old in block.lines.items():
        anchor = anchors.get(line)
        if anchor is not None and anchor.source == block.source and anchor.line == old:
            told += 1
    return weight >= COPIED and told >= COPIED_LINES


def _add_block(block: _Block, keys: Mapping[int, bytes], found: dict[int, Place]) -> None:
    """Add the lines of a block, and those without hard tokens between them, which go with the line
    before."""
    old = 0
    for line in range(min(block.lines), max(block.lines) + 1):
        old = block.lines.get(line, old)
        if line in keys:
            found[line] = Place(block.source, old, block.is_gone)
