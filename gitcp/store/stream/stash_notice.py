"""The notice that a session's work is in a stash (doc/scenarios.md "000 Overlap")."""

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
    """The notice for a stream that is about to be left: the session, the stash, and the ref that
    will keep its checkpoints; '' if no stash has its work."""
    match = next(_match_stash(repo, objects, {tip["stream"]: ref}), None) if tip else None
    if match is None:
        return ""
    session_id, stash = match["session_id"], match["stash"]
    return f"gitcp: work of session '{session_id}' is in {stash}; '{ref}' keeps its checkpoints"


def list_held(repo: Repo, objects: Objects, streams: Iterable[Record]) -> list[Record]:
    """{session_id, stash, ref} for each archived stream of a listing whose work is in a stash."""
    archived = {s["id"]: s["ref"] for s in reversed(list(streams)) if s["kind"] == "archived"}
    return list(_match_stash(repo, objects, archived)) if archived else []


def _match_stash(repo: Repo, objects: Objects, refs: dict[str, str]) -> Iterator[Record]:
    """The records of list_held().  refs: stream id -> the ref that keeps it."""
    stash = Stash(repo, objects).list_entries()
    for marker in markers.read_here(repo) if stash else ():
        for stream in work.list_open_streams(repo, marker):
            files = [(path, (file["mode"], file["oid"])) for path, file in stream["files"].items()]
            for number, entries in enumerate(stash if stream["id"] in refs else ()):
                if any(entries.has(path, entry) for path, entry in files):
                    details = {"stash": f"stash@{{{number}}}", "ref": refs[stream["id"]]}
                    yield {"session_id": marker["session_id"], **details}
                    break
