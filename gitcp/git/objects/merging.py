"""Three versions of a path, merged by git."""

from __future__ import annotations

import os

from gitcp.errors import GitError
from gitcp.git import files
from gitcp.git.files import locate_scratch
from gitcp.text.ids import EXECUTABLE, FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Version

    Contents = Callable[[str, str, str], tuple[str, bool]]  # base, ours, theirs -> oid, clean


_LABELS = ("now", "what is taken back", "before it")


_WAYS = ("-c", "merge.conflictStyle=merge", "merge-file", "-p", "-q")


def merge_blobs(
    repo: Repo, base: str, ours: str, theirs: str, store: bool = True
) -> tuple[str, bool]:
    """(the oid of the merged blob; whether it has no conflict).  store: else it is only held in
    memory.

    With conflicts the blob has git's markers, each side labelled; binary content stays ours.
    """
    folder = locate_scratch(repo, f"merge-{os.getpid()}-{os.urandom(4).hex()}")
    repo.make_folder(os.path.dirname(folder))
    os.mkdir(folder)
    names = [os.path.join(folder, name) for name in ("ours", "base", "theirs")]
    try:
        for name, oid in zip(names, (ours, base, theirs), strict=True):
            with open(name, "wb") as f:
                f.write(repo.objects.need(oid, "blob"))
        labels = [word for label in _LABELS for word in ("-L", label)]
        status, out = repo.git.run(*_WAYS, *labels, *names, ok=range(128))
    except GitError:  # binary
        return ours, False
    finally:
        for name in names:
            files.remove_file(name)
        os.rmdir(folder)
    is_clean = status == 0
    if store:
        return repo.objects.write("blob", out), is_clean
    oid = repo.objects.hash_object("blob", out)
    repo.objects.ahead.hold(oid, "blob", out)
    return oid, is_clean


_FILES = {FILE, EXECUTABLE}


def merge_versions(
    base: Version, ours: Version, theirs: Version, contents: Contents
) -> tuple[Version, bool]:
    """(theirs merged into ours, whether that is clean); ours if they cannot be merged, as they can
    only if all three are regular files.  contents: merges three blobs."""
    if theirs in (base, ours):
        return ours, True
    if ours == base:
        return theirs, True
    if not (base and ours and theirs and {base[0], ours[0], theirs[0]} <= _FILES):
        return ours, False
    oid, is_clean = contents(base[1], ours[1], theirs[1])
    mode = theirs[0] if ours[0] == base[0] else ours[0]  # of the side that changed it
    return (mode, oid), is_clean
