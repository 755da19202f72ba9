"""Objects read without git: small ones, in a file of their own or in a pack of ours.

All others are for git to read, or to say what is wrong with them.
"""

from __future__ import annotations

import os

from gitcp.core.git import packfile
from gitcp.process import files
from gitcp.store.pack import packs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Object

_MOST = 1 << 16  # bytes of a file


def read(repo: Repo, oid: str) -> Object | None:
    """The object of a full oid; None where git has to be asked."""
    ours = packs.get_packs(repo)
    if found := ours.read(oid):
        return oid, *found
    loose = os.path.join(os.path.dirname(ours.folder), oid[:2], oid[2:])
    head, _, content = (packfile.inflate(files.peek(loose, most=_MOST)) or b"").partition(b"\0")
    kind, _, size = head.decode("ascii", "replace").partition(" ")
    return (oid, kind, content) if size == str(len(content)) else None
