"""The checkpoints a commit is linked to, from its message and its note.

A trailer links, a line of the note does, and a line `Entire-Checkpoint-Removed: <id> <reason>`
of the note takes the link away again, until a later line of the note gives it back.  For reading
only, a line in the middle of a message, as a forge leaves it when it squashes, counts where such
a checkpoint exists (doc/behaviour.md "Commits without hooks").
"""

from __future__ import annotations

from gitcp.core.git.ids import is_checkpoint_id
from gitcp.core.message import trailers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

KEY = trailers.KEY
REMOVED = f"{KEY}-Removed"
BY_HAND = "Linked-By-Hand"


def list_links(message: bytes, note: bytes = b"") -> dict[str, str]:
    """id -> 'trailer', 'note' or 'text', in their order: list_carried(), then further ones."""
    if not note and (only := trailers.read_simple(message)) is not None:
        return dict.fromkeys(only, "trailer")
    links = list_carried(message, note)
    return links | dict.fromkeys(_list_further(message, note, links), "text")


def list_carried(message: bytes, note: bytes = b"") -> dict[str, str]:
    """id -> 'trailer' or 'note', in their order, without those that the note takes away."""
    links = dict.fromkeys(trailers.read(message), "trailer")
    for key, checkpoint_id in _parse_lines(note):
        if key == KEY:
            links.setdefault(checkpoint_id, "note")
        else:
            links.pop(checkpoint_id, None)
    return links


def list_removed(note: bytes) -> dict[str, str]:
    """id -> reason, of what a note takes away."""
    gone: dict[str, str] = {}
    for line in note.decode(errors="replace").splitlines():
        key, _, value = line.partition(":")
        checkpoint_id, _, reason = value.strip().partition(" ")
        if key == REMOVED and is_checkpoint_id(checkpoint_id):
            gone[checkpoint_id] = reason
        elif key == KEY:
            gone.pop(checkpoint_id, None)
    return gone


def find_ids(message: bytes, note: bytes = b"") -> tuple[list[str], list[str]]:
    """The ids of list_carried(), and others in the message, on lines of their own or glued to
    text; the caller asks whether those exist."""
    if not note and (only := trailers.read_simple(message)) is not None:
        return only, []
    carried = list_carried(message, note)
    return list(carried), _list_further(message, note, carried)


def _list_further(message: bytes, note: bytes, ids: Collection[str]) -> list[str]:
    gone = list_removed(note)
    return [oid for oid in trailers.find_anywhere(message) if oid not in ids and oid not in gone]


def add_link(note: bytes, checkpoint_id: str) -> bytes:
    """A note with a line that links."""
    line = f"{KEY}: {checkpoint_id}"
    return note if checkpoint_id in list_carried(b"", note) else _append_line(note, line)


def add_link_by_hand(note: bytes, checkpoint_id: str) -> bytes:
    """A note with a line that links and one that says that a person wants it so."""
    note = add_link(note, checkpoint_id)
    line = f"{BY_HAND}: {checkpoint_id}"
    return note if line.encode() in note.splitlines() else _append_line(note, line)


def list_by_hand(note: bytes) -> set[str]:
    """The ids that a person linked in a note."""
    pairs = (line.decode(errors="replace").partition(": ") for line in note.splitlines())
    return {value for key, _, value in pairs if key == BY_HAND}


def remove_link(note: bytes, checkpoint_id: str, reason: str) -> bytes:
    """A note with a line that takes a link away, from the message or from the note itself."""
    words = " ".join(reason.split())
    return _append_line(note, f"{REMOVED}: {checkpoint_id} {words}".rstrip())


def _append_line(note: bytes, line: str) -> bytes:
    if not note.strip():
        return line.encode() + b"\n"
    gap = b"\n" if KEY.encode() in note else b"\n\n"
    return note.rstrip(b"\n") + gap + line.encode("utf-8", "surrogateescape") + b"\n"


def _parse_lines(note: bytes) -> Iterator[tuple[str, str]]:
    for line in note.decode(errors="replace").splitlines():
        key, _, value = line.partition(":")
        checkpoint_id = value.strip().partition(" ")[0]
        fits = key == REMOVED or checkpoint_id == value.strip()
        if key in (KEY, REMOVED) and fits and is_checkpoint_id(checkpoint_id):
            yield key, checkpoint_id
