"""Work that was left behind and that an entry of the stash holds: what a person is told of it.

The work is kept, and how to find it is said (doc/scenarios.md "000 Overlap").
"""

from __future__ import annotations

from gitcp.store.git.reflog import Stash
from gitcp.store.journal import work
from gitcp.store.session import markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def build_notice(repo: Repo, objects: Objects, tip: Tip | None, ref: str) -> str:
    """The session, the stash entry and the ref that will keep its checkpoints, for a stream that
    is about to be left; '' when no entry has something that it records."""
    left = next(_match_stash(repo, objects, {tip["stream"]: ref}), None) if tip else None
    if left is None:
        return ""
    session_id, stash = left["session_id"], left["stash"]
    return f"gitcp: work of session '{session_id}' is in {stash}; '{ref}' keeps its checkpoints"


def list_held(repo: Repo, objects: Objects, streams: Iterable[Record]) -> list[Record]:
    """Of the archived streams of a listing those whose work here an entry of the stash holds:
    {session_id, stash, ref}."""
    archived = {s["id"]: s["ref"] for s in reversed(list(streams)) if s["kind"] == "archived"}
    return list(_match_stash(repo, objects, archived)) if archived else []


def _match_stash(repo: Repo, objects: Objects, stashes: dict[str, str]) -> Iterator[Record]:
    """stashes: stream id -> the ref that keeps it."""
    stash = Stash(repo, objects).list_entries()
    for marker in markers.read_here(repo) if stash else ():
        for stream in work.list_open_streams(repo, marker):
            files = [(path, (x["mode"], x["oid"])) for path, x in stream["files"].items()]
            for number, one in enumerate(stash if stream["id"] in stashes else ()):
                if any(one.has(path, entry) for path, entry in files):
                    where = {"stash": f"stash@{{{number}}}", "ref": stashes[stream["id"]]}
                    yield {"session_id": marker["session_id"], **where}
                    break
