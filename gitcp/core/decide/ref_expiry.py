"""Which refs are past keeping, and which of them are ours to delete."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypedDict

    class Ref(TypedDict):
        """A record of type ref; time is the creation of its commit in seconds since 1970."""

        type: str
        ref: str
        oid: str
        time: int


OURS = ("refs/gitcp/", "refs/heads/entire/", "refs/notes/gitcp")
_PERMANENT = ("refs/heads/entire/checkpoints/", "refs/notes/")


def expired(refs: Iterable[Ref], keep: int, before: int) -> Iterator[Ref]:
    """Those older than before and not among the newest keep of their directory, oldest first.

    before: seconds since 1970; directories come in the order in which they are first seen.
    """
    groups: dict[str, list[Ref]] = {}
    for ref in refs:
        groups.setdefault(ref["ref"].rpartition("/")[0], []).append(ref)
    for group in groups.values():
        # archive/…/10 is younger than archive/…/9 where both are of one second
        group.sort(key=lambda r: (r["time"], len(r["ref"]), r["ref"]))
        for ref in group[: max(0, len(group) - keep)]:
            if ref["time"] < before:
                yield ref


def deletable(ref: str) -> bool:
    """Whether ref is temporary data of ours: never a person's, never the permanent store."""
    return ref.startswith(OURS) and not ref.startswith(_PERMANENT)
