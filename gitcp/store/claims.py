"""HEAD or `@` of a working copy, with the sessions that its message names.

A git commit never changes, so its sessions are cached: a tool call on the same HEAD asks git
nothing.
"""

from __future__ import annotations

import os
import time

from gitcp import files, git
from gitcp.core import formats, json
from gitcp.errors import InputError, NoJj
from gitcp.files import Damaged, exclusive
from gitcp.store import refs, session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gitcp.core.guard_rules import Base, Claim
    from gitcp.core.record_types import Marker, Record
    from gitcp.jj import Change
    from gitcp.repo import Repo

_UNBORN = "unborn"


def list_keys(repo: Repo) -> tuple[str, ...]:
    """The trailer keys by which a commit names its session (gitcp.session-trailers)."""
    configured = [
        word for value in repo.config.get_all("gitcp.session-trailers") for word in value.split()
    ]

    from gitcp.core import guard_rules

    return tuple(configured) or guard_rules.KEYS


def read_base(repo: Repo) -> Base:
    """HEAD of a worktree, or `@` of a jj workspace."""
    if is_jj(repo):
        from gitcp import jj

        return _make_jj_base(repo, jj.read_here(repo.worktree))
    name = refs.read_branch(repo)
    oid = refs.read_head(repo) if name == "HEAD" else refs.read_ref(repo, name)
    return _make_git_base(repo, name, oid)


def read_base_again(repo: Repo, started: Base) -> Base | None:
    """The base that the name of an earlier one has now; None if the name is gone."""
    if started["vcs"] == "jj":
        from gitcp import jj

        change = jj.find_change(repo.worktree, started["name"])
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
        from gitcp import jj

        return bool(jj.find_program_of(repo.worktree))
    except NoJj:
        return False


def _make_jj_base(repo: Repo, change: Change) -> Base:
    name = change["change"]

    from gitcp.core import guard_rules

    return guard_rules.make_base("jj", name, name, change["message"], list_keys(repo))


def _make_git_base(repo: Repo, name: str, oid: str | None) -> Base:
    if oid is None:
        from gitcp.core import guard_rules

        return guard_rules.make_base("git", name, _UNBORN, b"", ())
    keys = list_keys(repo)
    cached = files.load_cache(repo.join_own("guard-head"), formats.GUARD_HEAD) or {}
    if cached.get("id") != oid or cached.get("keys") != list(keys):
        message = repo.objects.need(oid, "commit").partition(b"\n\n")[2]

        from gitcp.core import guard_rules

        cached = {
            "id": oid,
            "keys": list(keys),
            "sessions": guard_rules.read_sessions(message, keys),
            "workspace": guard_rules.find_workspace_owner(message),
        }
        _write_cache(repo, cached)
    sessions, workspace = cached["sessions"], cached["workspace"]
    return {"vcs": "git", "name": name, "id": oid, "sessions": sessions, "workspace": workspace}


def _write_cache(repo: Repo, cached: dict[str, Any]) -> None:
    try:
        files.write_private(repo, repo.join_own("guard-head"), json.dumps(cached).encode())
    except OSError:
        pass  # git is asked again next time: a full disk must not refuse a tool call


# Claims of tool calls on paths: one small file each, in the working copy's own git directory.
#
# A claim lasts from tool-start to tool-end.  Claims are read, judged and written under one lock
# that a hook holds for milliseconds.  A claim whose agent is gone is removed when it is next read
# (doc/guard.md "Claims").
_POLL = (0.02, 0.25)  # seconds between two tries of a call that waits: at first, at most
_TAIL = 1 << 20  # bytes of a transcript's end that are read


def make_key(event: dict[str, Any], tool: dict[str, Any], paths: Iterable[str]) -> str:
    """The name of a tool call's claim, made from its id, or from its paths if it has none."""
    parts = [event["session_id"], event.get("agent_id") or "", tool.get("id") or ""]
    if not tool.get("id"):
        parts += [tool.get("name", ""), *sorted(set(paths))]
    return str(
        files.find_hasher("sha1")("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    )


def make_claim(event: dict[str, Any], paths: Iterable[str], started: Any, env: Any) -> Claim:
    """The claim of a tool-start event on paths, relative to the root of one working copy."""
    tool, names = event.get("tool") or {}, sorted(set(paths))

    return {
        "key": make_key(event, tool, names),
        "session_id": event["session_id"],
        "agent_id": event.get("agent_id") or "",
        "tool_use_id": tool.get("id") or "",
        "tool": tool.get("name", ""),
        "paths": names,
        "process": session.find_agent(env),  # type: ignore[typeddict-item]
        "transcript": event.get("agent_transcript_path") or event.get("transcript_path") or "",
        "created": time.time(),
        "started": started,
    }


def take_claim(
    repo: Repo, mine: Claim, wait: float = 0, pausing: Callable[[], object] | None = None
) -> tuple[Claim, str] | None:
    """Claim paths; None if they were free, else (the claim in the way, its path) after wait
    seconds.

    Without pausing they are claimed although another holds them.  Else pausing() is called before
    each pause, to release locks that others need.  Claims of calls that their transcript shows
    ended are removed at once.
    """
    limit, pause = time.monotonic() + wait, _POLL[0]
    while True:
        with _lock_claims(repo):
            held = _list_living(repo)

            from gitcp.core import guard_rules

            other = guard_rules.find_blocking_claim(mine, held)
            if other and has_ended(other[0]):
                _remove(repo, other[0]["key"])
                continue
            if not (other and pausing):
                _drop_earlier(repo, mine, held)
                _write(repo, mine)
                return other
        if time.monotonic() >= limit:
            return other
        git.append_note("claim", f"waiting for '{other[0]['session_id']}' to end with '{other[1]}'")
        pausing()
        time.sleep(min(pause, max(0.0, limit - time.monotonic())))
        pause = min(pause * 1.5, _POLL[1])


def release_claims(repo: Repo, match: Callable[[Claim], bool]) -> None:
    """Remove every claim that matches."""
    for claim in select_claims(repo, match):
        release_claim(repo, claim["key"])


def release_claim(repo: Repo, key: str) -> None:
    """Remove the claim of this name."""
    with _lock_claims(repo):
        _remove(repo, key)


def list_claims(repo: Repo) -> list[Claim]:
    """The claims whose agent is at work, oldest first; nothing is removed."""
    living = select_claims(repo, lambda claim: _is_held(repo, claim))
    return sorted(living, key=lambda claim: claim["created"])


def has_ended(claim: Claim) -> bool:
    """Whether the owner's transcript shows that the call is over, although no tool-end came."""
    data = files.peek(claim["transcript"], -_TAIL)
    since = int(claim["created"] * 1000 + 1) * 1_000_000  # a transcript has milliseconds

    from gitcp.core import transcript_facts

    return transcript_facts.find_end(data, claim["tool_use_id"], since) is not None


def _lock_claims(repo: Repo) -> exclusive:
    return exclusive(repo, f"claims-{repo.worktree_hash}")


def _list_living(repo: Repo) -> list[Claim]:
    """The claims whose agent is at work.  Others are removed; damaged ones are set aside."""
    living: list[Claim] = []
    for name in files.list_names(repo.join_own("claims")):
        try:
            claim = files.load_json(repo.join_own("claims", name), formats.CLAIM)
        except Damaged as e:
            files.set_aside(repo, e)
            continue
        if claim and claim["key"] == name and _is_held(repo, claim):
            living.append(claim)
        elif claim:
            git.append_note("claim", f"'{name}' of '{claim['session_id']}': nobody holds it")
            _remove(repo, name)
    return living


def _is_held(repo: Repo, claim: Claim) -> bool:
    """Whether a claim's agent is at work.  An agent on another machine, or with an unknown process,
    counts as such for a while, by the file system's clock."""
    try:
        written = os.stat(repo.join_own("claims", claim["key"])).st_mtime
    except OSError:
        return False
    owner: Any = claim["process"]

    from gitcp.store.session import process

    return process.is_agent_working(owner, written)


def _drop_earlier(repo: Repo, mine: Claim, held: Iterable[Claim]) -> None:
    """Remove the same agent's earlier claims that are over; all of them if calls have no ids."""
    for claim in held:
        from gitcp.core import guard_rules

        earlier = claim["key"] != mine["key"] and guard_rules.is_same_agent(mine, claim)
        if earlier and claim["paths"] and (not claim["tool_use_id"] or has_ended(claim)):
            _remove(repo, claim["key"])


def select_claims(repo: Repo, match: Callable[[Claim], bool]) -> list[Claim]:
    """The readable claims that match; nothing is changed."""
    claims: list[Claim] = []
    for name in files.list_names(repo.join_own("claims")):
        claim: Claim | None = files.load_cache(repo.join_own("claims", name), formats.CLAIM)
        if claim and claim["key"] == name and match(claim):
            claims.append(claim)
    return claims


def _write(repo: Repo, claim: Claim) -> None:
    files.write_private(repo, repo.join_own("claims", claim["key"]), json.dumps(claim).encode())


def _remove(repo: Repo, key: str) -> None:
    files.remove_private(repo, repo.join_own("claims", key))


def leave_claim(repo: Repo, event: Record) -> None:
    """Release the claims of a session, or of one of its subagents, as its turn begins or ends."""
    session_id, agent_id = event["session_id"], event.get("agent_id")
    release_claims(
        repo,
        lambda c: c["session_id"] == session_id and (not agent_id or c["agent_id"] == agent_id),
    )


def is_at_work(repo: Repo, marker: Marker) -> bool:
    """Whether a session is in a turn here and its agent runs, if that can be seen."""

    from gitcp.store.session import others

    return session.is_home(repo, marker) and others.is_at_work(repo, marker)


def list_open(repo: Repo, session_id: str) -> set[str]:
    """The other sessions of this working copy that are open and whose agent runs, in a turn or
    not."""
    recent = (m for m in session.read_recent(repo) if m["session_id"] != session_id)
    return {m["session_id"] for m in recent if _is_open(repo, m)}


def _is_open(repo: Repo, marker: Marker) -> bool:
    if marker["phase"] == "ended" or not session.is_home(repo, marker):
        return False

    from gitcp.store.session import others, process

    return process.is_agent_working(marker["agent_process"], others.read_last_heard(repo, marker))


def select_live(repo: Repo, session_ids: Iterable[str]) -> set[str]:
    """Those of session_ids, from trailers, that are at work here."""
    pairs = ((name, _find_marker(repo, name)) for name in session_ids)
    return {name for name, marker in pairs if marker and is_at_work(repo, marker)}


def list_company(repo: Repo, session_id: str) -> list[Marker]:
    """The other sessions at work in this working copy."""
    company = (m for m in session.read_recent(repo) if m["session_id"] != session_id)
    return [marker for marker in company if is_at_work(repo, marker)]


def _find_marker(repo: Repo, name: str) -> Marker | None:
    try:
        return session.find_marker(repo, formats.check_session_id(name))
    except InputError:
        return None  # a trailer that a person wrote may name anything
