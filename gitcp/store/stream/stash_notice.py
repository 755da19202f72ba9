"""What the person is told when a prompt leaves work behind that an entry of the stash holds.

Seed 000, "Stash + new work on different files": the work is kept, and how to find it is said.
"""

from __future__ import annotations

from gitcp.store.git import reflog
from gitcp.store.git.tree import Lookup
from gitcp.store.session import markers
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def message(repo: Repo, objects: Objects, tip: Tip | None) -> str:
    """The session, the stash entry and the ref that keeps its checkpoints, for a stream that is
    about to be left; '' when no entry has something that it records."""
    stashes = reflog.stashes(repo) if tip else []
    looks = [_lookups(objects, oid) for oid in stashes]
    for marker in markers.here(repo) if tip and stashes else ():
        for stream in marker["streams"]:
            if not tip or stream["id"] != tip["stream"]:
                continue
            files = {path: (mode, oid) for path, (mode, oid) in stream["files"].items()}
            for number, entries in enumerate(looks):
                if any(look(path) == entry for look in entries for path, entry in files.items()):
                    kept = tip["ref"].removeprefix(shadow_refs.BRANCHES)
                    return (
                        f"gitcp: work of session '{marker['session_id']}' is in stash@{{{number}}}"
                        f"; its checkpoints stay below '{shadow_refs.ARCHIVE}{kept}'"
                    )
    return ""


def _lookups(objects: Objects, stash: str) -> list[Lookup]:
    """What an entry has of tracked files, and of untracked ones (its third parent)."""
    trees = (objects.read(f"{stash}{part}^{{tree}}") for part in ("", "^3"))
    return [Lookup(objects, tree[0]) for tree in trees if tree]
