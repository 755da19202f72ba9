"""What the guard says at a prompt: whether its base is safe, and who else is at work here."""

from __future__ import annotations

from gitcp.core import guard_rules
from gitcp.store import guard, session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Marker, Record
    from gitcp.repo import Repo


def list_company(repo: Repo, session_id: str) -> list[Marker]:
    """The other sessions at work in this working copy."""
    company = (m for m in session.read_recent(repo) if m["session_id"] != session_id)
    return [marker for marker in company if guard.is_at_work(repo, marker)]


def greet_session(repo: Repo, event: Record) -> str:
    """At a prompt: the objection to a first edit, and the other sessions at work here."""
    look, session_id = guard.read_base(repo), event["session_id"]
    judged = guard_rules.judge_start(look, session_id, guard.find_live(repo, look))
    lines = []
    if judged["verdict"] != "allow":
        lines.append(guard.format_objection(judged, session_id))
    company = list_company(repo, session_id)
    if company:
        lines.append(_format_company(repo, [marker["session_id"] for marker in company]))
    return "\n\n".join(lines)


def _format_company(repo: Repo, session_ids: list[str]) -> str:
    from gitcp.store.guard import tool_calls

    held = tool_calls.list_claims(repo)
    sessions = []
    for session_id in session_ids:
        paths = sorted({p for c in held if c["session_id"] == session_id for p in c["paths"]})
        sessions.append(session_id[:8] + (f" (editing {', '.join(paths[:3])})" if paths else ""))
    many = len(sessions) > 1
    who = f"{len(sessions)} other sessions are" if many else "another session is"
    return f"gitcp: {who} at work in this working copy: {', '.join(sessions)}"
