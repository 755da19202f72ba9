"""The notice for a stream that is about to be left."""

from __future__ import annotations

from gitcp.git import refs
from gitcp.record.journal import edits
from gitcp.record.session import others
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Stream, Tip


def build_notice(repo: Repo, tip: Tip | None, ref: str) -> str:
    """The notice for a stream that is about to be left: the session, the stash, and the ref that
    will keep its checkpoints; '' if no stash has its work."""
    if tip is None:
        return ""
    found = _find_in_stash(repo, tip["stream"])
    if found is None:
        return ""
    where = f"stash@{{{found.number}}}"
    return f"gitcp: work of session '{found.session}' is in {where}; '{ref}' keeps its checkpoints"


@value_class
class _Stashed:
    """A session, and the number of the entry of the stash that has work of it."""

    session: str
    number: int


def _find_in_stash(repo: Repo, stream_id: str) -> _Stashed | None:
    """The first session whose work on a stream is in the stash; None if there is none."""
    entries = refs.Stash(repo).list_entries()
    if not entries:
        return None
    for marker in others.read_here(repo):
        for stream in edits.list_open_streams(repo, marker):
            if stream["id"] != stream_id:
                continue
            for number, entry in enumerate(entries):
                if _has_file(entry, stream):
                    return _Stashed(marker["session_id"], number)
    return None


def _has_file(entry: refs.Stashed, stream: Stream) -> bool:
    for path, file in stream["files"].items():
        if entry.has(path, (file["mode"], file["oid"])):
            return True
    return False
