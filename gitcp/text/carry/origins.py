"""Which line each line of a content comes from: the one rule by which two contents are paired.

    same     an equal line, white space aside, in the order of both
    formed   the hard tokens of old lines at the same place, wrapped, joined or quoted otherwise
    import   the names of import lines that are gone
    moved    a block of lines that the same event took out, here or elsewhere
    copied   a block of lines that is still there
    new      the line of whoever made the step

The rule is the same whoever makes the step.  What one could read in two ways is new: whoever wrote
the content wrote such a line.
"""

from __future__ import annotations

from gitcp.text import pairing
from gitcp.text.carry import forms, imports, moves
from gitcp.text.carry.text import NOTHING, weigh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.text.carry.moves import Place, Source
    from gitcp.text.carry.text import Text

SAME = "same"
FORMED = "formed"
IMPORT = "import"
MOVED = "moved"
COPIED = "copied"
NEW = "new"


class Carried:
    """Where the lines of a content come from.

    origins: by line, the index of the line of before that it carries on, or NOTHING; one line may
    have become several, and several one.  places: of lines that come from another source, by index.
    hows: by line, for those that are neither equal nor new.  joined: lines of before that are parts
    of other lines now.
    """

    __slots__ = ("hows", "joined", "origins", "places")

    def __init__(self, origins: list[int]) -> None:
        self.origins = origins
        self.places: dict[int, Place] = {}
        self.hows: dict[int, str] = {}
        self.joined: set[int] = set()

    def get_how(self, line: int) -> str:
        """How a line comes from its origin or its place."""
        if line in self.hows:
            return self.hows[line]
        return NEW if self.origins[line] == NOTHING else SAME


def carry(before: Text, after: Text, sources: Sequence[Source] = ()) -> Carried:
    """Where each line of after comes from: from before, or from one of the sources.

    sources: other contents that lines may come from, such as what the same event changed.
    """
    if before.lines == after.lines or before.keys == after.keys:
        return Carried(list(range(len(after.lines))))
    equal = [NOTHING] * len(after.lines)
    for old, new in pairing.pair_lines(before.keys, after.keys):
        equal[new] = old
    return carry_on(before, after, equal, sources)


def carry_on(
    before: Text, after: Text, equal: list[int], sources: Sequence[Source] = ()
) -> Carried:
    """The same where the equal lines are known: by line of after, that of before, or NOTHING."""
    carried = Carried(equal)
    if NOTHING in carried.origins and before.lines:
        _carry_forms(carried, before, after)
        _carry_imports(carried, before, after)
    _carry_moves(carried, before, after, sources)
    return carried


def _carry_forms(carried: Carried, before: Text, after: Text) -> None:
    found = forms.pair_forms(before, after, carried.origins)
    carried.joined = found.kept.difference(found.pairs.values())
    for new, old in found.pairs.items():
        carried.origins[new] = old
        if before.keys[old] != after.keys[new]:
            carried.hows[new] = FORMED


def _carry_imports(carried: Carried, before: Text, after: Text) -> None:
    added = _list_added(carried)
    if not added:
        return
    changed = sorted([*added, *carried.hows])
    same = set(carried.origins).difference([carried.origins[line] for line in carried.hows])
    gone = [line for line in range(len(before.lines)) if line not in same]
    pairs = imports.pair_imports(before.lines, after.lines, gone, changed, added)
    for new, old in pairs.items():
        carried.origins[new] = old
        carried.hows[new] = IMPORT
        if _is_bracket(after, new + 1) and carried.origins[new + 1] == NOTHING:
            carried.origins[new + 1] = old
            carried.hows[new + 1] = IMPORT


def _is_bracket(text: Text, line: int) -> bool:
    """Whether there is a line, and it has soft signs only."""
    return line < len(text.lines) and text.keys[line] != b"" == text.hard_keys[line]


def _carry_moves(carried: Carried, before: Text, after: Text, sources: Sequence[Source]) -> None:
    added = _list_added(carried)
    if sum(weigh(after.keys[line]) for line in added) < moves.MOVED:
        return
    own = moves.Source(before, frozenset(_list_gone(carried, before)))
    for line, place in moves.find_moved(after, added, [own, *sources]).items():
        carried.hows[line] = MOVED if place.is_gone else COPIED
        if place.source == 0:
            carried.origins[line] = place.line
        else:
            place.source -= 1
            carried.places[line] = place


def _list_gone(carried: Carried, before: Text) -> list[int]:
    """The lines of before that no line carries on."""
    return sorted(set(range(len(before.lines))).difference(carried.origins))


def _list_added(carried: Carried) -> list[int]:
    """The lines that carry on none of before."""
    return [line for line, origin in enumerate(carried.origins) if origin == NOTHING]
