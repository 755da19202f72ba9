"""May a session's tool call run on this working copy: doc/guard.md "Verdicts", pure.

A git worktree and a jj workspace are looked at alike (`Look`): by the commit at HEAD or the
change at `@`.  The first check that says no decides; each verdict carries its reason.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, NotRequired, TypedDict

    class Look(TypedDict):
        """What HEAD or `@` is.

        vcs: git or jj.  name: what stays the same while it is amended, jj the change id, git
        the branch or HEAD.  id: what people are shown, jj the change id, git the commit.
        sessions: the values of its session trailers.  workspace: None, or whose temporary
        workspace it is, '' when it does not say.
        """

        vcs: str
        name: str
        id: str
        sessions: list[str]
        workspace: str | None

    class Verdict(TypedDict):
        """verdict: allow, session, workspace, discard, editing or moved; look: what it speaks of.

        stored: look is the stored original, not what is there now.
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
_OF = b"for session "  # what stands before the session's id


def read_sessions(message: bytes, keys: Sequence[str] = KEYS) -> list[str]:
    """The sessions that the last trailer block of a message names, under any of keys."""
    from gitcp.core.message import trailers  # a known HEAD needs none of it

    return [value for key in keys for value in trailers.read(message, key) if value]


def find_workspace_owner(message: bytes) -> str | None:
    """Whose temporary workspace a description speaks of, '' when it names nobody; else None."""
    if MARKER not in message:
        return None
    words = message.partition(MARKER)[2].partition(_OF)[2].split()
    return words[0].decode(errors="replace") if words else ""


def make_look(vcs: str, name: str, short_id: str, message: bytes, keys: Sequence[str]) -> Look:
    """A commit or change as the checks see it."""
    sessions = read_sessions(message, keys)
    owner = find_workspace_owner(message)
    return {"vcs": vcs, "name": name, "id": short_id, "sessions": sessions, "workspace": owner}


def judge_start(now: Look, session_id: str, live: Collection[str]) -> Verdict:
    """Before a tool call: is what HEAD or `@` names safe to build on?

    live: the sessions at work in this working copy; in git a finished session's commit is
    history, in jj any other session's change is unsafe (doc/guard.md "Verdicts").
    """
    allowed = _make_verdict("allow", "nothing is in the way", now)
    return _find_unsafe(now, session_id, live, False) or allowed


def judge_end(
    started: Look | None, original: Look | None, now: Look, session_id: str, live: Collection[str]
) -> Verdict:
    """After a tool call: has what it began on become somebody else's, or moved away?

    started: the look at tool-start, None without one.  original: what started's name holds
    now, None when it is gone.
    """
    if started is None:
        return _make_verdict("allow", "no tool-start was seen", now)
    if original and started["workspace"] != session_id:
        unsafe = _find_unsafe(original, session_id, live, True)
        if unsafe:
            return unsafe
    # jj: the name itself; git: the commit under it
    if (started["name"], started["id"]) == (now["name"], now["id"]):
        return _make_verdict("allow", "the base is where it was", now)
    return {**_make_verdict("moved", "the base is not where it was", now), "was": started}


def judge_editing(now: Look, claim: dict[str, Any]) -> Verdict:
    """Another tool call holds the path: what refuses when waiting did not help."""
    return {**_make_verdict("editing", "another tool call holds the path", now), "claim": claim}


def judge_discard(now: Look, other: str, paths: Sequence[str]) -> Verdict:
    """A command would throw away what another live session has not committed."""
    judged = _make_verdict("discard", "it discards another session's open edits", now)
    return {**judged, "other": other, "paths": list(paths)}


def _find_unsafe(
    seen: Look, session_id: str, live: Collection[str], stored: bool
) -> Verdict | None:
    owners = [one for one in seen["sessions"] if one != session_id]
    if owners and session_id not in seen["sessions"]:
        other = next((one for one in owners if one in live), owners[0])
        if seen["vcs"] == "jj" or other in live:
            verdict = _make_verdict("session", "it carries another session's trailer", seen, stored)
            return {**verdict, "other": other}
    if seen["workspace"] is not None and (stored or seen["workspace"] != session_id):
        return _make_verdict("workspace", "it is a temporary workspace", seen, stored)
    return None


def _make_verdict(verdict: str, reason: str, seen: Look, stored: bool = False) -> Verdict:
    return {"verdict": verdict, "reason": reason, "look": seen, "stored": stored}
