"""The ids a new commit inherits: of what it amends, and of what is squashed or picked into it
(doc/behaviour.md "Ids in a message").  What was taken back and is committed again:
lost_commits.py."""

from __future__ import annotations

import os

from gitcp.core.message import trailers
from gitcp.record import raw, text
from gitcp.store.git import files as texts
from gitcp.store.git.commit import read_commit
from gitcp.store.link import commit_changes
from gitcp.store.session import markers
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes


def amended(repo: Repo, objects: Objects, commit: Commit) -> list[str]:
    """The ids of a commit: its own, a note's, else what its session was given last."""
    from gitcp.store.link import find_commits

    linked = find_commits.linked(objects, commit["oid"])
    if linked:
        return linked
    for marker in markers.read(repo):
        if marker["base_commit"] == commit["oid"] and markers.is_home(repo, marker):
            state = states.peek(repo, marker["session_id"])
            if state and state.get("last_checkpoint_id"):
                return [state["last_checkpoint_id"]]
    return []


def left_out(
    repo: Repo, objects: Objects, ids: Iterable[str], was: Commit, changes: Changes
) -> set[str]:
    """Those of the ids of a commit of whose files what takes its place, with these changes, has
    none any more, by no other name either."""
    from gitcp.store.link import candidates

    had, gone = commit_changes.of_commit(objects, was)[1], set()
    for one in ids:
        record = {entry["path"] for entry in candidates.read_edits(repo, objects, one, was)}
        files = record & had.keys() or had.keys()
        if files and files.isdisjoint(changes) and not _moved(objects, files, had, changes):
            gone.add(one)
    return gone


def _moved(objects: Objects, files: Iterable[str], had: Changes, changes: Changes) -> bool:
    from gitcp.core.lines import moves

    gone = {path: oid for path in files if (oid := had[path][3])}
    come = {path: new for path, (_, old, _, new) in changes.items() if new and not old}
    content = commit_changes.blobs_of(objects)
    return bool(moves.moves(gone, come, lambda oid: (content(oid) or b"").split(b"\n")))


def squashed(
    repo: Repo, objects: Objects, changes: Changes, visible: bool
) -> tuple[list[str], list[str], list[str]]:
    """(the ids of what `merge --squash` brought, by trailer or note, its commits; ids of those
    that git names and of which these changes have nothing, or that a person refused).

    All are asked together: a later commit may overwrite an earlier one.  visible: the message that
    the person sees names them, so that a path in common is enough.  git leaves its file behind
    where a squash brought nothing, or was given up.
    """
    lines = _text(repo, "SQUASH_MSG").splitlines()
    words = [line.split(" ") for line in lines if line.startswith("commit ")]
    if not words:
        return [], [], []
    from gitcp.store.link import candidates, find_commits

    commits = list(filter(None, (read_commit(objects, line[1]) for line in words)))
    links = {commit["oid"]: find_commits.linked(objects, commit["oid"]) for commit in commits}
    every = [one for linked in links.values() for one in linked]
    refused = list(find_commits.refused(objects, links))
    named = dict.fromkeys([*_ids_in(repo, "SQUASH_MSG"), *every])
    ids = [one for one in named if one not in refused]
    for commit in commits if ids else ():
        had = commit_changes.of_commit(objects, commit)[1]
        if visible and not changes.keys().isdisjoint(had):
            return ids, list(links), refused
        for one in links[commit["oid"]]:
            record = candidates.read_edits(repo, objects, one, commit)
            if candidates.match_edits(objects, record, changes):
                return ids, list(links), refused
    return [], [], [*ids, *refused]


def unnamed(repo: Repo, ids: Iterable[str]) -> list[str]:
    """Those of the ids of a squash that notes link: the message git has begun lacks them."""
    named = set(_ids_in(repo, "SQUASH_MSG"))
    return [one for one in ids if one not in named]


def picked(
    repo: Repo, objects: Objects, changes: Changes, commit: Commit | None = None
) -> list[str]:
    """The ids of what `cherry-pick -n` brought, or one that stopped, for a message that does
    not show them: those of which these changes have something.  commit: what is picked, where
    git tells it; it may have ids in a note."""
    noted: list[str] = []
    if commit:
        from gitcp.store.link import find_commits

        noted = find_commits.linked(objects, commit["oid"])
    ids = dict.fromkeys([*_ids_in(repo, "MERGE_MSG"), *noted])
    return evident(repo, objects, ids, changes)


def picked_before(repo: Repo, objects: Objects, changes: Callable[[], Changes]) -> list[str]:
    """The ids of what a `cherry-pick -n` of several commits brought before the last, of which
    alone git tells: those of commits that HEAD has not, whose change these changes have in them.
    changes: asked for where there may be any."""
    picking, merging = (os.path.join(repo.git_dir, n) for n in ("MERGE_MSG", "MERGE_HEAD"))
    if not os.path.exists(picking) or os.path.exists(merging):
        return []
    from gitcp.store.link import find_commits
    from gitcp.store.link.candidates import Search

    staged = changes()
    beside = find_commits.beside(repo, objects, staged)
    return Search(repo, objects, beside).ids(staged, "HEAD")


def evident(repo: Repo, objects: Objects, ids: Collection[str], changes: Changes) -> list[str]:
    """Those of ids that a commit with these changes holds something of; one that the store here
    does not have is believed."""
    if not ids:
        return []
    from gitcp.store.link import candidates

    kept = []
    for one in ids:
        record = candidates.read_edits(repo, objects, one)
        if not record or candidates.match_edits(objects, record, changes):
            kept.append(one)
    return kept


def _ids_in(repo: Repo, name: str) -> list[str]:
    return trailers.anywhere(raw(_text(repo, name)))


def _text(repo: Repo, name: str) -> str:
    return text(texts.peek(os.path.join(repo.git_dir, name)))
