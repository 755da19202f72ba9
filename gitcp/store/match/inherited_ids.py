"""The ids a new commit inherits: of what it amends, and of what is squashed or picked into it
(doc/behaviour.md "Ids in a message").  What was taken back and is committed again:
lost_commits.py."""

from __future__ import annotations

import os

from gitcp.core.message import trailers
from gitcp.process import files as texts
from gitcp.record import decode_name, encode_name
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import read_commit
from gitcp.store.match import candidates
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects


def left_out(
    repo: Repo, objects: Objects, ids: Iterable[str], was: Commit, parent: str, changes: Changes
) -> set[str]:
    """Those ids of a rewritten commit none of whose files is left in its successor, which makes
    these changes on parent; a file may have another name there."""
    had, lacks = commit_changes.read_changes(objects, was)[1], candidates.is_gone(objects, parent)
    gone: set[str] = set()
    for one in ids:
        edits = candidates.read_edits(repo, objects, one, was)
        record = [entry for entry in edits if entry["path"] in had]
        if record and not candidates.concerns(objects, record, changes, lacks):
            gone.add(one)
    return gone


def squashed(
    repo: Repo, objects: Objects, head: str, changes: Changes, visible: bool
) -> tuple[list[str], list[str], list[str]]:
    """(the ids of what `merge --squash` brought, by trailer or note, its commits; ids of those
    that git names and of which these changes on head have nothing, or that a person refused).

    All are asked together: a later commit may overwrite an earlier one.  visible: the message that
    the person sees names them, so that a path in common is enough.  git leaves its file behind
    where a squash brought nothing, or was given up.
    """
    lines = _text(repo, "SQUASH_MSG").splitlines()
    words = [line.split(" ") for line in lines if line.startswith("commit ")]
    if not words:
        return [], [], []
    commits = list(filter(None, (read_commit(objects, line[1]) for line in words)))
    links = {commit["oid"]: find_commits.linked(objects, commit["oid"]) for commit in commits}
    every = [one for linked in links.values() for one in linked]
    refused = list(find_commits.refused(objects, links))
    named = dict.fromkeys([*_ids_in(repo, "SQUASH_MSG"), *every])
    ids = [one for one in named if one not in refused]
    for commit in commits if visible and ids else ():
        if not changes.keys().isdisjoint(commit_changes.read_changes(objects, commit)[1]):
            return ids, list(links), refused
    search = candidates.Search(repo, objects, commits, seconds=3600)  # git names few
    if ids and search.is_held(changes, head):
        return ids, list(links), refused
    return [], [], [*ids, *refused]


def picked(
    repo: Repo, objects: Objects, changes: Changes, commit: Commit | None = None
) -> list[str]:
    """The ids of what `cherry-pick -n` brought, or one that stopped, for a message that does
    not show them: those of which these changes have something.  commit: what is picked, where
    git tells it; it may have ids in a note."""
    noted = find_commits.linked(objects, commit["oid"]) if commit else []
    ids = dict.fromkeys([*_ids_in(repo, "MERGE_MSG"), *noted])
    return evident(repo, objects, ids, changes)


def picked_before(repo: Repo, objects: Objects, changes: Callable[[], Changes]) -> list[str]:
    """The ids of what a `cherry-pick -n` of several commits brought before the last, of which
    alone git tells: those of commits that HEAD has not, whose change these changes have in them.
    A commit that has an id has it rightly, whatever was refused of others.  Commits of the same
    paths come first; HEAD may have renamed what the others changed.  changes: asked for where
    there may be any."""
    picking, merging = (os.path.join(repo.git_dir, n) for n in ("MERGE_MSG", "MERGE_HEAD"))
    if not os.path.exists(picking) or os.path.exists(merging):
        return []
    staged = changes()
    same = find_commits.beside(repo, objects, paths=staged)
    every = [*same, *find_commits.beside(repo, objects)]
    return candidates.Search(repo, objects, every).ids(staged, "HEAD", refused=())


def evident(repo: Repo, objects: Objects, ids: Collection[str], changes: Changes) -> list[str]:
    """Those of ids of which a commit with these changes on HEAD holds something; an id whose
    checkpoint is not in this store is believed."""
    kept, gone = [], candidates.is_gone(objects, "HEAD")
    for one in ids:
        record = candidates.read_edits(repo, objects, one)
        if not record or candidates.match_edits(objects, record, changes, gone):
            kept.append(one)
    return kept


def _ids_in(repo: Repo, name: str) -> list[str]:
    return trailers.find_anywhere(encode_name(_text(repo, name)))


def _text(repo: Repo, name: str) -> str:
    return decode_name(texts.peek(os.path.join(repo.git_dir, name)))
