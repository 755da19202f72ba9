"""Which sessions' edits go where more of them are kept than there may be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def surplus(sizes: Mapping[str, int], settled: Iterable[str], ceiling: int) -> list[str]:
    """The first of the settled sessions, the oldest first, without whose edits all others take
    no more than ceiling bytes; all of them where that is not enough.

    sizes: bytes of the edits of each session, those that are not settled among them.
    """
    left, going = sum(sizes.values()), []
    for session_id in settled:
        if left <= ceiling:
            break
        if sizes.get(session_id):
            left -= sizes[session_id]
            going.append(session_id)
    return going
