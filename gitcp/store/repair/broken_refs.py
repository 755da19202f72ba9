"""A ref of ours that git cannot read: its file set aside, the ref put back where it last was."""

from __future__ import annotations

import os

from gitcp.lock import exclusive
from gitcp.process.regular_file import place_aside
from gitcp.record import raw
from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit
from gitcp.store.repair.broken_streams import lock_of, log_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_LOCKS = {"refs/heads/entire/checkpoints/v1": "v1", "refs/notes/gitcp": "notes"}


def mend(repo: Repo, objects: Objects, ref: str) -> str:
    """Put a ref back to the last commit that its reflog knows; what was done, '' where it can be
    read by now or is no file."""
    with exclusive(repo, _LOCKS.get(ref) or lock_of(repo, ref)):
        path = os.path.join(os.fsencode(repo.common), raw(ref))
        if refs.read(repo, ref) or not os.path.isfile(path):
            return ""
        aside = place_aside(repo.common, ref)
        os.rename(path, raw(aside))
        packed = refs.read(repo, ref)  # what the file stood before
        known = (oid for oid in log_of(repo, ref) if oid.strip("0") and read_commit(objects, oid))
        oid = next(known, packed)
        if oid is None:
            return f"moved it to '{aside}'"
        refs.update(repo, [(ref, oid, packed)], "gitcp: fsck")
        return f"put it back to {oid[:7]}, moved what stood there to '{aside}'"
