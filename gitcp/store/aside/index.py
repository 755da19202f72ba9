"""Markers put aside: of sessions that left work behind and are not at work.

There may be thousands, and a hook is about few of them: <common>/gitcp/open/~aside has them, and
the journal and the streams say whose work a hook is about.  The directory lies among the other
markers, so that the sh hooks see that there are some; its name is no session's.  A session that
speaks again has its marker among the others again.
"""

from __future__ import annotations

import os

from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

NAME = "~aside"
MOST = 32  # markers among which every hook looks


def folder(repo: Repo) -> str:
    """Where they are."""
    return repo.shared("open", NAME)


def places(repo: Repo, session_id: str) -> tuple[str, ...]:
    """Where the marker of a session may be, in the order in which to look: it may come back."""
    place = repo.shared("open", session_id)
    return place, os.path.join(folder(repo), session_id), place


def path(repo: Repo, session_id: str) -> str:
    """Where the marker of a session is, or would be."""
    there = [place for place in places(repo, session_id) if os.path.lexists(place)]
    return there[0] if there else repo.shared("open", session_id)


def recent(repo: Repo) -> list[str]:
    """The sessions whose markers are not put aside, sorted."""
    return [name for name in files.listed(repo.shared("open")) if name != NAME]


def every(repo: Repo) -> list[str]:
    """All sessions that have a marker, sorted; one may be put aside, or come back, between two
    looks: it is seen in the first or the last."""
    return sorted({*recent(repo), *files.listed(folder(repo)), *recent(repo)})


def crowded(repo: Repo) -> bool:
    """Whether there are so many that are not put aside that some are to be."""
    return len(recent(repo)) > MOST


def take_away(repo: Repo, session_id: str) -> None:
    """Remove one that was put aside, if there is one, and the directory with the last."""
    try:
        os.unlink(os.path.join(folder(repo), session_id))
        os.rmdir(folder(repo))
    except OSError:
        pass  # not there; not the last
