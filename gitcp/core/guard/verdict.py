"""Decide whether a tool call may run on a working copy (doc/guard.md "Verdicts").

A Look describes the base of a git worktree or a jj workspace: the commit at HEAD, or the change
at `@`.  The first check that fails decides.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, NotRequired, TypedDict

    class Look(TypedDict):
        """The commit at HEAD, or the change at `@`.

        vcs: git or jj.  name: git's branch or HEAD, jj's change id; amending does not change it.
        id: git's commit, jj's change id.  sessions: the values of its session trailers.
        workspace: the owner of the temporary workspace it is, '' if not named; else None.
        """

        vcs: str
        name: str
        id: str
        sessions: list[str]
        workspace: str | None

    class Verdict(TypedDict):
        """verdict: allow, session, workspace, discard, editing or moved.

        look: the base it is about; stored: the base at the call's start, not the present one.
        """

        verdict: str
        reason: str
        look: Look
        stored: bool
        other: NotRequired[str]
        was: NotRequired[Look]
        claim: NotRequired[dict[str, Any]]
        paths: NotRequired[list[str]]


KEYS = ("Claude-Session-Id",)
MARKER = b"[Claude Workspace]"
_OWNER = b"for session "  # before the session's id


def read_sessions(message: bytes, keys: Sequence[str] = KEYS) -> list[str]:
    """The sessions that the last trailer block of a message names by any of keys."""
    from gitcp.core.message import trailers  # not needed for a HEAD that was read before

    return [value for key in keys for value in trailers.read(message, key) if value]


def find_workspace_owner(message: bytes) -> str | None:
    """The owner of the temporary workspace that a description marks, '' if it names none; None
    without the mark."""
    if MARKER not in message:
        return None
    words = message.partition(MARKER)[2].partition(_OWNER)[2].split()
    return words[0].decode(errors="replace") if words else ""


def make_look(vcs: str, name: str, short_id: str, message: bytes, keys: Sequence[str]) -> Look:
    """The Look of a commit or change with this message."""
    sessions = read_sessions(message, keys)
    owner = find_workspace_owner(message)
    return {"vcs": vcs, "name": name, "id": short_id, "sessions": sessions, "workspace": owner}


def judge_start(look: Look, session_id: str, live: Collection[str]) -> Verdict:
    """The verdict before a tool call: whether its base is safe to build on.

    live: the sessions at work in this working copy.  In git a finished session's commit is
    history; in jj the change of any other session is unsafe.
    """
    allowed = _make_verdict("allow", "nothing is in the way", look)
    return _find_unsafe(look, session_id, live, False) or allowed


def judge_end(
    started: Look | None, original: Look | None, look: Look, session_id: str, live: Collection[str]
) -> Verdict:
    """The verdict after a tool call: whether its base moved or became another session's.

    started: the base at the call's start, None if unknown.  original: what started's name names
    now, None if it is gone.
    """
    if started is None:
        return _make_verdict("allow", "no tool-start was seen", look)
    if original and started["workspace"] != session_id:
        unsafe = _find_unsafe(original, session_id, live, True)
        if unsafe:
            return unsafe
    # jj: the name itself; git: the commit under it
    if (started["name"], started["id"]) == (look["name"], look["id"]):
        return _make_verdict("allow", "the base is where it was", look)
    return {**_make_verdict("moved", "the base is not where it was", look), "was": started}


def judge_editing(look: Look, claim: dict[str, Any]) -> Verdict:
    """The verdict on a call for a path that another call still claims after the wait."""
    return {**_make_verdict("editing", "another tool call holds the path", look), "claim": claim}


def judge_discard(look: Look, other: str, paths: Sequence[str]) -> Verdict:
    """The verdict on a command that would discard open edits of another live session."""
    judged = _make_verdict("discard", "it discards another session's open edits", look)
    return {**judged, "other": other, "paths": list(paths)}


def _find_unsafe(
    look: Look, session_id: str, live: Collection[str], stored: bool
) -> Verdict | None:
    owners = [owner for owner in look["sessions"] if owner != session_id]
    if owners and session_id not in look["sessions"]:
        other = next((owner for owner in owners if owner in live), owners[0])
        if look["vcs"] == "jj" or other in live:
            verdict = _make_verdict("session", "it carries another session's trailer", look, stored)
            return {**verdict, "other": other}
    if look["workspace"] is not None and (stored or look["workspace"] != session_id):
        return _make_verdict("workspace", "it is a temporary workspace", look, stored)
    return None


def _make_verdict(verdict: str, reason: str, look: Look, stored: bool = False) -> Verdict:
    return {"verdict": verdict, "reason": reason, "look": look, "stored": stored}
