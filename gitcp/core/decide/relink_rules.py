"""Which commit a checkpoint without one belongs to: the same patch, or all of its blobs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    Blobs = set[tuple[str, str]]  # (path, oid)
    Evidence = set[tuple[str, bytes]]  # (path, what a commit has in common with a record of it)

    class Pair(TypedDict):
        """how: patch-id, blobs, or part of them; amend or rebase where git told."""

        commit: str
        checkpoint_id: str
        how: str


def blobs(sessions: Iterable[Mapping[str, Any]]) -> Blobs:
    """What the sessions of a checkpoint say the commit had: (path, oid), deletions left out."""
    pairs = set()
    for session in sessions:
        files = session.get("metadata", session).get("files")
        for path, file in (files if isinstance(files, dict) else {}).items():
            if isinstance(file, dict) and isinstance(file.get("oid"), str) and file["oid"]:
                pairs.add((path, file["oid"]))
    return pairs


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


def pair(
    wanted: Mapping[str, Blobs],
    originals: Mapping[str, set[str]],
    commits: Mapping[str, Blobs],
    patches: Mapping[str, str],
) -> list[Pair]:
    """Pair checkpoints with commits; a checkpoint that fits several equally well gets none.

    wanted: checkpoint id -> its blobs.  originals: id -> patch-ids of commits that had it.
    commits: those without an id -> what they bring; patches: commit -> patch-id.
    """
    pairs: list[Pair] = []
    for one, files in sorted(wanted.items()):
        same = [c for c in commits if patches.get(c) in originals.get(one, ())]
        if len(same) == 1:
            pairs.append({"commit": same[0], "checkpoint_id": one, "how": "patch-id"})
            continue
        holding = sorted(
            (len(brought - files), c) for c, brought in commits.items() if files <= brought
        )
        if not holding:
            pairs += [
                {"commit": c, "checkpoint_id": one, "how": "part"} for c in _parts(files, commits)
            ]
        elif files and (len(holding) == 1 or holding[0][0] != holding[1][0]):
            pairs.append({"commit": holding[0][1], "checkpoint_id": one, "how": "blobs"})
    return pairs


def _parts(files: Blobs, commits: Mapping[str, Blobs]) -> list[str]:
    """The commits that bring the blobs between them, each blob in one commit; [] in doubt."""
    bring = {blob: [c for c, brought in commits.items() if blob in brought] for blob in files}
    if any(len(bringing) != 1 for bringing in bring.values()):
        return []
    return sorted({c for bringing in bring.values() for c in bringing})
