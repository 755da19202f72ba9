"""The other sessions of this base and worktree: what a session's start and a prompt say of them."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.git import files
from gitcp.record.journal import edits
from gitcp.record.session.others import read_here
from gitcp.record.stream import find_live
from gitcp.text import console, json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Event, Marker, State


_OLD = "disable-multisession-warning"
_NEW = "enable-multisession-warning"


def format_greeting(repo: Repo, session_id: str, head: str) -> str:
    """One line, and a second if other sessions of this base and worktree have checkpoints."""
    lines = ["gitcp: this conversation will be linked to your next commit."]
    company = list_company(repo, session_id, head)
    if company:
        have = "conversations have"
        if len(company) == 1:
            have = "conversation has"
        lines.append(f"{len(company)} other {have} uncommitted work here; see 'gitcp status'.")
    return "\n".join(lines)


def list_company(repo: Repo, session_id: str, head: str) -> list[Marker]:
    """The markers of other sessions of this base and worktree that have checkpoints.

    The marker of a session whose stream a commit carried to this base may have an older base.
    """
    company = []
    for marker in read_here(repo):
        if marker["session_id"] == session_id or marker["count"] == 0:
            continue
        if marker["base_commit"] == head or _has_stream_at(repo, marker, head):
            company.append(marker)
    return company


def _has_stream_at(repo: Repo, marker: Marker, head: str) -> bool:
    """Whether a session has a stream with checkpoints that begins at a commit."""
    return any(find_live(repo, head, stream["id"]) for stream in marker["streams"])


def find_warning(repo: Repo, state: State, event: Event, head: str) -> str | None:
    """The warning at a prompt that other sessions have uncommitted work here, None for no warning.

    It is enabled by wants_warning(), noted in the state, and shown once for each set of sessions.
    """
    if not wants_warning(repo):
        return None
    conflicting = list_company(repo, state["session_id"], head)
    session_ids = sorted(m["session_id"] for m in conflicting)
    last_warning = state.get("multisession_warned") or {}
    # Two settings files may both call the hook for one prompt.
    is_repeated = event.get("turn") and event["turn"] == last_warning.get("prompt")
    if not session_ids or (session_ids == last_warning.get("sessions") and not is_repeated):
        return None
    state["multisession_warned"] = {"sessions": session_ids, "prompt": event.get("turn")}
    return format_warning(repo, conflicting)


def wants_warning(repo: Repo) -> bool:
    """The value of gitcp.enable-multisession-warning; false, with a warning, if it is no boolean.

    If it is not set, the old, inverted setting of this repository's configuration or of
    .entire/settings.json is migrated to it.  The old one is removed from the configuration, but
    the person's files stay as they are (doc/behaviour.md "Conflicts and warnings").
    """
    try:
        if repo.config.get_all(f"gitcp.{_NEW}"):
            return bool(repo.config.get_option(f"gitcp.{_NEW}"))
        old = repo.config.get_option(f"gitcp.{_OLD}")
        if old is None:
            enabled = _read_settings(repo)
        else:
            enabled = not old
        if enabled is not None:
            scope = ("config", "--local")
            repo.git.run(*scope, f"gitcp.{_NEW}", str(enabled).lower())
            repo.git.run(*scope, "--unset-all", f"gitcp.{_OLD}", ok=(0, 5))
    except Error as e:
        console.warn(str(e))
        return False
    return bool(enabled)


def _read_settings(repo: Repo) -> bool | None:
    """The setting in .entire/settings.json, by the new name or the old; None without one."""
    settings: dict[str, Any] = {}
    for name in ("settings.json", "settings.local.json"):
        try:
            document = json.loads(files.peek(os.path.join(repo.worktree, ".entire", name)))
        except ValueError:
            continue
        if isinstance(document, dict):
            options = document.get("strategy_options")
            if isinstance(options, dict):
                settings |= options
            settings |= document
    if isinstance(settings.get(_NEW), bool):
        return bool(settings[_NEW])
    if isinstance(settings.get(_OLD), bool):
        return not settings[_OLD]
    return None


def format_warning(repo: Repo, sessions: list[Marker]) -> str:
    """The text of the warning, three lines for each session."""
    title = "Warning: Existing session(s) with uncommitted work:\n"
    if len(sessions) == 1:
        title = "Warning: An existing session has uncommitted work on this branch.\n"
    parts = [title]
    for session in sessions:
        touched: set[str] = set()
        for stream in edits.list_open_streams(repo, session):
            touched.update(stream["files"])
        parts.append(f"Session ID: {session['session_id']}")
        parts.append(f"Checkpoints: {session['count']} uncommitted")
        if touched:
            parts.append(f"Files touched: {', '.join(sorted(touched))}")
        parts.append("")
    parts += [
        "Starting a new session will merge with the existing session.",
        "- If files overlap: Continue on same shadow branch",
        "- If no overlap: Reset shadow branch (old session data will be archived)",
        "",
        "Options:",
        "1. Cancel and commit existing work first",
        "2. Continue (merge sessions): submit the prompt again",
    ]
    return "\n".join(parts)
