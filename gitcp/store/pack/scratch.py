"""A temporary object directory for commands that only read, in a repository that they cannot
write.  git uses such a directory for pushed objects that it has not accepted yet."""

from __future__ import annotations

import os
from contextlib import contextmanager

from gitcp.start import stdlib
from gitcp.store.pack import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.repo import Repo


@contextmanager
def open_scratch(repo: Repo, only: bool = True) -> Iterator[Repo]:
    """Yield repo, or if it cannot be written a copy of it whose new objects go into a temporary
    directory, which is removed at the end.

    only: whether the caller only reads; otherwise repo itself is the result.
    """
    if not only or _can_write_packs(repo):
        yield repo
        return
    objects = os.path.dirname(kept.locate_folder(repo))
    alternates = (objects, repo.git.env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES"))
    with stdlib.tempfile.TemporaryDirectory(prefix="gitcp-") as folder:
        env = {
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(filter(None, alternates)),
        }
        yield repo.copy_with(env)


def _can_write_packs(repo: Repo) -> bool:
    try:
        with stdlib.tempfile.TemporaryFile(dir=kept.make_folder(repo)):
            return os.access(kept.locate_folder(repo), os.W_OK)
    except OSError:
        return False
