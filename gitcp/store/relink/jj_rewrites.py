"""What jj says was rewritten: the ids follow to what the old commits became.

jj runs no hooks.  It keeps of each commit which ones it was made of (`jj evolog`): describe,
rebase and squash, split and edit alike (doc/behaviour.md "Rewritten commits").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.jj import log
from gitcp.store.link import find_commits, memory
from gitcp.store.relink import rewritten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def follow(repo: Repo, objects: Objects, commits: Sequence[str]) -> int:
    """Note on commits the ids of those that they were made of; how many links.

    One jj process.  Nothing is followed where jj cannot be asked.
    """
    try:
        sources = log.predecessors(repo.jj_root, commits)
    except Error as e:
        trace.note("jj", str(e))
        return 0
    refused, links = memory.read_refused(repo), 0
    for new in commits:
        but = {*find_commits.linked(objects, new), *refused}
        olds = _linked(objects, sources, new)
        links += len(rewritten.hand_on(repo, objects, new, olds, "jj", but))
    return links


def _linked(objects: Objects, sources: Mapping[str, Sequence[str]], new: str) -> list[str]:
    """The nearest commits with a link that a commit was made of, in jj's order."""
    linked, seen, waiting = [], {new}, list(sources.get(new, ()))
    while waiting:
        old = waiting.pop(0)
        if old in seen:
            continue
        seen.add(old)
        if find_commits.linked(objects, old):
            linked.append(old)
        else:
            waiting += sources.get(old, ())
    return linked
