"""The guard at an event: look at HEAD, judge, claim, and return objections (doc/guard.md).

Only a verdict refuses a tool call.  The caller reports errors, and the call goes on.
"""

from __future__ import annotations

import time

from gitcp import git
from gitcp.core import guard_rules
from gitcp.store import claims, journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.guard_rules import Base, Claim, Verdict
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

    Copies = list[tuple[Repo, list[str]]]
    Held = list[tuple[Repo, Claim]]

_KINDS = ("write", "shell", "other")  # tools that may change the working copy


def get_mode(repo: Repo) -> str:
    """gitcp.guard: off, warn or deny; by default warn in git, deny in jj."""
    return repo.config.get_option("gitcp.guard") or ("deny" if repo.jj else "warn")


def start_call(repo: Repo, event: Record, pausing: Callable[[], object]) -> str:
    """Judge a tool call before it starts; return the objection, '' if it may write: its paths are
    claimed then.

    In `deny` a call with an objection claims nothing.  pausing: called before waiting for
    another's claim (claims.take_claim).
    """
    tool, deny = event.get("tool") or {}, get_mode(repo) == "deny"
    if tool.get("kind") not in _KINDS:
        return ""
    copies = journal.group_by_working_copy(repo, tool.get("input_paths") or ())
    if tool.get("kind") != "write" or not copies:
        copies = _add_home(copies, repo)
    objections = []
    for copy, paths in copies:
        objection = _start_in_copy(copy, paths, event, pausing if deny else None)
        if objection and deny:
            let_go(list_held(repo, event))  # its claims in other working copies
            return objection
        objections.append(objection)
    return "\n\n".join(filter(None, objections))


def _add_home(copies: Copies, repo: Repo) -> Copies:
    """The working copies with that of repo, last and without paths if it is not among them."""
    is_there = any(copy.worktree == repo.worktree for copy, _ in copies)
    return copies if is_there else [*copies, (repo, [])]


def _start_in_copy(
    repo: Repo, paths: list[str], event: Record, pausing: Callable[[], object] | None
) -> str:
    """The objection to a call in one working copy; pausing: None if nothing is denied."""
    look, session_id, objections = claims.read_base(repo), event["session_id"], list[str]()
    judged = guard_rules.judge_start(look, session_id, _find_live(repo, look))
    verdicts = [judged] if judged["verdict"] != "allow" and not _has_only_moves(event) else []
    if not (verdicts and pausing):
        verdicts += _judge_discards(repo, event, look)
    for judged in verdicts:
        objections.append(_format_objection(judged, session_id))
        if pausing:
            return objections[0]
    mine = claims.make_claim(event, paths, look, repo.git.env)
    wait = _compute_wait(repo) if pausing else 0
    if held := claims.take_claim(repo, mine, wait, pausing):
        judged = guard_rules.judge_editing(look, {**held[0], "path": held[1]})
        age = max(0, int(time.time() - held[0]["created"]))
        objections.append(_format_objection(judged, session_id, age=f"{age} s"))
    return "\n\n".join(objections)


def _has_only_moves(event: Record) -> bool:
    command = str((event.get("tool") or {}).get("command") or "")

    from gitcp.core import discards

    return bool(command) and discards.has_only_moves(command)


def _judge_discards(repo: Repo, event: Record, look: Base) -> list[Verdict]:
    """A verdict for each live session whose open edits here a command discards, or takes into the
    index or a commit of this session."""
    tool = event["tool"]
    command = str(tool.get("command") or "")
    if tool.get("kind") != "shell" or not command:
        return []
    verdicts: list[Verdict] = []
    if "stash" in command:
        from gitcp.store import stashes

        verdicts += stashes.judge_call(repo, event["session_id"], command, look)
    if not claims.list_open(repo, event["session_id"]):
        return verdicts  # reading the command takes longer than this question

    cwd = event.get("cwd") or ""
    for taking, judge in ((False, guard_rules.judge_discard), (True, guard_rules.judge_taking)):
        from gitcp.store.journal import elsewhere

        if losses := elsewhere.find_losses(repo, command, cwd, taking):
            from gitcp.store.guard import reports

            lost = reports.find_lost(repo, event["session_id"], losses)
            verdicts += [judge(look, other, paths) for other, paths in lost.items()]
    return verdicts


def end_call(event: Record, held: Held) -> tuple[str, bool]:
    """Judge a tool call, which holds these claims, after it ended: (the objection or '', whether
    the commit or change that it started on belongs to another session now, so that its edit
    belongs to no change).

    A repeated tool-end, one without its tool-start, and a command that only moves are not judged.
    """
    judged = [pair for copy, claim in held if (pair := _end_in_copy(copy, claim))]
    if not judged or _has_only_moves(event):
        return "", False
    objections = [_format_objection(x, event["session_id"], edit_at) for x, edit_at in judged]
    return "\n\n".join(objections), any(x["stored"] for x, _ in judged)


def judge_losses(repo: Repo, event: Record) -> str:
    """The objection to a call that has discarded another session's work, '' if it has not, by the
    look at its end, whatever its words are.  A call without an id is not told from others."""
    session_id, objections = event["session_id"], list[str]()
    tools = [tool for tool in event.get("tools") or [event.get("tool") or {}] if tool.get("id")]
    stashing = {str(tool["id"]) for tool in tools if "stash" in str(tool.get("command") or "")}
    if not (stashing or claims.list_open(repo, session_id)):
        return ""
    look = claims.read_base(repo)
    for call_id in (str(tool["id"]) for tool in tools):
        if call_id in stashing:
            from gitcp.store import stashes

            taken = stashes.judge_taken(repo, session_id, call_id, look)
            objections += [_format_objection(judged, session_id) for judged in taken]

        from gitcp.store.guard import reports

        lost = reports.find_discarded(repo, session_id, call_id)
        verdicts = (guard_rules.judge_discard(look, other, lost[other], call_id) for other in lost)
        objections += [_format_objection(judged, session_id) for judged in verdicts]
    return "\n\n".join(objections)


def let_go(held: Held) -> None:
    """Release claims, each in its working copy."""
    for copy, claim in held:
        claims.release_claim(copy, claim["key"])


def list_held(repo: Repo, event: Record) -> Held:
    """The claims of a tool call, in every working copy that has its paths."""
    pairs = []
    for tool in event.get("tools") or [event.get("tool") or {}]:
        copies = journal.group_by_working_copy(repo, tool.get("input_paths") or ())
        for copy, paths in _add_home(copies, repo):
            keys = {claims.make_key(event, tool, paths), claims.make_key(event, tool, ())}
            held = claims.select_claims(copy, lambda claim, keys=keys: claim["key"] in keys)  # type: ignore[misc]
            pairs += [(copy, claim) for claim in held]
    return pairs


def _end_in_copy(repo: Repo, claim: Claim) -> tuple[Verdict, str] | None:
    """(the verdict on a call that has ended, where its edit is kept); None if it is allowed."""
    started: Any = claim["started"]
    if not started:
        return None
    look, session_id = claims.read_base(repo), claim["session_id"]
    original = look if started["name"] == look["name"] else claims.read_base_again(repo, started)
    live = _find_live(repo, look, original)
    judged = guard_rules.judge_end(started, original, look, session_id, live)
    # A command may move HEAD on purpose.
    if judged["verdict"] == "allow" or (judged["verdict"] == "moved" and not claim["paths"]):
        return None
    return judged, f"{', '.join(claim['paths'])}, and on refs/gitcp/edits/{session_id}"


def greet_session(repo: Repo, event: Record) -> str:
    """At a prompt: the objection to a first edit, and the other sessions at work here."""
    look, session_id = claims.read_base(repo), event["session_id"]
    judged = guard_rules.judge_start(look, session_id, _find_live(repo, look))
    lines = []
    if judged["verdict"] != "allow":
        lines.append(_format_objection(judged, session_id))
    company = claims.list_company(repo, session_id)
    if company:
        lines.append(_format_company(repo, [marker["session_id"] for marker in company]))
    return "\n\n".join(lines)


def _format_company(repo: Repo, session_ids: list[str]) -> str:
    held = claims.list_claims(repo)
    sessions = []
    for session_id in session_ids:
        paths = sorted({p for c in held if c["session_id"] == session_id for p in c["paths"]})
        sessions.append(session_id[:8] + (f" (editing {', '.join(paths[:3])})" if paths else ""))
    many = len(sessions) > 1
    who = f"{len(sessions)} other sessions are" if many else "another session is"
    return f"gitcp: {who} at work in this working copy: {', '.join(sessions)}"


def _format_objection(judged: Verdict, session_id: str, path: str = "", age: str = "") -> str:
    """format_refusal(), with a note in the trace."""
    look = judged["look"]
    text = f"{judged['verdict']}: {look['name']} {look['id']}: {judged['reason']}"
    git.append_note("guard", text)

    from gitcp.core import discards

    return discards.format_refusal(judged, session_id, path, age)


def _find_live(repo: Repo, *bases: Base | None) -> set[str]:
    return claims.select_live(repo, {name for seen in bases if seen for name in seen["sessions"]})


def _compute_wait(repo: Repo) -> int:
    wait, left = int(repo.config.get_option("gitcp.guard-wait")), git.count_seconds_left()
    return wait if left is None else min(wait, int(left / 2))
