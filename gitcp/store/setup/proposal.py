"""What a project's settings of the original program say of where checkpoints go.

A file that git tracks came with a commit: what it says is a proposal, which a person answers once
for each value.  A file that git does not track is the person's own.
"""

from __future__ import annotations

import json
import os

from gitcp.core.setup import entire_settings
from gitcp.core.upkeep import shapes
from gitcp.record import text
from gitcp.store.git import files, private
from gitcp.store.v1 import destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_FILES = (".entire/settings.local.json", ".entire/settings.json")  # the stronger first


def read(repo: Repo) -> tuple[str, str, bool]:
    """(the remote or URL that is named, in which file, whether git tracks that); "" for none, and
    for a remote that is not configured."""
    remotes = destination.remotes(repo)
    url = repo.config.get(f"remote.{destination.usual(repo)}.url")
    for name in _FILES:
        try:
            given = json.loads(files.read(os.path.join(repo.worktree, name)) or b"{}")
        except ValueError:
            continue
        named = entire_settings.checkpoint_destination(given, remotes, url)
        if named:
            tracked = text(repo.git.run("ls-files", "--", name)[1])
            return named, name, bool(tracked)
    return "", "", False


def unanswered(repo: Repo) -> tuple[str, str]:
    """(what a tracked file proposes and nobody has answered, that file); "" for nothing."""
    named, name, tracked = read(repo)
    open_ = tracked and named != destination.read(repo) and named not in _answers(repo)
    return (named, name) if open_ else ("", "")


def answer(repo: Repo, named: str) -> None:
    """Remember that a person has answered a proposal, by its value."""
    private.write_words(repo, _path(repo), [*_answers(repo), named])


def _answers(repo: Repo) -> list[str]:
    return private.words(_path(repo), shapes.printable)


def _path(repo: Repo) -> str:
    return repo.shared("proposals-answered")
