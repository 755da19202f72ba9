"""Where a command that only looks stores objects when the repository cannot be written: a directory
that goes at its end, as git has one for what is pushed until it is accepted."""

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
    """The repository to work with: repo itself, or, where it cannot be written, one whose new
    objects go into a temporary directory, which goes at the end.  only: nothing but looks is done
    with it; else it is repo."""
    if not only or _can_write_packs(repo):
        yield repo
        return
    objects = os.path.dirname(kept.locate_folder(repo))
    known = (objects, repo.git.env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES"))
    with stdlib.tempfile.TemporaryDirectory(prefix="gitcp-") as folder:
        alternates = os.pathsep.join(filter(None, known))
        place = {
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": alternates,
        }
        yield repo.copy_with(place)


def _can_write_packs(repo: Repo) -> bool:
    """Whether a pack can be made, and put where git finds it."""

    try:
        with stdlib.tempfile.TemporaryFile(dir=kept.make_workshop(repo)):
            return os.access(kept.locate_folder(repo), os.W_OK)
    except OSError:
        return False
