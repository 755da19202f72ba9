"""Which of several candidates for a link is meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    Evidence = set[tuple[str, bytes]]  # (path, what a commit has in common with a record of it)

    class Pair(TypedDict):
        """how: blobs, or evidence of a part of them; amend or rebase where git told."""

        commit: str
        checkpoint_id: str
        how: str


def choose(candidates: Sequence[Mapping[str, Evidence]]) -> list[str]:
    """The ids, in their order, of those candidates for one commit that explain it best.

    Each candidate has its ids with the evidence for each.  One whose evidence another has as well,
    and more, is left out; so are several that have the same and not the same ids.
    """
    held = [set().union(*each.values()) for each in candidates]
    ids: dict[str, None] = {}
    for at, each in enumerate(candidates):
        rivals = [n for n, other in enumerate(candidates) if other.keys().isdisjoint(each)]
        if held[at] and not any(held[at] <= held[n] for n in rivals):
            ids |= dict.fromkeys(each)
    return list(ids)
