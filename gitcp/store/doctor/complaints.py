"""All that `gitcp doctor` looks for: the installation, sessions nobody ends, locks, lost links.

Each finding has a remedy; fix names what `--fix` does about it, '' where a person has to.
"""

from __future__ import annotations

import os
import time

from gitcp.core.setup.install_findings import finding
from gitcp.core.upkeep import findings
from gitcp.store.git import files
from gitcp.store.session import process, session_read
from gitcp.store.setup import health
from gitcp.store.v1 import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Finding, State
    from gitcp.repo import Repo


STUCK = 3600  # seconds after which a turn whose process is not known counts as left
_LOCKS = ("packed-refs.lock", "config.lock", "shallow.lock")
_OWN_LOCKS = ("HEAD.lock", "index.lock")
_LOCK_AGE = 60  # seconds: git holds none so long, unless a person is asked something


def all_of(repo: Repo) -> Iterator[Finding]:
    """Every complaint, the gravest for what is recorded from now on first."""
    states = session_read.every(repo)
    yield from _installation(repo, states)
    for state in states:
        yield from _session(repo, state)
    yield from _claims(repo)
    yield from _locks(repo)
    yield from _stored(repo)
    yield from _unlinked(repo)


def _installation(repo: Repo, states: list[State]) -> Iterator[Finding]:
    called = {str(state.get("agent_type")) for state in states}
    for one in health.check(repo, time.time(), called):
        remedy = str(one["remedy"])
        if one["kind"] == "warning":
            yield from _warnings(repo)
        else:
            fix = "enable" if remedy.startswith("gitcp enable") and "--force" not in remedy else ""
            yield {**one, "fix": fix}


def _warnings(repo: Repo) -> Iterator[Finding]:
    from gitcp.store.setup import heard

    for seconds, message in heard.warnings(repo):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
        one = finding("warning", repo.common, f"{when} {message}", "forget it")
        yield {**one, "fix": "forget"}


def _session(repo: Repo, state: State) -> Iterator[Finding]:
    """A turn that nobody ends, and a transcript that is not complete or cannot be read."""
    name = state["session_id"]
    if state.get("unreadable"):
        return
    if why := transcript.unreadable(repo, state.get("transcript_path")):
        reason = f"nothing new is stored of what session '{name}' says: {why}"
        yield finding("unread-transcript", name, reason, "let its owner read it")
    active = state.get("phase") == "active"
    here = (state.get("worktree_id") or "") == repo.worktree_id
    if active and (why := _left(state)):
        place = "" if here else f"run this in '{state.get('worktree_path')}'"
        one = finding("dead-session", name, f"session '{name}' is {why}", place or "end it")
        yield {**one, "fix": "end" if here else ""}
    elif not active and state.get("turn_checkpoint_ids"):
        count = len(state["turn_checkpoint_ids"])
        reason = f"{count} checkpoints of session '{name}' have an incomplete transcript"
        yield {
            **finding("provisional", name, reason, "complete them"),
            "fix": "finalize" if here else "",
        }


def _left(state: State) -> str:
    """Why nobody will end a turn; '' where its agent runs, or may run."""
    agent = state.get("agent_process")
    if agent:
        return "" if process.alive(agent) else "in a turn, and its agent is gone"
    last = session_read.instant(state.get("last_interaction_time"))
    return "in a turn without an event for an hour" if last < time.time() - STUCK else ""


def _claims(repo: Repo) -> Iterator[Finding]:
    from gitcp.store.guard import claims

    names = set(files.listed(repo.own("claims")))
    for key in sorted(names - {claim["key"] for claim in claims.listing(repo)}):
        reason = f"a claim is held for nobody: '{key}'"
        yield {**finding("dead-claim", key, reason, "let go of it"), "fix": "release"}


def _locks(repo: Repo) -> Iterator[Finding]:
    """git's own locks, which are everybody's: they are named, and never taken away."""
    paths = [os.path.join(repo.common, name) for name in _LOCKS]
    paths += [os.path.join(repo.git_dir, name) for name in _OWN_LOCKS]
    for path in paths:
        try:
            old = time.time() - os.stat(path).st_mtime > _LOCK_AGE
        except FileNotFoundError:
            continue
        if old:
            reason = f"'{path}' was left behind, and git writes nothing while it is there"
            yield {**finding("git-lock", path, reason, "remove it if no git runs")}


def _stored(repo: Repo) -> Iterator[Finding]:
    """What fsck finds, but notes and what was told of the installation already."""
    from gitcp.store.upkeep import check_store

    for one in check_store.check(repo):
        if one["severity"] == findings.NOTE or one["kind"] in ("no-hook", "changed-hook"):
            continue
        mends = findings.CODES[one["kind"]][1]
        reason = f"{one['subject']}: {one['reason']}"
        what = "mend it" if mends else "see gitcp-fsck(1)"
        yield {**one, "reason": reason, "remedy": what, "fix": "repair" if mends else ""}


def _unlinked(repo: Repo) -> Iterator[Finding]:
    """Commits that lost their checkpoint id and could have it back."""
    from gitcp.store.git.objects import Objects
    from gitcp.store.relink import lost_links

    with Objects(repo) as objects:
        for one in lost_links.lost(repo, objects):
            commit, checkpoint = one["commit"], one["checkpoint_id"]
            reason = f"commit {commit[:12]} lost its checkpoint {checkpoint}"
            lost = finding("lost-link", commit, reason, "link it by a note")
            yield {**lost, "checkpoint_id": checkpoint, "fix": "relink"}
