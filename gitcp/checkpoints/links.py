"""Read and write the links of a commit to checkpoints, in its message and its note.

A trailer, or a line of the note, links a commit to a checkpoint.  A line
`Entire-Checkpoint-Removed: <id> <reason>` of the note removes a link, until a later line links
again.  A line elsewhere in a message mentions a checkpoint; for reading some count, too
(`recorded_edits.select_meant()`, doc/behaviour.md "Commits without hooks")."""

from __future__ import annotations

from gitcp.git import commit_message
from gitcp.text.ids import is_checkpoint_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

LINK_KEY = commit_message.KEY
REMOVED = f"{LINK_KEY}-Removed"
BY_HAND = "Linked-By-Hand"
# With such a line a note says that lines of its commit that nothing records may be a session's.
_UNKNOWN_KEY = b"Gitcp-Unknown: "
UNKNOWN = _UNKNOWN_KEY + b"a session of another repository wrote in it"
IN_DOUBT = _UNKNOWN_KEY + b"what a command left running may have written in it"


def list_links(message: bytes, note: bytes = b"") -> dict[str, str]:
    """id -> 'trailer', 'note' or 'text': list_carried(), then other lines of the message, which are
    links or mentions."""
    if not note:
        only = commit_message.read_simple(message)
        if only is not None:
            return dict.fromkeys(only, "trailer")
    links = list_carried(message, note)
    return links | dict.fromkeys(_list_further(message, note, links), "text")


def list_carried(message: bytes, note: bytes = b"") -> dict[str, str]:
    """id -> 'trailer' or 'note', in their order, without those that the note removes."""
    links = dict.fromkeys(commit_message.read_trailers(message), "trailer")
    for key, checkpoint_id, _ in _parse_lines(note):
        if key == LINK_KEY:
            links.setdefault(checkpoint_id, "note")
        elif key == REMOVED:
            links.pop(checkpoint_id, None)
    return links


def list_removed(note: bytes) -> dict[str, str]:
    """id -> reason, of the links that a note removes."""
    removed: dict[str, str] = {}
    for key, checkpoint_id, reason in _parse_lines(note):
        if key == REMOVED:
            removed[checkpoint_id] = reason
        elif key == LINK_KEY:
            removed.pop(checkpoint_id, None)
    return removed


def find_ids(message: bytes, note: bytes = b"") -> tuple[list[str], list[str]]:
    """(the ids of list_carried(), other ids in the message, which may be mentions)."""
    if not note:
        only = commit_message.read_simple(message)
        if only is not None:
            return only, []
    carried = list_carried(message, note)
    return list(carried), _list_further(message, note, carried)


def _list_further(message: bytes, note: bytes, ids: Collection[str]) -> list[str]:
    removed = list_removed(note)
    return [
        checkpoint_id
        for checkpoint_id in commit_message.find_anywhere(message)
        if checkpoint_id not in ids and checkpoint_id not in removed
    ]


def add_link(note: bytes, checkpoint_id: str) -> bytes:
    """The note with a link to the checkpoint added."""
    line = f"{LINK_KEY}: {checkpoint_id}"
    if checkpoint_id in list_carried(b"", note):
        return note
    return _append_line(note, line)


def add_link_by_hand(note: bytes, checkpoint_id: str) -> bytes:
    """The note with a line that links, and one that says that a person did it."""
    note = add_link(note, checkpoint_id)
    line = f"{BY_HAND}: {checkpoint_id}"
    if line.encode() in note.splitlines():
        return note
    return _append_line(note, line)


def list_by_hand(note: bytes) -> set[str]:
    """The ids that a person linked in a note."""
    return {checkpoint_id for key, checkpoint_id, _ in _parse_lines(note) if key == BY_HAND}


def add_unknown(note: bytes, line: bytes = UNKNOWN) -> bytes:
    """The note with this line, UNKNOWN or IN_DOUBT, unless it has one of them."""
    if has_unknown(note):
        return note
    return _append_line(note, line.decode())


def has_unknown(note: bytes) -> bool:
    """Whether a note has a line like UNKNOWN."""
    lines = note.splitlines()
    return any(line.startswith(_UNKNOWN_KEY) for line in lines)


def remove_link(note: bytes, checkpoint_id: str, reason: str) -> bytes:
    """The note with a line that removes a link of the message or of the note."""
    words = " ".join(reason.split())
    return _append_line(note, f"{REMOVED}: {checkpoint_id} {words}".rstrip())


def _append_line(note: bytes, line: str) -> bytes:
    if not note.strip():
        return line.encode() + b"\n"
    gap = b"\n" if LINK_KEY.encode() in note else b"\n\n"
    return note.rstrip(b"\n") + gap + line.encode("utf-8", "surrogateescape") + b"\n"


def _parse_lines(note: bytes) -> Iterator[tuple[str, str, str]]:
    """(key, checkpoint id, reason) of each line that has these; only a removal has a reason."""
    for line in note.decode(errors="replace").splitlines():
        key, _, value = line.partition(":")
        checkpoint_id, _, reason = value.strip().partition(" ")
        if (key == REMOVED or not reason) and is_checkpoint_id(checkpoint_id):
            yield key, checkpoint_id, reason
