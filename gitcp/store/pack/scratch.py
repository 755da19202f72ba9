"""A temporary directory for the objects of a command that only reads a repository which it cannot
write."""

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
    """The repository to work with: repo, or, if it cannot be written, a copy whose new objects go
    into a temporary directory, which is removed at the end.  only: False always gives repo."""
    if not only or _can_write_packs(repo):
        yield repo
        return
    objects = os.path.dirname(kept.locate_folder(repo))
    sources = (objects, repo.git.env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES"))
    with stdlib.tempfile.TemporaryDirectory(prefix="gitcp-") as folder:
        alternates = os.pathsep.join(filter(None, sources))
        env = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": alternates}
        yield repo.copy_with(env)


def _can_write_packs(repo: Repo) -> bool:
    """Whether a pack can be made and moved into place."""
    try:
        with stdlib.tempfile.TemporaryFile(dir=kept.make_workshop(repo)):
            return os.access(kept.locate_folder(repo), os.W_OK)
    except OSError:
        return False
