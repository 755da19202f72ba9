"""Choose among several candidates for a link."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypedDict

    Evidence = set[tuple[str, bytes]]  # (path, what a commit has in common with a record of it)

    class Pair(TypedDict):
        """how: blobs; evidence, for a part of them; amend or rebase, as git names the rewrite."""

        commit: str
        checkpoint_id: str
        how: str


def choose(candidates: Sequence[Mapping[str, Evidence]]) -> list[str]:
    """The checkpoint ids, in order, of the candidates that explain a commit best.

    A candidate maps its ids to the evidence for each.  A candidate without an id of another one is
    left out if the other has all of its evidence; if their evidence is the same, both are.
    """
    evidence = [set().union(*candidate.values()) for candidate in candidates]
    ids: dict[str, None] = {}
    for own, candidate in zip(evidence, candidates, strict=True):
        rivals = (n for n, c in enumerate(candidates) if c.keys().isdisjoint(candidate))
        if own and not any(own <= evidence[n] for n in rivals):
            ids |= dict.fromkeys(candidate)
    return list(ids)
