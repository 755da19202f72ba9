"""Decide whether a tool call may run: which claim blocks it, and whether its base is safe."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import NotRequired, TypedDict

    from gitcp.text.record_types import Process

    class Claim(TypedDict):
        """A tool call's claim on paths of a working copy; a claim without paths blocks nothing.

        key: its name.  agent_id: '' for the main agent.  process: the agent's.  created: seconds
        since 1970.  started: the base of the call, None if it was not read.
        """

        key: str
        session_id: str
        agent_id: str
        tool_use_id: str
        tool: str
        paths: list[str]
        process: Process | None
        transcript: str
        created: float
        started: Base | None

    class Base(TypedDict):
        """The base of a call.

        vcs: git or jj.  name: git's branch or HEAD, jj's change id; amending does not change it.
        id: git's commit, jj's change id.  sessions: the values of its session trailers.
        workspace: the owner of a temporary workspace, '' if it names none; None for any other base.
        """

        vcs: str
        name: str
        id: str
        sessions: list[str]
        workspace: str | None

    class GuardVerdict(TypedDict):
        """verdict: allow, session, workspace, discard, take, stash, editing or moved.

        base: the one that it is about.  stored: whether that is the base at the call's start, not
        the present one.  was: for moved, the base at the call's start.  entry: of the stash, its
        oid and description.  own: the oids of the session's own entries.  claim, path: for editing,
        the claim that is in the way, and the path that both have.
        """

        verdict: str
        reason: str
        base: Base
        stored: bool
        other: NotRequired[str]
        was: NotRequired[Base]
        claim: NotRequired[Claim]
        path: NotRequired[str]
        paths: NotRequired[list[str]]
        call: NotRequired[str]
        entry: NotRequired[str]
        own: NotRequired[Sequence[str]]


def is_same_agent(claim: Claim, other: Claim) -> bool:
    """Whether two calls are of the same agent, which writes one file after the other
    (doc/clients.md "Claude Code")."""
    return claim["session_id"] == other["session_id"] and claim["agent_id"] == other["agent_id"]


class Block:
    """The claim of another agent that is in the way, and the path that both claim."""

    __slots__ = ("claim", "path")

    def __init__(self, claim: Claim, path: str) -> None:
        self.claim = claim
        self.path = path


def find_blocking_claim(mine: Claim, held: Iterable[Claim]) -> Block | None:
    """The first claim of another agent on one of the call's paths; None if all are free.  A
    subagent is another agent than its session's main one (doc/guard.md "Claims")."""
    for claim in held:
        if claim["key"] == mine["key"] or is_same_agent(mine, claim):
            continue
        shared = sorted(set(mine["paths"]) & set(claim["paths"]))
        if shared:
            return Block(claim, shared[0])
    return None


# Decide whether a tool call may run on a working copy (doc/guard.md "Verdicts").
#
# The base of a call is the commit at HEAD of a git worktree, or the change at `@` of a jj
# workspace. The first check that fails decides.
KEYS = ("Claude-Session-Id",)  # of trailers that name a session
MARKER = b"[Claude Workspace]"
_OWNER = b"for session "  # before the session's id


def read_sessions(message: bytes, keys: Sequence[str] = KEYS) -> list[str]:
    """The sessions that the last trailer block of a message names by any of keys."""
    lower = message.lower()
    keys = [key for key in keys if key.lower().encode() in lower]
    if not keys:
        return []

    from gitcp.git import commit_message

    session_ids: list[str] = []
    for key in keys:
        session_ids += filter(None, commit_message.read_trailers(message, key))
    return session_ids


def find_workspace_owner(message: bytes) -> str | None:
    """The owner of the temporary workspace that a description marks, '' if it names none; None
    without the mark."""
    if MARKER not in message:
        return None
    words = message.partition(MARKER)[2].partition(_OWNER)[2].split()
    if words:
        return words[0].decode(errors="replace")
    return ""


def make_base(vcs: str, name: str, short_id: str, message: bytes, keys: Sequence[str]) -> Base:
    """The base that is a commit or change with this message."""
    sessions = read_sessions(message, keys)
    owner = find_workspace_owner(message)
    return {"vcs": vcs, "name": name, "id": short_id, "sessions": sessions, "workspace": owner}


def judge_start(base: Base, session_id: str, live: Collection[str]) -> GuardVerdict:
    """The verdict before a tool call: whether its base is safe to build on.

    live: the sessions at work in this working copy.  In git a finished session's commit is
    history; in jj the change of any other session is unsafe.
    """
    allowed = _make_verdict("allow", "nothing is in the way", base)
    return _find_unsafe(base, session_id, live, False) or allowed


def judge_end(
    started: Base | None, original: Base | None, base: Base, session_id: str, live: Collection[str]
) -> GuardVerdict:
    """The verdict after a tool call: whether its base moved or became another session's.

    started: the base at the call's start, None if unknown.  original: what started's name names
    now, None if it is gone.
    """
    if started is None:
        return _make_verdict("allow", "no tool-start was seen", base)
    if original and started["workspace"] != session_id:
        unsafe = _find_unsafe(original, session_id, live, True)
        if unsafe:
            return unsafe
    # In git the same branch may be at another commit; in jj both are the change id.
    if (started["name"], started["id"]) == (base["name"], base["id"]):
        return _make_verdict("allow", "the base is where it was", base)
    return {**_make_verdict("moved", "the base is not where it was", base), "was": started}


def judge_editing(base: Base, block: Block) -> GuardVerdict:
    """The verdict on a call for a path that another call still claims after the wait."""
    judged = _make_verdict("editing", "another tool call holds the path", base)
    return {**judged, "claim": block.claim, "path": block.path}


def judge_discard(base: Base, other: str, paths: Sequence[str], call: str = "") -> GuardVerdict:
    """The verdict on a command that would discard open edits of another live session, or on the
    call that has done so."""
    judged = _make_verdict("discard", "it discards another session's open edits", base)
    return {**judged, "other": other, "paths": list(paths), "call": call}


def judge_taking(base: Base, other: str, paths: Sequence[str]) -> GuardVerdict:
    """The verdict on a command that would add another live session's open edits to the index."""
    judged = _make_verdict("take", "it takes another session's open edits", base)
    return {**judged, "other": other, "paths": list(paths), "call": ""}


def judge_stash(
    base: Base, owner: str, entry: str, own: Sequence[str], paths: Sequence[str], call: str
) -> GuardVerdict:
    """The verdict on a command that would take an entry of another live session, or of the person
    (owner ''), off the stash, or on the call that has done so."""
    judged = _make_verdict("stash", "it takes another's entry off the stash", base)
    judged["other"] = owner
    judged["paths"] = list(paths)
    judged["call"] = call
    judged["entry"] = entry
    judged["own"] = own
    return judged


def _find_unsafe(
    base: Base, session_id: str, live: Collection[str], stored: bool
) -> GuardVerdict | None:
    owners = [owner for owner in base["sessions"] if owner != session_id]
    if owners and session_id not in base["sessions"]:
        other = next((owner for owner in owners if owner in live), owners[0])
        if base["vcs"] == "jj" or other in live:
            verdict = _make_verdict("session", "it carries another session's trailer", base, stored)
            return {**verdict, "other": other}
    if base["workspace"] is not None and (stored or base["workspace"] != session_id):
        return _make_verdict("workspace", "it is a temporary workspace", base, stored)
    return None


def _make_verdict(verdict: str, reason: str, base: Base, stored: bool = False) -> GuardVerdict:
    return {"verdict": verdict, "reason": reason, "base": base, "stored": stored}
