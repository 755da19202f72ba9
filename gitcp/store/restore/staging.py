"""Files as git would check them out, made aside: filters, line ends and modes are git's work.

A scratch index names what is wanted and the attributes above it; `git checkout-index` writes
into a directory below <git-dir>/gitcp/rewind, from where each file is renamed into place.
"""

from __future__ import annotations

import os
import shutil

from gitcp.errors import Error, GitError
from gitcp.record import raw
from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo

_WAYS = (
    "-c core.hooksPath=/dev/null -c core.splitIndex=false -c core.fsmonitor=false"
    " -c core.sparseCheckout=false -c core.bare=false -c core.useReplaceRefs=false"
).split()
ATTRIBUTES = ".gitattributes"


class Staging:
    """The directory of one step back.  new: what is to come, old: what was replaced."""

    def __init__(self, repo: Repo, name: str) -> None:
        self._repo = repo
        self.place = repo.own("rewind", name)
        self.new, self.old = os.path.join(self.place, "new"), os.path.join(self.place, "old")

    def fill(
        self, wanted: Mapping[str, Entry], will: Callable[[str], Entry | None], part: str = "new"
    ) -> None:
        """Write the wanted files, by paths, below the part of it; will tells the entry that
        any path will have when all is done, for the attributes.

        Raises Error when the content of one is not in this repository, or there is no room.
        """
        at = os.path.join(self.place, part)
        os.makedirs(at, exist_ok=True)
        if not wanted:
            return
        lines = {path: entry for path in _attributes(wanted) if (entry := will(path))}
        order = b"".join(_line(path, e) for path, e in {**lines, **wanted}.items())
        index = os.path.join(self.place, f"{part}.index")
        env = {"GIT_INDEX_FILE": index, "GIT_WORK_TREE": at}
        git = self._repo.git.bound(at, env)
        try:
            git.run(*_WAYS, "update-index", "-z", "--index-info", stdin=order)
            names = b"".join(raw(path) + b"\0" for path in wanted)
            git.run(*_WAYS, "checkout-index", "-f", "-z", "--stdin", stdin=names, filters=True)
        except GitError as e:
            raise Error(f"cannot prepare the files: {e.complaint.splitlines()[0]}") from None
        for path in wanted:
            if not os.path.lexists(self.file(path, part)):
                raise Error(f"cannot prepare '{path}': its content is not here")

    def file(self, path: str, part: str = "new") -> bytes:
        """Where fill() put a path."""
        return os.path.join(os.fsencode(self.place), part.encode(), raw(path))

    def aside(self, number: int) -> bytes:
        """Where the file that the action of that number replaces is kept meanwhile."""
        return os.path.join(os.fsencode(self.old), b"%d" % number)

    def remove(self) -> None:
        """Forget all of it."""
        shutil.rmtree(self.place, ignore_errors=True)


def abandoned(repo: Repo) -> list[str]:
    """The names of what stands there, which is nobody's while the caller holds the log's lock."""
    return files.listed(repo.own("rewind"))


def _attributes(paths: Iterable[str]) -> set[str]:
    """Every attributes file that has a say about paths."""
    files = set()
    for path in paths:
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            files.add(f"{folder}/{ATTRIBUTES}".lstrip("/"))
    return files


def _line(path: str, entry: Entry) -> bytes:
    return b"%s %s\t%s\0" % (entry[0].encode(), entry[1].encode(), raw(path))
