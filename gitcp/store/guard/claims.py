"""Claims of tool calls on paths: one small file each, in the working copy's own git directory.

A claim lasts from tool-start to tool-end.  Claims are read, judged and written under one lock that
a hook holds for milliseconds.  A claim whose agent is gone is removed when it is next read
(doc/guard.md "Claims").
"""

from __future__ import annotations

import os
import time
from _sha1 import sha1

from gitcp import trace
from gitcp.core import json
from gitcp.core.guard import claim_rules
from gitcp.core.upkeep import shapes
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.process.files import Damaged
from gitcp.start import late
from gitcp.store.git import private
from gitcp.store.session import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gitcp.core.guard.claim_rules import Claim
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

_POLL = (0.02, 0.25)  # seconds between two tries of a call that waits: at first, at most
_TAIL = 1 << 20  # bytes of a transcript's end that are read


def make_key(event: dict[str, Any], tool: dict[str, Any], paths: Iterable[str]) -> str:
    """The name of a tool call's claim, made from its id, or from its paths if it has none."""
    parts = [event["session_id"], event.get("agent_id") or "", tool.get("id") or ""]
    if not tool.get("id"):
        parts += [tool.get("name", ""), *sorted(set(paths))]
    return str(sha1("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest())


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
        "process": process.find_agent(env),  # type: ignore[typeddict-item]
        "transcript": event.get("agent_transcript_path") or event.get("transcript_path") or "",
        "created": time.time(),
        "started": started,
    }


def take(
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
            other = claim_rules.find_blocking_claim(mine, held)
            if other and has_ended(other[0]):
                _remove(repo, other[0]["key"])
                continue
            if not (other and pausing):
                _drop_earlier(repo, mine, held)
                _write(repo, mine)
                return other
        if time.monotonic() >= limit:
            return other
        trace.append_note(
            "claim", f"waiting for '{other[0]['session_id']}' to end with '{other[1]}'"
        )
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
    return late.tool_ends.find_end(data, claim["tool_use_id"], since) is not None


def _lock_claims(repo: Repo) -> exclusive:
    return exclusive(repo, f"claims-{repo.worktree_hash}")


def _list_living(repo: Repo) -> list[Claim]:
    """The claims whose agent is at work.  Others are removed; damaged ones are set aside."""
    living: list[Claim] = []
    for name in files.list_names(repo.join_own("claims")):
        try:
            claim = private.load_json(repo.join_own("claims", name), shapes.CLAIM)
        except Damaged as e:
            private.set_aside(repo, e)
            continue
        if claim and claim["key"] == name and _is_held(repo, claim):
            living.append(claim)
        elif claim:
            trace.append_note("claim", f"'{name}' of '{claim['session_id']}': nobody holds it")
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
    return process.is_at_work(owner, written)


def _drop_earlier(repo: Repo, mine: Claim, held: Iterable[Claim]) -> None:
    """Remove the same agent's earlier claims that are over; all of them if calls have no ids."""
    for claim in held:
        earlier = claim["key"] != mine["key"] and claim_rules.is_same_agent(mine, claim)
        if earlier and claim["paths"] and (not claim["tool_use_id"] or has_ended(claim)):
            _remove(repo, claim["key"])


def select_claims(repo: Repo, match: Callable[[Claim], bool]) -> list[Claim]:
    """The readable claims that match; nothing is changed."""
    claims: list[Claim] = []
    for name in files.list_names(repo.join_own("claims")):
        claim: Claim | None = private.load_cache(repo.join_own("claims", name), shapes.CLAIM)
        if claim and claim["key"] == name and match(claim):
            claims.append(claim)
    return claims


def _write(repo: Repo, claim: Claim) -> None:
    private.write_private(repo, repo.join_own("claims", claim["key"]), json.dumps(claim).encode())


def _remove(repo: Repo, key: str) -> None:
    private.remove_private(repo, repo.join_own("claims", key))


def leave(repo: Repo, event: Record) -> None:
    """Release the claims of a session, or of one of its subagents, as its turn begins or ends."""
    session_id, agent_id = event["session_id"], event.get("agent_id")
    release_claims(
        repo,
        lambda c: c["session_id"] == session_id and (not agent_id or c["agent_id"] == agent_id),
    )
