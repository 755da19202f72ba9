"""What a session is told when it starts: that it is recorded, and who else works here."""

from __future__ import annotations

import os

from gitcp.console import notice
from gitcp.core import json
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.journal import work
from gitcp.store.session import markers
from gitcp.store.stream import branches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Marker, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_OLD, _NEW = "disable-multisession-warning", "enable-multisession-warning"


def format_greeting(repo: Repo, objects: Objects, session_id: str, head: str) -> str:
    """One line, and one more where other sessions of this base and worktree have checkpoints."""
    lines = ["gitcp: this conversation will be linked to your next commit."]
    company = list_company(repo, objects, session_id, head)
    if len(company) == 1:
        lines.append("1 other conversation has uncommitted work here; see 'gitcp status'.")
    elif company:
        lines.append(
            f"{len(company)} other conversations have uncommitted work here; see 'gitcp status'."
        )
    return "\n".join(lines)


def list_company(repo: Repo, objects: Objects, session_id: str, head: str) -> list[Marker]:
    """The markers of other sessions of this base and worktree that have checkpoints.

    A session whose stream a commit carried to this base has not heard of that yet.
    """
    return [
        m
        for m in markers.read_here(repo)
        if m["session_id"] != session_id and m["count"] > 0
        if m["base_commit"] == head
        or any(branches.find_live(repo, objects, head, s["id"]) for s in m["streams"])
    ]


def find_refusal(
    repo: Repo, objects: Objects, state: State, event: dict[str, Any], head: str
) -> str | None:
    """The warning when it is asked for and other sessions have uncommitted work
    here; noted in the state, for it refuses one prompt for each set of them.

    Only of a session that is new here or resumed, and has no work here: never in its midst.
    """
    works = any(stream["files"] for stream in state["streams"])
    begun = state.get("turns") and not state.get("resumed")
    if (markers.is_home(repo, state) and (begun or works)) or not wants_warning(repo):
        return None
    conflicting = list_company(repo, objects, state["session_id"], head)
    names = sorted(m["session_id"] for m in conflicting)
    before = state.get("multisession_warned") or {}
    again = event.get("turn") and event["turn"] == before.get("prompt")  # two settings name us
    if not names or (names == before.get("sessions") and not again):
        return None
    state["multisession_warned"] = {"sessions": names, "prompt": event.get("turn")}
    return format_warning(repo, conflicting)


def wants_warning(repo: Repo) -> bool:
    """gitcp.enable-multisession-warning; what is no boolean is warned of, and counts as false.

    Where it is not set, the old, inverted setting of git config or .entire/settings.json is
    migrated: written under the new name, into this repository's configuration, and taken out
    of it (doc/behaviour.md "Conflicts and warnings"); a file of the person's stays as it is.
    """
    try:
        if repo.config.get_all(f"gitcp.{_NEW}"):
            return bool(repo.config.get_option(f"gitcp.{_NEW}"))
        old = repo.config.get_option(f"gitcp.{_OLD}")
        wanted = _read_settings(repo) if old is None else not old
        if wanted is not None:
            _migrate_setting(repo, wanted)
    except Error as e:
        notice.warn(str(e))
        return False
    return bool(wanted)


def _migrate_setting(repo: Repo, wanted: bool) -> None:
    place = ("config", "--local")
    repo.git.run(*place, f"gitcp.{_NEW}", "true" if wanted else "false")
    repo.git.run(*place, "--unset-all", f"gitcp.{_OLD}", ok=(0, 5))


def _read_settings(repo: Repo) -> bool | None:
    """What .entire/settings.json says by either name; None when it says nothing."""
    settings: dict[str, Any] = {}
    for name in ("settings.json", "settings.local.json"):
        try:
            read = json.loads(files.peek(os.path.join(repo.worktree, ".entire", name)))
        except ValueError:
            continue
        if isinstance(read, dict):
            options = read.get("strategy_options")
            settings |= {**(options if isinstance(options, dict) else {}), **read}
    if isinstance(settings.get(_NEW), bool):
        return bool(settings[_NEW])
    return not settings[_OLD] if isinstance(settings.get(_OLD), bool) else None


def format_warning(repo: Repo, sessions: list[Marker]) -> str:
    """The text of the warning, three lines for each session."""
    one = len(sessions) == 1
    parts = [
        "Warning: An existing session has uncommitted work on this branch.\n"
        if one
        else "Warning: Existing session(s) with uncommitted work:\n"
    ]
    for session in sessions:
        streams = work.list_open_streams(repo, session)
        files = sorted({path for stream in streams for path in stream["files"]})
        parts.append(f"Session ID: {session['session_id']}")
        parts.append(f"Checkpoints: {session['count']} uncommitted")
        if files:
            parts.append(f"Files touched: {', '.join(files)}")
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
