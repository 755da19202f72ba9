"""Sharing checkpoints: push and fetch with a union merge, never by force
(doc/behaviour.md "Sharing")."""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress

from gitcp import trace
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.git import notes, private, refs
from gitcp.store.share import outgoing_notes, push_check
from gitcp.store.share.remote import Remote
from gitcp.store.v1 import committed_write, destination, kept_tips
from gitcp.store.v1.merge import histories
from gitcp.store.v1.merge import notes as note_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.kept_tips import Tips
    from gitcp.store.v1.merge.notes import Join

_LOCKS = {committed_write.REF: "v1", notes.REF: "notes", notes.AI: "notes"}


def push(
    repo: Repo,
    objects: Objects,
    name: str,
    timeout: float,
    *,
    search: float | None = None,
    again: bool = True,
    leave: Container[str] = (),
) -> tuple[Tips, int]:
    """Bring the remote to where we are; return (what it has now, how many merges that took).

    Where somebody was faster, theirs is fetched and united with ours, and the push tried again
    until timeout (seconds).
    search: how many seconds a hook may search for secrets before that, as many by default.
    again: ask the remote even if it has all, as far as we know, or there is nothing to push.
    leave: refs that are not to be pushed.  Raises Error naming the remote when it cannot be
    reached, refuses, or time runs out.
    """
    remote, merges, there = None, 0, kept_tips.pushed(repo, name)
    while True:
        tips = _outgoing(repo, objects, there, leave)
        if not tips and again:
            Remote(repo, name, timeout).listing(committed_write.REF)
        if not tips or (not again and kept_tips.pushed(repo, name) == tips):
            _settle(repo, objects, name, tips)
            return tips, merges
        if remote is None:
            limit = timeout if search is None else search
            push_check.refuse(repo, objects, tips, kept_tips.pushed(repo, name), limit)
            remote = Remote(repo, name, timeout)
        if not remote.push(tips):
            _settle(repo, objects, name, tips)
            return tips, merges
        if merges:  # whoever lost twice lets others go first
            time.sleep(min(remote.left(), random.uniform(0, 0.05 * 2 ** min(merges, 5))))
        if not remote.left():
            raise Error(f"'{name}' is too busy: others pushed {merges} times meanwhile")
        merges += 1
        there = _bring(repo, objects, remote)


def fetch(repo: Repo, objects: Objects, name: str, timeout: float) -> Tips:
    """Bring the remote's checkpoints and notes here, united with ours; return our tips.

    Raises Error naming the remote when it cannot be reached in timeout seconds.
    """
    kept_tips.set_pushed(repo, name, _bring(repo, objects, Remote(repo, name, timeout)))
    return local(repo)


def local(repo: Repo) -> Tips:
    """The tips of what is shared."""
    tips = refs.listing(repo, *_shared(repo))
    return {ref: tips[ref] for ref in _shared(repo) if ref in tips}


def _outgoing(repo: Repo, objects: Objects, theirs: Tips, leave: Container[str] = ()) -> Tips:
    """Our tips as they are pushed to where theirs are, without the refs in leave."""
    tips = {ref: oid for ref, oid in local(repo).items() if ref not in leave}
    for ref, oid in tips.items():
        if (joined := _join(ref)) and theirs.get(ref) != oid:
            tips[ref] = outgoing_notes.select(repo, objects, oid, theirs.get(ref, ""), joined)
    return tips


def _shared(repo: Repo) -> list[str]:
    ai = repo.config.option("gitcp.ai-notes")
    return [committed_write.REF, notes.REF, *([notes.AI] if ai else [])]


def _join(ref: str) -> Join | None:
    """How two notes of a ref become one; None for the checkpoints."""
    if ref == notes.AI:
        from gitcp.core.exports import git_ai_union

        return git_ai_union.merged
    return note_trees.lines if ref == notes.REF else None


def _bring(repo: Repo, objects: Objects, remote: Remote) -> Tips:
    """Fetch what is not here yet under refs of our own, unite, and let go of them; what the
    remote has."""
    theirs, ours = remote.listing(*_shared(repo)), local(repo)
    wanted = [ref for ref in _shared(repo) if ref in theirs and theirs[ref] != ours.get(ref)]
    held = {ref: f"refs/gitcp/fetch/{os.getpid()}/{ref.split('/')[-1]}" for ref in wanted}
    if not held:
        return theirs
    try:
        remote.fetch(held)
        for ref, target in held.items():
            oid = refs.read(repo, target)
            if oid:
                unite(repo, objects, ref, oid)
    finally:
        left = ((t, None, oid) for t in held.values() if (oid := refs.read(repo, t)))
        with suppress(Error):
            refs.update(repo, list(left), "gitcp: fetched")
    return theirs


def unite(repo: Repo, objects: Objects, ref: str, theirs: str) -> str:
    """Move ref on to what has its history and theirs (an oid); return that."""

    def attempt() -> str:
        ours = refs.read(repo, ref)
        merged = histories.merged(repo, objects, ours, theirs, _join(ref))
        if merged != ours:
            if ref == committed_write.REF:
                committed_write.move(repo, merged, ours, "gitcp: merge")
            else:
                committed_write.announce(repo)
                refs.update(repo, [(ref, merged, ours)], "gitcp: merge")
            trace.note("sync", f"{ref} is now {merged}")
        return merged

    return refs.again(repo, _LOCKS[ref], attempt)


def _settle(repo: Repo, objects: Objects, name: str, tips: Tips) -> None:
    """Remember what the remote has; where the destination has all nothing is left to push."""
    with exclusive(repo, "v1"), exclusive(repo, "notes"):
        kept_tips.set_pushed(repo, name, tips)
        if name == destination.read(repo) and _outgoing(repo, objects, tips) == tips:
            private.remove(repo, repo.shared("unpushed"))
