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


def get_mode(repo: Repo) -> str:
    """gitcp.guard: off, warn or deny; by default warn in git, deny in jj."""
    return repo.config.get_option("gitcp.guard") or ("deny" if repo.jj else "warn")


def start_call(repo: Repo, event: Record, pausing: Callable[[], object]) -> str:
    """Before a tool call: what speaks against it, '' when nothing does and its paths are claimed.

    Nothing is stored for a call that is spoken against in `deny`.  pausing: what to do before
    waiting for another's claim (claims.take).
    """
    tool, deny = event.get("tool") or {}, get_mode(repo) == "deny"
    if tool.get("kind") not in _KINDS:
        return ""
    copies = place.group_by_working_copy(repo, tool.get("input_paths") or ())
    observed: Copies = [] if tool.get("kind") == "write" and copies else [(repo, [])]
    objections = []
    for copy, paths in _merge_copies(copies, observed):
        objection = _start_in_copy(copy, paths, event, pausing if deny else None)
        if objection and deny:
            let_go(repo, event)  # what was claimed for it elsewhere
            return objection
        objections.append(objection)
    return "\n\n".join(one for one in objections if one)


def _merge_copies(copies: Copies, observed: Copies) -> Copies:
    home = {copy.worktree for copy, _ in copies}
    return copies + [item for item in observed if item[0].worktree not in home]


def _start_in_copy(
    repo: Repo, paths: list[str], event: Record, pausing: Callable[[], object] | None
) -> str:
    """What speaks against a call in one working copy; pausing: None where nothing is denied."""
    now, session_id, objection = base.look_now(repo), event["session_id"], ""
    judged = verdict.judge_start(now, session_id, _find_live(repo, now))
    if judged["verdict"] != "allow" and not _has_only_moves(event):
        _trace_verdict(judged)
        objection = _format_verdict(judged, session_id)
        if pausing:
            return objection
    for judged in _judge_discards(repo, event, now):
        _trace_verdict(judged)
        words = _format_verdict(judged, session_id)
        objection = f"{objection}\n\n{words}" if objection else words
        if pausing:
            return objection
    mine = claims.make_claim(event, paths, now, repo.git.env)
    if not pausing or not paths:
        held = claims.put(repo, mine)
    else:
        held = claims.take(repo, mine, _compute_wait(repo), pausing)
    if held:
        judged = verdict.judge_editing(now, {**held[0], "path": held[1]})
        _trace_verdict(judged)
        age = max(0, int(time.time() - held[0]["created"]))
        editing = _format_verdict(judged, session_id, age=f"{age} s")
        objection = f"{objection}\n\n{editing}" if objection else editing
    return objection


def _has_only_moves(event: Record) -> bool:
    command = str((event.get("tool") or {}).get("command") or "")
    if not command:
        return False
    return late.discards.has_only_moves(command)


def _judge_discards(repo: Repo, event: Record, now: Look) -> list[Verdict]:
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


def end_call(repo: Repo, event: Record) -> tuple[str, bool]:
    """After a tool call: (what speaks against what it did, '' when nothing does; whether what it
    began on has become somebody else's, so that its edit belongs to no change).

    A tool-end that comes a second time, or without its tool-start, has nothing to compare; nor
    has a command that only moves.
    """
    if _has_only_moves(event):
        return "", False
    objections = [
        judgement
        for copy, claim in _list_claimed(repo, event)
        if (judgement := _end_in_copy(copy, claim))
    ]
    objection = "\n\n".join(
        _format_verdict(judged, event["session_id"], kept) for judged, kept in objections
    )
    return objection, any(judged["stored"] for judged, _ in objections)


def let_go(repo: Repo, event: Record) -> None:
    """Release what a tool call claimed, in every working copy that its paths lie in."""
    for copy, claim in _list_claimed(repo, event):
        claims.release_claims(copy, lambda c, mine=claim: c["key"] == mine["key"])  # type: ignore[misc]


def _list_claimed(repo: Repo, event: Record) -> list[tuple[Repo, Claim]]:
    pairs = []
    for tool in event.get("tools") or [event.get("tool") or {}]:
        copies = place.group_by_working_copy(repo, tool.get("input_paths") or ())
        for copy, paths in _merge_copies(copies, [(repo, [])]):
            keys = {claims.make_key(event, tool, paths), claims.make_key(event, tool, ())}
            pairs += [(copy, claim) for claim in claims.select_claims(copy, keys)]
    return pairs


def _end_in_copy(repo: Repo, claim: Claim) -> tuple[Verdict, str] | None:
    """(the verdict on a call that has ended, where its edit is kept); None: nothing to say."""
    started: Any = claim["started"]
    if not started:
        return None
    now, session_id = base.look_now(repo), claim["session_id"]
    original = now if started["name"] == now["name"] else base.look_again(repo, started)
    judged = verdict.judge_end(started, original, now, session_id, _find_live(repo, now, original))
    # A command may move HEAD: that is what it was for.
    if judged["verdict"] == "allow" or (judged["verdict"] == "moved" and not claim["paths"]):
        return None
    _trace_verdict(judged)
    return judged, f"{', '.join(claim['paths'])}, and on refs/gitcp/edits/{session_id}"


def greet(repo: Repo, event: Record) -> str:
    """At a prompt: what would speak against its first edit, and who else is at work here."""
    now, session_id = base.look_now(repo), event["session_id"]
    judged = verdict.judge_start(now, session_id, _find_live(repo, now))
    lines = []
    if judged["verdict"] != "allow":
        _trace_verdict(judged)
        lines.append(_format_verdict(judged, session_id))
    company = presence.list_company(repo, session_id)
    if company:
        lines.append(_format_company(repo, [marker["session_id"] for marker in company]))
    return "\n\n".join(lines)


def _format_company(repo: Repo, session_ids: list[str]) -> str:
    held = claims.list_claims(repo)
    sessions = []
    for one in session_ids:
        paths = sorted({p for c in held if c["session_id"] == one for p in c["paths"]})
        sessions.append(one[:8] + (f" (editing {', '.join(paths[:3])})" if paths else ""))
    many = len(sessions) > 1
    who = f"{len(sessions)} other sessions are" if many else "another session is"
    return f"gitcp: {who} at work in this working copy: {', '.join(sessions)}"


def _format_verdict(judged: Verdict, session_id: str, path: str = "", age: str = "") -> str:
    return late.messages.format_refusal(judged, session_id, path, age)


def _find_live(repo: Repo, *seen: Look | None) -> set[str]:
    return presence.select_live(repo, {one for look in seen if look for one in look["sessions"]})


def _compute_wait(repo: Repo) -> int:
    wait, left = int(repo.config.get_option("gitcp.guard-wait")), deadline.count_seconds_left()
    return wait if left is None else min(wait, int(left / 2))


def _trace_verdict(judged: Verdict) -> None:
    seen = judged["look"]
    trace.append_note(
        "guard", f"{judged['verdict']}: {seen['name']} {seen['id']}: {judged['reason']}"
    )
