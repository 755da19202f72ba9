"""The auto-commit strategy: a turn's end is a real commit of what the session wrote.

It refuses where a commit of ours could do harm (a rebase or merge under way, somebody's
staged changes) and says so; the turn then gets a temporary checkpoint (behaviour.md §7).
"""

from __future__ import annotations

import os

from gitcp.core.setup.entire_settings import strategy as known
from gitcp.errors import Error, GitError
from gitcp.record import raw, text
from gitcp.store.git.commit import need_commit
from gitcp.store.link import condense
from gitcp.store.session import phase, tasks, turn_work
from gitcp.store.session import state as states
from gitcp.store.stream import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.record import Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_match import Linked
    from gitcp.store.session.state import State
    from gitcp.store.session.turn_work import Turn

AUTO = "auto-commit"
_UNDER_WAY = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}


def strategy(repo: Repo) -> str:
    """gitcp.strategy: 'manual-commit' (default, once 'shadow') or 'auto-commit' ('dual')."""
    value = repo.config.get("gitcp.strategy", "manual-commit")
    name = known(value)
    if name is None:
        raise Error(f"bad config value '{value}' for 'gitcp.strategy'")
    return name


def save(repo: Repo, objects: Objects, state: State, event: dict[str, Any]) -> list[Record]:
    """The end of a turn or of a task: commit what the session wrote, and store it on v1.

    The caller holds the session's lock and saves the state.
    """
    now = turn_work.Turn(repo, objects, state)
    mine = {path: now.entries[path] for path in now.mine if path in now.entries}
    step = None
    if event["event"] == "subagent-end":
        step = tasks.step(repo, objects, state, event, now.tip)
        if step is None:
            return []
    why = refusal(repo, set(mine)) if mine else None
    if why:
        oid = turn_work.checkpoint_turn(repo, objects, state, event)
        said = f"gitcp: not committed, {why}; the turn is kept as a temporary checkpoint"
        return [{"type": "say", "message": said}] if oid else []
    made: list[Record] = []
    if mine:
        checkpoint_id = place.fresh_id()
        title = step["subject"] if step else turn_work.subject(state)
        try:
            oid = _commit(repo, sorted(mine), f"{title}\n\nEntire-Checkpoint: {checkpoint_id}\n")
        except GitError as e:
            turn_work.checkpoint_turn(repo, objects, state, event)
            return [{"type": "say", "message": f"gitcp: not committed: {e}"}]
        _store(repo, objects, state, oid, checkpoint_id, sorted(mine), step)
        ids = {"checkpoint_id": checkpoint_id, "session_id": state["session_id"]}
        made = [{"type": "checkpoint", "commit": oid, **ids}]
    _turned(repo, objects, state, now, mine, event)
    return made


def _turned(
    repo: Repo,
    objects: Objects,
    state: State,
    now: Turn,
    mine: dict[str, Any],
    event: dict[str, Any],
) -> None:
    """What the commit took is no longer dirty; the rest begins what comes next."""
    now.head = state["base_commit"]
    now.entries = {path: entry for path, entry in now.entries.items() if path not in mine}
    if event["event"] == "turn-end":
        now.end(repo, objects, state, event)


def refusal(repo: Repo, mine: set[str]) -> str | None:
    """Why no commit can be made now; None when one can."""
    for name, what in _UNDER_WAY.items():
        if os.path.exists(os.path.join(repo.git_dir, name)):
            return f"{what} is in progress"
    head = "HEAD" if repo.git.test("rev-parse", "-q", "--verify", "HEAD") else repo.empty_tree
    staged = repo.git.lines("diff-index", "--cached", "--name-only", "-z", head)
    foreign = sorted({text(path) for path in staged} - mine)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        return f"'{foreign[0]}'{more} is staged, and not the session's"
    return None


def _commit(repo: Repo, paths: list[str], message: str) -> str:
    """`git commit` of just these paths, with the person's hooks and signature; ours rest."""
    listing = repo.own("paths")
    states.write_file(repo, listing, b"".join(raw(path) + b"\0" for path in paths))
    given = (f"--pathspec-from-file={listing}", "--pathspec-file-nul")
    ours = {"GITCP_ACTIVE": "1", "GIT_OPTIONAL_LOCKS": "1"}
    there = [p for p in paths if os.path.lexists(os.path.join(os.fsencode(repo.worktree), raw(p)))]
    new = b"".join(raw(path) + b"\0" for path in there)
    try:
        if new:
            intent = ("add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
            repo.git.run(*intent, stdin=new, env=ours)
        repo.git.run("commit", "--quiet", "--only", "--message", message, *given, env=ours)
    except GitError:
        repo.git.run("reset", "--quiet", *given, env=ours, ok=(0, 1, 128))
        raise
    finally:
        os.unlink(listing)
    return repo.git.out("rev-parse", "HEAD").decode()


def _store(
    repo: Repo,
    objects: Objects,
    state: State,
    oid: str,
    checkpoint_id: str,
    paths: list[str],
    step: tasks.Step | None,
) -> None:
    made = need_commit(objects, oid)
    linked: Linked = {"how": "environment", "paths": paths, "reasons": {}}
    extra: dict[str, Any] = {"strategy": AUTO}
    files = {}
    if step:
        extra |= {"is_task": True, "tool_use_id": step["tool_use_id"]}
        files = {path.removeprefix("tasks/"): data for path, data in step["files"].items()}
    phase.condenses(state, paths)
    condense.together(
        repo, objects, made, checkpoint_id, [(state, linked)], extra=extra, files=files
    )
