"""The guard at an event: look, judge, claim, and say what came of it (doc/guard.md).

It refuses by its verdict only: whatever goes wrong in here is the caller's to report, and the
tool call goes on.
"""

from __future__ import annotations

import time

from gitcp import trace
from gitcp.core.guard import verdict
from gitcp.process import deadline
from gitcp.start import late
from gitcp.store.guard import base, claims, place, presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.guard.claim_rules import Claim
    from gitcp.core.guard.verdict import Look, Verdict
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

    Copies = list[tuple[Repo, list[str]]]

_KINDS = ("write", "shell", "other")  # tools that may change the working copy


def mode(repo: Repo) -> str:
    """gitcp.guard: off, warn or deny; by default warn in git, deny in jj."""
    return repo.config.get_option("gitcp.guard") or ("deny" if repo.jj else "warn")


def start(repo: Repo, event: Record, pausing: Callable[[], object]) -> str:
    """Before a tool call: what speaks against it, '' when nothing does and its paths are claimed.

    Nothing is stored for a call that is spoken against in `deny`.  pausing: what to do before
    waiting for another's claim (claims.take).
    """
    tool, deny = event.get("tool") or {}, mode(repo) == "deny"
    if tool.get("kind") not in _KINDS:
        return ""
    copies = place.by_working_copy(repo, tool.get("input_paths") or ())
    observed: Copies = [] if tool.get("kind") == "write" and copies else [(repo, [])]
    objections = []
    for copy, paths in _merged(copies, observed):
        objection = _start(copy, paths, event, pausing if deny else None)
        if objection and deny:
            let_go(repo, event)  # what was claimed for it elsewhere
            return objection
        objections.append(objection)
    return "\n\n".join(one for one in objections if one)


def _merged(copies: Copies, observed: Copies) -> Copies:
    home = {copy.worktree for copy, _ in copies}
    return copies + [item for item in observed if item[0].worktree not in home]


def _start(
    repo: Repo, paths: list[str], event: Record, pausing: Callable[[], object] | None
) -> str:
    """What speaks against a call in one working copy; pausing: None where nothing is denied."""
    now, session_id, objection = base.now(repo), event["session_id"], ""
    judged = verdict.judge_start(now, session_id, _live(repo, now))
    if judged["verdict"] != "allow" and not _only_moves(event):
        _note(judged)
        objection = _words(judged, session_id)
        if pausing:
            return objection
    for judged in _discards(repo, event, now):
        _note(judged)
        words = _words(judged, session_id)
        objection = f"{objection}\n\n{words}" if objection else words
        if pausing:
            return objection
    mine = claims.new(event, paths, now, repo.git.env)
    if not pausing or not paths:
        held = claims.put(repo, mine)
    else:
        held = claims.take(repo, mine, _wait(repo), pausing)
    if held:
        judged = verdict.judge_editing(now, {**held[0], "path": held[1]})
        _note(judged)
        editing = _words(judged, session_id, age=_age(held[0]))
        objection = f"{objection}\n\n{editing}" if objection else editing
    return objection


def _only_moves(event: Record) -> bool:
    command = str((event.get("tool") or {}).get("command") or "")
    if not command:
        return False
    return late.discards.has_only_moves(command)


def _discards(repo: Repo, event: Record, now: Look) -> list[Verdict]:
    """A verdict for each live session whose open edits here a command throws away."""
    tool = event["tool"]
    command = str(tool.get("command") or "")
    if tool.get("kind") != "shell" or not command:
        return []
    losses = late.first_look.find_losses(repo, command, event.get("cwd") or "")
    if not losses:
        return []
    lost = late.open_elsewhere.find_lost(repo, event["session_id"], losses)
    return [verdict.judge_discard(now, other, paths) for other, paths in lost.items()]


def end(repo: Repo, event: Record) -> tuple[str, bool]:
    """After a tool call: (what speaks against what it did, '' when nothing does; whether what it
    began on has become somebody else's, so that its edit belongs to no change).

    A tool-end that comes a second time, or without its tool-start, has nothing to compare; nor
    has a command that only moves.
    """
    if _only_moves(event):
        return "", False
    objections = [
        judgement for copy, claim in _claimed(repo, event) if (judgement := _end(copy, claim))
    ]
    objection = "\n\n".join(
        _words(judged, event["session_id"], kept) for judged, kept in objections
    )
    return objection, any(judged["stored"] for judged, _ in objections)


def let_go(repo: Repo, event: Record) -> None:
    """Release what a tool call claimed, in every working copy that its paths lie in."""
    for copy, claim in _claimed(repo, event):
        claims.release(copy, lambda c, mine=claim: c["key"] == mine["key"])  # type: ignore[misc]


def _claimed(repo: Repo, event: Record) -> list[tuple[Repo, Claim]]:
    pairs = []
    for tool in event.get("tools") or [event.get("tool") or {}]:
        copies = place.by_working_copy(repo, tool.get("input_paths") or ())
        for copy, paths in _merged(copies, [(repo, [])]):
            keys = {claims.key(event, tool, paths), claims.key(event, tool, ())}
            pairs += [(copy, claim) for claim in claims.select_claims(copy, keys)]
    return pairs


def _end(repo: Repo, claim: Claim) -> tuple[Verdict, str] | None:
    """(the verdict on a call that has ended, where its edit is kept); None: nothing to say."""
    started: Any = claim["started"]
    if not started:
        return None
    now, session_id = base.now(repo), claim["session_id"]
    original = now if started["name"] == now["name"] else base.look_again(repo, started)
    judged = verdict.judge_end(started, original, now, session_id, _live(repo, now, original))
    # A command may move HEAD: that is what it was for.
    if judged["verdict"] == "allow" or (judged["verdict"] == "moved" and not claim["paths"]):
        return None
    _note(judged)
    return judged, f"{', '.join(claim['paths'])}, and on refs/gitcp/edits/{session_id}"


def greet(repo: Repo, event: Record) -> str:
    """At a prompt: what would speak against its first edit, and who else is at work here."""
    now, session_id = base.now(repo), event["session_id"]
    judged = verdict.judge_start(now, session_id, _live(repo, now))
    lines = []
    if judged["verdict"] != "allow":
        _note(judged)
        lines.append(_words(judged, session_id))
    company = presence.company(repo, session_id)
    if company:
        lines.append(_company(repo, [marker["session_id"] for marker in company]))
    return "\n\n".join(lines)


def _company(repo: Repo, session_ids: list[str]) -> str:
    held = claims.listing(repo)
    sessions = []
    for one in session_ids:
        paths = sorted({p for c in held if c["session_id"] == one for p in c["paths"]})
        sessions.append(one[:8] + (f" (editing {', '.join(paths[:3])})" if paths else ""))
    many = len(sessions) > 1
    who = f"{len(sessions)} other sessions are" if many else "another session is"
    return f"gitcp: {who} at work in this working copy: {', '.join(sessions)}"


def _words(judged: Verdict, session_id: str, path: str = "", age: str = "") -> str:
    return late.messages.format_refusal(judged, session_id, path, age)


def _live(repo: Repo, *seen: Look | None) -> set[str]:
    return presence.live(repo, {one for look in seen if look for one in look["sessions"]})


def _wait(repo: Repo) -> int:
    wait, left = int(repo.config.get_option("gitcp.guard-wait")), deadline.count_seconds_left()
    return wait if left is None else min(wait, int(left / 2))


def _age(claim: Claim) -> str:
    return f"{max(0, int(time.time() - claim['created']))} s"


def _note(judged: Verdict) -> None:
    seen = judged["look"]
    trace.note("guard", f"{judged['verdict']}: {seen['name']} {seen['id']}: {judged['reason']}")
