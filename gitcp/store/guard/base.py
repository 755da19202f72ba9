"""HEAD or `@` of a working copy, with the sessions that its message names.

A git commit never changes, so its sessions are cached: a tool call on the same HEAD asks git
nothing.
"""

from __future__ import annotations

from gitcp.core import json
from gitcp.core.guard import verdict
from gitcp.core.upkeep import shapes
from gitcp.errors import NoJj
from gitcp.start import late
from gitcp.store.git import private, refs
from gitcp.store.git.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.guard.verdict import Base
    from gitcp.jj import Change
    from gitcp.repo import Repo

_UNBORN = "unborn"


def list_keys(repo: Repo) -> tuple[str, ...]:
    """The trailer keys by which a commit names its session (gitcp.session-trailers)."""
    configured = [
        word for value in repo.config.get_all("gitcp.session-trailers") for word in value.split()
    ]
    return tuple(configured) or verdict.KEYS


def read_base(repo: Repo) -> Base:
    """HEAD of a worktree, or `@` of a jj workspace."""
    if is_jj(repo):
        return _make_jj_base(repo, late.jj.read_here(repo.worktree))
    name = refs.read_branch(repo)
    oid = refs.read_head(repo) if name == "HEAD" else refs.read_ref(repo, name)
    return _make_git_base(repo, name, oid)


def read_base_again(repo: Repo, started: Base) -> Base | None:
    """The base that the name of an earlier one has now; None if the name is gone."""
    if started["vcs"] == "jj":
        change = late.jj.find_change(repo.worktree, started["name"])
        return _make_jj_base(repo, change) if change else None
    name = started["name"]
    if name == "HEAD":  # a detached HEAD: the commit itself is the name
        return _make_git_base(repo, name, started["id"])
    oid = refs.read_ref(repo, name)
    return _make_git_base(repo, name, oid) if oid else None


def is_jj(repo: Repo) -> bool:
    """Whether this is a jj workspace and jj is installed."""
    if not repo.jj:
        return False
    try:
        return bool(late.jj.find_program_of(repo.worktree))
    except NoJj:
        return False


def _make_jj_base(repo: Repo, change: Change) -> Base:
    name = change["change"]
    return verdict.make_base("jj", name, name, change["message"], list_keys(repo))


def _make_git_base(repo: Repo, name: str, oid: str | None) -> Base:
    if oid is None:
        return verdict.make_base("git", name, _UNBORN, b"", ())
    keys = list_keys(repo)
    cached = private.load_cache(repo.join_own("guard-head"), shapes.GUARD_HEAD) or {}
    if cached.get("id") != oid or cached.get("keys") != list(keys):
        message = Objects.get_shared(repo).need(oid, "commit").partition(b"\n\n")[2]
        cached = {
            "id": oid,
            "keys": list(keys),
            "sessions": verdict.read_sessions(message, keys),
            "workspace": verdict.find_workspace_owner(message),
        }
        _write_cache(repo, cached)
    sessions, workspace = cached["sessions"], cached["workspace"]
    return {"vcs": "git", "name": name, "id": oid, "sessions": sessions, "workspace": workspace}


def _write_cache(repo: Repo, cached: dict[str, Any]) -> None:
    try:
        private.write_private(repo, repo.join_own("guard-head"), json.dumps(cached).encode())
    except OSError:
        pass  # git is asked again next time: a full disk must not refuse a tool call
