"""Merging three blobs by `git merge-file`, as a merge of branches does."""

from __future__ import annotations

import os

from gitcp.errors import GitError
from gitcp.process import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


_LABELS = ("now", "what is taken back", "before it")
_WAYS = ("-c", "merge.conflictStyle=merge", "merge-file", "-p", "-q")


def merge_blobs(
    repo: Repo, objects: Objects, base: str, ours: str, theirs: str
) -> tuple[str, bool]:
    """(the oid of the merged blob, which is stored; whether it has no conflict).

    With conflicts the blob has git's markers, each side labelled; binary content stays ours.
    """
    folder = repo.join_shared("tmp", f"merge-{os.getpid()}-{os.urandom(4).hex()}")
    repo.make_folder(os.path.dirname(folder))
    os.mkdir(folder)
    names = [os.path.join(folder, name) for name in ("ours", "base", "theirs")]
    try:
        for name, oid in zip(names, (ours, base, theirs), strict=True):
            with open(name, "wb") as f:
                f.write(objects.need(oid, "blob"))
        labels = [word for label in _LABELS for word in ("-L", label)]
        status, out = repo.git.run(*_WAYS, *labels, *names, ok=range(128))
    except GitError:  # binary
        return ours, False
    finally:
        for name in names:
            files.remove_file(name)
        os.rmdir(folder)
    return objects.write("blob", out), status == 0
